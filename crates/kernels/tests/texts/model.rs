//! Whole models through compiled text alone.

use serde_json::Value;
use tilewright_kernels::Shape;
use tilewright_kernels::decode::{Goal, Options};
use tilewright_model::Checkpoint;
use tilewright_model::tolerance::Tolerance;
use tilewright_shim::{Compiler, Language};

use super::common::session::{Loaded, Session};
use super::common::{fixture, reference, shape, some_ids};

fn compiler() -> Option<Compiler> {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim");
    Compiler::find(cache).map_err(|error| eprintln!("skipped: {error}")).ok()
}

#[test]
fn text_decodes_a_fixture_to_the_interpreters_bits_and_the_references_numbers() {
    let Some(compiler) = compiler() else { return };
    let checkpoint = fixture("qwen3-tiny");
    let shape = shape(&checkpoint, 9);
    let ids = some_ids(shape.vocab, 9, 7);
    let run = reference(&checkpoint).forward(&ids);
    for options in [Options::F32, Options::PAIRS] {
        let loaded = || Loaded::new(&checkpoint, &shape, options.weights);
        let mut interpreted = Session::of(loaded(), shape, options, Goal::Logits);
        ids.iter().for_each(|&id| drop(interpreted.step(&[id])));
        for language in Language::ALL {
            let texts = (&compiler, language);
            let mut session = Session::compiled(loaded(), shape, options, Goal::Logits, texts);
            ids.iter().for_each(|&id| drop(session.step(&[id])));
            let left = session.left(0);
            assert!(left.bits() == interpreted.left(0).bits(), "{language:?}");
            left.compare(&run, Tolerance::F32_STATE, "qwen3-tiny");
        }
    }
}

#[test]
fn msl_text_writes_sixty_four_tokens_of_the_first_story() {
    let Some(compiler) = compiler() else { return };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/stories-qwen3/reference.json");
    let stored: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let story = &stored["greedy"][0];
    let ids = |list: &Value| -> Vec<u32> {
        list.as_array().unwrap().iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
    };
    let (prompt, expected) = (ids(&story["prompt_ids"]), ids(&story["ids"]));
    let expected = &expected[..64];

    let checkpoint = Checkpoint::embedded().unwrap();
    let shape = Shape::new(checkpoint.config(), (prompt.len() + expected.len()) as u32);
    let loaded = Loaded::new(&checkpoint, &shape, Options::F32.weights);
    let texts = (&compiler, Language::Msl);
    let mut session = Session::compiled(loaded, shape, Options::F32, Goal::Token, texts);
    prompt.iter().for_each(|&id| drop(session.step(&[id])));
    let mut written = vec![u32::try_from(session.next()[0]).unwrap()];
    while written.len() < expected.len() {
        session.step(&[written[written.len() - 1]]);
        written.push(u32::try_from(session.next()[0]).unwrap());
    }
    assert_eq!(written, expected);
}
