//! Windows, and likelihoods that are known.

use std::collections::BTreeMap;

use super::*;
use crate::fake;

/// Logits that depend on how much was before: ln of the length at id 1, 0 at id 0.
fn by_length(ids: &[u32]) -> Vec<f32> {
    vec![0.0, (ids.len() as f32).ln()]
}

fn score(ids: &[u32], options: &ScoreOptions) -> Result<Score, Refusal> {
    fake::engine(2, &[], by_length).0.score(ids, options, &mut |_, _| {})
}

/// p(1) after n ids is n / (n + 1).
fn expected(lengths: &[usize]) -> Vec<f64> {
    lengths.iter().map(|&n| -(n as f64 / (n as f64 + 1.0)).ln()).collect()
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6)
}

#[test]
fn each_id_is_scored_by_what_comes_before() {
    let s = score(&[1, 1, 1, 0], &ScoreOptions::default()).unwrap();
    assert!(close(&s.nll[..2], &expected(&[1, 2])), "{:?}", s.nll);
    assert!((s.nll[2] - 4f64.ln()).abs() <= 1e-6);
    assert!((s.mean() - s.nll.iter().sum::<f64>() / 3.0).abs() <= 1e-12);
    assert!((s.perplexity() - s.mean().exp()).abs() <= 1e-12);
}

#[test]
fn disjoint_windows_start_anew() {
    let options = ScoreOptions { window: Some(3), ..ScoreOptions::default() };
    let s = score(&[1; 9], &options).unwrap();
    assert!(close(&s.nll, &expected(&[1, 2, 3, 1, 2, 3, 1, 2])), "{:?}", s.nll);
}

#[test]
fn overlapping_windows_score_only_what_is_new() {
    let options = ScoreOptions { window: Some(6), stride: Some(2), ..ScoreOptions::default() };
    let s = score(&[1; 12], &options).unwrap();
    assert!(close(&s.nll, &expected(&[1, 2, 3, 4, 5, 6, 5, 6, 5, 6, 5])), "{:?}", s.nll);
}

#[test]
fn every_successor_is_scored_once_whatever_the_window() {
    for total in 1..20 {
        for window in 1..=20 {
            for stride in 1..=window {
                let mut scored = BTreeMap::new();
                for (from, to) in windows(total, window, stride) {
                    assert!(from < to && to - from <= window, "{total} {window} {stride}");
                    for i in from.max(scored.len())..to {
                        *scored.entry(i).or_insert(0) += 1;
                    }
                }
                let whole: BTreeMap<usize, i32> = (0..total).map(|i| (i, 1)).collect();
                assert_eq!(scored, whole, "{total} {window} {stride}");
            }
        }
    }
}

#[test]
fn context_costs_no_logits_and_progress_is_told() {
    let (engine, watch) = fake::engine(2, &[], by_length);
    let mut told = Vec::new();
    let options = ScoreOptions { window: Some(6), stride: Some(3), ..ScoreOptions::default() };
    engine.score(&[1; 10], &options, &mut |done, total| told.push((done, total))).unwrap();
    let lengths: Vec<usize> = watch.prefills().iter().map(Vec::len).collect();
    assert_eq!(lengths, [4, 2, 3, 3]);
    assert_eq!(told, [(4, 9), (6, 9), (6, 9), (9, 9)]);
    assert_eq!(watch.alive(), 0);
}

#[test]
fn bad_values_are_listed_at_once() {
    let options = ScoreOptions { window: Some(65), stride: Some(66), ..ScoreOptions::default() };
    let refusal = score(&[2], &options).unwrap_err();
    assert_eq!(refusal.code(), Code::RequestInvalid);
    let named: Vec<&str> = refusal.findings().iter().map(|f| f.what.as_str()).collect();
    assert_eq!(named, ["ids", "id at 0", "window", "stride"]);
    let options = ScoreOptions { window: Some(0), ..ScoreOptions::default() };
    assert_eq!(score(&[1, 1], &options).unwrap_err().code(), Code::RequestInvalid);
}

#[test]
fn logits_that_are_not_finite_are_refused() {
    let (engine, _) = fake::engine(2, &[], |ids| vec![0.0, if ids.len() == 3 { f32::NAN } else { 0.0 }]);
    let refusal = engine.score(&[1; 8], &ScoreOptions::default(), &mut |_, _| {}).unwrap_err();
    assert_eq!(refusal.code(), Code::NonFiniteLogits);
    assert_eq!(refusal.findings()[0].what, "logit of id 1 at step 3");
}

#[test]
fn can_be_cancelled() {
    let options = ScoreOptions::default();
    options.cancel.cancel();
    assert_eq!(score(&[1; 8], &options).unwrap_err().code(), Code::Cancelled);
}
