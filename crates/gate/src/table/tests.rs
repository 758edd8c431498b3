//! Tables say what the report says, and nothing of one that failed.

use tilewright_model::{Code, WeightFormat};

use super::*;
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

#[test]
fn numbers_keep_as_many_digits_as_they_are_worth() {
    assert_eq!([rate(12.345), rate(123.45), rate(1234.5)], ["12.35", "123.5", "1234"]);
    assert_eq!([time(1500.0), time(2.5e6), time(3e9)], ["1.5 µs", "2.50 ms", "3.000 s"]);
}
