//! Frequencies of every kind of scaling.

use super::*;

fn close(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-15 + 1e-13 * want.abs(), "got {got}, want {want}");
}

fn rope(scaling: RopeScaling) -> Rope {
    Rope { theta: 10_000.0, scaling }
}

#[test]
fn plain_frequencies_are_a_geometric_series_from_one() {
    let f = rope(RopeScaling::None).inv_freq(8);
    assert_eq!(f.len(), 4);
    for (got, want) in f.into_iter().zip([1.0, 0.1, 0.01, 0.001]) {
        close(got, want);
    }
}

#[test]
fn linear_and_explicit_factors_divide() {
    let linear = rope(RopeScaling::Linear { factor: 4.0 }).inv_freq(8);
    let explicit = rope(RopeScaling::Factors(vec![1.0, 2.0, 4.0, 8.0])).inv_freq(8);
    for (i, want) in [1.0, 0.1, 0.01, 0.001].into_iter().enumerate() {
        close(linear[i], want / 4.0);
        close(explicit[i], want / f64::from(1 << i));
    }
}

#[test]
fn llama3_keeps_short_wavelengths_and_divides_long_ones() {
    let scaling = RopeScaling::Llama3 {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_positions: 64,
    };
    let f = rope(scaling).inv_freq(8);
    // 64 / (2 pi) = 10.19 turns at frequency 1: kept. 1.019 turns at 0.1: on the ramp. Below one turn: divided.
    close(f[0], 1.0);
    let keep = (6.4 / TAU - 1.0) / 3.0;
    close(f[1], 0.1 / 8.0 * (1.0 - keep) + 0.1 * keep);
    close(f[2], 0.01 / 8.0);
    close(f[3], 0.001 / 8.0);
}

#[test]
fn yarn_interpolates_slow_dimensions_and_sharpens_attention() {
    let yarn = |attention_factor| {
        rope(RopeScaling::Yarn {
            factor: 4.0,
            original_max_positions: 64,
            beta_fast: 32.0,
            beta_slow: 1.0,
            attention_factor,
        })
    };
    // index(32) < 0, so low = 0; index(1) = 8 ln(64 / 2 pi) / (2 ln 10000) = 1.008, so high = 2.
    let f = yarn(None).inv_freq(8);
    close(f[0], 1.0);
    close(f[1], 0.1 * 0.5 + 0.1 / 4.0 * 0.5);
    close(f[2], 0.01 / 4.0);
    close(f[3], 0.001 / 4.0);
    close(yarn(None).attention_factor(), 0.1 * 4f64.ln() + 1.0);
    close(yarn(Some(1.5)).attention_factor(), 1.5);
    close(rope(RopeScaling::None).attention_factor(), 1.0);
}

/// The published setting of Qwen3: four times 32,768 positions. Angles of both ends and of the ramp between them.
#[test]
fn yarn_turns_far_positions_as_the_paper_says() {
    let scaling = RopeScaling::Yarn {
        factor: 4.0,
        original_max_positions: 32_768,
        beta_fast: 32.0,
        beta_slow: 1.0,
        attention_factor: None,
    };
    let f = Rope { theta: 1e6, scaling }.inv_freq(128);
    // index(32) = 128 ln(32768 / 64 pi) / (2 ln 1e6) = 23.59 and index(1) = 39.65: a ramp from 23 to 40.
    for position in [0.0, 100.0, 40_000.0] {
        let angle = |pair: usize| position * 1e6f64.powf(-(pair as f64) / 64.0);
        for pair in [0, 1, 23] {
            close(position * f[pair], angle(pair));
        }
        for pair in [40, 63] {
            close(position * f[pair], angle(pair) / 4.0);
        }
        let share = 7.0 / 17.0;
        close(position * f[30], angle(30) * (1.0 - share) + angle(30) / 4.0 * share);
    }
}
