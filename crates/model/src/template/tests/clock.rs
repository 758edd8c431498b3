//! Dates.

use super::super::clock::strftime;

#[test]
fn dates_are_those_of_the_calendar() {
    let cases = [
        (0, "1970-01-01 Thursday 001 00:00:00 AM 12"),
        (951_782_400, "2000-02-29 Tuesday 060 00:00:00 AM 12"),
        (1_700_000_000, "2023-11-14 Tuesday 318 22:13:20 PM 10"),
        (1_735_689_599, "2024-12-31 Tuesday 366 23:59:59 PM 11"),
        (4_107_542_400, "2100-03-01 Monday 060 00:00:00 AM 12"),
    ];
    for (seconds, expected) in cases {
        assert_eq!(strftime("%F %A %j %T %p %I", seconds).as_deref(), Some(expected));
    }
    assert_eq!(
        strftime("%d %b %Y, %-d/%-m/%y %a %B%%", 1_717_200_000).as_deref(),
        Some("01 Jun 2024, 1/6/24 Sat June%")
    );
}

#[test]
fn unknown_directives_are_not_guessed() {
    assert_eq!(strftime("%Q", 0), None);
    assert_eq!(strftime("%", 0), None);
    assert!(strftime("%Y", u64::MAX).is_some());
}
