//! The elements of a head, dealt out to the lanes of a SIMD group.

use tilewright_tile::{Builder, Value, View};

/// Each lane holds `head_dim / 32` neighbours, rounded up; lanes beyond the head hold zeros.
#[derive(Clone, Copy)]
pub struct HeadLanes<'k> {
    k: &'k Builder,
    head_dim: u32,
}

impl<'k> HeadLanes<'k> {
    /// The lanes of a head of width `head_dim`.
    pub const fn new(k: &'k Builder, head_dim: u32) -> Self {
        Self { k, head_dim }
    }

    /// Elements a lane holds.
    pub const fn count(&self) -> u32 {
        self.head_dim.div_ceil(32)
    }

    /// The element of the head that a lane holds as its `n`-th.
    pub fn element(&self, n: u32) -> Value<'k, i32> {
        self.k.lane() * self.count() + n
    }

    fn even(&self) -> bool {
        self.head_dim.is_multiple_of(32)
    }

    /// Guards the last axis of a view of heads where some lanes have nothing.
    pub fn guard(&self, view: View<'k, f32>, axes: usize) -> View<'k, f32> {
        if self.even() { view } else { view.guarded_axes(&[axes - 1]) }
    }

    /// This lane's part of row `row` of `[rows, head_dim]`.
    pub fn load(&self, view: View<'k, f32>, row: Value<'k, i32>) -> Vec<Value<'k, f32>> {
        match (self.even(), self.count()) {
            (true, n) if n.is_multiple_of(4) => {
                (0..n / 4).flat_map(|n| view.at4((row, self.element(n * 4))).parts()).collect()
            }
            (true, n) if n.is_multiple_of(2) => {
                (0..n / 2).flat_map(|n| view.at2((row, self.element(n * 2))).parts()).collect()
            }
            (_, n) => (0..n).map(|n| view.at((row, self.element(n)))).collect(),
        }
    }

    /// The same where `mask` holds, else zeros.
    pub fn load_if(
        &self,
        mask: Value<'k, bool>,
        view: View<'k, f32>,
        row: Value<'k, i32>,
    ) -> Vec<Value<'k, f32>> {
        match (self.even(), self.count()) {
            (true, n) if n.is_multiple_of(4) => {
                (0..n / 4).flat_map(|n| view.at4_if(mask, (row, self.element(n * 4))).parts()).collect()
            }
            (_, n) => (0..n).map(|n| view.at_if(mask, (row, self.element(n)))).collect(),
        }
    }

    /// Writes this lane's part of row `row` of `[rows, head_dim]`.
    pub fn store(&self, view: View<'k, f32>, row: Value<'k, i32>, parts: &[Value<'k, f32>]) {
        for (n, &part) in parts.iter().enumerate() {
            view.set((row, self.element(n as u32)), part);
        }
    }

    /// `a·b`, each lane's part given, the sum in every lane.
    pub fn dot(&self, a: &[Value<'k, f32>], b: &[Value<'k, f32>]) -> Value<'k, f32> {
        let products = a.iter().zip(b);
        products.fold(self.k.f32(0.0), |sum, (&a, &b)| sum.fma(a, b)).simd_sum()
    }
}
