"""Writes what the tests of `--numerics llama.cpp` compare with: three small models of random weights, the logits that llama.cpp
has over them, and results of its routines, all to the bit.

    pip install llama-cpp-python numpy
    python bench/peers/llama_bits.py crates/cpu/tests/llama

The library has to be built for AVX-512 with FMA, as it is by pip on a machine that has both. llama.cpp takes one token a batch
and one thread.
"""
import ctypes, json, pathlib, struct, sys

import llama_cpp as llama
import numpy as np

F32, F16, Q4_1, Q5_0, Q5_1, Q8_0 = 0, 1, 3, 6, 7, 8
# Bytes of a block of 32, and where it has numbers in f16.
BLOCKS = {Q4_1: (20, (0, 2)), Q5_0: (22, (0,)), Q5_1: (24, (0, 2)), Q8_0: (34, (0,))}
NAMES = {Q4_1: "q4_1", Q5_0: "q5_0", Q5_1: "q5_1", Q8_0: "q8_0"}
VOCAB = 67
# What the logits are called, the type of keys and values, and whether with flash attention.
SETTINGS = [("f32", F32, False), ("f16", F16, False), ("flash", F16, True)]

# layers: types of the products with the layer's input, of `o` and `down`, and of the MLP's first two.
MODELS = {
    "llama": dict(arch="llama", positions=270, hidden=96, heads=2, kv_heads=1, head_dim=64, mlp=64, embedding=Q8_0, head=None,
                  layers=[(Q4_1, Q4_1, Q4_1), (Q5_0, Q5_1, Q5_1), (Q8_0, Q5_0, F32)]),
    "qwen3": dict(arch="qwen3", positions=20, hidden=64, heads=2, kv_heads=1, head_dim=128, mlp=96, embedding=Q4_1, head=Q8_0,
                  layers=[(Q4_1, Q8_0, Q4_1)]),
    "qwen2": dict(arch="qwen2", positions=20, hidden=64, heads=2, kv_heads=1, head_dim=32, mlp=96, embedding=F32, head=F32,
                  layers=[(F32, Q8_0, F32)]),
}


def ids(count):
    return [(i * i * 31 + i * 17 + 5) % VOCAB for i in range(count)]


def values(count, seed):
    """Numbers that the tests make as well."""
    index = np.arange(count, dtype=np.int64)
    return ((index * 37 + seed * 211) % 1009 - 504).astype(np.float32) / np.float32(97)


def blocks(kind, count, seed):
    """Blocks that the tests make as well."""
    size, halves = BLOCKS[kind]
    index = np.arange(count * size, dtype=np.int64)
    data = ((index * index * 7 + index * 13 + seed) % 251).astype(np.uint8).reshape(count, size)
    for at, unit, cycle in zip(halves, (0.01, -0.05), (5, 3)):
        scale = np.float32(unit) * (1 + np.arange(count) % cycle).astype(np.float32)
        data[:, at:at + 2] = scale.astype("<f2").view(np.uint8).reshape(count, 2)
    return data.tobytes()


