//! One pass of rows through the decoder.
//!
//! A layer is five products and what lies between them. Work on single rows (norms, rotation, activation) is
//! spread over the threads by rows; whatever is done for a row depends on that row and its sequence alone, so its
//! bits do not depend on the others.

use std::ops::Range;

use tilewright_backend::{Cancel, Numerics};
use tilewright_model::{Code, Config, Refusal};

use crate::attention::{Heads, Load, Parts, Queries, Row, attend_rows, attend_run};
use crate::kv::{KvCache, SEGMENT};
use crate::llama;
use crate::matmul::{Inputs, matmul, matmul_add};
use crate::pool::Pool;
use crate::rope::RopeTable;
use crate::rows::Rows;
use crate::weights::Weights;

/// Consecutive new rows of one sequence.
pub(crate) struct Span<'a, E: Load> {
    /// Has room for the rows' keys and values.
    pub(crate) cache: &'a mut KvCache<E>,
    /// Of the first row.
    pub(crate) position: usize,
    /// At least one.
    pub(crate) tokens: &'a [u32],
}

/// Which rows go on to the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// None: only keys and values are wanted.
    None,
    /// The last row of the last span.
    Last,
    /// Every row.
    All,
}

/// A decoder and what it works with.
pub(crate) struct Decoder {
    config: Config,
    weights: Weights,
    pool: Pool,
    by: Rows,
    rope: RopeTable,
    buffers: Buffers,
}

/// What lies between the products, kept between passes.
#[derive(Default)]
struct Buffers {
    /// The residual stream, `[rows, hidden]`.
    x: Vec<f32>,
    /// The input of the next product.
    inputs: Inputs,
    /// Queries, keys and values, `[rows, q_width + 2 * kv_width]`.
    qkv: Vec<f32>,
    /// `[rows, q_width]`.
    attended: Vec<f32>,
    parts: Parts,
    /// `[rows, 2 * intermediate]`.
    gate_up: Vec<f32>,
}

