"""Writes a Hugging Face directory of the Qwen3 or Llama family as GGUF, for llama.cpp.

usage: write_gguf.py DIR OUT.gguf Q8_0|Q4_0|BF16|F16|F32

Every matrix gets the named type, the head included, so that both engines of a comparison hold the same things in the same
number of bits. Vectors stay f32. No vocabulary is written: timing needs ids only.
"""
import json, os, sys

import gguf
import numpy as np

ROWS = 4096  # quantised at once, to bound memory

STORED = {"BF16": "<u2", "F16": "<f2", "F32": "<f4"}
NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def read_safetensors(path):
    """name -> values mapped from the file, bf16 as its bits"""
    with open(path, "rb") as f:
        length = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(length))
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, _ = entry["data_offsets"]
        tensors[name] = np.memmap(path, STORED[entry["dtype"]], "r", 8 + length + start, tuple(entry["shape"]))
    return tensors


def f32(values):
    values = np.asarray(values)
    return (values.astype("<u4") << 16).view("<f4") if values.dtype == "<u2" else values.astype("<f4")


def pair_neighbours(bits, heads):
    """Rows in the order llama.cpp rotates for the llama architecture: partners stand side by side."""
    head_dim = bits.shape[0] // heads
    return bits.reshape(heads, 2, head_dim // 2, -1).swapaxes(1, 2).reshape(bits.shape)


def convert(folder, out, kind):
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    assert not config.get("rope_scaling"), "scaled rotary frequencies are not written"
    arch, heads = config["model_type"], config["num_attention_heads"]
    kv_heads = config["num_key_value_heads"]
    writer = gguf.GGUFWriter(out, arch)
    writer.add_name(os.path.basename(os.path.abspath(folder)))
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType["ALL_F32" if kind == "F32" else "MOSTLY_" + kind])
    writer.add_tokenizer_model("none")

    kind = gguf.GGMLQuantizationType[kind]
    tensors = read_safetensors(os.path.join(folder, "model.safetensors"))

    def put(name, bits):
        if bits.ndim == 1:
            writer.add_tensor(name, f32(bits))
            return
        parts = [gguf.quants.quantize(f32(bits[i : i + ROWS]), kind) for i in range(0, len(bits), ROWS)]
        writer.add_tensor(name, np.concatenate(parts), raw_dtype=kind)

    put("token_embd.weight", tensors.pop("model.embed_tokens.weight"))
    put("output_norm.weight", tensors.pop("model.norm.weight"))
    if not config["tie_word_embeddings"]:
        put("output.weight", tensors.pop("lm_head.weight"))
    for layer in range(config["num_hidden_layers"]):
        for ours, theirs in NAMES.items():
            bits = tensors.pop(f"model.layers.{layer}.{ours}.weight", None)
            if bits is None:
                continue
            if arch == "llama" and theirs in ("attn_q", "attn_k"):
                bits = pair_neighbours(bits, heads if theirs == "attn_q" else kv_heads)
            put(f"blk.{layer}.{theirs}.weight", bits)
    assert not tensors, f"not written: {sorted(tensors)}"
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file(progress=sys.stderr.isatty())
    writer.close()


if __name__ == "__main__":
    convert(*sys.argv[1:4])
