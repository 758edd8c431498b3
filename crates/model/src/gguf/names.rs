//! Names of tensors: GGUF's beside those of published checkpoints.

/// Architectures that are read, with what a published checkpoint calls them. Mistral's files say `llama`.
pub(crate) const ARCHITECTURES: [(&str, &str); 3] =
    [("llama", "llama"), ("qwen2", "qwen2"), ("qwen3", "qwen3")];

/// Divisors of the rotary frequencies, one for each pair.
pub(crate) const ROPE_FACTORS: &str = "rope_freqs.weight";

const TOP: [(&str, &str); 3] =
    [("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output", "lm_head")];

const LAYER: [(&str, &str); 11] = [
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("ffn_norm", "post_attention_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
];

/// The published name of GGUF's `name`; one that is not known stays as it is.
pub(crate) fn published(name: &str) -> String {
    translate(name, "blk.", "model.layers.", |pair| pair).unwrap_or_else(|| name.to_owned())
}

/// GGUF's name of the published `name`.
pub(crate) fn gguf(name: &str) -> Option<String> {
    translate(name, "model.layers.", "blk.", |(a, b)| (b, a))
}

fn translate(
    name: &str,
    layer: &str,
    to_layer: &str,
    order: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Option<String> {
    let (path, end) = name.rsplit_once('.').filter(|(_, end)| matches!(*end, "weight" | "bias"))?;
    let find = |table: &[(&'static str, &'static str)], wanted: &str| {
        table.iter().map(|pair| order(*pair)).find(|(from, _)| *from == wanted).map(|(_, to)| to)
    };
    match path.strip_prefix(layer) {
        None => find(&TOP, path).map(|to| format!("{to}.{end}")),
        Some(rest) => {
            let (index, part) = rest.split_once('.')?;
            find(&LAYER, part).map(|to| format!("{to_layer}{index}.{to}.{end}"))
        }
    }
}

/// Whether the Llama architecture interleaves the rows of the tensor with this published name.
pub(crate) fn is_rotated(name: &str) -> bool {
    name.contains(".self_attn.q_proj.") || name.contains(".self_attn.k_proj.")
}

#[cfg(test)]
mod tests;
