//! Validation and measurement: seeded checkpoints, gates, reports.

pub mod seeded;
