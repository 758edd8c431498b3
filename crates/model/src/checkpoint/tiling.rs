//! Ranges that must be exactly a file: no hole, no overlap, nothing outside.

use crate::Finding;

/// The range a tensor claims.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) name: &'a str,
    pub(crate) start: usize,
    /// `None` when it cannot be counted.
    pub(crate) end: Option<usize>,
}

/// Everything that keeps `claims` from tiling `0..len`, in `unit`s.
pub(crate) fn check_tiling(mut claims: Vec<Claim<'_>>, len: usize, unit: &str) -> Vec<Finding> {
    // An empty tensor shares its start with the next one and comes first.
    claims.sort_by_key(|claim| (claim.start, claim.end));
    let mut findings = Vec::new();
    let mut end_of_last = 0;
    for Claim { name, start, end } in claims {
        if start != end_of_last {
            let expected = format!("a start at {unit} {end_of_last}, the end of the tensor before");
            let what = if start < end_of_last { "overlap" } else { "hole" };
            findings.push(Finding::new(name, expected, format!("{start} ({what})")));
        }
        match end.filter(|&end| start <= end && end <= len) {
            Some(end) => end_of_last = end_of_last.max(end),
            None => {
                let got = end
                    .map_or_else(|| "a sum too large to count".to_owned(), |end| format!("{start}..{end}"));
                findings.push(Finding::new(name, format!("{unit}s within 0..{len}"), got));
                // What follows cannot be judged by an end that is not true.
                return findings;
            }
        }
    }
    if end_of_last != len {
        findings.push(Finding::new("data", format!("{end_of_last} {unit}s, all of them in a tensor"), len));
    }
    findings
}
