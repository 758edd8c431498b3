//! Expressions of single elements.

use crate::ir::{Arithmetic, Comparison, Math};
use crate::types::Scalar;

use super::dialect::Dialect;

/// Two numbers combined; `wraps` when a signed result may leave its range.
pub(super) fn arithmetic(
    dialect: &impl Dialect,
    op: Arithmetic,
    scalar: Scalar,
    wraps: bool,
    a: &str,
    b: &str,
) -> String {
    let symbol = match op {
        Arithmetic::Add => "+",
        Arithmetic::Sub => "-",
        Arithmetic::Mul => "*",
        Arithmetic::Div => "/",
        Arithmetic::Rem => "%",
        Arithmetic::And if scalar == Scalar::Bool => "&&",
        Arithmetic::Or if scalar == Scalar::Bool => "||",
        Arithmetic::Xor if scalar == Scalar::Bool => "!=",
        Arithmetic::And => "&",
        Arithmetic::Or => "|",
        Arithmetic::Xor => "^",
        Arithmetic::Shl => "<<",
        Arithmetic::Shr => ">>",
        Arithmetic::Min => return dialect.extreme(false, scalar, a, b),
        Arithmetic::Max => return dialect.extreme(true, scalar, a, b),
    };
    let may_wrap = matches!(op, Arithmetic::Add | Arithmetic::Sub | Arithmetic::Mul | Arithmetic::Shl);
    if scalar == Scalar::I32 && wraps && may_wrap {
        let unsigned = |v| dialect.word(Scalar::U32, v);
        return dialect.word(Scalar::I32, &format!("{} {symbol} {}", unsigned(a), unsigned(b)));
    }
    format!("{a} {symbol} {b}")
}

/// A number by itself.
pub(super) fn math(dialect: &impl Dialect, op: Math, scalar: Scalar, wraps: bool, a: &str) -> String {
    match (op, scalar) {
        (Math::Neg, Scalar::I32) if wraps => {
            dialect.word(Scalar::I32, &format!("0u - {}", dialect.word(Scalar::U32, a)))
        }
        (Math::Neg, Scalar::U32) => format!("0u - {a}"),
        (Math::Neg, _) => format!("-{a}"),
        (Math::Not, Scalar::Bool) => format!("!{a}"),
        (Math::Not, _) => format!("~{a}"),
        (Math::Abs, Scalar::U32) => a.to_owned(),
        (Math::Abs, Scalar::I32) => format!("abs({a})"),
        _ => dialect.math(op, a),
    }
}

/// Two numbers compared.
pub(super) fn compare(op: Comparison, a: &str, b: &str) -> String {
    let symbol = match op {
        Comparison::Eq => "==",
        Comparison::Ne => "!=",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
    };
    format!("{a} {symbol} {b}")
}

/// A float constant that every C-like language reads, or `None` for infinities and NaN.
pub(super) fn float(value: f32) -> Option<String> {
    value.is_finite().then(|| match value.is_sign_negative() {
        true => format!("({value:?}f)"),
        false => format!("{value:?}f"),
    })
}

/// An integer constant.
pub(super) fn integer(value: i32) -> String {
    match value {
        i32::MIN => "(-2147483647 - 1)".to_owned(),
        v if v < 0 => format!("({v})"),
        v => v.to_string(),
    }
}
