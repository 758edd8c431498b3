//! Many rows of one sequence: a task takes a block of positions through every head and segment.

use super::load::widen;
use super::segment::{Query, attend_segment};
use super::softmax::{Weight, merge};
use super::{Load, Queries, finish};
use crate::kv::{BLOCK as KEYS, HeadSegment, KvCache, SEGMENT, padded};
use crate::pool::Pool;
use crate::simd::{Isa, Kernel, Simd};

/// Positions of the largest block; divides [`SEGMENT`], and blocks are aligned to it, so that none straddles two
/// segments.
const POSITIONS: usize = 32;

/// Attends consecutive rows of one sequence in one layer; the first is at `position`. Keys and values of all of
/// them are in `cache`. `out` is `[rows, heads * head_dim]`.
pub(crate) fn attend_run<E: Load>(
    pool: &Pool,
    isa: Isa,
    layer: usize,
    cache: &KvCache<E>,
    position: usize,
    queries: Queries<'_>,
    out: &mut [f32],
) {
    let width = queries.heads.width();
    let rows = out.len() / width;
    // About four tasks for each thread even out their unequal lengths.
    let size = (rows / (4 * pool.threads())).max(1).next_power_of_two().min(POSITIONS);
    let (mut blocks, mut row, mut rest) = (Vec::new(), 0, out);
    while row < rows {
        let count = (size - (position + row) % size).min(rows - row);
        let (mine, others) = rest.split_at_mut(count * width);
        blocks.push(Block { layer, cache, position: position + row, queries, row, out: mine });
        (row, rest) = (row + count, others);
    }
    // Later positions see more keys: the longest tasks first, so that short ones fill the gaps.
    blocks.reverse();
    pool.for_each(&mut blocks, |block| isa.run(block));
}

/// A task.
struct Block<'a, E: Load> {
    layer: usize,
    cache: &'a KvCache<E>,
    /// Of the first row.
    position: usize,
    queries: Queries<'a>,
    /// The first row among the queries.
    row: usize,
    out: &'a mut [f32],
}

impl<E: Load> Kernel for &mut Block<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let heads = self.queries.heads;
        let (width, padded) = (heads.width(), padded(heads.head_dim));
        let count = self.out.len() / width * heads.group;
        let last = self.position / SEGMENT;
        let mut sums = vec![0.0; count * padded];
        let mut part = vec![0.0; count * padded];
        let mut weights = vec![Weight::default(); count];
        let mut part_weights = weights.clone();
        let mut wide = Wide::default();
        for head in 0..heads.kv_heads {
            let mut rows: Vec<Query<'_>> = (0..count)
                .map(|i| Query {
                    row: self.queries.head(self.row + i / heads.group, head, i % heads.group),
                    valid: SEGMENT,
                })
                .collect();
            for segment in 0..=last {
                if segment == last {
                    for (i, query) in rows.iter_mut().enumerate() {
                        query.valid = (self.position + i / heads.group) % SEGMENT + 1;
                    }
                }
                let keys = self.cache.head(self.layer, head, segment);
                if segment == 0 {
                    wide.attend(s, &rows, keys, &mut sums, &mut weights);
                    continue;
                }
                wide.attend(s, &rows, keys, &mut part, &mut part_weights);
                let earlier = weights.iter_mut().zip(sums.chunks_exact_mut(padded));
                for ((weight, sum), (w, p)) in earlier.zip(part_weights.iter().zip(part.chunks_exact(padded)))
                {
                    merge(s, weight, sum, *w, p);
                }
            }
            for (i, (sum, weight)) in sums.chunks_exact(padded).zip(&weights).enumerate() {
                let column = (head * heads.group + i % heads.group) * heads.head_dim;
                finish(sum, *weight, &mut self.out[i / heads.group * width + column..][..heads.head_dim]);
            }
        }
    }
}

/// Rows from which on a segment is widened once for all of them.
const MANY: usize = 12;

/// A segment as f32.
#[derive(Default)]
struct Wide {
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Wide {
    /// [`attend_segment`], by way of f32 where that is less work.
    #[inline(always)]
    fn attend<S: Simd, E: Load>(
        &mut self,
        s: S,
        rows: &[Query<'_>],
        narrow: HeadSegment<'_, E>,
        out: &mut [f32],
        weights: &mut [Weight],
    ) {
        if !E::NARROW || rows.len() < MANY {
            return attend_segment(s, rows, narrow, out, weights);
        }
        self.keys.resize(narrow.keys.len(), 0.0);
        self.values.resize(narrow.values.len(), 0.0);
        // What no row sees stays as it was: it is masked all the same.
        let valid = rows.last().map_or(0, |r| r.valid);
        let keys = valid.next_multiple_of(KEYS) * narrow.keys.len() / SEGMENT;
        widen(s, &narrow.keys[..keys], &mut self.keys);
        widen(s, &narrow.values[..valid * narrow.values.len() / SEGMENT], &mut self.values);
        attend_segment(s, rows, HeadSegment { keys: &self.keys, values: &self.values }, out, weights);
    }
}
