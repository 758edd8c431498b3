//! The codes are the processor's.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::ops::Range;

use tilewright_cpu::matmul::Matrix;
use tilewright_cpu::pool::Pool;
use tilewright_cpu::simd::Isa;
use tilewright_model::{Refusal, WeightFormat};

use super::*;

#[test]
fn weights_become_what_they_become_on_the_processor() {
    // More rows than threads, a last group of its own width, extremes of either sign, a row of zeros.
    let (rows, columns) = (37, 300);
    let noise = |i: usize| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / 16_777_216.0 - 0.5;
    let of = |i: usize| if i / columns == 5 { 0.0 } else { noise(i) * (1.0 + (i / columns) as f32) };
    let numbers: Vec<f32> = (0..rows * columns).map(of).collect();
    let read = |part: Range<usize>, out: &mut [f32]| -> Result<(), Refusal> {
        out.copy_from_slice(&numbers[part.start * columns..part.end * columns]);
        Ok(())
    };
    let pool = Pool::new(1);
    let matrix = Matrix::pack(&pool, Isa::detect(), WeightFormat::Int8, (rows, columns), &read).unwrap();
    let mut want = vec![f32::NAN; rows * columns];
    want.chunks_exact_mut(columns).enumerate().for_each(|(row, out)| matrix.row_f32(row, out));
    let mut got = numbers.clone();
    let rounded = round(&mut got, columns);
    assert_eq!((rounded.codes.len(), rounded.scales.len()), (rows * columns, rows * 3 * 2));
    assert_eq!(got, want);
}
