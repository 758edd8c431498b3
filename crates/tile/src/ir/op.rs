//! Operations.

use std::panic::Location;

use crate::arena::Handle;

use super::kernel::ValueId;
use super::memory::View;

/// Names an operation of a kernel.
pub type OpId = Handle<Op>;

/// Operations in the order in which a thread performs them.
pub type Block = Vec<OpId>;

/// One operation, the values it defines, and the builder line that wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// What it defines: nothing, one value, or the results of a loop.
    pub results: Vec<ValueId>,
    /// Where the builder was called.
    pub at: &'static Location<'static>,
}

/// Elementwise operations on two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// Sum. Integers wrap.
    Add,
    /// Difference. Integers wrap.
    Sub,
    /// Product. Integers wrap.
    Mul,
    /// Quotient: correctly rounded for f32, truncated towards zero for integers.
    Div,
    /// Remainder of the truncated quotient; integers only.
    Rem,
    /// The smaller; a NaN loses to a number.
    Min,
    /// The larger; a NaN loses to a number.
    Max,
    /// Bitwise and; also of truth values.
    And,
    /// Bitwise or; also of truth values.
    Or,
    /// Bitwise exclusive or; also of truth values.
    Xor,
    /// Shift left by 0 to 31 bits.
    Shl,
    /// Shift right by 0 to 31 bits: arithmetic for i32, logical for u32.
    Shr,
}

/// Comparisons, each giving a `bool`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal; false for NaN.
    Eq,
    /// Not equal; true for NaN.
    Ne,
    /// Less; false for NaN.
    Lt,
    /// Less or equal; false for NaN.
    Le,
    /// Greater; false for NaN.
    Gt,
    /// Greater or equal; false for NaN.
    Ge,
}

/// Elementwise operations on one value.
///
/// Accuracy on a device is the device's: the precise forms are those its language calls precise, a `Fast` form is
/// the named fast intrinsic and is counted in the kernel's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Math {
    /// Negation.
    Neg,
    /// Bitwise complement of a word, or logical not.
    Not,
    /// Magnitude.
    Abs,
    /// Largest integer not above.
    Floor,
    /// Square root, correctly rounded.
    Sqrt,
    /// One over the square root, precise.
    Rsqrt,
    /// e to the power.
    Exp,
    /// Two to the power.
    Exp2,
    /// Natural logarithm.
    Log,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Hyperbolic tangent.
    Tanh,
    /// Fast e to the power.
    FastExp,
    /// Fast two to the power.
    FastExp2,
    /// Fast sine.
    FastSin,
    /// Fast cosine.
    FastCos,
}

impl Math {
    /// Whether accuracy was traded for speed on purpose.
    pub const fn is_fast(self) -> bool {
        matches!(self, Self::FastExp | Self::FastExp2 | Self::FastSin | Self::FastCos)
    }
}

/// How lanes are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Sum.
    Sum,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// The lane whose number differs in these bits.
    Xor(u32),
    /// The lane numbered so many higher; lanes without such a neighbour keep their own value.
    Down(u32),
    /// The lane a value names.
    Lane(ValueId),
}

/// Whom a barrier holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The lanes of one SIMD group.
    Simd,
    /// The threads of the threadgroup.
    Group,
    /// This launch, until those before it have ended and what they wrote can be read.
    Launch,
}

/// One coordinate tuple of a view, and the condition for touching it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The view.
    pub view: Handle<View>,
    /// A coordinate for each axis: the element, the first of a vector, or the first row and column of a fragment.
    pub index: Vec<ValueId>,
    /// Touch memory only where this `bool` holds.
    pub mask: Option<ValueId>,
}

/// Room for a fragment that crosses the edge of its view: 64 elements of shared memory for each SIMD group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scratch {
    /// A shared view `[SIMD groups, 8, 8]`; the SIMD group's own 8×8 part is used.
    pub view: Handle<View>,
}

