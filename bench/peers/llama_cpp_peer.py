"""llama.cpp as a peer, through the low-level interface of llama-cpp-python. Reads a GGUF made of the checkpoint, or the
checkpoint itself where it is one."""
import ctypes, os

import common

KINDS = {"f32": "F32", "f16": "F16", "bf16": "BF16", "int8": "Q8_0", "int4": "Q4_0"}
CACHES = {"f32": 0, "f16": 1, "bf16": 30}  # ggml's numbers of these types


class Engine:
    def __init__(self, request):
        common.on_processor(request)
        os.environ.setdefault("OMP_NUM_THREADS", str(request["threads"]))
        import llama_cpp as llama
        import numpy as np

        self.llama, self.np = llama, np
        self.silent = llama.llama_log_callback(lambda level, text, data: None)
        if "LLAMA_LOG" not in os.environ:
            llama.llama_log_set(self.silent, ctypes.c_void_p(0))
        llama.llama_backend_init()
        stored = os.path.isfile(request["model"])
        kind = "as stored" if stored else KINDS[request["weights"]]
        params = llama.llama_model_default_params()
        params.n_gpu_layers = 0
        model = llama.llama_model_load_from_file((request["model"] if stored else gguf(request, kind)).encode(), params)
        if not model:
            raise common.Refused("the model did not load")
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = max(256, request["context"]), 2048, 512
        params.n_threads = params.n_threads_batch = request["threads"]
        params.type_k = params.type_v = CACHES[request["kv"]]
        params.no_perf = True
        self.context = llama.llama_init_from_model(model, params)
        if not self.context:
            raise common.Refused("no context")
        self.memory = llama.llama_get_memory(self.context)
        self.vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
        self.version = f"llama.cpp (llama-cpp-python {llama.__version__})"
        activations = "int8 in groups" if kind.startswith("Q") else "as its kernels take them"
        self.precision = common.label(kind, activations, request["kv"])
        self.remarks = ["prompts in batches of 2,048 and micro-batches of 512, its defaults"]

    def keep(self, count):
        if count == 0:
            self.llama.llama_memory_clear(self.memory, True)
        elif not self.llama.llama_memory_seq_rm(self.memory, 0, count, -1):
            raise common.Refused("the memory keeps its last positions")

    def last(self, ids):
        # The library takes at most a batch at once.
        for start in range(0, len(ids), 2048):
            part = ids[start : start + 2048]
            array = (self.llama.llama_token * len(part))(*part)
            status = self.llama.llama_decode(self.context, self.llama.llama_batch_get_one(array, len(part)))
            if status != 0:
                raise common.Refused(f"llama_decode: {status}")
        return self.np.ctypeslib.as_array(self.llama.llama_get_logits_ith(self.context, -1), shape=(self.vocab,))

    def step(self, ids):
        return int(self.last(ids).argmax())

    def logits(self, ids):
        self.keep(0)
        return self.last(ids)


def gguf(request, kind):
    """The checkpoint as GGUF, made at the first use and when the checkpoint is newer."""
    from write_gguf import convert

    name = os.path.basename(os.path.abspath(request["model"]))
    path = os.path.join(request["work"], f"{name}.{kind}.gguf")
    source = os.path.getmtime(os.path.join(request["model"], "model.safetensors"))
    if not os.path.exists(path) or os.path.getmtime(path) < source:
        convert(request["model"], path + ".partial", kind)
        os.replace(path + ".partial", path)
    return path


if __name__ == "__main__":
    common.serve(Engine)
