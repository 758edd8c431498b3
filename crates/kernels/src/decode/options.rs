//! What may differ between decode pipelines of one shape.

use tilewright_tile::Scalar;

use crate::format::Format;
use crate::parts::Arithmetic;

/// Storage and form of a decode step. Sums are f32 in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Sequences that take a step together and share one sweep over the weights: 1 to 32.
    pub sequences: u32,
    /// Storage of the matrices.
    pub weights: Format,
    /// Storage of vectors between stages, and of logits.
    pub activations: Scalar,
    /// Storage of keys and values: a float type, or in the step of overlapping launches i8, with an f32 scale for each
    /// position of a head.
    pub cache: Scalar,
    /// Rounding of norms and rotation.
    pub arithmetic: Arithmetic,
    /// How a head attends.
    pub attention: Attention,
    /// Storage of the vectors beside the matrices: norms, biases.
    pub vectors: Scalar,
    /// How keys and values lie, in the step of overlapping launches.
    pub layout: Layout,
    /// Bytes from a page of [`PAGE`] positions to the next, in that step: a page has all layers, and with codes, the scales
    /// of its positions behind all of them. `None`: all positions are one page.
    pub pages: Option<u64>,
}

/// Positions of a page of the cache.
pub const PAGE: u32 = 256;

/// How keys and values of a head lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Position after position.
    #[default]
    Rows,
    /// Blocks of 32 positions, each as the fragments that matrix instructions of 16 by 16 take: keys with positions as
    /// rows, values with elements as rows. Heads of 64 or 128 in a type of 16 bits.
    Fragments,
}

/// How the keys of a head are spread over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attention {
    /// A SIMD group a head takes one key after another.
    SimdPerHead,
    /// A threadgroup a head; its SIMD groups take keys in turn and merge at the end.
    #[default]
    KeyParallel,
    /// Several threadgroups a head take stretches of keys; a second launch merges them.
    SplitKeys {
        /// Threadgroups a head.
        parts: u32,
    },
}

impl Options {
    /// Everything in f32.
    pub const F32: Self = Self::of(Format::F32, Scalar::F32);
    /// Everything in f16.
    pub const F16: Self = Self::of(Format::F16, Scalar::F16);
    /// Everything in bf16.
    pub const BF16: Self = Self::of(Format::BF16, Scalar::Bf16);
    /// Lossless packed weights, the rest f32.
    pub const PAIRS: Self = Self::of(Format::Pairs, Scalar::F32);
    /// 8-bit weights, the rest f32.
    pub const INT8: Self = Self::of(Format::INT8, Scalar::F32);
    /// 4-bit weights, the rest f32.
    pub const INT4: Self = Self::of(Format::INT4, Scalar::F32);
    /// GGUF's Q8_0 blocks, the rest f32.
    pub const Q8_0: Self = Self::of(Format::Q8_0, Scalar::F32);
    /// GGUF's Q4_0 blocks, the rest f32.
    pub const Q4_0: Self = Self::of(Format::Q4_0, Scalar::F32);
    /// GGUF's Q4_K blocks, the rest f32.
    pub const Q4_K: Self = Self::of(Format::Q4_K, Scalar::F32);
    /// GGUF's Q6_K blocks, the rest f32.
    pub const Q6_K: Self = Self::of(Format::Q6_K, Scalar::F32);

    /// One sequence with `weights`, everything else in `storage`.
    pub const fn of(weights: Format, storage: Scalar) -> Self {
        Self {
            sequences: 1,
            weights,
            activations: storage,
            cache: storage,
            arithmetic: Arithmetic::Fused,
            attention: Attention::KeyParallel,
            vectors: weights.vectors(),
            layout: Layout::Rows,
            pages: None,
        }
    }

    /// `sequences` together.
    #[must_use]
    pub const fn sequences(self, sequences: u32) -> Self {
        Self { sequences, ..self }
    }

    /// Keys and values stored as `cache`.
    #[must_use]
    pub const fn cache(self, cache: Scalar) -> Self {
        Self { cache, ..self }
    }

    /// Norms and biases stored as `vectors`.
    #[must_use]
    pub const fn vectors(self, vectors: Scalar) -> Self {
        Self { vectors, ..self }
    }

    /// Keys and values that lie otherwise.
    #[must_use]
    pub const fn layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// Keys and values in pages, from one to the next so many bytes.
    #[must_use]
    pub const fn pages(self, stride: u64) -> Self {
        Self { pages: Some(stride), ..self }
    }

    /// Matrices stored as `weights`; vectors stay.
    #[must_use]
    pub const fn weights(self, weights: Format) -> Self {
        Self { weights, ..self }
    }

    /// Another rounding of norms and rotation.
    #[must_use]
    pub const fn arithmetic(self, arithmetic: Arithmetic) -> Self {
        Self { arithmetic, ..self }
    }

    /// Another way to attend.
    #[must_use]
    pub const fn attention(self, attention: Attention) -> Self {
        Self { attention, ..self }
    }

    /// `NAME_VARIANT`, where the variant tells storage, then what differs from the usual.
    pub(crate) fn kernel_name(&self, name: &str, concerns: Concerns) -> String {
        let mut full = format!("{name}_{}", self.storage(concerns));
        if self.cache != self.activations && concerns.cache {
            full.push_str(&format!("_cache_{}", self.cache));
        }
        if self.arithmetic == Arithmetic::Separate && concerns.arithmetic {
            full.push_str("_separate");
        }
        if self.sequences > 1 {
            full.push_str(&format!("_batch{}", self.sequences));
        }
        full
    }

    fn storage(&self, concerns: Concerns) -> String {
        let boundary = match self.weights {
            Format::Float(scalar) => scalar,
            _ => Scalar::F32,
        };
        match concerns.weights {
            false => self.activations.to_string(),
            true if boundary == self.activations => self.weights.name().to_owned(),
            true => format!("{}_{}", self.weights.name(), self.activations),
        }
    }
}

/// Which choices change the text of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Concerns {
    pub(crate) weights: bool,
    pub(crate) cache: bool,
    pub(crate) arithmetic: bool,
}
