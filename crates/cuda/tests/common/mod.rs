//! What the tests on a GPU share.
#![allow(dead_code, reason = "each test file uses its own part")]

#[path = "../../../model/tests/common/fixtures.rs"]
mod fixtures;

use std::path::{Path, PathBuf};

use tilewright_backend::{Cancel, Greedy, LogitSink, Resident, Sequence, Step};
use tilewright_cuda::{Compiler, CudaModel, CudaOptions, find, open_model};
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Config, Refusal};

#[allow(unused_imports, reason = "each test file uses its own part")]
pub(crate) use fixtures::FIXTURES;

/// Whether there is a GPU that kernels can be compiled for; says so when there is none.
pub(crate) fn present() -> bool {
    match find(0).and_then(|gpu| Compiler::find(Some(gpu.driver))) {
        Ok(_) => true,
        Err(refusal) => {
            eprintln!("skipped: {refusal}");
            false
        }
    }
}

/// Folder of a fixture; `TILEWRIGHT_FIXTURES` names another place of all of them, for a test binary that was carried.
pub(crate) fn fixture(name: &str) -> PathBuf {
    let root = std::env::var_os("TILEWRIGHT_FIXTURES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures"), PathBuf::from);
    root.join(name)
}

/// Opens on the first GPU; the kernels for Hopper, which keep vectors in bf16, serve only those who ask for them.
pub(crate) fn resident(checkpoint: &Checkpoint, options: &CudaOptions) -> CudaModel {
    let options = CudaOptions { hopper: options.hopper.or(Some(false)), ..options.clone() };
    open_model(checkpoint, &options, &mut |_| Ok(())).unwrap()
}

/// Logits of every row of `ids`, `[ids.len(), vocab]`, in a new sequence that is left open.
pub(crate) fn prefill_all(model: &mut CudaModel, ids: &[u32], room: usize) -> (Sequence, Vec<f32>) {
    let sequence = model.create(room).unwrap();
    let mut logits = Vec::new();
    let mut each = |row: usize, values: &[f32]| {
        assert_eq!(row * values.len(), logits.len(), "rows come in order");
        logits.extend_from_slice(values);
    };
    model.prefill(sequence, ids, LogitSink::Each(&mut each), &Cancel::default()).unwrap();
    (sequence, logits)
}

/// The float64 reference on what 8-bit codes of the weights stand for: a scale for 128 of a row, rounded away from zero to bf16.
pub(crate) fn rounded(checkpoint: &Checkpoint) -> Reference {
    let of_group = |group: &[f32]| -> Vec<f64> {
        let extreme = group.iter().fold(0.0f32, |a, b| a.max(b.abs()));
        let scale = f32::from_bits((extreme / 127.0).to_bits().saturating_add(0xffff) & 0xffff_0000);
        let code = |x: &f32| if scale == 0.0 { 0.0 } else { (x * (1.0 / scale)).round_ties_even() };
        group.iter().map(|x| f64::from(code(x)) * f64::from(scale)).collect()
    };
    let parameters = checkpoint.parameters().try_map(|_, tensor| {
        let numbers = tensor.to_f32()?;
        Ok::<Vec<f64>, Refusal>(match tensor.shape {
            [_, columns] => {
                numbers.chunks(*columns).flat_map(|row| row.chunks(128).flat_map(of_group)).collect()
            }
            _ => wide(&numbers),
        })
    });
    Reference::from_parts(checkpoint.config().clone(), parameters.unwrap())
}

/// As many greedy steps of each sequence, after the token of its step.
pub(crate) fn greedy_together(
    model: &mut CudaModel,
    steps: &[Step],
    count: usize,
    ends: &[u32],
) -> Result<Vec<Vec<u32>>, Refusal> {
    let run = |step: &Step| Greedy { sequence: step.sequence, token: step.token, count, ends };
    model.greedy_together(&steps.iter().map(run).collect::<Vec<_>>(), &Cancel::default())
}

/// The lowest id among those with the largest logit.
pub(crate) fn argmax(logits: &[f32]) -> u32 {
    logits.iter().enumerate().fold(0, |best, (i, v)| if *v > logits[best] { i } else { best }) as u32
}

/// The same numbers in float64.
pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

/// Fails unless `got` is within a tolerance in units of the wanted values' root mean square; the largest error in these.
pub(crate) fn scaled(got: &[f32], want: &[f64], tolerance: Tolerance, what: &str) -> f64 {
    let rms = (want.iter().map(|w| w * w).sum::<f64>() / want.len() as f64).sqrt();
    let got: Vec<f64> = got.iter().map(|g| f64::from(*g) / rms).collect();
    let want: Vec<f64> = want.iter().map(|w| w / rms).collect();
    compare(&got, &want, tolerance).unwrap_or_else(|m| panic!("{what}: {m}")).max_abs
}

/// Fails unless the keys and values of a sequence are within bf16's tolerance of another model's.
pub(crate) fn compare_kv((model, sequence): (&CudaModel, Sequence), (other, truth): (&CudaModel, Sequence)) {
    for layer in 0..model.config().layers {
        let (keys, values) = model.copy_kv(sequence, layer);
        let (want_keys, want_values) = other.copy_kv(truth, layer);
        for (part, got, want) in [("keys", keys, want_keys), ("values", values, want_values)] {
            compare(&got, &wide(&want), Tolerance::BF16_STATE)
                .unwrap_or_else(|m| panic!("{part} of layer {layer}: {m}"));
        }
    }
}

/// A checkpoint of random weights in a folder that goes when the first value does.
pub(crate) fn seeded(config: &Config, seed: u64) -> (tempfile::TempDir, Checkpoint) {
    let folder = tempfile::tempdir().unwrap();
    tilewright_gate::seeded::write(config, seed, folder.path(), &mut |_| ()).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    (folder, checkpoint)
}

/// Ids below `vocab` that look random.
pub(crate) fn ids(count: usize, vocab: usize) -> Vec<u32> {
    (0..count as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u32 % vocab as u32).collect()
}
