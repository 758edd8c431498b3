//! In which order the CPU device rounds and sums.

use std::fmt;
use std::str::FromStr;

/// Whose bits the results have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Numerics {
    /// The device's own: the fastest order.
    #[default]
    Native,
    /// llama.cpp's: every sum in the order, and every rounding in the place, that its AVX-512 build has for one token a batch
    /// without flash attention.
    LlamaCpp,
    /// The same with flash attention, as llama.cpp computes unasked.
    LlamaCppFlash,
}

impl Numerics {
    /// Every choice.
    pub const ALL: &[Self] = &[Self::Native, Self::LlamaCpp, Self::LlamaCppFlash];

    /// The name used in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::LlamaCpp => "llama.cpp",
            Self::LlamaCppFlash => "llama.cpp-flash",
        }
    }

    /// Whether they are the device's own.
    pub fn is_native(self) -> bool {
        self == Self::Native
    }
}

impl fmt::Display for Numerics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Numerics {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().copied().find(|numerics| numerics.name() == s);
        found.ok_or_else(|| {
            format!(
                "`{s}` is not one of {}",
                Self::ALL.iter().map(|n| n.name()).collect::<Vec<_>>().join(", ")
            )
        })
    }
}
