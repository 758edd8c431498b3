"""Times variants of the persistent decoder of several rows beside each other, in turns; together.py checks the one that is kept.

`python variants.py [POSITIONS [VARIANT ...]]`: positions as `1,512`, a variant as together.py takes it, such as `ROWS=32,FLY_KV=7`.
They are compiled side by side. A variant whose ids are not those of the first is marked, as with another number of rows or another
order of sums; one that gives up waiting is left out.
"""

import concurrent.futures
import signal
import statistics
import sys

import decode
import together

STEPS, ROUNDS, LAUNCHES = 16, 3, 4


def main(positions, variants):
    builds = {v: together.Build(v.split(",")) for v in variants}
    with concurrent.futures.ProcessPoolExecutor() as pool:
        codes = list(pool.map(together.Build.compiled, builds.values()))
    model = decode.Model()
    tapes = {int8: together.tape(model, int8) for int8 in {b.int8 for b in builds.values()}}
    runners = {v: together.Runner(model, tapes[b.int8], b.load(code)) for (v, b), code in zip(builds.items(), codes)}
    sequences = together.Sequences(max(b.rows for b in builds.values()), True, max(positions) + 1024)
    times, ids = {}, {}
    for _ in range(ROUNDS):
        for variant, runner in list(runners.items()):
            signal.alarm(20)  # a launch that never ends ends this
            rows = runner.build.rows
            try:
                for position in positions:
                    for launch in range(LAUNCHES):
                        out, time = runner.run(sequences, list(range(rows)), [position] * rows, [5] * rows, STEPS)
                        if launch:
                            times.setdefault((variant, position), []).append(time / STEPS * 1000)
                    ids[variant, position] = out.tolist()
            except SystemExit as gave_up:
                print(f"{variant}: {gave_up}", flush=True)
                del runners[variant]
    signal.alarm(0)
    for variant in runners:
        middle = " ".join(f"{statistics.median(times[variant, p]):7.1f}" for p in positions)
        same = all(ids[variant, p] == ids.get((variants[0], p)) for p in positions)
        print(f"{middle} us a step after {positions}: {variant}{'' if same else ', other ids'}", flush=True)


if __name__ == "__main__":
    places = sys.argv[1] if len(sys.argv) > 1 else "1,512"
    main([int(p) for p in places.split(",")], sys.argv[2:] or ["ROWS=8", "ROWS=32"])
