//! Dates and names.

use super::*;

#[test]
fn days_are_dates_of_the_calendar() {
    assert_eq!(date(0), (1970, 1, 1));
    assert_eq!(date(59), (1970, 3, 1));
    assert_eq!(date(11_016), (2000, 2, 29));
    assert_eq!(date(20_665), (2026, 7, 31));
}

#[test]
fn a_machine_class_is_a_plain_name() {
    assert_eq!(slug("NVIDIA H200 (SXM)"), "nvidia-h200-sxm");
}
