//! The one table of tolerances, and the comparison that every gate uses.
//!
//! A value passes when `|got - want| <= atol + rtol * |want|`, written so that a NaN on either side fails. No test or
//! gate states a number of its own: it names a row here, and the reason stands beside the number.

use std::fmt;

#[cfg(test)]
mod tests;

/// How far a result may lie from the one it is compared with, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// What is compared.
    pub name: &'static str,
    /// Allowed error as a share of the wanted value's magnitude.
    pub rtol: f64,
    /// Allowed error in the values' own unit.
    pub atol: f64,
    /// Why these numbers.
    pub reason: &'static str,
}

impl Tolerance {
    /// The float64 reference against independently computed float64 results: logits, K and V.
    pub const REFERENCE: Self = Self {
        name: "float64 reference",
        rtol: 1e-9,
        atol: 1e-9,
        reason: "both sides are float64 and differ only in the order of sums and the last bits of exp, sin and cos; \
                 observed errors are near 1e-13",
    };

    /// A device's logits, K and V with f32 weights against the float64 reference.
    pub const F32_STATE: Self = Self {
        name: "f32 state",
        rtol: 1e-3,
        atol: 1e-3,
        reason: "f32 rounding grows with depth and width to about 1e-5; a wrong constant, position or weight shows at \
                 1e-2 and above, so 1e-3 separates the two",
    };

    /// Logits, K and V with vectors or cache rounded to f16 between stages, against the float64 reference.
    pub const F16_STATE: Self = Self {
        name: "f16 state",
        rtol: 0.02,
        atol: 0.02,
        reason: "f16 keeps 11 bits, a rounding of 0.0005; through a few layers that grows to a few thousandths, while a \
                 wrong constant, position or weight shows at a tenth and above",
    };

    /// Logits, K and V where keys and values alone are rounded to f16, against the float64 reference.
    pub const F16_CACHE: Self = Self {
        name: "f16 cache",
        rtol: 0.02,
        atol: 0.04,
        reason: "a key rounded to 11 bits moves scores, and an exponential makes that a share of a weight: over thirteen \
                 models and prompts of up to 520 tokens the most seen was 0.026, where a wrong position shows at 1",
    };

    /// Logits, K and V where keys and values alone are rounded to int8, a scale for each position of a head, against the
    /// float64 reference, in units of their root mean square.
    pub const INT8_CACHE: Self = Self {
        name: "int8 cache",
        rtol: 0.0,
        atol: 0.25,
        reason: "a code is off by at most 1/254 of its head's extreme, about 0.006 of the values' size; scores and an \
                 exponential make that 0.02 in logits, and the worst of 48,000 of them is several times the usual: 0.163 \
                 is the most seen over 150 positions of eight models, while a wrong scale or position shows at 1",
    };

    /// Logits, K and V with vectors rounded to bf16 between stages, against the float64 reference.
    pub const BF16_STATE: Self = Self {
        name: "bf16 state",
        rtol: 0.2,
        atol: 0.2,
        reason: "bf16 keeps 8 bits to f16's 11, so an error is eight times f16's, as a test holds it to; over twelve \
                 prompts of two fixtures the standard deviation was 0.012 and the most of 118,000 values 0.161, for a few \
                 lie where a norm or a softmax enlarges what came before",
    };

    /// A device's logits, K and V with int8 or int4 weights against the float64 reference on the same rounded weights, in
    /// units of their root mean square.
    pub const QUANTISED_STATE: Self = Self {
        name: "quantised state",
        rtol: 0.0,
        atol: 0.25,
        reason: "rounding activations to 8 bits in groups loses about 0.6 percent of them; through the products of a few \
                 layers that grows to a few percent, and the worst of thousands of values is several times the usual: \
                 0.19 is the most seen, while a wrong scale, group or sign shows at 1 and above",
    };

    /// Logits with int8 weights against the float64 reference on the weights as stored, in units of their root mean square.
    pub const INT8_WEIGHTS: Self = Self {
        name: "int8 weights",
        rtol: 0.0,
        atol: 0.25,
        reason: "a code is off by at most 1/254 of its group's extreme; through the products of two narrow layers that grows \
                 to a few percent, and the worst of hundreds of logits is several times the usual: 0.13 is the most \
                 seen, while a wrong scale or group shows at 1",
    };

    /// Negative log likelihood per token of a held-out text, f32 against float64, in nats.
    pub const F32_NLL: Self = Self {
        name: "f32 nll",
        rtol: 0.0,
        atol: 1e-4,
        reason: "a mean over thousands of tokens averages rounding away; 1e-4 nats is a hundredth of a percent of \
                 perplexity",
    };

