//! Causal attention: all scores of a query head, their softmax, then the values.

use super::exp::exp;
use super::lanes::{SUMS, Terms, dot, fold};
use crate::attention::{Load, Queries, Row};
use crate::kv::{BLOCK, SEGMENT, padded};
use crate::pool::Pool;
use crate::simd::{Isa, Kernel, LANES, Simd};

/// Attends each row in one layer. `out` is `[rows, heads * head_dim]`; queries are not scaled. `side_by_side` says that the
/// sum over a head takes the two dims of a pair one after the other.
pub(crate) fn attend<E: Load>(
    pool: &Pool,
    isa: Isa,
    layer: usize,
    rows: &[Row<'_, E>],
    queries: Queries<'_>,
    side_by_side: bool,
    out: &mut [f32],
) {
    let heads = queries.heads;
    let count = heads.kv_heads * heads.group;
    pool.for_each_chunk(out, heads.head_dim, |task, out| {
        let (row, head) = (task / count, task % count);
        let query = queries.head(row, head / heads.group, head % heads.group);
        isa.run(Head { row: &rows[row], layer, head: head / heads.group, query, side_by_side, out });
    });
}

/// A task: one query head of one row.
struct Head<'a, E: Load> {
    row: &'a Row<'a, E>,
    layer: usize,
    /// The head of keys and values.
    head: usize,
    query: &'a [f32],
    side_by_side: bool,
    out: &'a mut [f32],
}

impl<E: Load> Kernel for Head<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { row, layer, head, query, side_by_side, out } = self;
        let seen = row.position + 1;
        // In the order of the sum, with where the key's dim is in memory.
        let half = query.len() / 2;
        let place = |index: usize| if side_by_side { index / 2 + index % 2 * half } else { index };
        let query: Vec<(usize, f32)> = (0..query.len()).map(place).map(|dim| (dim, query[dim])).collect();
        let mut weights = vec![0.0; seen.next_multiple_of(LANES)];
        for (vector, scores) in weights.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let (position, dims) = (vector * LANES, query.len());
            let keys = row.cache.head(layer, head, position / SEGMENT).keys;
            let keys = &keys[position % SEGMENT / BLOCK * dims * BLOCK..][..dims * BLOCK];
            simd.store(dot(simd, dims, &Keys { keys, first: position % BLOCK, query: &query }), scores);
        }
        softmax(simd, &mut weights, seen, 1.0 / (query.len() as f32).sqrt());

        let width = padded(query.len());
        for (column, out) in out.chunks_mut(LANES).enumerate() {
            let mut sums = [simd.splat(0.0); SUMS];
            for (segment, weights) in weights[..seen].chunks(SEGMENT).enumerate() {
                let values = row.cache.head(layer, head, segment).values.chunks_exact(width);
                for (position, (weight, values)) in weights.iter().zip(values).enumerate() {
                    let Some(values) = values[column * LANES..].first_chunk() else { continue };
                    let sum = &mut sums[position % SUMS];
                    *sum = simd.fma(E::load(simd, values), simd.splat(*weight), *sum);
                }
            }
            let mut whole = [0.0; LANES];
            simd.store(fold(simd, sums), &mut whole);
            out.copy_from_slice(&whole[..out.len()]);
        }
    }
}

/// Sixteen keys of a block from `first` on, and a query.
struct Keys<'a, E> {
    /// `[head_dim, BLOCK]`.
    keys: &'a [E],
    first: usize,
    query: &'a [(usize, f32)],
}

impl<S: Simd, E: Load> Terms<S> for Keys<'_, E> {
    #[inline(always)]
    fn at(&self, simd: S, index: usize) -> [S::F32; 2] {
        let (dim, query) = self.query[index];
        let keys = self.keys[dim * BLOCK + self.first..].first_chunk();
        [keys.map_or(simd.splat(0.0), |keys| E::load(simd, keys)), simd.splat(query)]
    }
}

/// Softmax of the first `seen` scores, which are whole vectors, times `scale`; the others become 0.
#[inline(always)]
pub(super) fn softmax<S: Simd>(simd: S, scores: &mut [f32], seen: usize, scale: f32) {
    let (vectors, _) = scores.as_chunks_mut::<LANES>();
    let mut most = f32::NEG_INFINITY;
    for (vector, scores) in vectors.iter_mut().enumerate() {
        for (lane, score) in scores.iter_mut().enumerate() {
            *score = if vector * LANES + lane < seen { *score * scale } else { f32::NEG_INFINITY };
            most = if *score > most { *score } else { most };
        }
    }
    let mut sum = 0.0;
    for weights in vectors.iter_mut() {
        for weight in weights.iter_mut() {
            *weight = exp(*weight - most);
        }
        sum += f64::from(simd.reduce_add(simd.load(weights)));
    }
    let inverse = (1.0 / sum) as f32;
    scores.iter_mut().for_each(|weight| *weight *= inverse);
}
