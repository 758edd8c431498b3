//! Checkpoints, and decode steps in the interpreter.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of them")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "../../../model/tests/common/fixtures.rs"]
mod fixtures;
pub mod session;

use std::path::Path;

use tilewright_kernels::Shape;
use tilewright_model::Checkpoint;
use tilewright_model::reference::{Reference, ReferenceRun};
use tilewright_model::tolerance::{Observed, Tolerance, compare};

#[allow(unused_imports, reason = "each test file uses its own part")]
pub(crate) use fixtures::FIXTURES;

pub fn fixture(name: &str) -> Checkpoint {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures").join(name);
    Checkpoint::open(&folder).unwrap()
}

/// The shape of a checkpoint with room for some more positions than `used`, which stay unwritten.
pub fn shape(checkpoint: &Checkpoint, used: usize) -> Shape {
    Shape::new(checkpoint.config(), used as u32 + 3)
}

/// Ids that look random, the same every time.
pub fn some_ids(vocab: u32, count: usize, seed: u32) -> Vec<u32> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % vocab
    };
    (0..count).map(|_| next()).collect()
}

/// What a device left behind: logits of every position, keys and values `[layer][kv_heads, positions, head_dim]`.
pub struct Left {
    pub logits: Vec<f32>,
    pub keys: Vec<Vec<f32>>,
    pub values: Vec<Vec<f32>>,
}

impl Left {
    /// Compares everything; the largest differences of logits and of the cache.
    pub fn compare(
        &self,
        reference: &ReferenceRun,
        tolerance: Tolerance,
        what: &str,
    ) -> (Observed, Observed) {
        let check = |name: &str, got: &[f32], want: &[f64]| {
            compare(got, want, tolerance).unwrap_or_else(|mismatch| panic!("{what}, {name}: {mismatch}"))
        };
        let mut cache = Observed::default();
        for layer in 0..self.keys.len() {
            cache = cache.merge(check(&format!("k.{layer}"), &self.keys[layer], &reference.k[layer]));
            cache = cache.merge(check(&format!("v.{layer}"), &self.values[layer], &reference.v[layer]));
        }
        (check("logits", &self.logits, &reference.logits), cache)
    }

    /// Every number by its bits.
    pub fn bits(&self) -> Vec<u32> {
        let caches = self.keys.iter().chain(&self.values).flatten();
        self.logits.iter().chain(caches).map(|x| x.to_bits()).collect()
    }
}

pub fn reference(checkpoint: &Checkpoint) -> Reference {
    Reference::new(checkpoint).unwrap()
}
