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
fn paths_are_cut_to_their_last_part() {
    for (text, cut) in [
        ("No such file or directory (os error 2)", "No such file or directory (os error 2)"),
        (
            "cannot import name 'x' from 'y' (/home/someone/lib/y.py)",
            "cannot import name 'x' from 'y' (y.py)",
        ),
        ("'/usr/lib/libx.so': cannot open", "'libx.so': cannot open"),
        ("C:\\tools\\x.dll is missing", "x.dll is missing"),
        ("torch 2.9/cpu, eager", "torch 2.9/cpu, eager"),
    ] {
        assert_eq!(without_paths(text), cut);
    }
}

#[test]
fn clocks_are_those_that_are_told() {
    assert_eq!(mean_mhz("cpu MHz\t\t: 2000.4\nflags: x\ncpu MHz : 3000.0\n"), Some(2500.0));
    assert_eq!(two("1980, 34\n"), Some([Some(1980.0), Some(34.0)]));
    assert_eq!(two("1980, [N/A]\n"), Some([Some(1980.0), None]));
    assert_eq!(two("No devices were found\n"), None);
    assert_eq!(mean_mhz("Features : fp\n"), None);
}

#[test]
fn a_machine_class_is_a_plain_name() {
    assert_eq!(slug("NVIDIA H200 (SXM)"), "nvidia-h200-sxm");
}
