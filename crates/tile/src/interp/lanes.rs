//! Arithmetic on 32 lanes.

use half::{bf16, f16};

use crate::ir::{Arithmetic, Comparison, Math, Reduction};
use crate::types::Scalar;

use super::fault::FaultKind;

/// One register.
pub(super) type Lanes = [u32; 32];

fn map(a: &Lanes, f: impl Fn(u32) -> u32) -> Lanes {
    std::array::from_fn(|i| f(a[i]))
}

fn zip(a: &Lanes, b: &Lanes, f: impl Fn(u32, u32) -> u32) -> Lanes {
    std::array::from_fn(|i| f(a[i], b[i]))
}

fn map_f32(a: &Lanes, f: impl Fn(f32) -> f32) -> Lanes {
    map(a, |v| f(f32::from_bits(v)).to_bits())
}

fn zip_f32(a: &Lanes, b: &Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    zip(a, b, |x, y| f(f32::from_bits(x), f32::from_bits(y)).to_bits())
}

fn zip_i32(a: &Lanes, b: &Lanes, f: impl Fn(i32, i32) -> i32) -> Lanes {
    zip(a, b, |x, y| f(x as i32, y as i32) as u32)
}

/// f64 mathematics, rounded once to f32.
fn wide(f: impl Fn(f64) -> f64) -> impl Fn(f32) -> f32 {
    move |v| f(f64::from(v)) as f32
}

pub(super) fn math(op: Math, scalar: Scalar, a: &Lanes) -> Lanes {
    if scalar == Scalar::Bool {
        return map(a, |v| v ^ 1);
    }
    if scalar != Scalar::F32 {
        return match op {
            Math::Neg => map(a, u32::wrapping_neg),
            Math::Abs if scalar == Scalar::I32 => map(a, |v| (v as i32).wrapping_abs() as u32),
            Math::Not => map(a, |v| !v),
            _ => *a,
        };
    }
    match op {
        Math::Neg => map_f32(a, |v| -v),
        Math::Not => *a,
        Math::Abs => map_f32(a, f32::abs),
        Math::Floor => map_f32(a, f32::floor),
        Math::Sqrt => map_f32(a, f32::sqrt),
        Math::Rsqrt => map_f32(a, wide(|v| 1.0 / v.sqrt())),
        Math::Exp | Math::FastExp => map_f32(a, wide(f64::exp)),
        Math::Exp2 | Math::FastExp2 => map_f32(a, wide(f64::exp2)),
        Math::Log => map_f32(a, wide(f64::ln)),
        Math::Sin | Math::FastSin => map_f32(a, wide(f64::sin)),
        Math::Cos | Math::FastCos => map_f32(a, wide(f64::cos)),
        Math::Tanh => map_f32(a, wide(f64::tanh)),
    }
}

pub(super) fn arithmetic(
    op: Arithmetic,
    scalar: Scalar,
    a: &Lanes,
    b: &Lanes,
    active: u32,
) -> Result<Lanes, (u32, FaultKind)> {
    check(op, scalar, a, b, active)?;
    Ok(match scalar {
        Scalar::F32 => match op {
            Arithmetic::Add => zip_f32(a, b, |x, y| x + y),
            Arithmetic::Sub => zip_f32(a, b, |x, y| x - y),
            Arithmetic::Mul => zip_f32(a, b, |x, y| x * y),
            Arithmetic::Div => zip_f32(a, b, |x, y| x / y),
            Arithmetic::Min => zip_f32(a, b, f32::min),
            Arithmetic::Max => zip_f32(a, b, f32::max),
            Arithmetic::Rem
            | Arithmetic::And
            | Arithmetic::Or
            | Arithmetic::Xor
            | Arithmetic::Shl
            | Arithmetic::Shr => *a,
        },
        Scalar::U32 => match op {
            Arithmetic::Div => zip(a, b, |x, y| x.checked_div(y).unwrap_or(0)),
            Arithmetic::Rem => zip(a, b, |x, y| x.checked_rem(y).unwrap_or(0)),
            Arithmetic::Min => zip(a, b, u32::min),
            Arithmetic::Max => zip(a, b, u32::max),
            Arithmetic::Shr => zip(a, b, |x, y| x >> (y & 31)),
            _ => bits(op, a, b),
        },
        _ => match op {
            Arithmetic::Div => zip_i32(a, b, |x, y| x.checked_div(y).unwrap_or(0)),
            Arithmetic::Rem => zip_i32(a, b, |x, y| x.checked_rem(y).unwrap_or(0)),
            Arithmetic::Min => zip_i32(a, b, i32::min),
            Arithmetic::Max => zip_i32(a, b, i32::max),
            Arithmetic::Shr => zip_i32(a, b, |x, y| x >> (y & 31)),
            _ => bits(op, a, b),
        },
    })
}

/// What does not depend on the sign.
fn bits(op: Arithmetic, a: &Lanes, b: &Lanes) -> Lanes {
    match op {
        Arithmetic::Add => zip(a, b, u32::wrapping_add),
        Arithmetic::Sub => zip(a, b, u32::wrapping_sub),
        Arithmetic::Mul => zip(a, b, u32::wrapping_mul),
        Arithmetic::And => zip(a, b, |x, y| x & y),
        Arithmetic::Or => zip(a, b, |x, y| x | y),
        Arithmetic::Xor => zip(a, b, |x, y| x ^ y),
        Arithmetic::Shl => zip(a, b, |x, y| x << (y & 31)),
        Arithmetic::Div | Arithmetic::Rem | Arithmetic::Min | Arithmetic::Max | Arithmetic::Shr => *a,
    }
}

