//! `strftime_now`: the date some templates put into the system message, in UTC.

/// The time as `format` says, `None` when it holds a directive that is not known. `seconds` count from 1970.
pub(super) fn strftime(format: &str, seconds: u64) -> Option<String> {
    const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day, day_of_year) = civil(days);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let weekday = DAYS[(days % 7) as usize];
    let month_name = MONTHS[(month - 1) as usize];
    let mut text = String::new();
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let mut directive = rest.next()?;
        let bare = directive == '-';
        if bare {
            directive = rest.next()?;
        }
        let number = |value: u64, width: usize| match bare {
            true => value.to_string(),
            false => format!("{value:0width$}"),
        };
        text.push_str(&match directive {
            'Y' => number(year, 4),
            'y' => number(year % 100, 2),
            'm' => number(month, 2),
            'd' => number(day, 2),
            'j' => number(day_of_year, 3),
            'H' => number(hour, 2),
            'I' => number((hour + 11) % 12 + 1, 2),
            'M' => number(minute, 2),
            'S' => number(second, 2),
            'p' => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            'A' => weekday.to_owned(),
            'a' => weekday[..3].to_owned(),
            'B' => month_name.to_owned(),
            'b' | 'h' => month_name[..3].to_owned(),
            'F' => format!("{year:04}-{month:02}-{day:02}"),
            'T' => format!("{hour:02}:{minute:02}:{second:02}"),
            '%' => "%".to_owned(),
            _ => return None,
        });
    }
    Some(text)
}

/// Year, month, day of the month and day of the year, all counted from 1, of a day counted from 1 January 1970.
fn civil(mut days: u64) -> (u64, u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // 400 years are always the same number of days: the loops below stay short for any input.
    let (mut year, era) = (1970 + days / 146_097 * 400, 146_097);
    days %= era;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let day_of_year = days + 1;
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1, day_of_year)
}
