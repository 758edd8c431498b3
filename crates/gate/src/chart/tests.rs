//! Pages hold every trial, no script, and no time where the gate was not passed.

use tilewright_model::WeightFormat;

use super::svg::{Scale, label};
use super::*;
use crate::testing::{Fault, Small, workload, workloads};

#[test]
fn a_page_shows_every_trial_and_needs_no_script() {
    let small = Small::new();
    let mut phases = workloads();
    phases.first.push(workload("tg4 @ d32", [32, 0, 4, 1], false));
    phases.first.push(workload("pp20", [0, 20, 0, 1], false));
    let report = small.report(WeightFormat::Bf16, None, phases).unwrap();
    let page = page(&report);
    assert!(!page.contains("<script") && !page.contains("http://localhost"), "{page}");
    let passed = report.passed().unwrap();
    let times: usize = passed
        .measured
        .iter()
        .zip(&report.workloads)
        .map(|(m, w)| m.trials.len() * crate::report::Metric::of(w).len())
        .sum();
    assert_eq!(page.matches("<title>round ").count(), times);
    let rows: usize = passed.measured.iter().map(|m| m.trials.len() + m.warmups.len()).sum();
    assert_eq!(page.matches("<tr><td>").count(), rows + report.fingerprints.before.len());
    for title in ["Cost of context", "Cost of a prompt", "Cost of a batch"] {
        assert!(page.contains(title), "{title}");
    }
    for (open, close) in [("<svg", "</svg>"), ("<table", "</table>"), ("<details", "</details>")] {
        assert_eq!(page.matches(open).count(), page.matches(close).count(), "{open}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""), "a place that is no number");
}

#[test]
fn the_page_of_a_failure_has_errors_and_no_drawing() {
    let report = Small::new().report(WeightFormat::F32, Some(Fault::Value), workloads()).unwrap();
    let page = page(&report);
    assert!(page.contains("Failed: no times") && page.contains("values outside the tolerance"), "{page}");
    assert!(!page.contains("<svg") && !page.contains("tok/s"), "{page}");
}

#[test]
fn ticks_are_round_and_inside() {
    assert_eq!(Scale::linear(0.0, 10.0, 0.0, 1.0).ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(Scale::log(0.9, 2.3, 0.0, 1.0).ticks(5), [1.0, 2.0]);
    assert_eq!(Scale::log(1.0, 100.0, 0.0, 200.0).at(10.0), 100.0);
    assert_eq!([label(0.5), label(20.0), label(0.0)], ["0.5", "20", "0"]);
}
