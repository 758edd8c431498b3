//! A name of the catalogue and what it stands for.

use tilewright_kernels::catalogue;
use tilewright_kernels::shape::Sample;
use tilewright_model::{Code, Refusal};
use tilewright_tile::{Kernel, Pipeline, Verified, verify};

/// What a name stands for.
pub(super) enum Found {
    /// A kernel.
    Kernel(Box<Kernel>),
    /// A pipeline, all of whose kernels are accepted.
    Pipeline(Box<Pipeline>),
}

/// The kernel or pipeline of a name at a shape.
pub(super) fn find(name: &str, sample: &'static Sample) -> Result<Found, Refusal> {
    if let Some(kernel) = catalogue::find(name, &sample.shape) {
        return Ok(Found::Kernel(Box::new(kernel)));
    }
    let fits = |entry: &&catalogue::PipelineEntry| entry.name == name && (entry.fits)(&sample.shape);
    match catalogue::pipelines().find(fits) {
        Some(entry) => {
            let pipeline = (entry.build)(&sample.shape).map_err(|rejection| rejected(name, &rejection))?;
            Ok(Found::Pipeline(Box::new(pipeline)))
        }
        None => {
            let expected = format!("a name of `tilewright kernels list --shape {}`", sample.name);
            Err(Refusal::new(Code::KernelUnknown, "name", expected, name))
        }
    }
}

/// A kernel that the verifier accepts.
pub(super) fn accepted(kernel: Kernel) -> Result<Verified<Kernel>, Refusal> {
    let name = kernel.name().to_owned();
    verify(kernel).map_err(|rejection| rejected(&name, &rejection))
}

fn rejected(name: &str, rejection: &impl ToString) -> Refusal {
    Refusal::new(Code::KernelRejected, name, "a kernel that the verifier accepts", rejection.to_string())
}

impl Found {
    /// What the verifier says of it, in a line.
    pub(super) fn verdict(self) -> Result<String, String> {
        match self {
            Self::Kernel(kernel) => match verify(*kernel) {
                Ok(kernel) => {
                    let report = tilewright_tile::Report::new(&kernel);
                    let (proven, guarded) = (report.proven, report.guarded);
                    Ok(format!("{proven} accesses proven inside, {guarded} compared"))
                }
                Err(rejection) => Err(rejection.to_string()),
            },
            Self::Pipeline(pipeline) => match pipeline.verify() {
                Ok(pipeline) => {
                    let hazards = pipeline.facts().covered.len();
                    Ok(format!("{} dispatches, {hazards} hazards kept apart by order", pipeline.dispatches()))
                }
                Err(error) => Err(error.to_string()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
