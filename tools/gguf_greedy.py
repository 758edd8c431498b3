"""Files that `tilewright convert` wrote, read by llama.cpp and by this program: do both choose the same tokens?

Converts MODEL with each mixture of block types, continues ten prompts greedily with both, and compares. Both round activations
to 8 bits and add floats in orders of their own, which moves logits of the story model by several hundredths. So a token counts as different
only where llama.cpp's best two logits are further apart than MARGIN; at the first token within it that differs the texts part
and the rest of that prompt is not compared. The margin of every parting is printed.

usage: gguf_greedy.py PROGRAM MODEL [TOKENS]    (a Python with llama-cpp-python; MODEL as for `tilewright run -m`)
"""
import ctypes, json, os, subprocess, sys, tempfile

import llama_cpp as llama
import numpy as np

MIXTURES = ["q8_0", "q4_0", "q4_k_m"]
MARGIN = 0.1
PROMPTS = [
    "Once upon a time", "The little fox", "One day, Tim and his mother", "There was a big dog who", "Lily had a red ball.",
    "The sun was", "In the garden there", "\"I do not know,\" said", "A cat and a bird", "It was a cold morning and",
]


def program(*arguments):
    done = subprocess.run([PROGRAM, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


class Peer:
    """llama.cpp with one file, one sequence, greedy."""

    def __init__(self, path, positions):
        params = llama.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = llama.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            sys.exit(f"llama.cpp does not read {path}")
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_threads, params.n_threads_batch = positions, 2, 2
        params.flash_attn_type = 0
        params.type_k = params.type_v = 0
        self.context = llama.llama_init_from_model(self.model, params)
        self.vocab = llama.llama_model_get_vocab(self.model)
        self.tokens = llama.llama_vocab_n_tokens(self.vocab)

    def encode(self, text):
        data = text.encode()
        out = (llama.llama_token * (len(data) + 8))()
        return list(out[: llama.llama_tokenize(self.vocab, data, len(data), out, len(out), True, False)])

    def continued(self, ids, count):
        """The chosen ids, and at each how far the best two logits are apart."""
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)
        chosen, margins = [], []
        for _ in range(count):
            array = (llama.llama_token * len(ids))(*ids)
            assert llama.llama_decode(self.context, llama.llama_batch_get_one(array, len(ids))) == 0
            logits = np.ctypeslib.as_array(llama.llama_get_logits_ith(self.context, -1), shape=(self.tokens,))
            second, first = np.partition(logits, -2)[-2:]
            margins.append(float(first - second))
            ids = [int(logits.argmax())]
            chosen += ids
        return chosen, margins


def compare(path, count):
    peer = Peer(path, 256 + count)
    compared = parted = different = 0
    for text in PROMPTS:
        ids = peer.encode(text)
        theirs, margins = peer.continued(ids, count)
        line = ["run", "-m", path, "--ids", ",".join(map(str, ids)), "--temp", "0", "-n", str(count), "--ignore-eos", "--kv-dtype", "f32"]
        ours = program(*line)["ids"]
        assert len(ours) == count, f"{len(ours)} ids"
        first = next((at for at in range(count) if ours[at] != theirs[at]), None)
        compared += count if first is None else first
        if first is not None:
            parted += 1
            different += margins[first] > MARGIN
            print(f"  {text!r}: {ours[first]} instead of {theirs[first]} at {first}, margin {margins[first]:.3f}")
    print(f"{os.path.basename(path)}: {compared} of {len(PROMPTS) * count} tokens equal, {parted} prompts part, {different} of them beyond the margin")
    return different


if __name__ == "__main__":
    PROGRAM, model = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    silent = llama.llama_log_callback(lambda level, text, data: None)
    llama.llama_log_set(silent, ctypes.c_void_p(0))
    llama.llama_backend_init()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for mixture in MIXTURES:
            path = os.path.join(folder, f"{mixture}.gguf")
            program("convert", "-m", model, "--to", "gguf", "--quant", mixture, "-o", path)
            wrong += compare(path, count)
    sys.exit(1 if wrong else 0)
