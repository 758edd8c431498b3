//! Tables say what the report says, and nothing of one that failed.

use tilewright_model::{Code, WeightFormat};

use super::*;
use crate::report::{Arm, Trial};
use crate::testing::{Fault, Small, workloads};

#[test]
fn every_workload_has_its_rows_in_both_tables() {
    let report = Small::new().report(WeightFormat::Bf16, None, workloads()).unwrap();
    let (page, cells) = (markdown(&report).unwrap(), csv(&report).unwrap());
    for workload in &report.workloads {
        assert!(page.contains(&format!("| {} |", workload.name)), "{page}");
        let lines = cells.lines().filter(|line| line.contains(&format!(",{},", workload.name))).count();
        assert_eq!(lines, 2 * Metric::of(workload).len(), "{}: {cells}", workload.name);
    }
    let columns = cells.lines().next().unwrap().split(',').count();
    assert!(cells.lines().all(|line| line.split(',').count() == columns), "{cells}");
    let report = Small::new().report(WeightFormat::Bf16, Some(Fault::Key), workloads()).unwrap();
    for refusal in [markdown(&report).unwrap_err(), csv(&report).unwrap_err()] {
        assert_eq!(refusal.code(), Code::GateFailed);
        assert!(refusal.to_string().contains("keys outside the tolerance"), "{refusal}");
    }
}

/// A ratio is a headline: where no difference was shown, or nothing may be said, the table of reports has words instead.
#[test]
fn a_table_of_reports_has_of_each_experiment_and_machine_the_newest() {
    let old = Small::new().report(WeightFormat::Bf16, None, workloads()).unwrap();
    let mut new = old.clone();
    new.created = "9999-12-31T23:59:59Z".to_owned();
    let mut elsewhere = old.clone();
    elsewhere.machine.class = "another".to_owned();
    let all = [("a/x.json", &old), ("b/x.json", &new), ("c/x.json", &elsewhere), ("d/y.json", &old)];
    let page = overview(&all);
    assert!(!page.contains("(a/x.md)"), "{page}");
    for path in ["(b/x.md)", "(c/x.md)", "(d/y.md)"] {
        assert!(page.contains(path), "{path}: {page}");
    }
}

#[test]
fn a_table_of_reports_has_a_ratio_only_where_a_difference_was_shown() {
    let mut report = Small::new().report(WeightFormat::Bf16, None, workloads()).unwrap();
    let peer = Arm { name: "peer".to_owned(), part: Part::Peer, ..report.arms[1].clone() };
    report.arms.push(peer);
    let mut passed = report.passed().unwrap().clone();
    let work = report.workloads[0].clone();
    let times = |verdict| match verdict {
        Verdict::Faster => [[100, 99, 101], [100, 98, 102], [300, 310, 290]],
        Verdict::Slower => [[100, 99, 101], [100, 98, 102], [30, 31, 29]],
        Verdict::NotShown => [[100, 99, 101], [100, 98, 102], [101, 100, 99]],
        // Pair by pair equal at the middle, and the medians twice one another.
        Verdict::Refused => [[100, 200, 900], [100, 200, 900], [100, 400, 400]],
    };
    for verdict in [Verdict::Faster, Verdict::Slower, Verdict::NotShown, Verdict::Refused] {
        let times = times(verdict);
        let trial = |round: usize, arm: usize| Trial {
            arm: report.arms[arm].name.clone(),
            round,
            slot: arm,
            start_ns: 0,
            end_ns: 1000,
            prompt_ns: Some(times[arm][round]),
            decode_ns: None,
            ids: vec![vec![1]],
        };
        let places = (0..9).map(|place| (place / 3, place % 3));
        let trials = places.map(|(round, arm)| trial(round, arm)).collect();
        passed.measured = vec![Measured::new(&work, &report.arms, Vec::new(), trials, false)];
        let comparison = &passed.measured[0].comparisons[0];
        let ratio = format!("{:.2} (", comparison.median_of_ratios.at);
        assert_eq!(comparison.verdict, verdict, "{}", comparison.headline);
        let shown = Report { outcome: Outcome::Passed(passed.clone()), ..report.clone() };
        let page = overview(&[("reports/x.json", &shown)]);
        let is_shown = matches!(verdict, Verdict::Faster | Verdict::Slower);
        assert_eq!(page.contains(&ratio), is_shown, "{verdict:?}: {page}");
        let words = ["no difference shown", "nothing is said"].map(|words| page.contains(words));
        assert_eq!(words, [verdict == Verdict::NotShown, verdict == Verdict::Refused], "{page}");
        // The report's own table has both summaries and who won, whatever may be said.
        let own = markdown(&shown).unwrap();
        let both = [comparison.median_of_ratios, comparison.ratio_of_medians].map(interval).join(" | ");
        assert!(own.contains(&format!("{both} | {} of 3 |", comparison.wins)), "{own}");
        let drawn = format!("ratio of medians {:.3} (", comparison.ratio_of_medians.at);
        assert!(crate::chart::page(&shown).contains(&drawn), "{drawn}");
    }
}

#[test]
fn numbers_keep_as_many_digits_as_they_are_worth() {
    assert_eq!([rate(12.345), rate(123.45), rate(1234.5)], ["12.35", "123.5", "1234"]);
    assert_eq!([time(1500.0), time(2.5e6), time(3e9)], ["1.5 µs", "2.50 ms", "3.000 s"]);
}
