//! Rotary position embedding, as configured.
//!
//! Frequencies follow Hugging Face transformers 5, evaluated in float64 from the configuration's own numbers. The
//! order of a head's elements (which two form a pair) is the business of whoever applies the rotation.

use std::f64::consts::TAU;
use std::fmt;

use serde::Serialize;

#[cfg(test)]
mod tests;

/// How rotary frequencies are stretched for contexts longer than the model was trained on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RopeScaling {
    /// Frequencies as they are.
    None,
    /// Every frequency divided by `factor`.
    Linear {
        /// Divisor of the frequencies.
        factor: f64,
    },
    /// Llama 3: long wavelengths divided by `factor`, short ones kept, a ramp between.
    Llama3 {
        /// Divisor of the low frequencies.
        factor: f64,
        /// Wavelengths above `original_max_positions / low_freq_factor` are scaled.
        low_freq_factor: f64,
        /// Wavelengths below `original_max_positions / high_freq_factor` are kept.
        high_freq_factor: f64,
        /// Positions of the original training.
        original_max_positions: usize,
    },
    /// YaRN (Peng et al., 2023): interpolation by parts and a softmax temperature.
    Yarn {
        /// Extension factor.
        factor: f64,
        /// Positions of the original training.
        original_max_positions: usize,
        /// Rotations above which a dimension is kept.
        beta_fast: f64,
        /// Rotations below which a dimension is interpolated.
        beta_slow: f64,
        /// Factor on cosine and sine; the paper's `0.1 ln(factor) + 1` when not given.
        attention_factor: Option<f64>,
    },
    /// An explicit divisor for each of the `head_dim / 2` frequencies.
    Factors(Vec<f64>),
}

impl fmt::Display for RopeScaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no scaling"),
            Self::Linear { factor } => write!(f, "linear scaling by {factor}"),
            Self::Llama3 { factor, original_max_positions, .. } => {
                write!(f, "Llama 3 scaling by {factor} from {original_max_positions} positions")
            }
            Self::Yarn { factor, original_max_positions, .. } => {
                write!(f, "YaRN scaling by {factor} from {original_max_positions} positions")
            }
            Self::Factors(factors) => write!(f, "{} explicit divisors", factors.len()),
        }
    }
}

/// Base frequency and scaling of the rotary embedding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rope {
    /// Base of the geometric series of wavelengths.
    pub theta: f64,
    /// Stretching for long contexts.
    pub scaling: RopeScaling,
}

impl Rope {
    /// The `head_dim / 2` angular frequencies, in radians a position.
    pub fn inv_freq(&self, head_dim: usize) -> Vec<f64> {
        let plain = |i: usize| self.theta.powf(-2.0 * i as f64 / head_dim as f64);
        let pairs = 0..head_dim / 2;
        match &self.scaling {
            RopeScaling::None => pairs.map(plain).collect(),
            RopeScaling::Linear { factor } => pairs.map(|i| plain(i) / factor).collect(),
            RopeScaling::Factors(divisors) => pairs.zip(divisors).map(|(i, d)| plain(i) / d).collect(),
            &RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_positions } => {
                let original = original_max_positions as f64;
                let scaled = |f: f64| {
                    let turns = original * f / TAU; // rotations within the original context
                    let keep = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor);
                    blend(f / factor, f, keep.clamp(0.0, 1.0))
                };
                pairs.map(|i| scaled(plain(i))).collect()
            }
            &RopeScaling::Yarn { factor, original_max_positions, beta_fast, beta_slow, .. } => {
                let dim = head_dim as f64;
                // The (fractional) index of the pair that turns `rotations` times within the original context.
                let index = |rotations: f64| {
                    dim * (original_max_positions as f64 / (rotations * TAU)).ln() / (2.0 * self.theta.ln())
                };
                let low = index(beta_fast).floor().max(0.0);
                let high = index(beta_slow).ceil().min(dim - 1.0);
                let width = if low == high { 0.001 } else { high - low };
                let scaled = |i: usize| {
                    let interpolate = ((i as f64 - low) / width).clamp(0.0, 1.0);
                    blend(plain(i), plain(i) / factor, interpolate)
                };
                pairs.map(scaled).collect()
            }
        }
    }

    /// The factor on cosine and sine: 1 except for YaRN, which sharpens attention as it stretches positions.
    pub fn attention_factor(&self) -> f64 {
        match self.scaling {
            RopeScaling::Yarn { attention_factor: Some(given), .. } => given,
            RopeScaling::Yarn { factor, .. } if factor > 1.0 => 0.1 * factor.ln() + 1.0,
            _ => 1.0,
        }
    }
}

/// `a` at share 0, `b` at share 1, linear between.
fn blend(a: f64, b: f64, share: f64) -> f64 {
    a * (1.0 - share) + b * share
}
