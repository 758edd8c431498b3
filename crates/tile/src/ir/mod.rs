//! The program as data.
//!
//! See the crate's documentation for what each part means. This module only holds the records; [`crate::build`]
//! writes them, [`verify`](mod@crate::verify) judges them, [`crate::interp`] runs them, [`crate::emit`] prints them for a GPU.

mod kernel;
mod memory;
mod names;
pub(crate) mod neutral;
mod op;
mod print;
mod visit;

pub use kernel::{Argument, Builtin, Def, Kernel, Launch, Mistake, Origin, Param, ValueId};
pub use memory::{Access, Buffer, Extent, Shared, Space, View};
pub use names::Names;
pub use op::{
    Arithmetic, Block, Comparison, Loop, Math, Op, OpId, OpKind, Place, Reduction, Scope, Scratch, Shuffle,
};
pub use print::{describe, print};
