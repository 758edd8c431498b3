//! The products of the CPU device alone: compared with float64 first, then timed.
//!
//! Each shape of the model is packed often enough that its copies do not fit a cache, and a trial multiplies with all of
//! them, as decoding does with a model's layers.

use std::ops::Range;
use std::time::Instant;

use serde::Serialize;
use tilewright_cpu::matmul::{Inputs, Matrix, matmul};
use tilewright_cpu::pool::Pool;
use tilewright_cpu::simd::Isa;
use tilewright_model::tolerance::Tolerance;
use tilewright_model::{Code, Config, Refusal, WeightFormat};

use crate::report::Compared;
use crate::seeded::Draw;
use crate::stats::median;

#[cfg(test)]
mod tests;

/// What is timed.
#[derive(Clone, Debug)]
pub struct KernelSettings {
    /// Format of the matrices.
    pub weights: WeightFormat,
    /// Threads.
    pub threads: usize,
    /// Rows of activations: 1 is a step, 512 a chunk of a prompt.
    pub rows: Vec<usize>,
    /// Times that each is timed.
    pub trials: usize,
    /// Bytes that the copies of a matrix come to at least.
    pub bytes: usize,
}

/// The times of one product.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelTimes {
    /// Which matrix.
    pub name: &'static str,
    /// Its format.
    pub weights: &'static str,
    /// Its rows: what a row of activations becomes.
    pub outputs: usize,
    /// Its columns.
    pub inputs: usize,
    /// Rows of activations.
    pub rows: usize,
    /// Bytes of one copy.
    pub bytes: usize,
    /// Largest error, in the unit of the tolerance.
    pub error: Option<f64>,
    /// Nanoseconds of one product, every trial.
    pub times_ns: Vec<f64>,
    /// Their median.
    pub median_ns: f64,
    /// Bytes of weights read in a second.
    pub bytes_per_second: f64,
    /// Operations in a second, two to a multiply-add.
    pub operations_per_second: f64,
}

/// Compares and times every product of a model's layer and its head.
///
/// # Errors
/// `gate_failed` when a product does not agree with float64, before anything is timed.
pub fn measure(
    config: &Config,
    settings: &KernelSettings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<KernelTimes>, Refusal> {
    let (pool, isa) = (Pool::new(settings.threads), Isa::detect());
    let (q, kv) = (config.q_width(), config.kv_width());
    let shapes = [
        ("queries, keys, values", q + 2 * kv, config.hidden),
        ("attention output", config.hidden, q),
        ("gate and up", 2 * config.intermediate, config.hidden),
        ("down", config.hidden, config.intermediate),
        ("head", config.vocab, config.hidden),
    ];
    let total = shapes.len() * settings.rows.len();
    let mut all = Vec::new();
    for (name, outputs, inputs) in shapes {
        let copies = copies(&pool, isa, settings, name, (outputs, inputs))?;
        for &rows in &settings.rows {
            progress(all.len(), total);
            all.push(product(&pool, isa, settings, name, &copies, rows)?);
        }
    }
    Ok(all)
}

/// One matrix, again and again, so that no cache holds all of it.
fn copies(
    pool: &Pool,
    isa: Isa,
    settings: &KernelSettings,
    name: &str,
    (outputs, inputs): (usize, usize),
) -> Result<Vec<Matrix>, Refusal> {
    let draw = Draw::new(1, name);
    let read = |rows: Range<usize>, out: &mut [f32]| {
        for (i, weight) in out.iter_mut().enumerate() {
            *weight = draw.normal((rows.start * inputs + i) as u64) / (inputs as f32).sqrt();
        }
        Ok(())
    };
    let pack = || Matrix::pack(pool, isa, settings.weights, (outputs, inputs), &read);
    let first = pack()?;
    let more = settings.bytes.div_ceil(first.bytes().len()).saturating_sub(1);
    let mut matrices = vec![first];
    for _ in 0..more {
        matrices.push(pack()?);
    }
    Ok(matrices)
}

fn product(
    pool: &Pool,
    isa: Isa,
    settings: &KernelSettings,
    name: &'static str,
    copies: &[Matrix],
    rows: usize,
) -> Result<KernelTimes, Refusal> {
    let (outputs, inputs, bytes) = (copies[0].rows(), copies[0].cols(), copies[0].bytes().len());
    let draw = Draw::new(2, name);
    let x: Vec<f32> = (0..rows * inputs).map(|i| draw.normal(i as u64)).collect();
    let mut prepared = Inputs::default();
    prepared.fill(pool, isa, &copies[0], rows, |row, out| out.copy_from_slice(&x[row * inputs..][..inputs]));
    let mut out = vec![f32::NAN; rows * outputs];
    matmul(pool, isa, &copies[0], &prepared, &mut out);
    let error = check(settings.weights, &copies[0], &x, &out)?;

    let mut times = Vec::with_capacity(settings.trials);
    for _ in 0..settings.trials {
        let start = Instant::now();
        copies.iter().for_each(|matrix| matmul(pool, isa, matrix, &prepared, &mut out));
        times.push(start.elapsed().as_nanos() as f64 / copies.len() as f64);
    }
    let middle = median(&times);
    Ok(KernelTimes {
        name,
        weights: settings.weights.name(),
        outputs,
        inputs,
        rows,
        bytes,
        error,
        times_ns: times,
        median_ns: middle,
        bytes_per_second: bytes as f64 * 1e9 / middle,
        operations_per_second: 2.0 * (outputs * inputs * rows) as f64 * 1e9 / middle,
    })
}

/// Compares the first and the last row of `out` with sums in float64 of `x` and the weights as they are held.
fn check(weights: WeightFormat, matrix: &Matrix, x: &[f32], out: &[f32]) -> Result<Option<f64>, Refusal> {
    let (outputs, inputs) = (matrix.rows(), matrix.cols());
    let rows = x.len() / inputs;
    let (tolerance, scaled) = match weights {
        WeightFormat::Int8 | WeightFormat::Int4 | WeightFormat::Gguf => (Tolerance::QUANTISED_STATE, true),
        WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16 => (Tolerance::F32_STATE, false),
    };
    let mut seen = Compared::NONE;
    for row in [0, rows - 1] {
        let x = &x[row * inputs..][..inputs];
        let mut held = vec![0.0; inputs];
        let mut want = Vec::with_capacity(outputs);
        for output in 0..outputs {
            matrix.row_f32(output, &mut held);
            want.push(held.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum());
        }
        seen = seen.and(Compared::of(&out[row * outputs..][..outputs], &want, tolerance, scaled));
    }
    if seen.passed() {
        return Ok(seen.max_abs);
    }
    let got = format!("{} of {} outside, largest error {:?}", seen.outside, seen.values, seen.max_abs);
    Err(Refusal::new(Code::GateFailed, format!("product of {rows} rows"), tolerance.name, got))
}
