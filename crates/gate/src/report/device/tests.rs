//! Rates follow from trials, and one that does not is named.

use super::*;

#[test]
fn a_rate_is_work_over_the_median_of_its_times_with_the_range_of_all() {
    let rate = Rate::new(4000, vec![1000.0, 4000.0, 2000.0]);
    assert_eq!((rate.least, rate.median, rate.most), (1e9, 2e9, 4e9));
    assert!(rate.is_sound());
    assert_eq!(rate.describe("B/s"), "2.00 GB/s (1.00 GB/s to 4.00 GB/s in 3 trials)");
}

#[test]
fn a_rate_that_cannot_have_been_measured_is_unsound() {
    let of = |work, times: &[f64]| Rate::new(work, times.to_vec()).is_sound();
    assert!(of(1, &[1.0, 2.0, 3.0]));
    for (work, times) in [
        (0, &[1.0, 2.0, 3.0][..]),
        (1, &[1.0, 2.0]),
        (1, &[]),
        (1, &[1.0, 2.0, 0.0]),
        (1, &[1.0, 2.0, -1.0]),
        (1, &[1.0, 2.0, f64::NAN]),
        (1, &[1.0, 2.0, f64::INFINITY]),
    ] {
        assert!(!of(work, times), "{work} {times:?}");
    }
}

#[test]
fn rates_are_written_with_three_digits_in_the_unit_that_suits_them() {
    let written = [(4.5612e12, "B/s"), (60.24e12, "FLOP/s"), (7.8e14, "FLOP/s"), (3.5e11, "B/s")];
    assert_eq!(
        written.map(|(rate, unit)| per_second(rate, unit)),
        ["4.56 TB/s", "60.2 TFLOP/s", "780 TFLOP/s", "350 GB/s"]
    );
}
