//! Weights rounded to 8 bits, on every core: what they become is the same on every device.

use std::thread;

use tilewright_kernels::Format;
use tilewright_kernels::host::{int8_numbers, int8_rows};

/// Threads at most; memory is what more would wait for.
const THREADS: usize = 16;

/// Rows of codes, and of their scales.
pub(crate) struct Rounded {
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<u8>,
}

/// Rounds rows of `columns` numbers, which then are what their codes stand for.
pub(crate) fn round(numbers: &mut [f32], columns: usize) -> Rounded {
    let rows = numbers.len() / columns.max(1);
    let scales = Format::INT8.planes(columns as u32).pop();
    let of_row = scales.map_or(0, |plane| plane.columns * plane.scalar.bytes()) as usize;
    let mut rounded = Rounded { codes: vec![0; numbers.len()], scales: vec![0; rows * of_row] };
    let each = rows.div_ceil(thread::available_parallelism().map_or(1, |n| n.get().min(THREADS))).max(1);
    thread::scope(|scope| {
        let parts = numbers.chunks_mut(each * columns);
        let codes = rounded.codes.chunks_mut(each * columns);
        for ((numbers, codes), scales) in parts.zip(codes).zip(rounded.scales.chunks_mut(each * of_row)) {
            scope.spawn(move || {
                int8_rows(numbers, columns, codes, scales);
                int8_numbers(codes, scales, columns, numbers);
            });
        }
    });
    rounded
}

#[cfg(test)]
mod tests;
