//! The conformance suite on the device of a target.

use tilewright_kernels::{Shape, catalogue};
use tilewright_model::Refusal;
use tilewright_tile::Kernel;

#[cfg(any(target_os = "macos", metal_typecheck))]
use crate::AppleDevice;
use crate::conformance::{Outcome, compare};
use crate::open::{Target, shim};
use crate::{Device, Facts, ShimDevice};

/// A device that every kernel can be run on.
pub struct Suite(Kind);

enum Kind {
    Shim(Box<ShimDevice>),
    #[cfg(any(target_os = "macos", metal_typecheck))]
    Apple(Box<AppleDevice>),
}

impl Suite {
    /// Finds the device.
    ///
    /// # Errors
    /// As [`find`](crate::find).
    pub fn open(target: Target<'_>) -> Result<Self, Refusal> {
        match target {
            Target::Shim(folder) => Ok(Self(Kind::Shim(Box::new(shim(folder)?)))),
            #[cfg(any(target_os = "macos", metal_typecheck))]
            Target::Apple => Ok(Self(Kind::Apple(Box::new(AppleDevice::new()?)))),
            #[cfg(not(any(target_os = "macos", metal_typecheck)))]
            Target::Apple => Err(crate::open::absent()),
        }
    }

    /// What is known of the device.
    pub fn facts(&self) -> &Facts {
        match &self.0 {
            Kind::Shim(device) => device.facts(),
            #[cfg(any(target_os = "macos", metal_typecheck))]
            Kind::Apple(device) => device.facts(),
        }
    }

    /// Tells the outcome of every kernel at `shape` whose name contains `only`.
    pub fn each(&self, shape: &Shape, only: &str, tell: &mut dyn FnMut(&str, Outcome)) {
        for (name, kernel) in catalogue::kernels(shape).into_iter().filter(|(name, _)| name.contains(only)) {
            if let Some(why) = lacks(self.facts(), &kernel) {
                tell(&name, Outcome::Skipped(why.to_owned()));
                continue;
            }
            let outcome = match &self.0 {
                Kind::Shim(device) => compare(&**device, kernel),
                #[cfg(any(target_os = "macos", metal_typecheck))]
                Kind::Apple(device) => compare(&**device, kernel),
            };
            tell(&name, outcome);
        }
    }
}

/// What a device lacks of what a kernel is for.
fn lacks(facts: &Facts, kernel: &Kernel) -> Option<&'static str> {
    (kernel.has_tiles() && !facts.tensor_operations).then_some("the GPU has no tensor operations of Metal 4")
}

#[cfg(test)]
mod tests;
