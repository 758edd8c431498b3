//! The four choices of a plan, and their names.

use std::fmt;
use std::str::FromStr;

/// Declares an enum whose values have names.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $variant:ident $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$of])* $variant,)*
        }

        impl $type {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(s: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|value| value.name() == s).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|value| value.name()).collect();
                    format!("`{s}` is not one of {}", names.join(", "))
                })
            }
        }
    };
}

named! {
    /// The attention of a prompt.
    Attention {
        /// Key after key, on an f32 cache.
        Off "off",
        /// All query heads of a key/value head together on a packed cache, with an f32 copy for decoding.
        Grouped "grouped",
        /// The same without the copy: decoding reads the packed cache.
        GroupedNoMirror "grouped_no_mirror",
        /// Key after key for any head width, on the packed cache that decoding reads too.
        ParametricNativeDecode "parametric_native_decode",
    }
}

named! {
    /// The tier of the products of a prompt.
    Gemm {
        /// One element a load, 32 rows.
        Original "original",
        /// The query, key and value projection with 64 rows; the other products as in `original`.
        Bm64 "bm64",
        /// Four elements a load.
        Vecload4 "vecload4",
        /// Two buffers, one barrier a step.
        MslParity "msl_parity",
        /// The inner index split among SIMD groups.
        SplitK "splitk",
        /// Products of whole tiles: the tensor operations of Metal 4. Taken only when asked for.
        TensorOps "tensor_ops",
    }
}

named! {
    /// Which caches a prompt fills.
    KvContract {
        /// Keys and values in f32.
        NaturalF32 "natural_f32",
        /// Keys and values in f16.
        PackedF16 "packed_f16",
        /// Both.
        Mirrored "mirrored",
    }
}

named! {
    /// Which cache a decode step reads.
    DecodeRoute {
        /// The one in f32.
        Legacy "legacy",
        /// The packed one, with keys split among threadgroups when there are many.
        Native "native",
    }
}

impl Attention {
    /// The caches this attention fills.
    pub const fn kv_contract(self) -> KvContract {
        match self {
            Self::Off => KvContract::NaturalF32,
            Self::Grouped => KvContract::Mirrored,
            Self::GroupedNoMirror | Self::ParametricNativeDecode => KvContract::PackedF16,
        }
    }

    /// The decode step that fits those caches.
    pub const fn decode(self) -> DecodeRoute {
        match self {
            Self::Off | Self::Grouped => DecodeRoute::Legacy,
            Self::GroupedNoMirror | Self::ParametricNativeDecode => DecodeRoute::Native,
        }
    }
}
