//! Building blocks that several kernels share.

pub mod ahead;
pub mod arithmetic;
pub mod head;
pub mod matrix;
pub mod norm;
pub mod rope;
pub mod softmax;

pub use ahead::{Ahead, STRETCH};
pub use arithmetic::{Arithmetic, Exponential, silu};
pub use head::HeadLanes;
pub use matrix::Matrix;
pub(crate) use matrix::{nibble, six_bits, unpack};
