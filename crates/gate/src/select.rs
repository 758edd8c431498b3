//! The choice of a prefill chunk on a document of its own.

use crate::report::{Metric, Passed, Report};

#[cfg(test)]
mod tests;

/// The chunk of the workload among `names` with the least median time to the first token; of equals, the smaller chunk.
pub fn chunk(report: &Report, passed: &Passed, names: &[String]) -> Option<usize> {
    let candidate = report.arms.first()?;
    let times = names.iter().map(|name| {
        let measured = passed.measured.iter().find(|measured| measured.workload == *name)?;
        let median = measured.summary(&candidate.name, Metric::Prompt)?.median.at;
        Some((median, report.workload(name)?.chunk))
    });
    let times: Vec<(f64, usize)> = times.collect::<Option<_>>()?;
    least(times)
}

/// The chunk of the least time; of equals, the smaller.
fn least(times: Vec<(f64, usize)>) -> Option<usize> {
    times.into_iter().min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, chunk)| chunk)
}
