//! Functions by module and name, called with JSON: one table for HTTP, the command line and Python.
//!
//! A [`Library`] knows what its calls may touch. [`Library::execute`] checks every argument against the table before it
//! calls; what is wrong is refused with all that is. A decode function never fails: what it could not do is a status and a
//! message in its result ([`ledger`](tilewright_backend::ledger)).
//!
//! Numbers stand for the names of a plan by their place in the lists of [`tilewright_backend::execution`], from 0 on.

mod arguments;
mod call;
mod contract;
mod decode;
mod policy;
mod reference;
mod resident;
mod rope;
mod signature;
mod table;
#[cfg(test)]
mod tests;

pub use arguments::Arguments;
pub use call::{Access, Checkpoints, ENGINE, Library};
pub use signature::{Function, Kind, Module, Param};
pub use table::modules;
