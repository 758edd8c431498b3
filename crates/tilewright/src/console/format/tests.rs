//! Numbers as they are printed.

use super::{bytes, rate};

#[test]
fn bytes_have_a_binary_unit_and_three_digits() {
    assert_eq!(bytes(0), "0 B");
    assert_eq!(bytes(999), "999 B");
    assert_eq!(bytes(1000), "0.98 KiB");
    assert_eq!(bytes(1536), "1.50 KiB");
    assert_eq!(bytes(61 * 1024 * 1024), "61.0 MiB");
    assert_eq!(bytes(640 << 20), "640 MiB");
    assert_eq!(bytes(u64::MAX), "16777216 TiB");
}

#[test]
fn a_rate_that_was_not_timed_is_a_dash() {
    assert_eq!(rate(None), "-");
    assert_eq!(rate(Some(10.04)), "10.0 tok/s");
    assert_eq!(rate(Some(1000.4)), "1000 tok/s");
}
