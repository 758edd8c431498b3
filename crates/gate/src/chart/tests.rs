//! Pages hold every trial, no script, and no time where the gate was not passed.

use tilewright_model::WeightFormat;

use super::svg::{Scale, label};
use super::*;
use crate::report::Metric;
use crate::roof::{Bound, Roof, phases};
use crate::testing::{Fault, GPU, Small, on_gpu, workload, workloads};

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
fn the_roofline_of_a_gpu_names_its_ceilings_and_what_each_phase_reached_of_them() {
    let small = Small::new();
    let of = |hopper| small.report_as(WeightFormat::Bf16, None, workloads(), on_gpu(hopper)).unwrap();
    for (hopper, products) in [
        (true, "bf16 products by wgmma with sums in f32, 800 TFLOP/s"),
        (false, "f32 multiply-add, 60.0 TFLOP/s"),
    ] {
        let report = of(hopper);
        let page = page(&report);
        assert!(page.contains("<title>Roofline</title>") && page.contains(products), "{products}: {page}");
        assert!(page.contains(&format!("TFLOP/s of cuda:0, {GPU}")), "{page}");
        assert!(page.contains("read, 4.00 TB/s"), "{page}");
        let timed = report.workloads.iter().flat_map(|w| Metric::of(w)).filter(|m| **m != Metric::Total);
        assert_eq!(page.matches(" %</td></tr>").count(), timed.count(), "a row for each phase");
        // Every trial of what was measured before and after is there.
        assert_eq!(page.matches("<summary>ceilings of cuda:0").count(), 2);
        assert!(page.contains("<td>10.00 ms, 8.00 ms, 12.50 ms</td>"), "{page}");
        assert!(!page.contains("NaN") && !page.contains("inf\""), "a place that is no number");
    }
}

#[test]
fn a_phase_is_held_against_the_ceiling_that_takes_longer() {
    let report = Small::new().report_as(WeightFormat::Bf16, None, workloads(), on_gpu(true)).unwrap();
    let passed = report.passed().unwrap();
    let roof = Roof::of(&report, passed).unwrap();
    assert_eq!((roof.read, roof.rate), (4e12, 8e14), "medians, not the most");
    let mut phase = phases(&report, passed).remove(0);
    (phase.bytes, phase.operations) = (4e9, 8e11);
    assert_eq!(roof.floor(&phase), (1e6, Bound::Read), "of two that take as long, reading");
    phase.operations *= 3.0;
    assert_eq!(roof.floor(&phase), (3e6, Bound::Products));
    // A step of one token reads the weights for two operations of each.
    let steps = phases(&report, passed).into_iter().find(|phase| phase.name == "tg4 @ d8 decode").unwrap();
    assert_eq!(roof.floor(&steps).1, Bound::Read);
    let bytes =
        4 * report.precision.bytes_per_token + (8 + 9 + 10 + 11) * report.precision.kv_bytes_per_position;
    assert_eq!(steps.bytes, bytes as f64);
}

#[test]
fn a_run_on_a_gpu_that_was_not_measured_has_no_roofline() {
    let report = Small::new().report_as(WeightFormat::Bf16, None, workloads(), on_gpu(true)).unwrap();
    let Outcome::Passed(passed) = &report.outcome else { panic!("it failed") };
    let without = Passed { device_ceilings: Vec::new(), ..passed.clone() };
    assert!(roofline::draw(&report, &without).is_none());
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
