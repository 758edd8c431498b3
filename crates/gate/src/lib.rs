//! Validation and measurement: seeded checkpoints, gates, reports.

pub mod probe;
pub mod seeded;
