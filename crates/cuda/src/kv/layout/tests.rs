//! Where elements lie.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;
use tilewright_gate::seeded::{Preset, small};
use tilewright_model::Family;

#[test]
fn a_page_is_a_multiple_of_what_memory_comes_in() {
    let config = Preset::Qwen3Small.config();
    let bytes = |kv, granularity| Layout::new(&config, kv, granularity).page_bytes();
    assert_eq!(bytes(KvFormat::Bf16, Some(2 << 20)), 256 * 112 * 1024);
    assert_eq!(bytes(KvFormat::Bf16, None), 256 * 112 * 1024);
    let codes = 256 * 28 * 2 * 8 * (128 + 4);
    assert_eq!(bytes(KvFormat::Int8, None), codes);
    assert_eq!(bytes(KvFormat::Int8, Some(2 << 20)), codes.next_multiple_of(2 << 20));
    let small = Layout::new(&small(Family::Qwen3), KvFormat::F32, Some(2 << 20));
    assert_eq!(small.page_bytes(), 2 << 20);
}

/// A cache whose every element says where it is, read back over the ends of blocks and pages.
#[test]
fn what_lies_in_pages_is_copied_out_by_positions() {
    let config = Config { layers: 2, kv_heads: 3, head_dim: 16, ..small(Family::Qwen3) };
    let layout = Layout::new(&config, KvFormat::F32, Some(1 << 16));
    let (dim, page) = (16, layout.page_bytes());
    let mark = |half: usize, position: usize, d: usize| (half * 10_000 + position * 10 + d) as f32;
    let mut cache = vec![0u8; 3 * page];
    for half in 0..2 * 2 * 3 {
        for (position, d) in (0..3 * PAGE).flat_map(|position| (0..dim).map(move |d| (position, d))) {
            let block = (position / PAGE) * page + (half * 8 + position % PAGE / BLOCK) * BLOCK * dim * 4;
            let at = block + (position % BLOCK * dim + d) * 4;
            cache[at..at + 4].copy_from_slice(&mark(half, position, d).to_le_bytes());
        }
    }
    let read = |at: usize, bytes: &mut [u8]| {
        bytes.copy_from_slice(&cache[at..at + bytes.len()]);
        Ok(())
    };
    for positions in [0..3 * PAGE, 250..260, 256..512, 31..33, 5..5] {
        let (keys, values) = layout.copy(false, 1, positions.clone(), read).unwrap();
        let want = |value: usize| -> Vec<f32> {
            let places = (0..3).flat_map(|head| positions.clone().map(move |p| (head, p)));
            let of = |(head, p): (usize, usize)| (0..dim).map(move |d| mark(2 * (3 + head) + value, p, d));
            places.flat_map(of).collect()
        };
        assert!(keys == want(0) && values == want(1), "{positions:?}");
    }
}

#[test]
fn every_place_of_a_block_of_fragments_is_taken_once() {
    for value in [false, true] {
        let mut places: Vec<usize> =
            (0..BLOCK).flat_map(|at| (0..64).map(move |d| fragment(at, d, 64, value))).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..BLOCK * 64));
    }
}
