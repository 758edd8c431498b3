//! From a published checkpoint to the converted pair to tokens: the same ids, whichever form is run.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;
#[path = "../../model/tests/common/fixtures.rs"]
mod fixtures;

use std::path::Path;

use common::{fixture, greedy, open, stories};
use fixtures::FIXTURES;
use tilewright_engine::{Source, WeightFormat};
use tilewright_model::Checkpoint;
use tilewright_model::convert::{BlobType, ConvertOptions, convert};

fn check(from: &Path, prompt: &[u32], weights: &[WeightFormat]) {
    let source = Checkpoint::open(from).unwrap();
    for dtype in [BlobType::F64, BlobType::F32] {
        let pair = tempfile::tempdir().unwrap();
        let options = ConvertOptions { dtype, input_ids: prompt, ..ConvertOptions::default() };
        convert(&source, pair.path(), &options, &mut |_, _| ()).unwrap();
        assert_eq!(Checkpoint::open(pair.path()).unwrap().prompt_ids(), Some(prompt));
        for &weights in weights {
            let of = |path: &Path| greedy(&open(Source::Path(path.to_owned()), weights), prompt, 24).ids;
            assert_eq!(of(pair.path()), of(from), "{}, {dtype:?}, {weights}", from.display());
        }
    }
}

#[test]
fn every_fixture_gives_equal_ids_as_a_pair() {
    // YaRN is what the pair cannot state.
    for name in FIXTURES.into_iter().filter(|name| *name != "qwen3-yarn") {
        check(&fixture(name), &[3, 1, 4, 1, 5, 9, 2, 6], &tilewright_cpu::FORMATS);
    }
}

#[test]
fn the_story_model_gives_equal_ids_as_a_pair() {
    check(&stories(""), &[643, 782, 256, 667], &[WeightFormat::F32, WeightFormat::Int8]);
}
