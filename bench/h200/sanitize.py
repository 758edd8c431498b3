"""Runs the persistent decoders of crates/cuda on two layers and a few tokens, under compute-sanitizer where it is started so.

    ONLY="--kernel-name kns=decode --kernel-name kns=together"
    compute-sanitizer --tool memcheck --report-api-errors no $ONLY python sanitize.py
    compute-sanitizer --tool racecheck $ONLY python sanitize.py EVERY_LANE=1
    compute-sanitizer --tool initcheck python sanitize.py

initcheck has to see the kernels that fill what these two read. racecheck follows no order that passes from one lane to the others of its warp: EVERY_LANE=1 is the build for it. `INT8=1` is the
other weights.
"""

import os
import sys

os.environ["SHAPE"] = "layers"

import decode
import together
from gpu import compiled, function

POSITION, FAR, TOKENS = 40, 400, 3  # every other of several sequences has two spans
decode.DEADLINE_NS = 60_000_000_000  # everything is slow


def main(defines):
    int8, model = "INT8=1" in defines, decode.Model()
    facts = defines + [f"SLOTS={decode.SLOTS}"]
    cubin = compiled(decode.text(), facts)
    tape = decode.Tape(model, cubin, int8)
    kernel = function(cubin, "decode", decode.shared(decode.SLOTS))
    out, _, _ = decode.Session(model, tape, kernel, decode.SLOTS, True).run(POSITION, TOKENS, [5])
    print("one sequence:", out.tolist())
    for rows in (8, 32):
        build = together.Build(",".join(defines + [f"ROWS={rows}"])).load()
        runner = together.Runner(model, tape, build)
        sequences = together.Sequences(rows, True, 512)
        out, _ = runner.run(sequences, list(range(rows)), [POSITION, FAR] * (rows // 2), [5] * rows, TOKENS)
        print(f"{rows} sequences:", out.tolist())


if __name__ == "__main__":
    main(sys.argv[1:])
