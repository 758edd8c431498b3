//! Rust types that stand for IR types.

use std::marker::PhantomData;

use half::{bf16, f16};

use crate::types::{Literal, Scalar, Type, Width};

/// A type of value.
pub trait Kind: Copy + 'static {
    /// The IR type.
    const TYPE: Type;
}

/// A type of one element, with Rust constants.
pub trait Element: Kind {
    /// The IR type.
    const SCALAR: Scalar;

    /// A constant of this type.
    fn literal(self) -> Literal;
}

/// Types with sums, differences, products, quotients, minima and maxima: f32, i32, u32, their vectors, fragments.
pub trait Numeric: Kind {}

/// Types with floating mathematics: f32, its vectors, fragments.
pub trait Real: Numeric {}

/// Types with remainders, shifts and bitwise operations: i32, u32 and their vectors.
pub trait Integer: Numeric {}

/// Scalars with arithmetic, which lanes can combine: f32, i32, u32.
pub trait Word: Element + Numeric {}

/// Two elements.
#[derive(Clone, Copy, Debug)]
pub struct Vec2<T>(PhantomData<fn() -> T>);

/// Four elements.
#[derive(Clone, Copy, Debug)]
pub struct Vec4<T>(PhantomData<fn() -> T>);

/// An 8×8 fragment of f32 that belongs to one SIMD group.
#[derive(Clone, Copy, Debug)]
pub struct Matrix;

/// A 64×64 tile of f32 that belongs to the four SIMD groups of a threadgroup.
#[derive(Clone, Copy, Debug)]
pub struct Tile;

macro_rules! element {
    ($($rust:ty => $scalar:ident, $literal:expr;)*) => {$(
        impl Kind for $rust {
            const TYPE: Type = Type::Scalar(Scalar::$scalar);
        }
        impl Element for $rust {
            const SCALAR: Scalar = Scalar::$scalar;
            fn literal(self) -> Literal {
                let make: fn($rust) -> Literal = $literal;
                make(self)
            }
        }
    )*};
}

element! {
    f32 => F32, Literal::f32;
    f16 => F16, |v| Literal::F16(v.to_bits());
    bf16 => Bf16, |v| Literal::Bf16(v.to_bits());
    i32 => I32, Literal::I32;
    u32 => U32, Literal::U32;
    i8 => I8, Literal::I8;
    u8 => U8, Literal::U8;
    bool => Bool, Literal::Bool;
}

impl<T: Element> Kind for Vec2<T> {
    const TYPE: Type = Type::Vector(T::SCALAR, Width::Two);
}

impl<T: Element> Kind for Vec4<T> {
    const TYPE: Type = Type::Vector(T::SCALAR, Width::Four);
}

impl Kind for Matrix {
    const TYPE: Type = Type::Matrix(Scalar::F32);
}

impl Kind for Tile {
    const TYPE: Type = Type::Tile;
}

impl Word for f32 {}
impl Word for i32 {}
impl Word for u32 {}

impl Numeric for f32 {}
impl Numeric for i32 {}
impl Numeric for u32 {}
impl<T: Word> Numeric for Vec2<T> {}
impl<T: Word> Numeric for Vec4<T> {}
impl Numeric for Matrix {}

impl Real for f32 {}
impl Real for Vec2<f32> {}
impl Real for Vec4<f32> {}
impl Real for Matrix {}

impl Integer for i32 {}
impl Integer for u32 {}
impl Integer for Vec2<i32> {}
impl Integer for Vec2<u32> {}
impl Integer for Vec4<i32> {}
impl Integer for Vec4<u32> {}
