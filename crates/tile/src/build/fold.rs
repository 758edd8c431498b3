//! The only simplifications ever made: exact ones, on i32, u32 and bool.
//!
//! Nothing is folded on floats: `x + 0`, `x * 0` and `x * 1` have results that depend on `x` being a zero, an
//! infinity or a NaN, and on the device's rounding of constants.

use crate::ir::{Arithmetic, Kernel, OpKind, Origin, ValueId, neutral};
use crate::types::{Literal, Type};

pub(super) enum Known {
    Literal(Literal),
    Value(ValueId),
}

pub(super) fn simplify(kernel: &Kernel, kind: &OpKind) -> Option<Known> {
    let OpKind::Arithmetic(op, a, b) = kind else { return None };
    if !matches!(kernel.ty(*a), Type::Scalar(s) if s.is_word()) {
        return None;
    }
    let literal = |v: ValueId| match kernel.defs[v].origin {
        Origin::Literal(literal) => Some(literal),
        _ => None,
    };
    match (literal(*a), literal(*b)) {
        (Some(Literal::I32(x)), Some(Literal::I32(y))) => {
            i32_of(*op, x, y).map(Literal::I32).map(Known::Literal)
        }
        (Some(Literal::U32(x)), Some(Literal::U32(y))) => {
            u32_of(*op, x, y).map(Literal::U32).map(Known::Literal)
        }
        (Some(x), None) => neutral::left(*op, x).then_some(Known::Value(*b)),
        (None, Some(y)) => neutral::right(*op, y).then_some(Known::Value(*a)),
        _ => None,
    }
}

/// `None` where the result would wrap or the operation is undefined: the verifier must see those as written.
fn i32_of(op: Arithmetic, x: i32, y: i32) -> Option<i32> {
    match op {
        Arithmetic::Add => x.checked_add(y),
        Arithmetic::Sub => x.checked_sub(y),
        Arithmetic::Mul => x.checked_mul(y),
        Arithmetic::Div => x.checked_div(y),
        Arithmetic::Rem => x.checked_rem(y),
        Arithmetic::Min => Some(x.min(y)),
        Arithmetic::Max => Some(x.max(y)),
        Arithmetic::And => Some(x & y),
        Arithmetic::Or => Some(x | y),
        Arithmetic::Xor => Some(x ^ y),
        Arithmetic::Shl | Arithmetic::Shr => None,
    }
}

fn u32_of(op: Arithmetic, x: u32, y: u32) -> Option<u32> {
    match op {
        Arithmetic::Add => Some(x.wrapping_add(y)),
        Arithmetic::Sub => Some(x.wrapping_sub(y)),
        Arithmetic::Mul => Some(x.wrapping_mul(y)),
        Arithmetic::Div => x.checked_div(y),
        Arithmetic::Rem => x.checked_rem(y),
        Arithmetic::Min => Some(x.min(y)),
        Arithmetic::Max => Some(x.max(y)),
        Arithmetic::And => Some(x & y),
        Arithmetic::Or => Some(x | y),
        Arithmetic::Xor => Some(x ^ y),
        Arithmetic::Shl | Arithmetic::Shr => None,
    }
}