impl Decoder {
    pub(crate) fn new(config: Config, weights: Weights, pool: Pool, by: Rows) -> Self {
        let rope = RopeTable::new(&config.rope, config.head_dim, by);
        let buffers = Buffers { inputs: Inputs::new(by.numerics), ..Buffers::default() };
        Self { config, weights, pool, by, rope, buffers }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Takes the spans through every layer; their keys and values are then in the caches. Returns how many rows
    /// are ready for [`logits`](Self::logits).
    ///
    /// # Errors
    /// `cancelled`, looked for before each layer.
    pub(crate) fn run<E: Load>(
        &mut self,
        spans: &mut [Span<'_, E>],
        keep: Keep,
        cancel: &Cancel,
    ) -> Result<usize, Refusal> {
        self.rope.reach(spans.iter().map(|s| s.position + s.tokens.len()).max().unwrap_or(0));
        self.embed(spans);
        let layers = self.weights.layers.len();
        for layer in 0..layers {
            if cancel.is_cancelled() {
                return Err(Refusal::new(Code::Cancelled, "prefill", format!("{layers} layers"), layer));
            }
            self.project(layer);
            self.rotate(layer, spans);
            self.store(layer, spans)?;
            let rows = self.buffers.x.len() / self.config.hidden;
            // What the last layer makes of rows that nobody asked for is never seen.
            let first = match keep {
                _ if layer + 1 < layers => 0,
                Keep::All => 0,
                Keep::Last => rows - 1,
                Keep::None => return Ok(0),
            };
            self.attend(layer, spans, first..rows);
            self.mlp(layer);
        }
        Ok(self.buffers.x.len() / self.config.hidden)
    }

    /// Logits of some of the rows of the last [`run`](Self::run), `[rows, vocab]`.
    pub(crate) fn logits(&mut self, rows: Range<usize>, out: &mut [f32]) {
        let Self { config, weights, pool, by, buffers, .. } = self;
        let x = &buffers.x[rows.start * config.hidden..rows.end * config.hidden];
        let eps = config.norm_eps as f32;
        buffers.inputs.fill(pool, by.isa, &weights.head, rows.len(), |row, out| {
            by.rms_norm(&x[row * config.hidden..][..config.hidden], &weights.final_norm, eps, out);
        });
        matmul(pool, by.isa, &weights.head, &buffers.inputs, out);
    }

    /// What the head would read of the rows of the last [`run`](Self::run), after the final norm: handed over one at a time,
    /// `[hidden]`.
    pub(crate) fn hidden(&self, each: &mut dyn FnMut(usize, &[f32])) {
        let (hidden, eps) = (self.config.hidden, self.config.norm_eps as f32);
        let mut normed = vec![0.0; hidden];
        for (row, x) in self.buffers.x.chunks_exact(hidden).enumerate() {
            self.by.rms_norm(x, &self.weights.final_norm, eps, &mut normed);
            each(row, &normed);
        }
    }

    /// The residual stream begins with the tokens' embeddings.
    fn embed<E: Load>(&mut self, spans: &[Span<'_, E>]) {
        let tokens: Vec<u32> = spans.iter().flat_map(|s| s.tokens).copied().collect();
        let hidden = self.config.hidden;
        self.buffers.x.resize(tokens.len() * hidden, 0.0);
        self.pool.for_each_chunk(&mut self.buffers.x, hidden, |row, x| self.weights.embed(tokens[row], x));
    }

    /// Norm, then queries, keys and values.
    fn project(&mut self, layer: usize) {
        let Self { config, weights, pool, by, buffers, .. } = self;
        let (layer, hidden, eps) = (&weights.layers[layer], config.hidden, config.norm_eps as f32);
        let rows = buffers.x.len() / hidden;
        buffers.inputs.fill(pool, by.isa, &layer.qkv, rows, |row, out| {
            by.rms_norm(&buffers.x[row * hidden..][..hidden], &layer.input_norm, eps, out);
        });
        buffers.qkv.resize(rows * layer.qkv.rows(), 0.0);
        matmul(pool, by.isa, &layer.qkv, &buffers.inputs, &mut buffers.qkv);
    }

    /// Bias, per-head norm and RoPE of queries and keys; queries are scaled for attention, where scores are not.
    fn rotate<E: Load>(&mut self, layer: usize, spans: &[Span<'_, E>]) {
        let Self { config, weights, pool, by, rope, buffers } = self;
        let (layer, eps) = (&weights.layers[layer], config.norm_eps as f32);
        let positions: Vec<usize> =
            spans.iter().flat_map(|s| (0..s.tokens.len()).map(|r| s.position + r)).collect();
        let scale = 1.0 / (config.head_dim as f32).sqrt();
        let (q, kv) = (config.q_width(), config.kv_width());
        pool.for_each_chunk(&mut buffers.qkv, q + 2 * kv, |row, qkv| {
            if let Some(bias) = &layer.qkv_bias {
                qkv.iter_mut().zip(bias).for_each(|(v, b)| *v += b);
            }
            let (queries, keys) = qkv[..q + kv].split_at_mut(q);
            for (heads, norm) in [(&mut *queries, &layer.q_norm), (keys, &layer.k_norm)] {
                for head in heads.chunks_exact_mut(config.head_dim) {
                    if let Some(norm) = norm {
                        by.rms_norm_in_place(head, norm, eps);
                    }
                    rope.rotate(positions[row], head);
                }
            }
            if by.numerics.is_native() {
                queries.iter_mut().for_each(|q| *q *= scale);
            }
        });
    }

    /// Keys and values go into the caches.
    fn store<E: Load>(&mut self, layer: usize, spans: &mut [Span<'_, E>]) -> Result<(), Refusal> {
        let (dim, q, kv) = (self.config.head_dim, self.config.q_width(), self.config.kv_width());
        let mut rows = self.buffers.qkv.chunks_exact(q + 2 * kv);
        for span in spans {
            let (mut position, end) = (span.position, span.position + span.tokens.len());
            while position < end {
                let slot = position % SEGMENT;
                let count = (end - position).min(SEGMENT - slot);
                let rows: Vec<&[f32]> = rows.by_ref().take(count).collect();
                let mut heads: Vec<_> = span.cache.heads_mut(layer, position / SEGMENT)?.collect();
                self.pool.for_each_chunk(&mut heads, 1, |head, to| {
                    for (r, row) in rows.iter().enumerate() {
                        let (keys, values) = row[q..].split_at(kv);
                        let at = head * dim..(head + 1) * dim;
                        to[0].store(self.by.isa, slot + r, &keys[at.clone()], &values[at]);
                    }
                });
                position += count;
            }
        }
        Ok(())
    }

    /// Attention of the rows `kept`, its output projection and residual; other rows are dropped.
    fn attend<E: Load>(&mut self, layer: usize, spans: &[Span<'_, E>], kept: Range<usize>) {
        let Self { config, weights, pool, by, buffers, .. } = self;
        let Config { hidden, head_dim, kv_heads, .. } = *config;
        let stride = config.q_width() + 2 * config.kv_width();
        buffers.x.drain(..kept.start * hidden);
        buffers.attended.resize(kept.len() * config.q_width(), 0.0);
        let heads = Heads { kv_heads, group: config.group(), head_dim };
        let queries = Queries { heads, data: &buffers.qkv[kept.start * stride..], stride };
        let out = &mut buffers.attended;
        match spans {
            _ if !by.numerics.is_native() => {
                let rows: Vec<Row<'_, E>> = rows_of(spans).skip(kept.start).collect();
                let how = llama::attention::How {
                    side_by_side: llama::cover::is_side_by_side(config),
                    flash: by.numerics == Numerics::LlamaCppFlash,
                };
                llama::attention::attend(pool, by.isa, layer, &rows, queries, how, out);
            }
            [span] if kept.len() > 1 && kept.len() >= pool.threads() => {
                attend_run(pool, by.isa, layer, span.cache, span.position + kept.start, queries, out);
            }
            _ => {
                let rows: Vec<Row<'_, E>> = rows_of(spans).skip(kept.start).collect();
                attend_rows(pool, by.isa, layer, &rows, queries, out, &mut buffers.parts);
            }
        }
        let (layer, width) = (&weights.layers[layer], config.q_width());
        buffers.inputs.fill(pool, by.isa, &layer.o, kept.len(), |row, out| {
            out.copy_from_slice(&buffers.attended[row * width..][..width]);
        });
        matmul_add(pool, by.isa, &layer.o, &buffers.inputs, &mut buffers.x);
    }

    /// Norm, gated MLP and residual.
    fn mlp(&mut self, layer: usize) {
        let Self { config, weights, pool, by, buffers, .. } = self;
        let (layer, hidden, eps) = (&weights.layers[layer], config.hidden, config.norm_eps as f32);
        let rows = buffers.x.len() / hidden;
        buffers.inputs.fill(pool, by.isa, &layer.gate_up, rows, |row, out| {
            by.rms_norm(&buffers.x[row * hidden..][..hidden], &layer.post_norm, eps, out);
        });
        buffers.gate_up.resize(rows * layer.gate_up.rows(), 0.0);
        matmul(pool, by.isa, &layer.gate_up, &buffers.inputs, &mut buffers.gate_up);
        let width = config.intermediate;
        buffers.inputs.fill(pool, by.isa, &layer.down, rows, |row, out| {
            let (gate, up) = buffers.gate_up[row * 2 * width..][..2 * width].split_at(width);
            by.swiglu(gate, up, out);
        });
        matmul_add(pool, by.isa, &layer.down, &buffers.inputs, &mut buffers.x);
    }
}

/// Every row of the spans.
fn rows_of<'s, E: Load>(spans: &'s [Span<'_, E>]) -> impl Iterator<Item = Row<'s, E>> {
    spans.iter().flat_map(|s| (0..s.tokens.len()).map(|r| Row { cache: &*s.cache, position: s.position + r }))
}
