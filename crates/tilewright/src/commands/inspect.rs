//! `inspect`: everything about a checkpoint but its weights, and everything that speaks against it.
//!
//! Headers and texts are read, the plan is resolved for every weight format, no weight is loaded.

mod facts;
mod page;

use clap::Args;
use tilewright_engine::Source;
use tilewright_model::{Inspection, inspect};

use self::facts::Facts;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::{ModelFlags, OutputFlags};

/// Show what a checkpoint is and what speaks against it, without loading weights
///
/// Exits with 1 when the checkpoint, or the plan that the flags ask for, is refused.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Carries `inspect` out.
pub(crate) fn run(args: InspectArgs, console: &mut Console) -> Result<(), Failure> {
    let choice = args.model.resolve();
    let inspection = match &choice.source {
        Source::Embedded => Inspection::embedded(),
        Source::Path(path) => inspect(path),
    };
    let facts = Facts::of(inspection, &choice);
    if console.json() {
        console.object(&facts.json())?;
    } else {
        console.text(&page::render(&facts))?;
        for refusal in &facts.refusals {
            console.refusal(refusal);
        }
    }
    if facts.refusals.is_empty() { Ok(()) } else { Err(Failure::Negative) }
}
