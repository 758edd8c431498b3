//! Spans of integer operations.

use crate::ir::{Arithmetic, Comparison};
use crate::types::Scalar;

use super::span::Span;

/// Every value of a type.
pub(super) const fn all(scalar: Scalar) -> Span {
    match scalar {
        Scalar::U32 => Span::U32,
        Scalar::I8 => Span::between(-128, 127),
        Scalar::U8 => Span::between(0, 255),
        Scalar::Bool => Span::between(0, 1),
        Scalar::F32 | Scalar::F16 | Scalar::Bf16 | Scalar::I32 => Span::I32,
    }
}

/// A result brought back into its type, and whether it had left it.
pub(super) fn fit(exact: Span, scalar: Scalar) -> (Span, bool) {
    let range = all(scalar);
    let fits = exact.within(range.low, range.high);
    (if fits { exact } else { range }, !fits && scalar == Scalar::I32)
}

/// The exact span of an operation, before it is brought back into the type.
pub(super) fn arithmetic(op: Arithmetic, scalar: Scalar, a: Span, b: Span) -> Span {
    let positive = a.low >= 0 && b.low >= 0;
    match op {
        Arithmetic::Add => a.plus(b),
        Arithmetic::Sub => a.minus(b),
        Arithmetic::Mul => a.times(b),
        Arithmetic::Div => a.over(b),
        Arithmetic::Rem => a.modulo(b),
        Arithmetic::Min => a.min(b),
        Arithmetic::Max => a.max(b),
        Arithmetic::And if scalar == Scalar::Bool => Span::between(a.low & b.low, a.high & b.high),
        Arithmetic::And => and(a, b).or_else(|| and(b, a)).unwrap_or_else(|| all(scalar)),
        Arithmetic::Or | Arithmetic::Xor if positive => Span::between(0, ones_covering(a.high.max(b.high))),
        Arithmetic::Or | Arithmetic::Xor => all(scalar),
        Arithmetic::Shl => match b.constant() {
            Some(bits @ 0..=31) => a.times(Span::of(1 << bits)),
            _ => all(scalar),
        },
        Arithmetic::Shr => match b.constant() {
            Some(bits @ 0..=31) if a.low >= 0 => a.over(Span::of(1 << bits)),
            Some(bits @ 0..=31) => Span::between(a.low >> bits, a.high >> bits),
            _ if a.low >= 0 => Span::between(0, a.high),
            _ => all(scalar),
        },
    }
}

/// And with a mask that is not negative.
fn and(a: Span, mask: Span) -> Option<Span> {
    let most = (mask.low >= 0).then_some(mask.high)?;
    match mask.constant() {
        // A mask of ones from the lowest bit is a remainder.
        Some(m) if a.low >= 0 && (m + 1) & m == 0 => Some(a.modulo(Span::of(m + 1))),
        _ if a.low >= 0 => Some(Span::between(0, most.min(a.high))),
        _ => Some(Span::between(0, most)),
    }
}

/// The smallest number of all ones that is not below `value`.
const fn ones_covering(value: i64) -> i64 {
    if value <= 0 { 0 } else { (1 << (64 - value.leading_zeros())) - 1 }
}

/// Whether the result may have wrapped, when an operand may have or the operation may now. Taking bits by a mask that
/// is not negative is meant to cut a number down, as in a hash.
pub(super) fn wraps(op: Arithmetic, left: bool, a: (Span, bool), b: (Span, bool)) -> bool {
    let masks = |span: Span| op == Arithmetic::And && span.low >= 0;
    let cut = masks(a.0) && !a.1 || masks(b.0) && !b.1;
    !cut && (left || a.1 || b.1)
}

/// What a comparison gives, if the spans settle it.
pub(super) const fn compare(op: Comparison, a: Span, b: Span) -> Option<bool> {
    match op {
        Comparison::Lt if a.high < b.low => Some(true),
        Comparison::Lt if a.low >= b.high => Some(false),
        Comparison::Le if a.high <= b.low => Some(true),
        Comparison::Le if a.low > b.high => Some(false),
        Comparison::Gt if a.low > b.high => Some(true),
        Comparison::Gt if a.high <= b.low => Some(false),
        Comparison::Ge if a.low >= b.high => Some(true),
        Comparison::Ge if a.high < b.low => Some(false),
        Comparison::Eq | Comparison::Ne if a.high < b.low || a.low > b.high => {
            Some(matches!(op, Comparison::Ne))
        }
        _ => None,
    }
}

/// A comparison of two numbers.
pub(super) const fn holds(op: Comparison, a: i64, b: i64) -> bool {
    match op {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    }
}

/// An operation on two numbers of a type, where it has a result that fits.
pub(super) fn exact(op: Arithmetic, a: i64, b: i64) -> Option<i64> {
    match op {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Sub => a.checked_sub(b),
        Arithmetic::Mul => a.checked_mul(b),
        Arithmetic::Div => a.checked_div(b),
        Arithmetic::Rem => a.checked_rem(b),
        Arithmetic::Min => Some(a.min(b)),
        Arithmetic::Max => Some(a.max(b)),
        Arithmetic::And => Some(a & b),
        Arithmetic::Or => Some(a | b),
        Arithmetic::Xor => Some(a ^ b),
        Arithmetic::Shl if (0..32).contains(&b) => a.checked_mul(1 << b),
        Arithmetic::Shr if (0..32).contains(&b) => Some(a >> b),
        Arithmetic::Shl | Arithmetic::Shr => None,
    }
}
