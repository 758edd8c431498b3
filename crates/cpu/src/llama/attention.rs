//! Causal attention: all scores of a query head, their softmax, then the values. What is multiplied with
//! keys and values is rounded to their type first. Flash attention is [`flash`](super::flash).

use super::exp::exp;
use super::flash::flash;
use super::lanes::{SUMS, Terms, dot, dot_f16, fold};
use crate::attention::{Load, Queries, Row};
use crate::kv::{BLOCK, SEGMENT, padded};
use crate::pool::Pool;
use crate::simd::{Isa, Kernel, LANES, Simd};

/// What is not the same everywhere.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// The sum over a head takes the two dims of a pair one after the other.
    pub(crate) side_by_side: bool,
    /// Flash attention.
    pub(crate) flash: bool,
}

/// Attends each row in one layer. `out` is `[rows, heads * head_dim]`; queries are not scaled.
pub(crate) fn attend<E: Load>(
    pool: &Pool,
    isa: Isa,
    layer: usize,
    rows: &[Row<'_, E>],
    queries: Queries<'_>,
    how: How,
    out: &mut [f32],
) {
    let heads = queries.heads;
    let count = heads.kv_heads * heads.group;
    pool.for_each_chunk(out, heads.head_dim, |task, out| {
        let (row, head) = (task / count, task % count);
        let query = queries.head(row, head / heads.group, head % heads.group);
        isa.run(Head { row: &rows[row], layer, head: head / heads.group, query, how, out });
    });
}

/// A task: one query head of one row.
pub(super) struct Head<'a, E: Load> {
    row: &'a Row<'a, E>,
    layer: usize,
    /// The head of keys and values.
    head: usize,
    query: &'a [f32],
    how: How,
    pub(super) out: &'a mut [f32],
}

impl<E: Load> Head<'_, E> {
    /// Positions that are seen.
    fn seen(&self) -> usize {
        self.row.position + 1
    }

    /// Width of the head.
    pub(super) fn dims(&self) -> usize {
        self.query.len()
    }

    /// What a score is multiplied with.
    pub(super) fn scale(&self) -> f32 {
        1.0 / (self.query.len() as f32).sqrt()
    }

    /// The query as the cache's type holds it, in the order of the sum, with where each dim is in memory.
    #[inline(always)]
    pub(super) fn ordered<S: Simd>(&self, simd: S) -> Vec<(usize, f32)> {
        let half = self.query.len() / 2;
        let place = |index: usize| if self.how.side_by_side { index / 2 + index % 2 * half } else { index };
        (0..self.query.len())
            .map(place)
            .map(|dim| (dim, E::narrow(simd, &[self.query[dim]; LANES])[0].to_f32()))
            .collect()
    }

    /// The products of sixteen keys from `position` on with a query.
    #[inline(always)]
    pub(super) fn products<S: Simd>(&self, simd: S, position: usize, query: &[(usize, f32)]) -> S::F32 {
        let dims = query.len();
        let keys = self.row.cache.head(self.layer, self.head, position / SEGMENT).keys;
        let keys = &keys[position % SEGMENT / BLOCK * dims * BLOCK..][..dims * BLOCK];
        let keys = Keys { keys, first: position % BLOCK, query };
        if E::NARROW { dot_f16(simd, dims, &keys) } else { dot(simd, dims, &keys) }
    }

    /// The values of every position seen, segment by segment, in whole vectors.
    pub(super) fn values(&self) -> impl Iterator<Item = &[E]> {
        let (seen, width) = (self.seen(), padded(self.query.len()));
        (0..seen.div_ceil(SEGMENT)).flat_map(move |segment| {
            let values = self.row.cache.head(self.layer, self.head, segment).values.chunks_exact(width);
            values.take(seen - segment * SEGMENT)
        })
    }
}

impl<E: Load> Kernel for Head<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        if self.how.flash {
            return flash(simd, self);
        }
        let (seen, query) = (self.seen(), self.ordered(simd));
        let mut weights = vec![0.0; seen.next_multiple_of(LANES)];
        for (vector, scores) in weights.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            simd.store(self.products(simd, vector * LANES, &query), scores);
        }
        softmax(simd, &mut weights, seen, self.scale());
        for weights in weights.as_chunks_mut().0 {
            *weights = rounded::<S, E>(simd, simd.load(weights));
        }

        for column in 0..self.dims().div_ceil(LANES) {
            let mut sums = [simd.splat(0.0); SUMS];
            for (position, (weight, values)) in weights.iter().zip(self.values()).enumerate() {
                let Some(values) = values[column * LANES..].first_chunk() else { continue };
                let sum = &mut sums[position % SUMS];
                *sum = simd.fma(E::load(simd, values), simd.splat(*weight), *sum);
            }
            let mut whole = [0.0; LANES];
            simd.store(fold(simd, sums), &mut whole);
            let out = &mut self.out[column * LANES..];
            let count = out.len().min(LANES);
            out[..count].copy_from_slice(&whole[..count]);
        }
    }
}

/// Values as the cache's type holds them.
#[inline(always)]
pub(super) fn rounded<S: Simd, E: Load>(simd: S, values: S::F32) -> [f32; LANES] {
    let mut wide = [0.0; LANES];
    simd.store(values, &mut wide);
    let narrow = E::narrow(simd, &wide);
    simd.store(E::load(simd, &narrow), &mut wide);
    wide
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
