//! The values of `--quant`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tilewright_model::WeightFormat;
use tilewright_model::convert::Quant;

/// What matrices are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mixture {
    /// Blocks of GGUF.
    Blocks(Quant),
    /// What a format of run time holds, as floats.
    Format(WeightFormat),
}

impl Mixture {
    /// Every value.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let formats = [WeightFormat::Int8, WeightFormat::Int4].map(Self::Format);
        Quant::ALL.into_iter().map(|(quant, _)| Self::Blocks(quant)).chain(formats)
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Blocks(quant) => quant.name(),
            Self::Format(format) => format.name(),
        }
    }

    /// The blocks, where it is of those.
    pub(crate) fn blocks(self) -> Option<Quant> {
        match self {
            Self::Blocks(quant) => Some(quant),
            Self::Format(_) => None,
        }
    }
}

/// Reads one by its name.
pub(super) fn mixtures() -> impl TypedValueParser<Value = Mixture> {
    PossibleValuesParser::new(Mixture::all().map(Mixture::name)).try_map(|name| {
        let found = Mixture::all().find(|mixture| mixture.name() == name);
        found.ok_or_else(|| format!("`{name}` is none of them"))
    })
}
