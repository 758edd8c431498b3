//! Causal attention over the KV cache, for prefill and decode alike.
//!
//! Keys are taken segment by segment (`SEGMENT` positions, aligned to absolute positions). Within a segment a
//! query row gets its scores, their softmax and the weighted values; segments are merged in order, as in Dao et
//! al., "FlashAttention" (2022). What is done for a row depends on its own position alone, so its result has the
//! same bits in a prefill chunk of any size, in a decode step, and on any number of threads; only who does it
//! differs:
//!
//! - [`attend_run`], for many rows of one sequence: a task takes a block of positions through every segment;
//! - [`attend_rows`], for few rows of any sequences: a task takes one row through one head and one segment, and
//!   the parts are merged afterwards.

mod load;
mod products;
mod rows;
mod run;
mod segment;
mod softmax;

pub(crate) use load::Load;
pub(crate) use rows::{Parts, Row, attend_rows};
pub(crate) use run::attend_run;

use softmax::Weight;

/// Shape of the heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heads {
    pub(crate) kv_heads: usize,
    /// Query heads that share a key/value head.
    pub(crate) group: usize,
    pub(crate) head_dim: usize,
}

impl Heads {
    /// Width of all query heads together.
    fn width(self) -> usize {
        self.kv_heads * self.group * self.head_dim
    }
}

/// Query rows in memory.
#[derive(Clone, Copy)]
pub(crate) struct Queries<'a> {
    pub(crate) heads: Heads,
    /// Row `r` is `heads * head_dim` elements from `r * stride` on: after norm, RoPE and scaling by `1/√head_dim`.
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
}

impl<'a> Queries<'a> {
    /// Query head `member` of the group of `kv_head`.
    pub(crate) fn head(self, row: usize, kv_head: usize, member: usize) -> &'a [f32] {
        let Heads { group, head_dim, .. } = self.heads;
        &self.data[row * self.stride + (kv_head * group + member) * head_dim..][..head_dim]
    }
}

/// Divides the weighted values of all segments by the sum of their weights.
fn finish(values: &[f32], weight: Weight, out: &mut [f32]) {
    let scale = 1.0 / weight.sum;
    out.iter_mut().zip(values).for_each(|(o, v)| *o = v * scale);
}

#[cfg(test)]
mod tests;
