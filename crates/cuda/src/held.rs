//! How the matrices of a model lie on the GPU.

use tilewright_model::{Config, WeightFormat};

/// The type of numbers that lie by rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    F32,
    Bf16,
}

impl Numbers {
    /// Bytes of one.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 => 2,
        }
    }
}

/// In which forms matrices are held; those of the persistent decoder are made of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// In the planes of their formats, as kernels of the language read them.
    pub(crate) planes: bool,
    /// By rows, as the kernels of `native` read them.
    pub(crate) numbers: Option<Numbers>,
    /// Whether weights are rounded to 8 bits before either.
    pub(crate) rounded: bool,
}

impl Held {
    /// For weights in a format, and the paths that serve.
    pub(crate) fn of(config: &Config, weights: WeightFormat, paths: Paths) -> Self {
        let by_rows = |numbers| Self { planes: false, numbers: Some(numbers), rounded: false };
        match weights {
            WeightFormat::F32 => by_rows(Numbers::F32),
            WeightFormat::Gguf => Self { planes: true, numbers: None, rounded: false },
            // Kernels of the language take codes four at a time.
            WeightFormat::Int8 if !in_fours(config) => Self { rounded: true, ..by_rows(Numbers::F32) },
            WeightFormat::Int8 if paths.persistent => by_rows(Numbers::Bf16),
            WeightFormat::Int8 => Self {
                planes: paths.overlap || !paths.hopper,
                numbers: paths.hopper.then_some(Numbers::Bf16),
                rounded: true,
            },
            _ => by_rows(Numbers::Bf16),
        }
    }

    /// Whether the kernels of `native` read f32.
    pub(crate) fn is_wide(self) -> bool {
        self.numbers == Some(Numbers::F32)
    }

    /// Whether prompts and batches stage by stage take the planes.
    pub(crate) fn by_planes(self) -> bool {
        self.numbers.is_none()
    }
}

/// Which paths serve besides the kernels of stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paths {
    pub(crate) hopper: bool,
    pub(crate) persistent: bool,
    pub(crate) overlap: bool,
}

/// Whether four neighbours of a row always lie together, in every matrix.
pub(crate) fn in_fours(config: &Config) -> bool {
    [config.hidden, config.q_width(), config.intermediate].iter().all(|n| n.is_multiple_of(4))
}
