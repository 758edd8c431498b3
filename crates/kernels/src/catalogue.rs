//! Every kernel and every pipeline, by name.
//!
//! Goldens, compile checks, mutation tests and the command line walk over this list; a kernel that is not here does
//! not exist for them.

#[cfg(test)]
mod tests;

use tilewright_tile::{Kernel, Pipeline, Rejection};

use crate::shape::Shape;
use crate::{attention, decode, prefill};

/// A kernel in all its variants.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// What it computes, in a sentence.
    pub summary: &'static str,
    /// The items of the acceptance list it answers, such as `"C18"`.
    pub items: &'static [&'static str],
    /// Which shapes it can be built for.
    pub fits: fn(&Shape) -> bool,
    /// Its forms: storage types, sizes of a tile, choices of arithmetic.
    pub variants: &'static [Variant],
}

/// One form of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The name; with the entry's it makes the kernel's: `ENTRY_VARIANT`, or `ENTRY` when empty.
    pub name: &'static str,
    /// Builds it.
    pub build: fn(&Shape) -> Kernel,
}

/// The launches of one step.
#[derive(Clone, Copy, Debug)]
pub struct PipelineEntry {
    /// The name.
    pub name: &'static str,
    /// What it computes, in a sentence.
    pub summary: &'static str,
    /// The items of the acceptance list it answers.
    pub items: &'static [&'static str],
    /// Which shapes it can be built for.
    pub fits: fn(&Shape) -> bool,
    /// Builds it, verifying each kernel.
    pub build: fn(&Shape) -> Result<Pipeline, Rejection>,
}

/// For kernels that can be built for every shape.
pub const fn any_shape(_: &Shape) -> bool {
    true
}

impl Entry {
    /// The kernels at a shape, under their full names; none where the entry does not fit it.
    pub fn kernels(&'static self, shape: &Shape) -> impl Iterator<Item = (String, Kernel)> + use<> {
        let (shape, variants) = (*shape, if (self.fits)(shape) { self.variants } else { &[] });
        variants.iter().map(move |variant| (self.full_name(variant), (variant.build)(&shape)))
    }

    /// The kernel's name.
    pub fn full_name(&self, variant: &Variant) -> String {
        match variant.name {
            "" => self.name.to_owned(),
            name => format!("{}_{name}", self.name),
        }
    }
}

/// Every kernel.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    decode::ENTRIES.iter().chain(prefill::ENTRIES).chain(attention::ENTRIES)
}

/// Every kernel that can be built for a shape, with its name.
pub fn kernels(shape: &Shape) -> Vec<(String, Kernel)> {
    entries().flat_map(|entry| entry.kernels(shape)).collect()
}

/// Every pipeline.
pub fn pipelines() -> impl Iterator<Item = &'static PipelineEntry> {
    decode::PIPELINES.iter().chain(prefill::PIPELINES)
}

/// The kernel named `name`, an entry with its variant, at a shape it fits.
pub fn find(name: &str, shape: &Shape) -> Option<Kernel> {
    let of = |entry: &'static Entry| {
        let variant = entry.variants.iter().find(|variant| entry.full_name(variant) == name)?;
        (entry.fits)(shape).then(|| (variant.build)(shape))
    };
    entries().find_map(of)
}
