//! Products of rows whose weights are read ahead of what they are multiplied with.

use tilewright_tile::{Value, View};

use super::matrix::{Code, Matrix, Scaling, Weights, grow, numbers};

/// Groups of weights that a lane reads ahead at most: what registers can hold.
const AHEAD: u32 = 24;
/// Lanes of a SIMD group.
const LANES: u32 = 32;
/// Columns that a SIMD group takes at once at most.
pub const STRETCH: u32 = 8 * LANES;

/// Rows of a matrix of which a SIMD group has read the beginning, as it lies in memory, before it has what they are to be
/// multiplied with: so the wait for the one passes while it waits for the other.
pub struct Ahead<'k> {
    matrix: Matrix<'k>,
    rows: Vec<Value<'k, i32>>,
    /// The groups of weights that were read: one a lane in each pass.
    passes: Vec<Value<'k, i32>>,
    /// `[pass][row]`.
    codes: Vec<Vec<(Code<'k>, Option<Scaling<'k>>)>>,
}

impl<'k> Matrix<'k> {
    /// Reads the beginning of `rows` ahead of their use.
    pub fn ahead(&self, rows: &[Value<'k, i32>]) -> Ahead<'k> {
        let whole = self.columns / self.step / LANES;
        let most = AHEAD / u32::try_from(rows.len()).unwrap_or(1);
        let lane = self.k.lane();
        let passes = (0..whole.min(most)).map(|pass| lane + pass * LANES).collect::<Vec<_>>();
        let read = |unit| rows.iter().map(|&row| (self.code(row, unit), self.scaling(row, unit))).collect();
        let codes = passes.iter().map(|&unit| read(unit)).collect();
        Ahead { matrix: *self, rows: rows.to_vec(), passes, codes }
    }
}

impl<'k> Ahead<'k> {
    /// Products of the rows with `x`, by a SIMD group: one a row, in every lane.
    pub fn products(self, x: View<'k, f32>) -> Vec<Value<'k, f32>> {
        let sums = self.grown(self.zeros(), x, (0, self.matrix.columns));
        sums.into_iter().map(Value::simd_sum).collect()
    }

    /// What this lane's part of the sums begins with.
    pub fn zeros(&self) -> Vec<Value<'k, f32>> {
        vec![self.matrix.k.f32(0.0); self.rows.len()]
    }

    /// This lane's part of the sums, grown by the products of columns `first..end` with `x`, which holds just these.
    /// `first` must be a multiple of [`STRETCH`], and `end` too where columns follow.
    pub fn grown(
        &self,
        sums: Vec<Value<'k, f32>>,
        x: View<'k, f32>,
        (first, end): (u32, u32),
    ) -> Vec<Value<'k, f32>> {
        let Matrix { k, step, .. } = self.matrix;
        let (first, end) = (first / step, end / step);
        let see = |sums: Vec<Value<'k, f32>>, unit: Value<'k, i32>, weights: Vec<Weights<'k>>| {
            let x = self.matrix.vector(x, unit - first);
            sums.into_iter().zip(weights).map(|(sum, weights)| grow(sum, &weights, &x)).collect()
        };
        let weights =
            |code: &(Code<'k>, Option<Scaling<'k>>)| Weights { numbers: numbers(&code.0), scaling: code.1 };
        let [from, to] = [first, end].map(|unit| (unit / LANES).min(self.passes.len() as u32) as usize);
        let passes = self.passes[from..to].iter().zip(&self.codes[from..to]);
        let sums =
            passes.fold(sums, |sums, (&unit, codes)| see(sums, unit, codes.iter().map(weights).collect()));
        let done = first.max(self.passes.len() as u32 * LANES);
        if done >= end {
            return sums;
        }
        k.fold(k.range(k.lane() + done, end).step(LANES), sums, |sums, unit| {
            see(sums, unit, self.rows.iter().map(|&row| self.matrix.weights(row, unit)).collect())
        })
    }
}
