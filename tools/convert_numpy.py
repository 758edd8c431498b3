"""Writes the pair manifest.json + weights.blob from a Hugging Face directory, with numpy alone.

An independent check of `tilewright convert`: written from docs/converted-checkpoint.md, not from the Rust. The digests
of its output for the test fixtures are committed and compared with the converter's.

usage: convert_numpy.py DIR OUT_DIR [--f32] [--ids 1,2,3]
       convert_numpy.py --digests FIXTURES > crates/model/tests/convert_digests.json
"""
import hashlib, json, os, re, sys, tempfile
import numpy as np

TRANSPOSED = re.compile(r"\.(q|k|v|o|gate|up|down)_proj\.weight$")


def read_safetensors(path):
    """name -> float array, each value exact in float64"""
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        raw = data[slice(*entry["data_offsets"])]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
        else:
            values = np.frombuffer(raw, {"F16": "<f2", "F32": "<f4"}[entry["dtype"]])
        tensors[name] = values.astype("<f8").reshape(entry["shape"])
    return tensors


def read_checkpoint(folder):
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    index = os.path.join(folder, "model.safetensors.index.json")
    files = ["model.safetensors"]
    if os.path.exists(index):
        with open(index) as f:
            files = sorted(set(json.load(f)["weight_map"].values()))
    tensors = {}
    for file in files:
        tensors.update(read_safetensors(os.path.join(folder, file)))
    return config, tensors


def config_of(config, tensors, n_tokens, dtype):
    rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    theta = rope.get("rope_theta", config.get("rope_theta"))
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    out = {key: config[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
    out["num_key_value_heads"] = config.get("num_key_value_heads", heads)
    out["head_dim"] = head_dim
    out["intermediate_size"] = config["intermediate_size"]
    out["vocab_size"] = config["vocab_size"]
    out["rope_theta"] = float(theta)
    out["rms_norm_eps"] = float(config["rms_norm_eps"])
    out["n_tokens"] = n_tokens
    out["has_qk_norm"] = int("model.layers.0.self_attn.q_norm.weight" in tensors)
    out["tie_word_embeddings"] = int(config["tie_word_embeddings"])
    out["attention_bias"] = int("model.layers.0.self_attn.q_proj.bias" in tensors)
    eos = config.get("eos_token_id")
    if isinstance(eos, list) and len(eos) == 1:
        eos = eos[0]
    if eos is not None and eos != []:
        out["eos_token_id"] = eos
    if dtype == "<f4":
        out["weights_dtype"] = "f32"
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "llama3":
        out["rope_scaling_type"] = 3
        for key in ("factor", "low_freq_factor", "high_freq_factor"):
            out["rope_scaling_" + key] = float(rope[key])
        out["rope_scaling_original_max_position_embeddings"] = rope["original_max_position_embeddings"]
    elif kind == "linear":
        out["rope_freq_factors"] = [float(rope["factor"])] * (head_dim // 2)
    elif kind != "default":
        raise SystemExit(f"the format has no words for rope type {kind}")
    return out


def text(value):
    """compact JSON with floats as the description asks"""
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + text(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(text(v) for v in value) + "]"
    if isinstance(value, float):
        if 1e-5 <= abs(value) < 1e-4:  # where Python already shows an exponent
            return np.format_float_positional(value, trim="0")
        return re.sub(r"e([+-])0*", lambda m: "e" + m[1].strip("+"), repr(value))
    return json.dumps(value)


def convert(folder, out, dtype="<f8", ids=()):
    config, tensors = read_checkpoint(folder)
    entries, offset = {}, 0
    os.makedirs(out, exist_ok=True)
    manifest_config = config_of(config, tensors, len(ids), dtype)
    with open(os.path.join(out, "weights.blob"), "wb") as blob:
        for name in sorted(tensors):
            transposed = bool(TRANSPOSED.search(name))
            values = tensors[name].T if transposed else tensors[name]
            stored = np.ascontiguousarray(values).astype(dtype)
            assert (stored == values).all(), name
            blob.write(stored.tobytes())
            entries[name] = {
                "offset": offset,
                "n_elements": values.size,
                "shape": list(values.shape),
                "transposed": transposed,
            }
            offset += values.size
    manifest = {"config": manifest_config, "input_ids": list(ids), "tensors": entries}
    with open(os.path.join(out, "manifest.json"), "w", newline="") as f:
        f.write(text(manifest))


def digests(fixtures):
    """SHA-256 of both files for every fixture and element type, with the prompt 1, 2, 3"""
    table = {}
    for name in sorted(os.listdir(fixtures)):
        for label, dtype in (("f64", "<f8"), ("f32", "<f4")):
            with tempfile.TemporaryDirectory() as out:
                try:
                    convert(os.path.join(fixtures, name), out, dtype, [1, 2, 3])
                except SystemExit:
                    continue
                digest = lambda file: hashlib.sha256(open(os.path.join(out, file), "rb").read()).hexdigest()
                table[f"{name} {label}"] = {file: digest(file) for file in ("manifest.json", "weights.blob")}
    print(json.dumps(table, indent=2))


if __name__ == "__main__":
    if sys.argv[1] == "--digests":
        digests(sys.argv[2])
    else:
        ids = sys.argv[sys.argv.index("--ids") + 1] if "--ids" in sys.argv else ""
        prompt = [int(i) for i in ids.split(",") if i]
        convert(sys.argv[1], sys.argv[2], "<f4" if "--f32" in sys.argv else "<f8", prompt)
