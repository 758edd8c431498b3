//! Models on the shim, and what they are compared with.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

use std::path::Path;

use half::bf16;
use tilewright_backend::{Cancel, LogitSink, Resident, Sequence};
use tilewright_metal::{MetalOptions, Session, ShimDevice};
use tilewright_model::reference::{Reference, ReferenceRun};
use tilewright_model::tolerance::{Observed, Tolerance, compare};
use tilewright_model::{Checkpoint, Refusal, WeightFormat};

/// The shim as a device; says so where there is no compiler.
pub(crate) fn shim() -> Option<ShimDevice> {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim");
    ShimDevice::new(cache).map_err(|refusal| eprintln!("skipped: {refusal}")).ok()
}

/// A checkpoint of the repository.
pub(crate) fn fixture(name: &str) -> Checkpoint {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures").join(name);
    Checkpoint::open(&folder).unwrap()
}

/// A session on the shim.
pub(crate) fn open(
    device: ShimDevice,
    checkpoint: &Checkpoint,
    options: MetalOptions,
) -> Session<ShimDevice> {
    Session::open(device, checkpoint, &options, &mut |_| Ok(())).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Ids that look random, the same every time.
pub(crate) fn some_ids(vocab: usize, count: usize) -> Vec<u32> {
    let mut state = 7u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % vocab as u32
    };
    (0..count).map(|_| next()).collect()
}

/// What a row of 8-bit codes stands for, a scale for 128 of them.
fn int8(row: &[f32]) -> Vec<f64> {
    let of_group = |group: &[f32]| -> Vec<f64> {
        let extreme = group.iter().fold(0.0f32, |a, &b| a.max(b.abs()));
        let scale =
            bf16::from_bits(((extreme / 127.0).to_bits().saturating_add(0xffff) >> 16) as u16).to_f32();
        let code = |&x: &f32| (x * (1.0 / scale)).round_ties_even();
        group.iter().map(|x| if scale == 0.0 { 0.0 } else { f64::from(code(x)) * f64::from(scale) }).collect()
    };
    row.chunks(128).flat_map(of_group).collect()
}

/// The float64 reference on what the weights become.
pub(crate) fn reference(checkpoint: &Checkpoint, weights: WeightFormat) -> Reference {
    let parameters = checkpoint.parameters().try_map(|_, tensor| {
        let numbers = tensor.to_f32()?;
        let exact = |numbers: Vec<f32>| numbers.into_iter().map(f64::from).collect();
        Ok::<Vec<f64>, Refusal>(match (weights, tensor.shape) {
            (WeightFormat::Int8, &[_, columns]) => numbers.chunks(columns).flat_map(int8).collect(),
            (WeightFormat::Bf16, _) => {
                exact(numbers.into_iter().map(|x| bf16::from_f32(x).to_f32()).collect())
            }
            _ => exact(numbers),
        })
    });
    Reference::from_parts(checkpoint.config().clone(), parameters.unwrap())
}

/// Logits of the last of `ids`, appended to a new sequence.
pub(crate) fn prefill(model: &mut impl Resident, ids: &[u32]) -> (Sequence, Vec<f32>) {
    let sequence = model.create(model.plan().context).unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut logits = vec![0.0; model.config().vocab];
    let sink = LogitSink::Last(&mut logits);
    model.prefill(sequence, ids, sink, &Cancel::default()).unwrap_or_else(|refusal| panic!("{refusal}"));
    (sequence, logits)
}

/// Compares what a sequence holds and the logits of its last position with a reference run over the same ids.
pub(crate) fn compare_state(
    model: &impl Resident,
    sequence: Sequence,
    logits: &[f32],
    run: &ReferenceRun,
    tolerance: Tolerance,
    what: &str,
) -> Observed {
    let layers = model.config().layers;
    for layer in 0..layers {
        let (keys, values) = model.copy_kv(sequence, layer);
        for (name, got, want) in [("keys", keys, &run.k[layer]), ("values", values, &run.v[layer])] {
            compare(&got, want, tolerance).unwrap_or_else(|m| panic!("{what}, {name} of layer {layer}: {m}"));
        }
    }
    let last = &run.logits[run.logits.len() - model.config().vocab..];
    compare(logits, last, tolerance).unwrap_or_else(|m| panic!("{what}, logits: {m}"))
}

/// The lowest id among those with the largest logit.
pub(crate) fn argmax(logits: &[f32]) -> u32 {
    logits.iter().enumerate().fold(0, |best, (i, v)| if *v > logits[best] { i } else { best }) as u32
}
