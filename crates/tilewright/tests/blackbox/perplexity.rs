//! `perplexity` against the stored float64 results.

use crate::harness::{ids, reference, root, tilewright, tilewright_reading};

#[test]
fn the_held_out_text_scores_as_in_the_float64_reference() {
    let reference = reference();
    let held = &reference["heldout"];
    let window = held["window"].as_u64().unwrap() as usize;
    // The first two windows, so that the test is short; they are scored here and there alike.
    let ids: Vec<String> = ids(&held["ids"])[..=2 * window].iter().map(u64::to_string).collect();
    let score = |weights: &str| {
        let line = ["perplexity", "--ids", &ids.join(","), "--weights", weights, "--json"];
        let object = tilewright(&line).expect_code(0).json();
        assert_eq!(object["tokens"].as_u64().unwrap() as usize, 2 * window);
        let (nll, perplexity) =
            (object["nll_per_token"].as_f64().unwrap(), object["perplexity"].as_f64().unwrap());
        assert!((nll.exp() - perplexity).abs() <= 1e-9 * perplexity);
        nll
    };
    let exact = score("f32");
    assert!((score("bf16") - exact).abs() <= 1e-4, "bf16 holds these weights exactly");
    assert!((score("int8") - exact) <= 0.002);
    assert!((score("int4") - exact) <= 0.03);
}

#[test]
fn a_file_is_scored_as_its_ids_are() {
    let text = std::fs::read_to_string(root().join("models/stories-qwen3/heldout.txt")).unwrap();
    let beginning: String = text.chars().take(400).collect();
    let file =
        tilewright_reading(&["perplexity", "-f", "-", "--raw", "--json"], &beginning).expect_code(0).json();
    let count = file["tokens"].as_u64().unwrap() as usize;
    // The last tokens of a text that is cut may differ, so those of the whole text are compared by value only.
    assert!(count > 60 && file["nll_per_token"].as_f64().unwrap() > 0.0);
    let short = tilewright_reading(&["perplexity", "-f", "-"], "Once upon a time").expect_code(0);
    let ids = tilewright(&["perplexity", "--ids", "643,782,256,667"]).expect_code(0);
    assert_eq!(short.stdout, ids.stdout);
    assert!(short.stdout.starts_with("3 tokens, nll "), "{}", short.stdout);
}

#[test]
fn a_text_of_one_token_has_nothing_to_score() {
    let refusal = tilewright(&["perplexity", "--ids", "5", "--json"]).refusal();
    assert_eq!(refusal["code"], "request_invalid");
}

#[test]
fn a_window_larger_than_the_context_is_refused() {
    let refusal =
        tilewright(&["perplexity", "--ids", "5,6,7", "-c", "8", "--window", "9", "--json"]).refusal();
    assert_eq!(refusal["code"], "request_invalid");
}
