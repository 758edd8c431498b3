//! The weighted draw.

use super::filter::Candidate;

/// The candidate at the share `u` in [0, 1) of the summed weights, walking by rising id.
///
/// Rounding can leave the walk short of the end; it then takes the last candidate of positive weight. 0 when there
/// is no candidate.
pub(crate) fn draw(candidates: &[Candidate], u: f64) -> u32 {
    let target = u * candidates.iter().map(|c| c.weight).sum::<f64>();
    let mut sum = 0.0;
    let mut last = 0;
    for c in candidates.iter().filter(|c| c.weight > 0.0) {
        sum += c.weight;
        last = c.id;
        if sum > target {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests;
