//! The flattened kernel.

use crate::arena::Handle;
use crate::ir::{Arithmetic, Builtin, Comparison, Kernel, Math, OpId, Param, Reduction, Scope, Space, View};
use crate::types::{Literal, Scalar};

/// A register: 32 lanes of 32 bits.
pub(super) type Reg = u32;

/// The position of an instruction.
pub(super) type Pc = u32;

/// A kernel ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) kernel: Kernel,
    pub(super) code: Vec<Instr>,
    /// The operation each instruction comes from.
    pub(super) origin: Vec<OpId>,
    pub(super) registers: u32,
    pub(super) literals: Vec<(Reg, Literal)>,
    pub(super) builtins: Vec<(Reg, Builtin)>,
    pub(super) arguments: Vec<(Reg, usize)>,
    pub(super) views: Vec<ViewAt>,
}

impl Program {
    /// Flattens `kernel`. It need not be verified; what is wrong with it shows when it runs.
    pub fn new(kernel: &Kernel) -> Self {
        super::compile::compile(kernel)
    }

    /// The kernel it came from.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) fn param_of(&self, buffer: Handle<crate::ir::Buffer>) -> usize {
        let is = |p: &Param| *p == Param::Buffer(buffer);
        self.kernel.params.iter().position(is).unwrap_or(0)
    }
}

/// A view with its run-time lengths in registers.
#[derive(Clone, Debug)]
pub(super) struct ViewAt {
    pub(super) memory: MemoryAt,
    pub(super) element: Scalar,
    pub(super) offset: u64,
    pub(super) axes: Vec<Axis>,
    pub(super) fill: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAt {
    /// Parameter number.
    Device(usize),
    /// Shared allocation number.
    Shared(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) size: u32,
    pub(super) limit: Option<Reg>,
    pub(super) stride: u64,
    pub(super) guarded: bool,
}

impl ViewAt {
    pub(super) fn new(program: &Program, view: &View, reg: impl Fn(crate::ir::ValueId) -> Reg) -> Self {
        let memory = match view.space {
            Space::Device(buffer) => MemoryAt::Device(program.param_of(buffer)),
            Space::Shared(shared) => MemoryAt::Shared(shared.index()),
        };
        let axis = |n: usize| Axis {
            size: view.shape[n].size,
            limit: view.shape[n].limit.map(&reg),
            stride: view.strides[n],
            guarded: view.guarded[n],
        };
        Self {
            memory,
            element: view.element,
            offset: view.offset,
            axes: (0..view.shape.len()).map(axis).collect(),
            fill: slot(view.fill),
        }
    }
}

/// A literal as a lane holds it.
pub(super) const fn slot(literal: Literal) -> u32 {
    match literal {
        Literal::F32(bits) => bits,
        Literal::F16(bits) | Literal::Bf16(bits) => bits as u32,
        Literal::I32(v) => v as u32,
        Literal::U32(v) => v,
        Literal::I8(v) => v as i32 as u32,
        Literal::U8(v) => v as u32,
        Literal::Bool(v) => v as u32,
    }
}

#[derive(Clone, Debug)]
pub(super) struct At {
    pub(super) view: usize,
    pub(super) index: Vec<Reg>,
    pub(super) mask: Option<Reg>,
}

/// Registers to be set from others, as if all at once.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// Destination and source.
    pub(super) pairs: Vec<(Reg, Reg)>,
    /// Whether a source is also a destination.
    pub(super) crossing: bool,
}

/// One step of a SIMD group. Vectors and fragments are taken apart into their registers beforehand.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    Math {
        op: Math,
        scalar: Scalar,
        dst: Reg,
        a: Reg,
    },
    Arithmetic {
        op: Arithmetic,
        scalar: Scalar,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Compare {
        op: Comparison,
        scalar: Scalar,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Fma {
        dst: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Select {
        dst: Reg,
        cond: Reg,
        a: Reg,
        b: Reg,
    },
    Cast {
        from: Scalar,
        to: Scalar,
        dst: Reg,
        a: Reg,
    },
    /// Bytes of the sources, end to end, as the elements of the destination.
    Bitcast {
        from: Scalar,
        to: Scalar,
        dst: Reg,
        a: Reg,
        count: u32,
    },
    Copy {
        dst: Reg,
        a: Reg,
    },
    /// A copy into a fragment: every lane must agree.
    Spread {
        dst: Reg,
        a: Reg,
    },
    Dot4 {
        dst: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    ShuffleXor {
        dst: Reg,
        a: Reg,
        bits: u32,
    },
    ShuffleDown {
        dst: Reg,
        a: Reg,
        by: u32,
    },
    ShuffleLane {
        dst: Reg,
        a: Reg,
        lane: Reg,
    },
    Reduce {
        op: Reduction,
        scalar: Scalar,
        dst: Reg,
        a: Reg,
    },
    Load {
        at: Box<At>,
        dst: Reg,
        width: u32,
    },
    Store {
        at: Box<At>,
        src: Reg,
        width: u32,
    },
    MatrixLoad {
        at: Box<At>,
        dst: Reg,
        transposed: bool,
        scratch: Option<usize>,
    },
    MatrixStore {
        at: Box<At>,
        src: Reg,
        scratch: Option<usize>,
    },
    Multiply {
        dst: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
        factor: Scalar,
    },
    TileMultiply {
        dst: Reg,
        left: usize,
        right: usize,
        transposed: bool,
        sum: Reg,
    },
    TileStore {
        to: usize,
        src: Reg,
    },
    Barrier(Scope),
    LoopEnter {
        index: Reg,
        start: Reg,
        copies: Copies,
    },
    LoopTest {
        index: Reg,
        end: Reg,
        step: u32,
        whole: bool,
        exit: Pc,
    },
    LoopNext {
        index: Reg,
        step: u32,
        copies: Copies,
        test: Pc,
    },
    WhenEnter {
        cond: Reg,
        exit: Pc,
    },
    WhenExit,
}
