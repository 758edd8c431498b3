//! What is asked for, and what is there.

use tilewright_model::Config;

use super::names::{Attention, Gemm};

/// One value for each kind of product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByRole<T> {
    /// Query, key and value projections.
    pub qkv: T,
    /// Products added to the residual stream: output and down projections.
    pub accum: T,
    /// Gate and up projections with SwiGLU.
    pub swiglu: T,
}

impl<T: Copy> ByRole<T> {
    /// The same for every role.
    pub const fn all(value: T) -> Self {
        Self { qkv: value, accum: value, swiglu: value }
    }

    /// With each role's name.
    pub const fn named(&self) -> [(&'static str, T); 3] {
        [("qkv", self.qkv), ("accum", self.accum), ("swiglu", self.swiglu)]
    }

    /// Pairs of values.
    pub(crate) fn zip<U: Copy>(self, other: ByRole<U>) -> ByRole<(T, U)> {
        ByRole {
            qkv: (self.qkv, other.qkv),
            accum: (self.accum, other.accum),
            swiglu: (self.swiglu, other.swiglu),
        }
    }

    pub(crate) fn map<U>(self, f: impl Fn(T) -> U) -> ByRole<U> {
        ByRole { qkv: f(self.qkv), accum: f(self.accum), swiglu: f(self.swiglu) }
    }
}

/// What a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExecutionRequest {
    /// The attention of a prompt.
    pub attention: Attention,
    /// The tier of its products.
    pub gemm: Gemm,
}

impl ExecutionRequest {
    /// What a model gets when nothing is asked for, from the width of its heads; whether they have norms makes no
    /// difference.
    ///
    /// | width | attention |
    /// | --- | --- |
    /// | 128 | grouped without mirror |
    /// | 64 | parametric native decode |
    /// | others | off |
    ///
    /// Products take the MSL parity tier.
    pub fn usual(config: &Config) -> Self {
        let attention = match config.head_dim {
            128 => Attention::GroupedNoMirror,
            64 => Attention::ParametricNativeDecode,
            _ => Attention::Off,
        };
        Self { attention, gemm: Gemm::MslParity }
    }
}

/// Which kernels there are. Attention `off`, products of tier `original` and both decode steps always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Linked {
    /// Grouped attention.
    pub grouped: bool,
    /// Attention for any head width on a packed cache.
    pub parametric_native_decode: bool,
    /// The projection with 64 rows.
    pub bm64: bool,
    /// Four elements a load.
    pub vecload4: ByRole<bool>,
    /// Two buffers.
    pub msl_parity: ByRole<bool>,
    /// The inner index split.
    pub splitk: ByRole<bool>,
    /// Whole tiles, on a device with tensor operations.
    pub tensor_ops: ByRole<bool>,
}

impl Linked {
    /// Every kernel.
    pub const ALL: Self = Self {
        grouped: true,
        parametric_native_decode: true,
        bm64: true,
        vecload4: ByRole::all(true),
        msl_parity: ByRole::all(true),
        splitk: ByRole::all(true),
        tensor_ops: ByRole::all(true),
    };

    /// The roles for which a tier is there.
    pub const fn tier(&self, gemm: Gemm) -> ByRole<bool> {
        match gemm {
            Gemm::Original => ByRole::all(true),
            Gemm::Bm64 => ByRole { qkv: self.bm64, accum: false, swiglu: false },
            Gemm::Vecload4 => self.vecload4,
            Gemm::MslParity => self.msl_parity,
            Gemm::SplitK => self.splitk,
            Gemm::TensorOps => self.tensor_ops,
        }
    }
}
