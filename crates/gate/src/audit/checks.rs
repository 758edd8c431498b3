//! The gate: every place that has to be compared was, with every value, and passed.

use tilewright_model::tolerance::Tolerance;

use crate::report::{Check, Failure, OtherReference, Part, Point, Report, Workload};
use crate::validate::APART;

pub(super) fn audit(report: &Report, faults: &mut Vec<String>) {
    let mut checks = report.checks.as_slice();
    for workload in &report.workloads {
        let points = workload.points();
        for sequence in 0..workload.ids.len() {
            let Some((mine, rest)) = checks.split_at_checked(points.len()) else {
                faults.push(format!("{}: checks are missing", workload.name));
                return;
            };
            checks = rest;
            for (check, point) in mine.iter().zip(&points) {
                if !fits(report, workload, sequence, check, point) {
                    faults.push(format!(
                        "{}, sequence {sequence}: the check at {} is not the one due at {}",
                        workload.name, check.position, point.position
                    ));
                }
                faults.extend(check.faults());
            }
        }
    }
    if !checks.is_empty() {
        faults.push(format!("{} checks belong to no workload", checks.len()));
    }
    replays(report, faults);
    if report.reference.as_ref().is_some_and(|other| !stands(report, other)) {
        faults.push("the reference was not held to our own forward".to_owned());
    }
    let peers = report.arms.iter().filter(|arm| arm.part == Part::Peer).map(|arm| &arm.name);
    if !peers.eq(report.peer_checks.iter().map(|check| &check.arm)) {
        faults.push("not every peer's logits were compared".to_owned());
    }
    for peer in &report.peer_checks {
        if !peer.passed() || peer.allowed > crate::peer::ALLOWED_RMS || peer.prompt == 0 {
            faults.push(format!("{}: its logits are those of another model", peer.arm));
        }
    }
}

/// Whether a comparison did not agree, or sequences of the same ids went apart, which no single one shows.
pub(super) fn has_failed(report: &Report, failure: &Failure) -> bool {
    report.checks.iter().chain(&report.replays).any(|check| !check.faults().is_empty())
        || report.peer_checks.iter().any(|peer| !peer.passed())
        || failure.what.iter().any(|what| what.ends_with(APART))
}

/// Prompts that were taken in once more as they are timed; form 1 has none.
fn replays(report: &Report, faults: &mut Vec<String>) {
    let of = |workload: &'_ Workload| workload.is_replayed() && report.schema > 1;
    let due: Vec<(&Workload, usize)> = report
        .workloads
        .iter()
        .filter(|workload| of(workload))
        .flat_map(|workload| (0..workload.ids.len()).map(move |sequence| (workload, sequence)))
        .collect();
    if report.replays.len() != due.len() {
        let (seen, due) = (report.replays.len(), due.len());
        faults.push(format!("{seen} prompts instead of {due} were compared after one call"));
    }
    for (check, (workload, sequence)) in report.replays.iter().zip(due) {
        let point = workload.points().into_iter().find(|point| point.position == workload.start());
        if !point.is_some_and(|point| fits(report, workload, sequence, check, &point)) {
            faults.push(format!(
                "{}, sequence {sequence}: not the comparison due after one call",
                workload.name
            ));
        }
        faults.extend(check.faults());
    }
}

/// Whether another reference was compared with our own in every value and agreed.
fn stands(report: &Report, other: &OtherReference) -> bool {
    let (model, row) = (&report.model, Tolerance::REFERENCE);
    let cache = (other.tokens * model.layers * model.kv_heads * model.head_dim) as u64;
    other.passed()
        && other.tokens > 0
        && other.logits.values == (other.tokens * model.vocab) as u64
        && [other.keys, other.values].iter().all(|part| part.values == cache)
        && (other.tolerance.as_str(), other.rtol, other.atol) == (row.name, row.rtol, row.atol)
        && report.precision.weights == report.model.stored
}

/// Whether a check is of that place and compared every value there.
fn fits(report: &Report, workload: &Workload, sequence: usize, check: &Check, point: &Point) -> bool {
    let model = &report.model;
    let place =
        check.workload == workload.name && check.sequence == sequence && check.position == point.position;
    let logits = match &check.logits {
        Some(logits) => {
            let known = |id: Option<u32>| id.is_some_and(|id| (id as usize) < model.vocab);
            point.logits
                && logits.values == model.vocab as u64
                && known(check.chosen)
                && known(check.reference)
                && check
                    .lead
                    .is_some_and(|lead| (lead > 0.0) == (check.chosen != check.reference) && lead >= 0.0)
        }
        None => !point.logits,
    };
    let cache = match (&check.cache, point.cache) {
        (Some(cache), Some(from)) => {
            let values = model.layers * model.kv_heads * model.head_dim * (point.position - from);
            cache.from == from && [cache.keys, cache.values].iter().all(|part| part.values == values as u64)
        }
        (None, None) => true,
        _ => false,
    };
    place && logits && cache
}
