//! The command line: typed flags in, text or JSON out.
//!
//! `cli` holds the command tree, `flags` the groups of flags that commands share, `commands` one file per command,
//! `console` everything about standard output and standard error. Typed flags are resolved once into what they
//! mean; nothing after that reads them. No model code lives here.

mod cli;
mod commands;
mod console;
mod exit;
mod flags;
mod interrupt;
mod memory;
#[cfg(unix)]
mod raw;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    {
        raw::fail_writes_past_the_limit();
        raw::name_bus_errors();
    }
    match cli::parse() {
        Ok(cli) => exit::run(cli),
        Err(error) => exit::usage(&error, cli::asks_for_json()),
    }
}