/// The operations that some operands do not have a result for.
fn check(op: Arithmetic, scalar: Scalar, a: &Lanes, b: &Lanes, active: u32) -> Result<(), (u32, FaultKind)> {
    let lanes = (0..32u32).filter(|l| active >> l & 1 == 1);
    match op {
        Arithmetic::Div | Arithmetic::Rem if scalar != Scalar::F32 => {
            for l in lanes {
                let (x, y) = (a[l as usize], b[l as usize]);
                let overflows = scalar == Scalar::I32 && x as i32 == i32::MIN && y as i32 == -1;
                if y == 0 || overflows {
                    return Err((l, FaultKind::Division));
                }
            }
        }
        Arithmetic::Shl | Arithmetic::Shr => {
            for l in lanes {
                if b[l as usize] > 31 {
                    return Err((l, FaultKind::Amount { amount: i64::from(b[l as usize] as i32) }));
                }
            }
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn compare(op: Comparison, scalar: Scalar, a: &Lanes, b: &Lanes) -> Lanes {
    fn by<T: PartialOrd>(op: Comparison, x: T, y: T) -> u32 {
        u32::from(match op {
            Comparison::Eq => x == y,
            Comparison::Ne => x != y,
            Comparison::Lt => x < y,
            Comparison::Le => x <= y,
            Comparison::Gt => x > y,
            Comparison::Ge => x >= y,
        })
    }
    match scalar {
        Scalar::F32 => zip(a, b, |x, y| by(op, f32::from_bits(x), f32::from_bits(y))),
        Scalar::U32 => zip(a, b, |x, y| by(op, x, y)),
        _ => zip(a, b, |x, y| by(op, x as i32, y as i32)),
    }
}

pub(super) fn fma(a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    let f = f32::from_bits;
    std::array::from_fn(|i| f(a[i]).mul_add(f(b[i]), f(c[i])).to_bits())
}

pub(super) fn dot4(a: [&Lanes; 4], b: [&Lanes; 4], c: &Lanes) -> Lanes {
    std::array::from_fn(|i| {
        let product = |n: usize| (a[n][i] as i32).wrapping_mul(b[n][i] as i32);
        (0..4).fold(c[i] as i32, |sum, n| sum.wrapping_add(product(n))) as u32
    })
}

pub(super) fn cast(from: Scalar, to: Scalar, a: &Lanes) -> Lanes {
    let float = |v: u32| match from {
        Scalar::F16 => f16::from_bits(v as u16).to_f32(),
        Scalar::Bf16 => bf16::from_bits(v as u16).to_f32(),
        _ => f32::from_bits(v),
    };
    let from_float = |v: f32| match to {
        Scalar::F32 => v.to_bits(),
        Scalar::F16 => u32::from(f16::from_f32(v).to_bits()),
        Scalar::Bf16 => u32::from(bf16::from_f32(v).to_bits()),
        Scalar::I32 => v as i32 as u32,
        Scalar::U32 => v as u32,
        Scalar::I8 => v as i8 as i32 as u32,
        Scalar::U8 => u32::from(v as u8),
        Scalar::Bool => u32::from(v != 0.0),
    };
    let signed = matches!(from, Scalar::I32 | Scalar::I8);
    match (from.is_float(), to) {
        (true, _) => map(a, |v| from_float(float(v))),
        (false, Scalar::F32) if signed => map(a, |v| (v as i32 as f32).to_bits()),
        (false, Scalar::F32) => map(a, |v| (v as f32).to_bits()),
        (false, Scalar::F16 | Scalar::Bf16) if signed => map(a, |v| from_float(v as i32 as f32)),
        (false, Scalar::F16 | Scalar::Bf16) => map(a, |v| from_float(v as f32)),
        (false, Scalar::I32 | Scalar::U32) => *a,
        (false, Scalar::I8) => map(a, |v| i32::from(v as i8) as u32),
        (false, Scalar::U8) => map(a, |v| v & 0xff),
        (false, Scalar::Bool) => map(a, |v| u32::from(v != 0)),
    }
}

/// All lanes combined, 16 apart first.
pub(super) fn reduce(op: Reduction, scalar: Scalar, a: &Lanes) -> Lanes {
    let combine = |x: u32, y: u32| -> u32 {
        match (op, scalar) {
            (Reduction::Sum, Scalar::F32) => (f32::from_bits(x) + f32::from_bits(y)).to_bits(),
            (Reduction::Max, Scalar::F32) => f32::from_bits(x).max(f32::from_bits(y)).to_bits(),
            (Reduction::Min, Scalar::F32) => f32::from_bits(x).min(f32::from_bits(y)).to_bits(),
            (Reduction::Sum, _) => x.wrapping_add(y),
            (Reduction::Max, Scalar::I32) => (x as i32).max(y as i32) as u32,
            (Reduction::Min, Scalar::I32) => (x as i32).min(y as i32) as u32,
            (Reduction::Max, _) => x.max(y),
            (Reduction::Min, _) => x.min(y),
        }
    };
    let mut tree = *a;
    for apart in [16, 8, 4, 2, 1] {
        for i in 0..apart {
            tree[i] = combine(tree[i], tree[i + apart]);
        }
    }
    [tree[0]; 32]
}
