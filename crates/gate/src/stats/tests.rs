//! Statistics of numbers whose answer is known.

use super::*;

#[test]
fn medians_are_the_middle() {
    assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    assert!(median(&[]).is_nan());
}

#[test]
fn an_interval_lies_around_its_median_and_shrinks_with_the_spread() {
    let wide = median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let narrow = median_interval(&[2.9, 3.0, 3.0, 3.0, 3.1]);
    assert!(wide.holds(3.0) && narrow.holds(3.0));
    assert!(wide.high - wide.low > 5.0 * (narrow.high - narrow.low), "{wide:?} {narrow:?}");
    assert_eq!(median_interval(&[7.0; 5]), Interval { at: 7.0, low: 7.0, high: 7.0 });
}

#[test]
fn intervals_are_the_same_at_every_computation() {
    let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0];
    assert_eq!(median_interval(&values), median_interval(&values));
}

/// Three pairs in which each side wins in its own way: the two summaries need not agree.
#[test]
fn the_median_of_ratios_is_not_the_ratio_of_medians() {
    let (ours, theirs) = ([1.0, 2.0, 9.0], [3.0, 3.0, 9.0]);
    assert_eq!(median_of_ratios(&ours, &theirs).at, 1.5);
    assert_eq!(ratio_of_medians(&ours, &theirs).at, 1.5);
    let theirs = [1.0, 4.0, 4.0];
    assert_eq!(median_of_ratios(&ours, &theirs).at, 1.0);
    assert_eq!(ratio_of_medians(&ours, &theirs).at, 2.0);
}

#[test]
fn the_reach_of_an_interval_counts_both_ways() {
    let interval = Interval { at: 1.0, low: 0.5, high: 1.5 };
    assert!(near(interval.reach(), 1.0), "half as fast is as far as twice as fast");
}
