"""llama.cpp held ready for timing, one repetition at a time, so that a driver can alternate engines.

usage: time_llama_cpp.py MODEL.gguf --threads N --context N

Prints a JSON line when loaded. Then, for each line `{"prefill": N, "decode": M, "again": false}` on standard input,
runs a prompt of N ids and M greedy tokens after it and prints a JSON line with the seconds of both. With `again` it
takes back what was decoded after the prompt of the line before, and decodes anew. The prompt is the driver's: id i is
(1000 + 7919 i) mod vocabulary. Ends with standard input.
"""
import argparse, ctypes, json, os, sys, time


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--context", type=int, required=True)
    return parser.parse_args()


args = parse()
os.environ.setdefault("OMP_NUM_THREADS", str(args.threads))
import llama_cpp as llama
import numpy as np

SILENT = llama.llama_log_callback(lambda level, text, data: None)


def say(**line):
    print(json.dumps(line), flush=True)


def load():
    if "LLAMA_LOG" not in os.environ:
        llama.llama_log_set(SILENT, ctypes.c_void_p(0))
    llama.llama_backend_init()
    params = llama.llama_model_default_params()
    params.n_gpu_layers = 0
    model = llama.llama_model_load_from_file(args.model.encode(), params)
    assert model, "the model did not load"
    params = llama.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = args.context, 2048, 512
    params.n_threads = params.n_threads_batch = args.threads
    params.no_perf = True
    context = llama.llama_init_from_model(model, params)
    assert context, "no context"
    return context, llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))


def step(context, vocab, ids):
    """Runs ids after what the context holds; the greedy choice after them."""
    array = (llama.llama_token * len(ids))(*ids)
    status = llama.llama_decode(context, llama.llama_batch_get_one(array, len(ids)))
    assert status == 0, f"llama_decode: {status}"
    return int(np.ctypeslib.as_array(llama.llama_get_logits_ith(context, -1), shape=(vocab,)).argmax())


def repetition(context, vocab, request, first):
    """Seconds of prompt and decoding, and what was chosen; `first` is the choice after the prompt that is there."""
    memory = llama.llama_get_memory(context)
    start = time.perf_counter()
    if request["again"]:
        assert llama.llama_memory_seq_rm(memory, 0, request["prefill"], -1), "the memory keeps its last positions"
    else:
        prompt = [(1000 + 7919 * i) % vocab for i in range(request["prefill"])]
        llama.llama_memory_clear(memory, True)
        first = step(context, vocab, prompt)
    middle = time.perf_counter()
    ids = [first]
    for _ in range(request["decode"]):
        ids.append(step(context, vocab, ids[-1:]))
    return middle - start, time.perf_counter() - middle, ids


context, vocab = load()
say(engine="llama.cpp", version=f"llama-cpp-python {llama.__version__}", vocab=vocab)
first = None
for line in sys.stdin:
    prefill_s, decode_s, ids = repetition(context, vocab, json.loads(line), first)
    first = ids[0]
    say(prefill_s=prefill_s, decode_s=decode_s, ids=ids)
