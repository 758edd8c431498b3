//! The float64 reference forward: the truth that every gate compares with.
//!
//! Written to be read, not to be fast: every step is a plain loop over row-major `Vec<f64>`, weights are widened to
//! float64 once, and nothing is fused, packed or approximated. A device may reorder sums; it may not change what is
//! summed here.
//!
//! Limits: one sequence, no batching, no sampling; the whole model is held as float64 (8 bytes a parameter).

mod math;
#[cfg(test)]
mod tests;

use crate::{Checkpoint, Config, LayerParameters, Parameters, Refusal};
use math::{add, attend, linear, rms_norm, rotate, swiglu};

/// A decoder with float64 weights.
#[derive(Clone, Debug)]
pub struct Reference {
    config: Config,
    weights: Parameters<Vec<f64>>,
    inv_freq: Vec<f64>,
}

/// Everything a forward over `T` tokens leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceRun {
    /// Logits of every position, `[T, vocab]`.
    pub logits: Vec<f64>,
    /// Keys of every layer after norm and rotation, each `[kv_heads, T, head_dim]`.
    pub k: Vec<Vec<f64>>,
    /// Values of every layer, each `[kv_heads, T, head_dim]`.
    pub v: Vec<Vec<f64>>,
}

/// A greedy continuation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Greedy {
    /// The generated ids. Ties go to the lowest id; end tokens do not end it.
    pub ids: Vec<u32>,
    /// Top-1 minus top-2 logit at each step: a device whose error exceeds it may rightly choose otherwise.
    pub margins: Vec<f64>,
}

/// A sequence of the reference that grows call by call.
pub struct ReferenceSequence<'a> {
    reference: &'a Reference,
    past: Past,
}

impl ReferenceSequence<'_> {
    /// Appends `ids`, each below `vocab`, and gives the logits of the last `rows` of them, `[rows, vocab]`.
    pub fn extend(&mut self, ids: &[u32], rows: usize) -> Vec<f64> {
        let x = self.reference.extend(&mut self.past, ids);
        self.reference.head(&x[x.len() - rows * self.reference.config.hidden..])
    }

    /// Keys after norm and rotation, and values, of one KV head of one layer, each `[T, head_dim]`.
    pub fn kv(&self, layer: usize, head: usize) -> (&[f64], &[f64]) {
        (&self.past.k[layer][head], &self.past.v[layer][head])
    }
}

/// Keys and values of the tokens seen so far: per layer, per key/value head, `[T, head_dim]`.
struct Past {
    len: usize,
    k: Vec<Vec<Vec<f64>>>,
    v: Vec<Vec<Vec<f64>>>,
}

impl Past {
    fn new(config: &Config) -> Self {
        let empty = vec![vec![Vec::new(); config.kv_heads]; config.layers];
        Self { len: 0, k: empty.clone(), v: empty }
    }
}

impl Reference {
    /// The reference of a checkpoint, its weights widened to float64.
    ///
    /// # Errors
    /// [`Code::NonFiniteWeight`](crate::Code::NonFiniteWeight).
    pub fn new(checkpoint: &Checkpoint) -> Result<Self, Refusal> {
        let weights = checkpoint.parameters().try_map(|_, tensor| tensor.to_f64())?;
        Ok(Self::from_parts(checkpoint.config().clone(), weights))
    }

    /// A reference over `weights`, row-major `[out, in]`, whose shapes are those `config` calls for.
    pub fn from_parts(config: Config, weights: Parameters<Vec<f64>>) -> Self {
        let inv_freq = config.rope.inv_freq(config.head_dim);
        Self { config, weights, inv_freq }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// An empty sequence.
    pub fn sequence(&self) -> ReferenceSequence<'_> {
        ReferenceSequence { reference: self, past: Past::new(&self.config) }
    }

    /// Runs `ids` from position 0 and keeps everything. Ids must be below `vocab`.
    pub fn forward(&self, ids: &[u32]) -> ReferenceRun {
        let mut past = Past::new(&self.config);
        let x = self.extend(&mut past, ids);
        let logits = self.head(&x);
        ReferenceRun {
            logits,
            k: past.k.iter().map(|k| k.concat()).collect(),
            v: past.v.iter().map(|v| v.concat()).collect(),
        }
    }

    /// Continues `prompt` (not empty) by `count` tokens, each the one of the largest logit.
    pub fn greedy(&self, prompt: &[u32], count: usize) -> Greedy {
        let mut past = Past::new(&self.config);
        let mut greedy = Greedy::default();
        let mut x = self.extend(&mut past, prompt);
        for _ in 0..count {
            let last = x.len() - self.config.hidden;
            let (id, margin) = top(&self.head(&x[last..]));
            greedy.ids.push(id);
            greedy.margins.push(margin);
            x = self.extend(&mut past, &[id]);
        }
        greedy
    }

