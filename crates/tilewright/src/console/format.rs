//! Numbers as people read them.

/// Bytes with a binary unit and three digits: `61.2 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match value {
        _ if unit == 0 => format!("{bytes} B"),
        v if v < 10.0 => format!("{v:.2} {}", UNITS[unit]),
        v if v < 100.0 => format!("{v:.1} {}", UNITS[unit]),
        v => format!("{v:.0} {}", UNITS[unit]),
    }
}

/// Tokens a second, or a dash where nothing was timed.
pub(crate) fn rate(rate: Option<f64>) -> String {
    match rate {
        None => "-".to_owned(),
        Some(rate) if rate < 100.0 => format!("{rate:.1} tok/s"),
        Some(rate) => format!("{rate:.0} tok/s"),
    }
}

#[cfg(test)]
mod tests;
