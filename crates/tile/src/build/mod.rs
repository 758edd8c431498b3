//! The builder: Rust expressions that write IR.
//!
//! [`kernel`] hands a [`Builder`] to a closure. Everything typed comes from it: views and scratch first, then values
//! that overload the operators. A Rust `for` or `if` over plain numbers unrolls and selects while building; only
//! [`Builder::fold`], [`Builder::each`] and [`Builder::when`] make control flow that exists at run time.
//!
//! A use that has no meaning (a coordinate too many, a shape of zero length) is remembered with its line and
//! refused by the verifier; the builder itself never fails.

mod carried;
mod collective;
mod declare;
mod fold;
mod kind;
mod math;
mod matrix;
mod operators;
mod range;
mod reduce;
mod state;
mod tile;
mod value;
mod vector;
mod view;

pub use carried::{Carried, IntoCarried};
pub use declare::{Array, Packed, Shape};
pub use kind::{Element, Integer, Kind, Matrix, Numeric, Tile, Vec2, Vec4, Word};
pub use matrix::{Factor, IntoFactor};
pub use range::{IntoRange, Range};
pub use state::{Builder, kernel};
pub use value::{Operand, Value};
pub use view::{Coordinates, View};
