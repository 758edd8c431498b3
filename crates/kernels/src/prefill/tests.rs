//! Each kernel against plain loops in float64, on odd shapes with poisoned outputs, and the budgets of the pipelines.

mod batched;
mod chunked;
mod products;
mod rows;
