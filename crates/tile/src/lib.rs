//! The tile-kernel language: GPU kernels as data.
//!
//! A kernel is written once, in Rust, with a [`Builder`]; it becomes a typed SSA program ([`ir`]) that has a meaning
//! one can run ([`interp`]) without a GPU.
//!
//! # How a program is made up
//!
//! A [`Kernel`] has *declarations* and a *body*.
//!
//! Declarations are the launch (threadgroups on three axes, threads in a group), the parameters in binding order
//! (device buffers and scalars), the shared allocations, and the *views*: typed, strided, n-dimensional windows on a
//! buffer or an allocation. Memory is reached through views only. Each view says what it may be used for (read,
//! write, both) and which of its axes are guarded: outside a guarded axis a load gives the view's fill and a store
//! does nothing; outside any other axis lies a refusal.
//!
//! The body is a block: operations in the order in which a thread performs them. Most define one value. A value is
//! defined once, never changes, and is visible to later operations of its block and of the blocks within. A `loop`
//! has a block that runs once for each index; what it carries from pass to pass are values of its own, and its
//! results are what they hold at the end, possibly what they held at the start. A `when` has a block that runs only
//! in the threads where a condition holds. There is no return, no goto, no recursion, no atomic operation and no
//! waiting for another threadgroup.
//!
//! # Threads
//!
//! A threadgroup has 32 to 1,024 threads in SIMD groups of 32 lanes. Lanes of a SIMD group exchange values by
//! shuffles and reductions, all of them together. Threads of a threadgroup exchange values by shared memory, with a
//! barrier between a write and what another thread does with the element; nothing is promised about lanes running
//! in step. Threadgroups exchange nothing within a launch, and neither do threads through device memory: what one
//! launch writes, the next may read.
//!
//! # Numbers
//!
//! Arithmetic is f32, i32 and u32. f32 operations round to nearest even, one rounding each; `fma` is written where
//! it is meant and never made from a product and a sum. Division and square root are exact in that sense; other
//! functions are the device's precise ones unless the `fast_` form is asked for. f16, bf16, i8 and u8 are storage:
//! loaded, stored, moved and converted. Integers wrap. An 8×8 matrix fragment belongs to a SIMD group as a whole;
//! its product is eight fused multiply-adds an element in order of the inner index. A 64×64 tile belongs to the four
//! SIMD groups of a threadgroup likewise; its factors lie in shared memory, and what takes a tile uses it up.

pub mod arena;
pub mod bind;
pub mod build;
pub mod emit;
pub mod interp;
pub mod ir;
pub mod pipeline;
pub mod report;
pub mod schedule;
#[cfg(feature = "trial")]
pub mod testing;
pub mod types;
pub mod verify;

/// The guide's code is compiled and run with the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/kernel-language.md")]
struct Guide;

pub use build::{Builder, Element, Factor, Matrix, Operand, Tile, Value, Vec2, Vec4, View, kernel};
pub use ir::{Access, Kernel, Launch};
pub use pipeline::{Order, Pipeline, ResourceKind, Stage};
pub use report::Report;
pub use schedule::Schedule;
pub use types::{Literal, Scalar, Type, Width};
pub use verify::{Rejection, Rule, Verified, verify};
