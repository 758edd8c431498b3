//! Blocks into the lines of a panel, and a row back.

use tilewright_model::Block;

use super::super::layout::Line;
use super::scales::Scales;
use super::tile::Kind;
use super::{Blocks, GROUP};
use crate::simd::LANES;

/// The same four bits in every byte of a word.
const fn each(bits: u32) -> u32 {
    bits * 0x0101_0101
}

/// Packs the blocks of one output, `row` of the panel, into zeroed lines. `finite` becomes false when a scale is not.
pub(in crate::matmul) fn pack_row<B: Blocks>(
    bytes: &[u8],
    row: usize,
    lines: &mut [Line],
    finite: &mut bool,
) {
    let span_lines = B::Scales::LINES + B::SPAN / GROUP * B::LINES;
    let blocks = bytes.chunks(B::STORED.block_bytes());
    for (bytes, lines) in blocks.zip(lines.chunks_mut(span_lines)) {
        let Some(block) = Block::read(B::STORED, bytes) else { continue };
        let numbers = block.scales.iter().chain(&block.offsets);
        *finite &= numbers.fold(true, |ok, number| ok & number.is_finite());
        let (head, groups) = lines.split_at_mut(B::Scales::LINES);
        B::Scales::put(head, row, &block);
        for (integers, lines) in block.integers.as_chunks::<GROUP>().0.iter().zip(groups.chunks_mut(B::LINES))
        {
            put_group::<B>(integers, row, lines);
        }
    }
}

/// The word of output `row` in a pair of lines.
fn at(lines: &mut [Line], pair: usize, row: usize) -> &mut [u8; 4] {
    &mut lines[2 * pair + row / LANES].as_chunks_mut().0[row % LANES]
}

fn put_group<B: Blocks>(integers: &[i8; GROUP], row: usize, lines: &mut [Line]) {
    let words = integers.as_chunks::<4>().0.iter().map(|four| {
        // What stands for a value is stored as its number.
        u32::from_le_bytes(four.map(|integer| match B::VALUES {
            Some(values) => {
                values.iter().position(|v| *v == integer.cast_unsigned() ^ 128).unwrap_or(0) as u8
            }
            None => (i32::from(integer) + B::EXCESS) as u8,
        }))
    });
    let mut whole = [0; GROUP / 4];
    whole.iter_mut().zip(words).for_each(|(to, word)| *to = word);
    let (low, high) = lines.split_at_mut(2 * B::LOW);
    let together = 8 / B::LOW;
    for (pair, words) in whole.chunks(together).enumerate() {
        let mask = if B::LOW == 8 { u32::MAX } else { each((1 << B::LOW) - 1) };
        let word = words.iter().rev().fold(0, |bits, word| bits << (B::LOW % 8) | word & mask);
        *at(low, pair, row) = word.to_le_bytes();
    }
    if let Some(together) = 8usize.checked_div(B::HIGH) {
        for (pair, words) in whole.chunks(together).enumerate() {
            let mask = each((1 << B::HIGH) - 1);
            let word = words.iter().rev().fold(0, |bits, word| bits << B::HIGH | word >> B::LOW & mask);
            *at(high, pair, row) = word.to_le_bytes();
        }
    }
}

/// One output's weights, `row` of the panel, as they are multiplied.
pub(in crate::matmul) fn row_f32<B: Blocks>(lines: &[Line], row: usize, out: &mut [f32]) {
    let span_lines = B::Scales::LINES + B::SPAN / GROUP * B::LINES;
    let size = B::Tiles::GROUP;
    for (lines, out) in lines.chunks(span_lines).zip(out.chunks_mut(B::SPAN)) {
        let (head, groups) = lines.split_at(B::Scales::LINES);
        for (group, out) in out.chunks_mut(size).enumerate() {
            let (scale, offset) = B::Scales::read(head, row, group);
            let lines = &groups[group * size / GROUP * B::LINES..][..B::LINES];
            for (k, to) in out.iter_mut().enumerate() {
                *to = scale * integer::<B>(lines, row, group * size % GROUP + k) as f32 - offset;
            }
        }
    }
}

/// The integer of input `k` of a group of lines.
fn integer<B: Blocks>(lines: &[Line], row: usize, k: usize) -> i32 {
    let byte = |pair: usize| i32::from(lines[2 * pair + row / LANES][row % LANES * 4 + k % 4]);
    let word = k / 4;
    let per_line = 8 / B::LOW;
    let low = byte(word / per_line) >> (word % per_line * B::LOW) & ((1 << B::LOW) - 1);
    let high = match B::HIGH {
        0 => 0,
        bits => {
            let per_line = 8 / bits;
            byte(B::LOW + word / per_line) >> (word % per_line * bits) & ((1 << bits) - 1)
        }
    };
    let stored = low | high << B::LOW;
    match B::VALUES {
        Some(values) => i32::from(values[stored as usize]) - 128,
        None => stored - B::EXCESS,
    }
}
