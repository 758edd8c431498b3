//! Names there and back.

use super::{gguf, published};

#[test]
fn names_go_there_and_back() {
    for name in ["token_embd.weight", "output.weight", "blk.11.attn_q.bias", "blk.0.ffn_down.weight"] {
        assert_eq!(gguf(&published(name)).as_deref(), Some(name));
    }
    assert_eq!(published("blk.3.attn_q_norm.weight"), "model.layers.3.self_attn.q_norm.weight");
}

#[test]
fn an_unknown_name_stays() {
    for name in ["rope_freqs.weight", "blk.0.ffn_gate_exps.weight", "blk.0", "x"] {
        assert_eq!(published(name), name);
        assert_eq!(gguf(name), None);
    }
}