    /// Negative log likelihood, in nats, of each of `ids[1..]` given all ids before it.
    pub fn nll(&self, ids: &[u32]) -> Vec<f64> {
        let mut past = Past::new(&self.config);
        let given = ids.len().saturating_sub(1);
        let x = self.extend(&mut past, &ids[..given]);
        let targets = ids.iter().skip(1);
        let rows = x.chunks_exact(self.config.hidden);
        rows.zip(targets).map(|(row, &id)| surprise(&self.head(row), id as usize)).collect()
    }

    /// Runs `ids` after `past`, which grows by them; returns the last layer's output, `[T, hidden]`.
    fn extend(&self, past: &mut Past, ids: &[u32]) -> Vec<f64> {
        let hidden = self.config.hidden;
        let embedding = |&id: &u32| &self.weights.embedding[id as usize * hidden..][..hidden];
        let mut x: Vec<f64> = ids.iter().flat_map(embedding).copied().collect();
        for (index, layer) in self.weights.layers.iter().enumerate() {
            let attention = self.attention(layer, &x, past.len, &mut past.k[index], &mut past.v[index]);
            add(&mut x, &attention);
            let mlp = self.mlp(layer, &x);
            add(&mut x, &mlp);
        }
        past.len += ids.len();
        x
    }

    fn attention(
        &self,
        layer: &LayerParameters<Vec<f64>>,
        x: &[f64],
        start: usize,
        past_k: &mut [Vec<f64>],
        past_v: &mut [Vec<f64>],
    ) -> Vec<f64> {
        let Config { hidden, heads, kv_heads, head_dim, norm_eps, .. } = self.config;
        let h = rms_norm(x, &layer.input_norm, norm_eps);
        let mut q = linear(&h, hidden, &layer.q, layer.q_bias.as_deref());
        let mut k = linear(&h, hidden, &layer.k, layer.k_bias.as_deref());
        let v = linear(&h, hidden, &layer.v, layer.v_bias.as_deref());
        if let (Some(q_norm), Some(k_norm)) = (&layer.q_norm, &layer.k_norm) {
            q = rms_norm(&q, q_norm, norm_eps);
            k = rms_norm(&k, k_norm, norm_eps);
        }
        let factor = self.config.rope.attention_factor();
        rotate(&mut q, heads, head_dim, start, &self.inv_freq, factor);
        rotate(&mut k, kv_heads, head_dim, start, &self.inv_freq, factor);

        for (head, (past_k, past_v)) in past_k.iter_mut().zip(past_v.iter_mut()).enumerate() {
            let of_head = |rows: &[f64]| -> Vec<f64> {
                rows.chunks_exact(kv_heads * head_dim)
                    .flat_map(|row| row[head * head_dim..][..head_dim].iter().copied())
                    .collect()
            };
            past_k.extend(of_head(&k));
            past_v.extend(of_head(&v));
        }

        let mut mixed = Vec::with_capacity(q.len());
        for (t, row) in q.chunks_exact(heads * head_dim).enumerate() {
            let visible = (start + t + 1) * head_dim;
            for (head, q) in row.chunks_exact(head_dim).enumerate() {
                let shared = head / self.config.group();
                mixed.extend(attend(q, &past_k[shared][..visible], &past_v[shared][..visible]));
            }
        }
        linear(&mixed, heads * head_dim, &layer.o, None)
    }

    fn mlp(&self, layer: &LayerParameters<Vec<f64>>, x: &[f64]) -> Vec<f64> {
        let Config { hidden, intermediate, norm_eps, .. } = self.config;
        let h = rms_norm(x, &layer.post_norm, norm_eps);
        let gate = linear(&h, hidden, &layer.gate, None);
        let up = linear(&h, hidden, &layer.up, None);
        linear(&swiglu(&gate, &up), intermediate, &layer.down, None)
    }

    /// Logits of the rows `x`, `[T, vocab]`.
    fn head(&self, x: &[f64]) -> Vec<f64> {
        let head = self.weights.head.as_ref().unwrap_or(&self.weights.embedding);
        let h = rms_norm(x, &self.weights.final_norm, self.config.norm_eps);
        linear(&h, self.config.hidden, head, None)
    }
}

/// The id of the largest logit (the lowest such id) and its lead over the next one.
pub fn top(logits: &[f64]) -> (u32, f64) {
    let (mut id, mut best, mut second) = (0, f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (i, &logit) in (0u32..).zip(logits) {
        if logit > best {
            (id, second, best) = (i, best, logit);
        } else if logit > second {
            second = logit;
        }
    }
    (id, best - second)
}

/// `-ln softmax(logits)[id]`.
fn surprise(logits: &[f64], id: usize) -> f64 {
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|l| (l - max).exp()).sum();
    sum.ln() + max - logits[id]
}
