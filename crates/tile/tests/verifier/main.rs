//! The verifier accepts what is right and refuses what is not, each for its one reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "../common/mod.rs"]
mod common;

mod accepted;
mod bind;
mod bounds;
mod control;
mod declarations;
mod defects;
mod device;
mod explain;
mod fragments;
mod launch;
mod numbers;
mod pipeline;
mod shared;
mod tiles;
mod unwritten;

use tilewright_tile::verify::{Finding, Rule};
use tilewright_tile::{Builder, Kernel, Launch, kernel, verify};

/// A kernel of 64 threads and one threadgroup.
fn small(body: impl for<'k> FnOnce(&'k Builder)) -> Kernel {
    kernel("small", Launch::groups(1).threads(64), body)
}

/// A value or view nobody uses.
fn unused<T>(_: T) {}

/// Everything found in a kernel that must be refused.
fn findings(kernel: Kernel) -> Vec<Finding> {
    let text = tilewright_tile::ir::print(&kernel);
    match verify(kernel) {
        Ok(_) => panic!("accepted, but must be refused:\n{text}"),
        Err(rejection) => rejection.findings,
    }
}

/// Fails unless every finding is of the one kind expected and the first says `message`.
#[track_caller]
fn refused(kernel: Kernel, kind: fn(&Rule) -> bool, message: &str) {
    let findings = findings(kernel);
    for finding in &findings {
        assert!(kind(&finding.rule), "refused for another reason: {finding}");
    }
    let first = findings[0].to_string();
    assert!(first.contains(message), "the message is {first:?}, without {message:?}");
}

/// Fails unless the kernel is accepted.
#[track_caller]
fn accepted(kernel: Kernel) {
    if let Err(rejection) = verify(kernel) {
        panic!("{rejection}");
    }
}

/// A pattern as a function.
macro_rules! is {
    ($pattern:pat) => {
        |rule: &tilewright_tile::verify::Rule| matches!(rule, $pattern)
    };
}
use is;
