//! Names, shapes and sizes of the values of every tensor of a decoder.

use tilewright_model::Config;

/// A tensor to be drawn: values of mean `center` and standard deviation `spread`.
pub(super) struct Seeded {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) center: f32,
    pub(super) spread: f32,
}

impl Seeded {
    pub(super) fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// A projection `[out, width]`: an input of unit size gives an output of size 1.5, so that neither the MLP's
    /// product fades nor the residual stream grows much faster than a trained model's.
    fn projection(name: String, out: usize, width: usize) -> Self {
        Self { name, shape: vec![out, width], center: 0.0, spread: 1.5 / (width as f32).sqrt() }
    }

    /// A table `[vocab, hidden]`, embedding or head: logits get a standard deviation of 3, wide enough for clear
    /// greedy choices, while the layers' outputs outweigh the embedding, so that a tied head does not repeat its input.
    fn table(name: &str, config: &Config) -> Self {
        let spread = 3.0 / (config.hidden as f32).sqrt();
        Self { name: name.into(), shape: vec![config.vocab, config.hidden], center: 0.0, spread }
    }

    /// A norm's weight: far enough from 1 that a forgotten one shows.
    fn norm(name: String, width: usize) -> Self {
        Self { name, shape: vec![width], center: 1.0, spread: 0.2 }
    }

    fn bias(name: String, width: usize) -> Self {
        Self { name, shape: vec![width], center: 0.0, spread: 0.3 }
    }
}

/// Every tensor `config` calls for, under its Hugging Face name, in the order of use.
pub(super) fn tensors(config: &Config) -> Vec<Seeded> {
    let &Config { hidden, intermediate, head_dim, .. } = config;
    let (q, kv) = (config.q_width(), config.kv_width());
    let mut all = vec![Seeded::table("model.embed_tokens.weight", config)];
    for layer in 0..config.layers {
        let name = |part: &str| format!("model.layers.{layer}.{part}");
        all.push(Seeded::norm(name("input_layernorm.weight"), hidden));
        for (part, out) in [("q", q), ("k", kv), ("v", kv)] {
            all.push(Seeded::projection(name(&format!("self_attn.{part}_proj.weight")), out, hidden));
            if config.qkv_bias {
                all.push(Seeded::bias(name(&format!("self_attn.{part}_proj.bias")), out));
            }
        }
        if config.qk_norm {
            all.push(Seeded::norm(name("self_attn.q_norm.weight"), head_dim));
            all.push(Seeded::norm(name("self_attn.k_norm.weight"), head_dim));
        }
        all.push(Seeded::projection(name("self_attn.o_proj.weight"), hidden, q));
        all.push(Seeded::norm(name("post_attention_layernorm.weight"), hidden));
        all.push(Seeded::projection(name("mlp.gate_proj.weight"), intermediate, hidden));
        all.push(Seeded::projection(name("mlp.up_proj.weight"), intermediate, hidden));
        all.push(Seeded::projection(name("mlp.down_proj.weight"), hidden, intermediate));
    }
    all.push(Seeded::norm("model.norm.weight".into(), hidden));
    if !config.tied {
        all.push(Seeded::table("lm_head.weight", config));
    }
    all
}
