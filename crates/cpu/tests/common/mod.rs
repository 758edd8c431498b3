//! What the tests of the device share.
#![allow(dead_code, reason = "each test file uses its own part")]

#[path = "../../../model/tests/common/fixtures.rs"]
mod fixtures;

use std::path::{Path, PathBuf};

use tilewright_backend::{Cancel, LogitSink, Resident, Sequence, Step};
use tilewright_cpu::{CpuOptions, open};
use tilewright_model::{Checkpoint, Config, WeightFormat};

#[allow(unused_imports, reason = "each test file uses its own part")]
pub(crate) use fixtures::FIXTURES;

/// Folder of a fixture.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures").join(name)
}

/// A file of the default model.
pub(crate) fn stories(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/stories-qwen3").join(file)
}

/// Opens with `weights` on two threads, unless `options` says otherwise.
pub(crate) fn resident(
    checkpoint: &Checkpoint,
    weights: WeightFormat,
    options: CpuOptions,
) -> Box<dyn Resident> {
    let threads = options.threads.or(Some(2));
    let options = CpuOptions { weights: Some(weights), threads, ..options };
    open(checkpoint, &options, &mut |_| Ok(())).unwrap()
}

/// Logits of every row of `ids`, `[ids.len(), vocab]`, in a new sequence that is left open.
pub(crate) fn prefill_all(model: &mut dyn Resident, ids: &[u32]) -> (Sequence, Vec<f32>) {
    let room = model.plan().context;
    let sequence = model.create(room).unwrap();
    let mut logits = Vec::new();
    let mut each = |row: usize, values: &[f32]| {
        assert_eq!(row * values.len(), logits.len(), "rows come in order");
        logits.extend_from_slice(values);
    };
    model.prefill(sequence, ids, LogitSink::Each(&mut each), &Cancel::default()).unwrap();
    (sequence, logits)
}

/// The lowest id among those with the largest logit.
pub(crate) fn argmax(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().fold(0, |best, (i, v)| if *v > logits[best] { i } else { best });
    best as u32
}

/// Greedy continuation of a sequence whose next-token logits are `logits`.
pub(crate) fn greedy(
    model: &mut dyn Resident,
    sequence: Sequence,
    mut logits: Vec<f32>,
    count: usize,
) -> Vec<u32> {
    (0..count)
        .map(|_| {
            let token = argmax(&logits);
            model.decode(&[Step { sequence, token }], &mut logits).unwrap();
            token
        })
        .collect()
}

/// A checkpoint of random weights in a folder that goes when the first value does.
pub(crate) fn seeded(config: &Config, seed: u64) -> (tempfile::TempDir, Checkpoint) {
    let folder = tempfile::tempdir().unwrap();
    tilewright_gate::seeded::write(config, seed, folder.path(), &mut |_| ()).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    (folder, checkpoint)
}
