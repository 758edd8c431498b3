//! The online softmax of matrix-tiled attention.
//!
//! A SIMD group has eight query rows against sixteen keys at a time. Scores leave the fragments through shared memory,
//! become weights in place, and return as fragments. Eight lanes stand for a row with two keys each, so a lane stands
//! for two rows; row maxima and sums meet by exchanges with lanes 1, 2 and 4 apart (E66). A row's factor is written
//! eight times, once by each lane, and comes back as a fragment that scales rows (E59).

use tilewright_tile::{Builder, Matrix, Value, View};

use crate::parts::softmax::UNSEEN;

/// Keys of a step.
pub(super) const KEYS: u32 = 16;
/// Query rows of a SIMD group.
pub(super) const ROWS: u32 = 8;

/// The shared bridge between fragments and lanes: `[rows, 16]` scores or weights, `[rows, 8]` row factors.
#[derive(Clone, Copy)]
pub(super) struct Bridge<'k> {
    scores: View<'k, f32>,
    factors: View<'k, f32>,
    /// First row of this SIMD group.
    mine: Value<'k, i32>,
}

/// What is known of the rows of a lane: largest score times scale in base 2, and sum of weights.
pub(super) type Seen<'k> = ([Value<'k, f32>; 2], [Value<'k, f32>; 2]);

impl<'k> Bridge<'k> {
    /// Declares the shared memory for all SIMD groups of the launch.
    pub(super) fn new(k: &'k Builder) -> Self {
        let rows = k.simd_groups() * ROWS;
        let scores = k.scratch::<f32>("scores", [rows, KEYS]);
        let factors = k.scratch::<f32>("factors", [rows, 8]);
        Self { scores, factors, mine: k.simd_group() * ROWS }
    }

    /// Nothing seen, and no output yet in `columns` fragments.
    pub(super) fn none(k: &'k Builder, columns: u32) -> (Seen<'k>, Vec<Value<'k, Matrix>>) {
        let lanes = |v: f32| [k.f32(v); 2];
        ((lanes(UNSEEN), lanes(0.0)), vec![k.fragment(0.0); columns as usize])
    }

    /// Puts down the scores of keys `8 * half..`.
    pub(super) fn put(&self, half: u32, scores: Value<'k, Matrix>) {
        self.scores.set_fragment((self.mine, half * 8), scores);
    }

    /// The weights of keys `8 * half..`.
    pub(super) fn weights(&self, half: u32) -> Value<'k, Matrix> {
        self.scores.fragment((self.mine, half * 8))
    }

    /// The row factors.
    pub(super) fn factors(&self) -> Value<'k, Matrix> {
        self.factors.fragment((self.mine, 0))
    }

    /// Turns scores into weights in place and leaves as row factors what earlier weights shrink by.
    ///
    /// `scale` is applied to the scores here, after their product (E67), and includes log2(e). Row `r` of the SIMD
    /// group sees keys up to `position(r)`; the first key of the step is `tile`.
    pub(super) fn step(
        &self,
        k: &'k Builder,
        scale: f32,
        position: impl Fn(Value<'k, i32>) -> Value<'k, i32>,
        tile: Value<'k, i32>,
        (most, sum): Seen<'k>,
    ) -> Seen<'k> {
        let key = k.lane() % 8 * 2;
        let rows = [0, 1].map(|half| {
            let row = k.lane() / 8 + half * 4;
            let at = self.mine + row;
            let raw = self.scores.at2((at, key));
            let score = [0, 1].map(|n| {
                let seen = (tile + key + n as i32).le(position(row));
                seen.select(raw.part(n) * scale, UNSEEN)
            });
            let now = across(score[0].max(score[1]), |a, b| a.max(b)).max(most[half as usize]);
            let weights = score.map(|s| (s - now).fast_exp2());
            let shrink = (most[half as usize] - now).fast_exp2();
            let added = across(weights[0] + weights[1], |a, b| a + b);
            self.scores.set2((at, key), k.vec2(weights));
            self.factors.set((at, k.lane() % 8), shrink);
            (now, added.fma(sum[half as usize], shrink))
        });
        (rows.map(|r| r.0), rows.map(|r| r.1))
    }

    /// Leaves as row factors what the output is divided by: the sum of weights where `valid(row)` holds, infinity in
    /// padding, whose output is then zero.
    pub(super) fn finish(
        &self,
        k: &'k Builder,
        valid: impl Fn(Value<'k, i32>) -> Value<'k, bool>,
        (_, sum): Seen<'k>,
    ) {
        for (half, sum) in (0..).zip(sum) {
            let row = k.lane() / 8 + half * 4;
            let divisor = valid(row).select(sum.max(1e-30), f32::INFINITY);
            self.factors.set((self.mine + row, k.lane() % 8), divisor);
        }
    }
}

/// Combines eight neighbouring lanes by adjacent pairs.
fn across<'k>(
    value: Value<'k, f32>,
    combine: impl Fn(Value<'k, f32>, Value<'k, f32>) -> Value<'k, f32>,
) -> Value<'k, f32> {
    [1, 2, 4].iter().fold(value, |v, &bit| combine(v, v.shuffle_xor(bit)))
}
