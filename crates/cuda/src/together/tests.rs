//! Which spans sequences have, and how many fit.

use tilewright_gate::seeded::Preset;

use super::{ROWS, shared_bytes, spans, takes, takes_shape};

#[test]
fn spans_grow_with_a_sequence_and_have_eight_to_twelve_blocks() {
    assert_eq!([0, 1, 352, 353, 512, 640, 641].map(spans), [1, 1, 1, 2, 2, 3, 3]);
    for positions in (400..40_000usize).step_by(7) {
        let blocks = positions.div_ceil(32);
        assert!(blocks / spans(positions) >= 6 && blocks.div_ceil(spans(positions)) <= 12, "{positions}");
    }
}

#[test]
fn thirty_two_long_sequences_fit_and_a_million_positions_are_the_end() {
    let config = Preset::Qwen3Small.config();
    assert!(takes([32_768; 31].into_iter(), 32, config.kv_heads));
    assert!(!takes([40_960; 32].into_iter(), 32, config.kv_heads));
    assert!(takes_shape(&config, 1 << 20) && !takes_shape(&config, (1 << 20) + 1024));
    assert!(!takes_shape(&Preset::Qwen3Large.config(), 512));
}

#[test]
fn a_span_too_far_for_a_lists_entry_goes_to_a_kernel_of_fewer_rows() {
    let ends = [300_000, 1, 1];
    assert!(!takes(ends.into_iter(), 32, 8));
    assert!(takes(ends.into_iter(), 16, 8));
    assert!(!takes([600_000, 1].into_iter(), 16, 8));
    assert!(takes([1 << 20].into_iter(), 8, 8));
}

#[test]
fn ring_sums_and_the_rest_fit_a_blocks_shared_memory() {
    for rows in ROWS {
        assert!(shared_bytes(rows) <= 232_448, "{rows} rows: {}", shared_bytes(rows));
    }
}
