"""Times variants of the persistent decoder of several rows beside each other, in turns; together.py checks the one that is kept.

`python variants.py POSITIONS VARIANT ...`: positions as `1,512`, a variant as together.py takes it, such as `ROWS=32,FLY_KV=7`. They
are compiled side by side. A variant whose ids are not those of the first is marked; one that gives up waiting is left out.
"""

import concurrent.futures
import signal
import statistics
import sys

import decode
import together
from gpu import compiled

STEPS, ROUNDS, LAUNCHES = 16, 3, 4


def text_of(variant):
    """What to compile; not the kernel, which belongs to the process that launches it."""
    facts = dict(d.split("=") for d in variant.split(","))
    rows = int(facts.setdefault("ROWS", "32"))
    facts.setdefault("SLOTS", str(together.SLOTS[rows]))
    facts.setdefault("HELD_MOST", str(together.HELD[rows]))
    return rows, int(facts["SLOTS"]), [f"{n}={v}" for n, v in facts.items()]


def machine_code(variant):
    return compiled(together.text(), text_of(variant)[2])


def main(positions, variants):
    with concurrent.futures.ProcessPoolExecutor() as pool:
        tape_code = pool.submit(compiled, decode.text(), ["INT8=0"])
        codes = list(pool.map(machine_code, variants))
        tape_code = tape_code.result()
    model = decode.Model()
    tape = decode.Tape(model, tape_code, False)
    runners = {}
    for variant, code in zip(variants, codes):
        rows, slots, _ = text_of(variant)
        runners[variant] = together.Runner(model, tape, together.Built(rows, slots, code))
    sequences, times, ids = together.Sequences(32, True, 2048), {}, {}
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
        middle = [f"{statistics.median(times[variant, p]):7.1f}" for p in positions]
        same = all(ids[variant, p] == ids.get((variants[0], p)) for p in positions)
        print(" ".join(middle), f"us after {positions}: {variant}{'' if same else ', other ids'}", flush=True)


if __name__ == "__main__":
    main([int(p) for p in sys.argv[1].split(",")], sys.argv[2:])
