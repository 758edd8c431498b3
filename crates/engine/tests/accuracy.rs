//! The table of `docs/weights.md`: what each weight format costs in accuracy and takes in bytes.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failure here is a failed test, and what was observed is shown"
)]

mod common;

use common::{ids, open, reference, stories};
use tilewright_engine::{Engine, ScoreOptions, Source, WeightFormat};
use tilewright_model::tolerance::{Tolerance, compare};

fn nll(engine: &Engine, ids: &[u32]) -> f64 {
    engine.score(ids, &ScoreOptions::default(), &mut |_, _| ()).unwrap().mean()
}

#[test]
fn held_out_text_rises_no_more_than_each_format_may() {
    let held_out = &reference()["heldout"];
    let ids = ids(&held_out["ids"]);
    let stored = held_out["nll_per_token"].as_f64().unwrap();
    let [f32, bf16, int8, int4] = tilewright_cpu::FORMATS.map(|weights| {
        let engine = open(Source::Embedded, weights);
        assert_eq!(
            engine.plan().context as u64,
            held_out["window"].as_u64().unwrap(),
            "windows are the context"
        );
        let nll = nll(&engine, &ids);
        eprintln!(
            "{weights}: nll {nll:.6} {:+.6}, {} bytes a token",
            nll - stored,
            engine.plan().bytes_per_token
        );
        nll
    });
    compare(&[f32, bf16], &[stored, stored], Tolerance::F32_NLL).unwrap();
    assert!(int8 - f32 <= Tolerance::INT8_NLL_RISE.atol, "int8 rises by {}", int8 - f32);
    assert!(int4 - f32 <= Tolerance::INT4_NLL_RISE.atol, "int4 rises by {}", int4 - f32);
    assert!(int4 > int8, "fewer bits are not more accurate, or one format stands for the other");
}

/// 6,951,680 weights, of which 4,352 are in vectors; the head is in the format too.
#[test]
fn every_matrix_is_in_the_format() {
    let bits = |weights| 8.0 * open(Source::Embedded, weights).plan().bytes_per_token as f64 / 6_951_680.0;
    let [f32, bf16, int8, int4] = tilewright_cpu::FORMATS.map(bits);
    let near = |bits: f64, want: f64| (bits - want).abs() <= 0.05;
    assert!(
        near(f32, 32.0) && near(bf16, 16.0) && near(int8, 8.125) && near(int4, 4.25),
        "{f32} {bf16} {int8} {int4}"
    );
}

#[test]
fn a_folder_scores_as_the_embedded_model_does() {
    let ids: Vec<u32> = ids(&reference()["heldout"]["ids"])[..200].to_vec();
    let inside = nll(&open(Source::Embedded, WeightFormat::Int8), &ids);
    let outside = nll(&open(Source::Path(stories("")), WeightFormat::Int8), &ids);
    assert!(inside.total_cmp(&outside).is_eq(), "{inside} and {outside}");
}
