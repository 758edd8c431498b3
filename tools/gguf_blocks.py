#!/usr/bin/env python3
"""Random blocks of every GGUF type and what the `gguf` package (pip install gguf) makes of them, as JSON.

    python3 tools/gguf_blocks.py [SEED] > crates/model/src/tensor/blocks/golden.json

For each type a few blocks in hexadecimal, and their elements as the hexadecimal bits of f32. Scales are finite, all other
bits are random. The test of `crates/model/src/tensor/blocks.rs` compares bit by bit.
"""

import json
import sys

import gguf
import numpy as np

BLOCKS = 3

# Where a block keeps its f16 numbers.
FLOATS = {
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0],
}


def main():
    random = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    types = {}
    for name, floats in FLOATS.items():
        kind = gguf.GGMLQuantizationType[name]
        _, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
        for at in floats:
            scales = (random.standard_normal(BLOCKS) * 0.02).astype("<f2")
            blocks[:, at:at + 2] = scales.view(np.uint8).reshape(BLOCKS, 2)
        elements = gguf.quants.dequantize(blocks, kind).astype("<f4")
        types[name.lower()] = {"blocks": blocks.tobytes().hex(), "elements": elements.tobytes().hex()}
    json.dump(types, sys.stdout, indent=1)
    print()


main()
