//! Constants that leave the other operand of an integer or logical operation as it is.

use crate::types::Literal;

use super::op::Arithmetic;

/// Whether `x op y` is `y`.
pub(crate) fn left(op: Arithmetic, x: Literal) -> bool {
    match (op, x) {
        (Arithmetic::And, Literal::Bool(x)) => x,
        (Arithmetic::Or | Arithmetic::Xor, Literal::Bool(x)) => !x,
        (Arithmetic::Add | Arithmetic::Or | Arithmetic::Xor, Literal::I32(0) | Literal::U32(0)) => true,
        (Arithmetic::Mul, Literal::I32(1) | Literal::U32(1)) => true,
        _ => false,
    }
}

/// Whether `x op y` is `x`.
pub(crate) fn right(op: Arithmetic, y: Literal) -> bool {
    match (op, y) {
        (Arithmetic::Sub | Arithmetic::Shl | Arithmetic::Shr, Literal::I32(0) | Literal::U32(0)) => true,
        (Arithmetic::Div, Literal::I32(1) | Literal::U32(1)) => true,
        _ => left(op, y),
    }
}
