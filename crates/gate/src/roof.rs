//! Which ceilings a run is held against, and how long each of its phases would take at them.

use crate::report::{F32, Metric, Passed, Report, Workload};

/// The ceilings of the device that a run used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Roof {
    /// Bytes read in a second.
    pub(crate) read: f64,
    /// Operations in a second, in the precision that the run's products are in.
    pub(crate) rate: f64,
    /// What these operations are.
    pub(crate) products: String,
    /// The GPU, where it is one: `cuda:0, NVIDIA H200`.
    pub(crate) gpu: Option<String>,
}

/// A phase of a workload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Phase {
    pub(crate) name: String,
    pub(crate) operations: f64,
    pub(crate) bytes: f64,
    /// The median of ours.
    pub(crate) ns: f64,
}

/// Which ceiling a phase meets first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Reading.
    Read,
    /// Products.
    Products,
}

impl Roof {
    /// Of two measurements the higher; `None` where the device was not measured.
    pub(crate) fn of(report: &Report, passed: &Passed) -> Option<Self> {
        if report.method.device == "cpu" {
            let most =
                |of: fn(&crate::report::Ceilings) -> f64| passed.ceilings.iter().map(of).reduce(f64::max);
            return Some(Self {
                read: most(|c| c.read)?,
                rate: most(|c| c.fma)?,
                products: F32.to_owned(),
                gpu: None,
            });
        }
        let all = &passed.device_ceilings;
        let first = all.first()?;
        let read = all.iter().map(|c| c.read.median).reduce(f64::max)?;
        // Kernels that take activations in f32 multiply in f32; rounded to bf16 they go through the matrix units.
        let bf16 = first.bf16.as_ref().filter(|_| report.precision.activations == "bf16");
        let (products, rate) = match bf16 {
            Some(products) => {
                let rates = all.iter().filter_map(|c| c.bf16.as_ref()).map(|products| products.rate.median);
                (products.name(), rates.reduce(f64::max)?)
            }
            None => (F32.to_owned(), all.iter().map(|c| c.f32.median).reduce(f64::max)?),
        };
        Some(Self { read, rate, products, gpu: Some(format!("{}, {}", first.device, first.name)) })
    }

    /// Nanoseconds that a phase takes at least, and what bounds it.
    pub(crate) fn floor(&self, phase: &Phase) -> (f64, Bound) {
        let (read, products) = (phase.bytes / self.read * 1e9, phase.operations / self.rate * 1e9);
        if read >= products { (read, Bound::Read) } else { (products, Bound::Products) }
    }
}

/// The phases of a run, ours at the median.
pub(crate) fn phases(report: &Report, passed: &Passed) -> Vec<Phase> {
    let Some(ours) = report.arms.first() else { return Vec::new() };
    let mut phases = Vec::new();
    for (measured, workload) in passed.measured.iter().zip(&report.workloads) {
        let [prompt, decode] = report.model.operations(workload);
        let [prompt_bytes, decode_bytes] = bytes(report, workload);
        for (metric, operations, bytes) in
            [(Metric::Prompt, prompt, prompt_bytes), (Metric::Decode, decode, decode_bytes)]
        {
            if let Some(summary) = measured.summary(&ours.name, metric) {
                let name = format!("{} {metric}", workload.name);
                phases.push(Phase { name, operations, bytes, ns: summary.median.at });
            }
        }
    }
    phases
}

/// Bytes of prompt and steps: the weights for each pass over them (a chunk, or a step of all sequences), and the keys and
/// values that attention reads.
fn bytes(report: &Report, workload: &Workload) -> [f64; 2] {
    let p = &report.precision;
    let (weights, position) = (p.bytes_per_token as f64, p.kv_bytes_per_position as f64);
    let sequences = workload.ids.len() as f64;
    let chunks = workload.prompt.div_ceil(workload.chunk) as f64;
    let read: usize = (0..workload.steps).map(|step| workload.start() + step).sum();
    let prompt = sequences * (chunks * weights + workload.start() as f64 * position);
    [prompt, workload.steps as f64 * weights + sequences * read as f64 * position]
}
