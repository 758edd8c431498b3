"""The documented decode of Qwen3-0.6B-Base, call by call, over random weights of its exact shape.

Nothing stands in for the tokenizer, so the test wants `TILEWRIGHT_QWEN3_TOKENIZER`. The checkpoint takes 1.2 GB of a temporary
folder, or is that of `TILEWRIGHT_QWEN3_BASE`.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy
import tilewright

TOKENIZER = os.environ.get("TILEWRIGHT_QWEN3_TOKENIZER")
BASE = os.environ.get("TILEWRIGHT_QWEN3_BASE")
SHAPE = tilewright.QWEN3_0_6B_BASE_ARCHITECTURE
#: Less than the file and its elements in a byte each: what was read of it is let go.
MOST_BYTES = 1_600_000_000

#: The guide's program. Only the import line and the checkpoint's place are ours; it runs in a process of its own, whose memory
#: is its own too.
PROGRAM = '''
import json, resource, sys
checkpoint = sys.argv[1]

try:
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    prompt_token_ids = tokenizer("The capital of France is", return_tensors=None)["input_ids"]
except ImportError:
    from tilewright import load_tokenizer
    tokenizer = load_tokenizer(checkpoint)
    prompt_token_ids = tokenizer.encode("The capital of France is")

from tilewright import MojoRuntime, qwen3_i8_allsimd7_decode

runtime = MojoRuntime(mode="local")

result = qwen3_i8_allsimd7_decode(
    runtime,
    checkpoint_dir=checkpoint,
    prompt_token_ids=prompt_token_ids,
    max_new_tokens=16,
)

generated_only = result.token_ids[result.n_prompt :]
text = tokenizer.decode(generated_only)

from tilewright import Qwen3DecodeError, decode

again = decode(runtime, checkpoint_dir=checkpoint, prompt_token_ids=prompt_token_ids)
try:
    qwen3_i8_allsimd7_decode(runtime, checkpoint_dir="/nowhere", prompt_token_ids=prompt_token_ids, max_new_tokens=16)
except Qwen3DecodeError as error:
    code = error.code
print(json.dumps({
    "prompt": list(prompt_token_ids), "ids": result.token_ids, "n_prompt": result.n_prompt, "text": text,
    "stopped": result.stopped_on_eos, "speed": result.decode_tokens_per_sec, "again": again.token_ids, "code": code,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
'''


def tensors():
    """The tensors of the shape, by name."""
    hidden, inner, head = SHAPE["hidden_size"], SHAPE["intermediate_size"], SHAPE["head_dim"]
    queries, keys = SHAPE["num_attention_heads"] * head, SHAPE["num_key_value_heads"] * head
    yield "model.embed_tokens.weight", (SHAPE["vocab_size"], hidden)
    for layer in range(SHAPE["num_hidden_layers"]):
        for name, shape in (
            ("self_attn.q_proj", (queries, hidden)),
            ("self_attn.k_proj", (keys, hidden)),
            ("self_attn.v_proj", (keys, hidden)),
            ("self_attn.o_proj", (hidden, queries)),
            ("mlp.gate_proj", (inner, hidden)),
            ("mlp.up_proj", (inner, hidden)),
            ("mlp.down_proj", (hidden, inner)),
            ("self_attn.q_norm", (head,)),
            ("self_attn.k_norm", (head,)),
            ("input_layernorm", (hidden,)),
            ("post_attention_layernorm", (hidden,)),
        ):
            yield f"model.layers.{layer}.{name}.weight", shape
    yield "model.norm.weight", (hidden,)


def write_checkpoint(folder):
    """Random bf16 weights of either sign and a size of about 1 / 64; norms of 1."""
    config = dict(SHAPE) | {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1e6,
        "torch_dtype": "bfloat16",
        "bos_token_id": 151643,
        "eos_token_id": 151643,
    }
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(Path(TOKENIZER) / name, folder / name)
    header, place = {}, 0
    for name, shape in tensors():
        size = 2 * int(numpy.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    random = numpy.random.default_rng(6)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, shape in tensors():
            if len(shape) == 1:
                file.write(numpy.full(shape, 0x3F80, numpy.uint16).tobytes())
                continue
            bits = numpy.frombuffer(random.bytes(2 * int(numpy.prod(shape))), numpy.uint16)
            file.write((bits & 0x807F | 0x3C80).tobytes())


@unittest.skipUnless(TOKENIZER or BASE, "skipped: TILEWRIGHT_QWEN3_TOKENIZER names no folder")
class ExampleTest(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        if BASE:
            self.checkpoint = Path(BASE)
        else:
            self.checkpoint = Path(self.home.name) / "qwen3-0.6b-base"
            self.checkpoint.mkdir()
            write_checkpoint(self.checkpoint)

    def test_the_guide_s_program_runs_with_its_import_line_changed(self):
        # What is quantised is kept in the cache of this home alone.
        here = os.environ | {"HOME": self.home.name, "XDG_CACHE_HOME": self.home.name}
        command = [sys.executable, "-c", PROGRAM, os.fspath(self.checkpoint)]
        done = subprocess.run(command, capture_output=True, text=True, env=here)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        prompt, ids = found["prompt"], found["ids"]
        self.assertEqual(prompt, tilewright.load_tokenizer(self.checkpoint).encode("The capital of France is"))
        self.assertEqual((ids[: found["n_prompt"]], found["n_prompt"]), (prompt, len(prompt)))
        self.assertTrue(found["stopped"] or len(ids) == len(prompt) + 16)
        self.assertGreater(found["speed"], 0)
        self.assertTrue(found["text"])
        self.assertEqual(found["again"], ids)
        self.assertEqual(found["code"], "checkpoint_not_found")
        self.assertLess(found["peak"], MOST_BYTES)


if __name__ == "__main__":
    unittest.main()