def digest(data):
    """FNV-1a of 64 bits."""
    hash = 0xCBF29CE484222325
    for byte in data:
        hash = (hash ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{hash:016x}"


def bits(array):
    return [f"{word:08x}" for word in np.asarray(array, np.float32).view(np.uint32).ravel()]


def matrix(random, kind, rows, cols):
    if kind == F32:
        return random.normal(0, cols ** -0.5, (rows, cols)).astype("<f4").tobytes()
    size, halves = BLOCKS[kind]
    data = random.integers(0, 256, (rows * cols // 32, size), dtype=np.uint8)
    most = {Q4_1: 15, Q5_0: 31, Q5_1: 31, Q8_0: 254}[kind]
    scale = random.uniform(2.0, 5.0, len(data)) * cols ** -0.5 / most
    numbers = [scale] if len(halves) == 1 else [scale, -scale * most / 2]
    for at, number in zip(halves, numbers):
        data[:, at:at + 2] = number.astype("<f2").view(np.uint8).reshape(-1, 2)
    return data.tobytes()


def write(path, arch, positions, hidden, heads, kv_heads, head_dim, mlp, embedding, head, layers):
    random = np.random.default_rng(7)
    tensors = []

    def add(name, kind, rows, cols):
        tensors.append((name, kind, [cols, rows], matrix(random, kind, rows, cols)))

    def vector(name, width, mean):
        tensors.append((name, F32, [width], (mean + random.normal(0, 0.1, width)).astype("<f4").tobytes()))

    q, kv = heads * head_dim, kv_heads * head_dim
    add("token_embd.weight", embedding, VOCAB, hidden)
    vector("output_norm.weight", hidden, 1)
    if head is not None:
        add("output.weight", head, VOCAB, hidden)
    for at, (inputs, outputs, gated) in enumerate(layers):
        part = f"blk.{at}."
        vector(part + "attn_norm.weight", hidden, 1)
        vector(part + "ffn_norm.weight", hidden, 1)
        for name, rows in (("q", q), ("k", kv), ("v", kv)):
            add(f"{part}attn_{name}.weight", inputs, rows, hidden)
            if arch == "qwen2":
                vector(f"{part}attn_{name}.bias", rows, 0)
        if arch == "qwen3":
            vector(part + "attn_q_norm.weight", head_dim, 1)
            vector(part + "attn_k_norm.weight", head_dim, 1)
        add(part + "attn_output.weight", outputs, hidden, q)
        add(part + "ffn_gate.weight", gated, mlp, hidden)
        add(part + "ffn_up.weight", gated, mlp, hidden)
        add(part + "ffn_down.weight", outputs, hidden, mlp)

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def u32(value):
        return struct.pack("<II", 4, value)

    def f32(value):
        return struct.pack("<If", 6, value)

    keys = {
        "general.architecture": struct.pack("<I", 8) + text(arch),
        f"{arch}.vocab_size": u32(VOCAB),
        f"{arch}.context_length": u32(1024),
        f"{arch}.embedding_length": u32(hidden),
        f"{arch}.block_count": u32(len(layers)),
        f"{arch}.feed_forward_length": u32(mlp),
        f"{arch}.attention.head_count": u32(heads),
        f"{arch}.attention.head_count_kv": u32(kv_heads),
        f"{arch}.attention.key_length": u32(head_dim),
        f"{arch}.attention.value_length": u32(head_dim),
        f"{arch}.rope.dimension_count": u32(head_dim),
        f"{arch}.attention.layer_norm_rms_epsilon": f32(1e-5),
        f"{arch}.rope.freq_base": f32(10000.0),
        "tokenizer.ggml.model": struct.pack("<I", 8) + text("none"),
    }
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(keys))
    header += b"".join(text(key) + value for key, value in keys.items())
    body = b""
    for name, kind, shape, data in tensors:
        body += bytes(-len(body) % 32)
        header += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(body))
        body += data
    path.write_bytes(header + bytes(-len(header) % 32) + body)


def logits(path, sequence, kv, flash):
    """Of every position, one token a batch."""
    params = llama.llama_model_default_params()
    params.n_gpu_layers = 0
    model = llama.llama_model_load_from_file(str(path).encode(), params)
    params = llama.llama_context_default_params()
    params.n_ctx = params.n_batch = 1024
    params.n_threads = params.n_threads_batch = 1
    params.type_k = params.type_v = kv
    params.flash_attn_type = int(flash)
    context = llama.llama_init_from_model(model, params)
    rows = []
    for token in sequence:
        batch = llama.llama_batch_get_one((llama.llama_token * 1)(token), 1)
        assert llama.llama_decode(context, batch) == 0
        row = llama.llama_get_logits_ith(context, -1)
        rows.append(np.ctypeslib.as_array(row, shape=(VOCAB,)).copy())
    llama.llama_free(context)
    llama.llama_model_free(model)
    return np.stack(rows)


def routines():
    """Results of llama.cpp's routines on numbers that the tests make as well."""
    folder = pathlib.Path(llama.__file__).parent / "lib"
    cpu = ctypes.CDLL(str(folder / "libggml-cpu.so"))
    # Makes the table of f16.
    cpu.ggml_cpu_init()

    def floats(array):
        return array.ctypes.data_as(ctypes.c_void_p)

    def dot(name, count, a, b):
        out, size = ctypes.c_float(), ctypes.c_size_t(0)
        getattr(cpu, name)(ctypes.c_int(count), ctypes.byref(out), size, a, size, b, size, 1)
        return np.float32(out.value)

    found = {"dot_f32": {}, "dot_f16": {}, "quantised": {}, "dot_blocks": {}, "soft_max": {}, "swiglu": []}
    for count in (7, 8, 16, 32, 45, 64, 96, 128, 576):
        a, b = values(count, 1), values(count, 2)
        found["dot_f32"][count] = bits(dot("ggml_vec_dot_f32", count, floats(a), floats(b)))[0]
        if count < 576:
            a, b = a.astype(np.float16), b.astype(np.float16)
            found["dot_f16"][count] = bits(dot("ggml_vec_dot_f16", count, floats(a), floats(b)))[0]
    for seed, unit in ((3, 1.0), (4, 1e-3), (5, 3e-5)):
        x = values(64, seed) * np.float32(unit)
        out = (ctypes.c_uint8 * 72)()
        cpu.quantize_row_q8_1(floats(x), out, ctypes.c_int64(64))
        found["quantised"][f"{seed} {unit}"] = bytes(out).hex()
    for kind, name in NAMES.items():
        other = "q8_1" if kind in (Q4_1, Q5_1) else "q8_0"
        x = values(576, 6)
        inputs = (ctypes.c_uint8 * 648)()
        getattr(cpu, f"quantize_row_{other}")(floats(x), inputs, ctypes.c_int64(576))
        each = []
        for row in range(3):
            weights = ctypes.create_string_buffer(blocks(kind, 18, row))
            each.append(dot(f"ggml_vec_dot_{name}_{other}", 576, weights, inputs))
        found["dot_blocks"][name] = bits(each)
    cpu.ggml_vec_soft_max_f32.restype = ctypes.c_double
    for count, scale in ((16, 1.0), (256, 1.0), (256, 30.0)):
        x = values(count, 8) * np.float32(scale)
        seen = count - 3
        x[seen:] = -np.inf
        most, out = x.max(), np.zeros(count, np.float32)
        sum = cpu.ggml_vec_soft_max_f32(ctypes.c_int(count), floats(out), floats(x), ctypes.c_float(most))
        found["soft_max"][f"{seen} {scale}"] = bits(out * np.float32(1 / sum))
    gate, up, out = values(96, 9) * np.float32(20), values(96, 10), np.zeros(96, np.float32)
    cpu.ggml_vec_swiglu_f32(ctypes.c_int(96), floats(out), floats(gate), floats(up))
    found["swiglu"] = bits(out)
    return found


def main(folder):
    silent = llama.llama_log_callback(lambda level, text, data: None)
    llama.llama_log_set(silent, ctypes.c_void_p(0))
    llama.llama_backend_init()
    folder.mkdir(parents=True, exist_ok=True)
    said = {}
    for name, facts in MODELS.items():
        path = folder / f"{name}.gguf"
        write(path, **facts)
        said[name] = {"positions": facts["positions"]}
        for kind, kv, flash in SETTINGS:
            # Where heads are as wide as that, flash attention depends on whether the library was built for AVX512-FP16.
            if flash and facts["head_dim"] >= 128:
                continue
            rows = logits(path, ids(facts["positions"]), kv, flash)
            said[name][kind] = {"digest": digest(rows.tobytes()), "last": bits(rows[-1][:8])}
            print(name, path.stat().st_size, "bytes,", kind, "logits", rows.std())
    (folder / "logits.json").write_text(json.dumps(said, indent=1) + "\n")
    (folder / "routines.json").write_text(json.dumps(routines(), indent=1) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
