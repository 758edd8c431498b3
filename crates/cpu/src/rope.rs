//! Rotary position embedding: tables and rotation.
//!
//! Angles, cosines and sines are computed in f64 and rounded once, so position 40,000 is as accurate as
//! position 1. The numerics of llama.cpp have its own. The table grows with the longest sequence.

use tilewright_model::Rope;

use crate::llama::rope as llama;
use crate::rows::Rows;

/// Positions by which the table grows.
const STEP: usize = 256;

/// Cosine and sine of every position so far.
pub(crate) struct RopeTable {
    inv_freq: Vec<f64>,
    attention_factor: f64,
    by: Rows,
    /// Factor from one angle to the next, for llama.cpp's.
    step: f32,
    /// `[positions, 2, head_dim / 2]`: cosines, then sines.
    rows: Vec<f32>,
}

impl RopeTable {
    pub(crate) fn new(rope: &Rope, head_dim: usize, by: Rows) -> Self {
        Self {
            inv_freq: rope.inv_freq(head_dim),
            attention_factor: rope.attention_factor(),
            by,
            step: llama::step(rope.theta, head_dim),
            rows: Vec::new(),
        }
    }

    /// Extends the table to at least `positions`.
    pub(crate) fn reach(&mut self, positions: usize) {
        let width = 2 * self.inv_freq.len();
        for position in self.rows.len() / width..positions.next_multiple_of(STEP) {
            if !self.by.numerics.is_native() {
                let angles = llama::angles(position, self.step, self.inv_freq.len());
                self.rows.extend(angles.clone().map(f32::cos));
                self.rows.extend(angles.map(f32::sin));
                continue;
            }
            let angles = self.inv_freq.iter().map(|f| position as f64 * f);
            self.rows.extend(angles.clone().map(|a| (a.cos() * self.attention_factor) as f32));
            self.rows.extend(angles.map(|a| (a.sin() * self.attention_factor) as f32));
        }
    }

    /// Rotates one head in place; lane `i` turns with lane `i + head_dim / 2`. The table must reach `position`.
    pub(crate) fn rotate(&self, position: usize, head: &mut [f32]) {
        let half = self.inv_freq.len();
        let (cos, sin) = self.rows[2 * half * position..][..2 * half].split_at(half);
        if !self.by.numerics.is_native() {
            return self.by.isa.run(llama::Rotate { head, cos, sin });
        }
        let (low, high) = head.split_at_mut(half);
        for (((a, b), c), s) in low.iter_mut().zip(high).zip(cos).zip(sin) {
            (*a, *b) = (*a * c - *b * s, *b * c + *a * s);
        }
    }
}

#[cfg(test)]
mod tests;