    /// Stored greedy margins (top-1 minus top-2 logit), which are rounded to six decimals.
    pub const STORED_MARGIN: Self =
        Self { name: "stored margin", rtol: 0.0, atol: 1e-6, reason: "the stored values keep six decimals" };

    /// Rise of the negative log likelihood per token from f32 to int8 weights, in nats.
    pub const INT8_NLL_RISE: Self = Self {
        name: "int8 nll rise",
        rtol: 0.0,
        atol: 0.002,
        reason: "grouped 8-bit weights are meant to be indistinguishable: 0.2 percent of perplexity",
    };

    /// Rise of the negative log likelihood per token from f32 to int4 weights, in nats.
    pub const INT4_NLL_RISE: Self = Self {
        name: "int4 nll rise",
        rtol: 0.0,
        atol: 0.03,
        reason: "grouped 4-bit weights cost quality; 3 percent of perplexity is the most we accept for half the bytes",
    };

    /// Every row.
    pub const TABLE: [Self; 12] = [
        Self::REFERENCE,
        Self::F32_STATE,
        Self::F16_STATE,
        Self::F16_CACHE,
        Self::INT8_CACHE,
        Self::BF16_STATE,
        Self::QUANTISED_STATE,
        Self::INT8_WEIGHTS,
        Self::F32_NLL,
        Self::STORED_MARGIN,
        Self::INT8_NLL_RISE,
        Self::INT4_NLL_RISE,
    ];

    /// Whether `got` is within this tolerance of `want`. False when either is NaN.
    pub fn allows(&self, got: f64, want: f64) -> bool {
        let error = (got - want).abs();
        // An infinity is near nothing but itself: neither its own magnitude nor a NaN difference may let it pass.
        got == want || (error.is_finite() && error <= self.atol + self.rtol * want.abs())
    }
}

/// The largest differences seen in a comparison that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed {
    /// Number of values compared.
    pub values: usize,
    /// Largest `|got - want|`.
    pub max_abs: f64,
    /// Where `max_abs` was seen first.
    pub at: usize,
}

impl Observed {
    /// The larger of two observations, for reporting several tensors as one; values add up.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let larger = if other.max_abs > self.max_abs { other } else { self };
        Self { values: self.values + other.values, ..larger }
    }
}

/// A comparison that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mismatch {
    /// The two sides have different numbers of values.
    Length {
        /// Values computed.
        got: usize,
        /// Values wanted.
        want: usize,
    },
    /// At least one value is outside the tolerance, or not a number.
    Value {
        /// The row of the table that was broken.
        tolerance: Tolerance,
        /// First place that is outside.
        at: usize,
        /// The value computed there.
        got: f64,
        /// The value wanted there.
        want: f64,
        /// How many values are outside.
        outside: usize,
        /// How many were compared.
        values: usize,
        /// Largest `|got - want|`; NaN if any difference is.
        max_abs: f64,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { got, want } => write!(f, "got {got} values, want {want}"),
            Self::Value { tolerance, at, got, want, outside, values, max_abs } => write!(
                f,
                "{outside} of {values} values outside {} (rtol {:e}, atol {:e}), first at {at}: got {got:e}, want \
                 {want:e}; largest error {max_abs:e}",
                tolerance.name, tolerance.rtol, tolerance.atol
            ),
        }
    }
}

impl std::error::Error for Mismatch {}

/// Compares element by element.
///
/// # Errors
/// When the lengths differ, or any value is outside `tolerance` or NaN.
pub fn compare<T: Copy + Into<f64>>(
    got: &[T],
    want: &[f64],
    tolerance: Tolerance,
) -> Result<Observed, Mismatch> {
    if got.len() != want.len() {
        return Err(Mismatch::Length { got: got.len(), want: want.len() });
    }
    let mut observed = Observed { values: want.len(), ..Observed::default() };
    let mut first = None;
    let mut outside = 0;
    for (at, (&got, &want)) in got.iter().zip(want).enumerate() {
        let got = got.into();
        if !tolerance.allows(got, want) {
            outside += 1;
            first.get_or_insert((at, got, want));
        }
        let error = if got == want { 0.0 } else { (got - want).abs() };
        if error > observed.max_abs || (error.is_nan() && !observed.max_abs.is_nan()) {
            (observed.max_abs, observed.at) = (error, at);
        }
    }
    match first {
        None => Ok(observed),
        Some((at, got, want)) => Err(Mismatch::Value {
            tolerance,
            at,
            got,
            want,
            outside,
            values: observed.values,
            max_abs: observed.max_abs,
        }),
    }
}
