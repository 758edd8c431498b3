//! Validation and measurement: seeded checkpoints, gates, reports.
//!
//! [`bench::run`] takes a model through the gate and its workloads and leaves a [`report::Report`]; [`audit`](mod@audit)
//! judges one. Other engines take part through [`peer::Peer`].

pub mod arm;
pub mod audit;
pub mod bench;
pub mod chart;
mod fingerprint;
pub mod kernels;
pub mod load;
pub mod machine;
pub mod oracle;
pub mod peer;
mod precision;
pub mod probe;
pub mod programs;
pub mod report;
mod roof;
pub mod seeded;
pub mod select;
pub mod stats;
pub mod table;
#[cfg(test)]
mod testing;
pub mod validate;
