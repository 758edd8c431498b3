//! Lossless packing of weights that came from bf16 (F75–F79).
//!
//! An f32 widened from bf16 has 16 zero bits at its end. Two such numbers fit a word: the first in the low half, the
//! second in the high half. Kernels rebuild each f32 bit for bit with a shift or a mask and a bitcast
//! ([`Format::Pairs`](crate::Format::Pairs)) and then compute as with f32; this is storage, not quantisation and not
//! bf16 arithmetic. A buffer that does not qualify stays as it is.

#[cfg(test)]
mod tests;

/// Why a buffer stays unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ineligible {
    /// Pairs need an even number of elements.
    #[error("{count} elements are an odd number")]
    Odd {
        /// Elements there are.
        count: usize,
    },
    /// An infinity or NaN.
    #[error("element {at} is not finite")]
    NotFinite {
        /// The first such element.
        at: usize,
    },
    /// A number with more than 16 bits.
    #[error("element {at} has bits {bits:#010x}, the low half of which is not zero")]
    LowBits {
        /// The first such element.
        at: usize,
        /// Its bits.
        bits: u32,
    },
}

/// A packed buffer that does not give back what went in. Nothing may be computed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("element {at} of the packed weights does not have the bits of the original")]
pub struct RoundTripMismatch {
    /// The first element that differs, or the shorter length.
    pub at: usize,
}

/// What became of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Two elements a word, verified to give back every bit.
    Packed(Vec<u32>),
    /// Stored as before.
    Unpacked(Ineligible),
}

/// Elements of a model that are held as pairs, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Of the embedding and, where it is another matrix, the output matrix.
    pub vocabulary: u64,
    /// Of the matrices of all layers.
    pub layers: u64,
}

/// Whether every element can be rebuilt from its upper half.
///
/// # Errors
/// The first reason found: an odd count, then the first element that is not finite or has low bits.
pub fn check(weights: &[f32]) -> Result<(), Ineligible> {
    if !weights.len().is_multiple_of(2) {
        return Err(Ineligible::Odd { count: weights.len() });
    }
    for (at, weight) in weights.iter().enumerate() {
        let bits = weight.to_bits();
        if !weight.is_finite() {
            return Err(Ineligible::NotFinite { at });
        }
        if bits & 0xffff != 0 {
            return Err(Ineligible::LowBits { at, bits });
        }
    }
    Ok(())
}

/// Packs a buffer if it qualifies, and verifies the packed copy bit by bit.
///
/// # Errors
/// [`RoundTripMismatch`], which no buffer should cause: preparation must stop.
pub fn pack(weights: &[f32]) -> Result<Packing, RoundTripMismatch> {
    if let Err(reason) = check(weights) {
        return Ok(Packing::Unpacked(reason));
    }
    let pair = |pair: &[f32; 2]| pair[0].to_bits() >> 16 | pair[1].to_bits() & 0xffff_0000;
    let words: Vec<u32> = weights.as_chunks().0.iter().map(pair).collect();
    verify(weights, &words)?;
    Ok(Packing::Packed(words))
}

/// The elements that words stand for, in order.
pub fn unpack(words: &[u32]) -> impl Iterator<Item = f32> {
    words.iter().flat_map(|word| halves(*word))
}

fn halves(word: u32) -> [f32; 2] {
    [word << 16, word & 0xffff_0000].map(f32::from_bits)
}

/// Whether `words` give back `weights` bit by bit.
///
/// # Errors
/// The first element that differs.
pub fn verify(weights: &[f32], words: &[u32]) -> Result<(), RoundTripMismatch> {
    compare(weights, unpack(words), words.len() * 2)
}

/// The same of words as they lie in memory.
///
/// # Errors
/// The first element that differs.
pub fn verify_bytes(weights: &[f32], bytes: &[u8]) -> Result<(), RoundTripMismatch> {
    let words = bytes.as_chunks().0;
    compare(weights, words.iter().flat_map(|word| halves(u32::from_le_bytes(*word))), words.len() * 2)
}

/// What pairs in memory stand for at an element.
pub(crate) fn rebuilt(bytes: &[u8], at: usize) -> Option<f32> {
    let half = bytes.as_chunks().0.get(at)?;
    Some(f32::from_bits(u32::from(u16::from_le_bytes(*half)) << 16))
}

fn compare(
    weights: &[f32],
    rebuilt: impl Iterator<Item = f32>,
    count: usize,
) -> Result<(), RoundTripMismatch> {
    let differs = |(a, b): (f32, &f32)| a.to_bits() != b.to_bits();
    match rebuilt.zip(weights).position(differs) {
        Some(at) => Err(RoundTripMismatch { at }),
        None if count == weights.len() => Ok(()),
        None => Err(RoundTripMismatch { at: weights.len().min(count) }),
    }
}
