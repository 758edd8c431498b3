//! Few rows of any sequences: a task takes one row through one head and one segment.

use super::segment::{Query, attend_segment};
use super::softmax::{Weight, merge};
use super::{Heads, Load, Queries, finish};
use crate::kv::{HeadSegment, KvCache, SEGMENT, padded};
use crate::pool::Pool;
use crate::simd::{Isa, Kernel, Simd};

/// One query row: its sequence, and where in it.
pub(crate) struct Row<'a, E: Load> {
    /// Holds the row's own key and value too.
    pub(crate) cache: &'a KvCache<E>,
    pub(crate) position: usize,
}

/// Room for the results of tasks, kept between calls.
#[derive(Default)]
pub(crate) struct Parts {
    values: Vec<f32>,
    weights: Vec<Weight>,
}

/// Attends each row in one layer. `out` is `[rows, heads * head_dim]`.
pub(crate) fn attend_rows<E: Load>(
    pool: &Pool,
    isa: Isa,
    layer: usize,
    rows: &[Row<'_, E>],
    queries: Queries<'_>,
    out: &mut [f32],
    parts: &mut Parts,
) {
    let heads = queries.heads;
    let (group, padded) = (heads.group, padded(heads.head_dim));
    let segments = |row: &Row<'_, E>| row.position / SEGMENT + 1;
    let count = rows.iter().map(segments).sum::<usize>() * heads.kv_heads;
    parts.values.resize(count * group * padded, 0.0);
    parts.weights.resize(count * group, Weight::default());

    let mut places = parts.values.chunks_exact_mut(group * padded).zip(parts.weights.chunks_exact_mut(group));
    let mut tasks = Vec::with_capacity(count);
    for (index, row) in rows.iter().enumerate() {
        for head in 0..heads.kv_heads {
            for segment in 0..segments(row) {
                let valid = (row.position + 1 - segment * SEGMENT).min(SEGMENT);
                let keys = row.cache.head(layer, head, segment);
                tasks.extend(places.next().map(|(values, weights)| Part {
                    queries,
                    row: index,
                    head,
                    valid,
                    keys,
                    values,
                    weights,
                }));
            }
        }
    }
    pool.for_each(&mut tasks, |part| isa.run(part));
    drop(tasks);

    let (mut values, mut weights) = (&mut parts.values[..], &mut parts.weights[..]);
    for (row, out) in rows.iter().zip(out.chunks_exact_mut(heads.width())) {
        for out in out.chunks_exact_mut(group * heads.head_dim) {
            let count = segments(row) * group;
            let (my_values, other_values) = values.split_at_mut(count * padded);
            let (my_weights, other_weights) = weights.split_at_mut(count);
            isa.run(Merge { heads, values: my_values, weights: my_weights, out });
            (values, weights) = (other_values, other_weights);
        }
    }
}

/// A task: one row through one head and one segment.
struct Part<'a, E: Load> {
    queries: Queries<'a>,
    row: usize,
    head: usize,
    valid: usize,
    keys: HeadSegment<'a, E>,
    /// `[group, padded]`.
    values: &'a mut [f32],
    /// `[group]`.
    weights: &'a mut [Weight],
}

impl<E: Load> Kernel for &mut Part<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let queries: Vec<Query<'_>> = (0..self.queries.heads.group)
            .map(|member| Query { row: self.queries.head(self.row, self.head, member), valid: self.valid })
            .collect();
        attend_segment(s, &queries, self.keys, self.values, self.weights);
    }
}

/// The segments of one row and head, to be merged in order.
struct Merge<'a> {
    heads: Heads,
    /// `[segments, group, padded]`.
    values: &'a mut [f32],
    /// `[segments, group]`.
    weights: &'a mut [Weight],
    /// `[group, head_dim]`.
    out: &'a mut [f32],
}

impl Kernel for Merge<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Heads { group, head_dim, .. } = self.heads;
        let padded = padded(head_dim);
        let (sums, later) = self.values.split_at_mut(group * padded);
        let (weights, later_weights) = self.weights.split_at_mut(group);
        for (values, later_weights) in
            later.chunks_exact(group * padded).zip(later_weights.chunks_exact(group))
        {
            let members = sums.chunks_exact_mut(padded).zip(values.chunks_exact(padded));
            for ((weight, later), (sum, value)) in weights.iter_mut().zip(later_weights).zip(members) {
                merge(s, weight, sum, *later, value);
            }
        }
        for ((out, sum), weight) in
            self.out.chunks_exact_mut(head_dim).zip(sums.chunks_exact(padded)).zip(weights)
        {
            finish(sum, *weight, out);
        }
    }
}
