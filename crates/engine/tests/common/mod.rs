//! What the tests of the engine share.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};

use serde_json::Value;
use tilewright_engine::{Cache, Engine, OpenOptions, Reply, Request, Sampling, Source, WeightFormat};

/// A file of the story model.
pub(crate) fn stories(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/stories-qwen3").join(file)
}

/// A checkpoint of the model tests.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures").join(name)
}

/// What the story model computes in float64.
pub(crate) fn reference() -> Value {
    serde_json::from_slice(&std::fs::read(stories("reference.json")).unwrap()).unwrap()
}

/// Ids of a JSON list.
pub(crate) fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

/// The model at `source` with `weights`, on two threads.
pub(crate) fn open(source: Source, weights: WeightFormat) -> Engine {
    let options =
        OpenOptions { weights: Some(weights), threads: Some(2), cache: Cache::Off, ..OpenOptions::default() };
    Engine::open(source, &options, &mut |_| ()).unwrap()
}

/// The most likely `count` tokens after `prompt`, whatever they are.
pub(crate) fn greedy(engine: &Engine, prompt: &[u32], count: usize) -> Reply {
    let request = Request {
        max_tokens: Some(count),
        ignore_eos: true,
        sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
        ..Request::new(prompt)
    };
    engine.generate(request).unwrap().reply().unwrap()
}
