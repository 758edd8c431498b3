//! Rotary position embedding, as configured.

/// How rotary frequencies are stretched for contexts longer than the model was trained on.
#[derive(Clone, Debug, PartialEq)]
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

/// Base frequency and scaling of the rotary embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct Rope {
    /// Base of the geometric series of wavelengths.
    pub theta: f64,
    /// Stretching for long contexts.
    pub scaling: RopeScaling,
}