/// A counted loop with carried values.
///
/// `index` runs over `start, start + step, …` while `index < end`, or, when `whole`, while `index + step <= end`.
/// On entry `carried` holds `init`; each pass ends by handing `yields` to the next; the operation's results are
/// the values after the last pass. A loop may run zero times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// The index, an i32 defined in the body.
    pub index: ValueId,
    /// First index.
    pub start: ValueId,
    /// Bound.
    pub end: ValueId,
    /// Distance, positive.
    pub step: u32,
    /// Only passes whose whole step fits.
    pub whole: bool,
    /// The carried values as the body sees them.
    pub carried: Vec<ValueId>,
    /// What they hold on entry.
    pub init: Vec<ValueId>,
    /// What a pass does.
    pub body: Block,
    /// What they hold after a pass.
    pub yields: Vec<ValueId>,
}

/// Everything a thread can do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Elementwise on one value.
    Math(Math, ValueId),
    /// Elementwise on two values of one type.
    Arithmetic(Arithmetic, ValueId, ValueId),
    /// Compare two scalars of one type.
    Compare(Comparison, ValueId, ValueId),
    /// `a·b + c` rounded once.
    Fma(ValueId, ValueId, ValueId),
    /// The second where the first holds, else the third.
    Select(ValueId, ValueId, ValueId),
    /// Convert the numeric value; to a narrower float by rounding to nearest even, to an integer by truncation.
    Cast(ValueId),
    /// Keep the bits, change the type; sizes are equal.
    Bitcast(ValueId),
    /// A vector or fragment whose elements all have this value.
    Splat(ValueId),
    /// A vector of two or four scalars.
    Compose(Vec<ValueId>),
    /// One element of a vector.
    Extract(ValueId, u32),
    /// `c` plus the inner product of two vectors of four i8, exact.
    Dot4(ValueId, ValueId, ValueId),
    /// The value another lane has.
    Shuffle(Shuffle, ValueId),
    /// All lanes combined, the same in every lane: first 16 apart, then 8, 4, 2, 1.
    SimdReduce(Reduction, ValueId),
    /// Read an element or a vector of consecutive elements.
    Load(Place),
    /// Write an element or a vector of consecutive elements.
    Store(Place, ValueId),
    /// Read a fragment; `transposed` swaps its rows and columns.
    MatrixLoad {
        /// Row and column of its first element, on the view's last two axes.
        from: Place,
        /// Whether the fragment holds the transpose of what lies in memory.
        transposed: bool,
        /// Where a fragment crossing the edge is put together.
        scratch: Option<Scratch>,
    },
    /// Write a fragment.
    MatrixStore {
        /// Row and column of its first element, on the view's last two axes.
        to: Place,
        /// The fragment.
        value: ValueId,
        /// Where a fragment crossing the edge is taken apart.
        scratch: Option<Scratch>,
    },
    /// `c + a·b` for 8×8 fragments; eight fused products added in order of the inner index.
    MatrixMultiply(ValueId, ValueId, ValueId),
    /// `sum + left·right` of two 64×64 tiles in shared memory, by the whole threadgroup: products fused, in order of the
    /// inner index. No barrier is in it.
    TileMultiply {
        /// The left factor, a view as a whole.
        left: Handle<View>,
        /// The right factor.
        right: Handle<View>,
        /// Whether the right factor's view holds its transpose.
        transposed: bool,
        /// What is added to; it is used up.
        sum: ValueId,
    },
    /// Write a tile to a 64×64 view of shared memory, by the whole threadgroup; it is used up.
    TileStore {
        /// The view.
        to: Handle<View>,
        /// The tile.
        value: ValueId,
    },
    /// Shared memory written before is visible after, to the lanes in scope.
    Barrier(Scope),
    /// Repeat.
    Loop(Box<Loop>),
    /// Do the block only where the `bool` holds.
    When(ValueId, Block),
}
