//! Trials: all there, in their order, within their clock, with the ids that were checked; and what follows from them.

use crate::bench::chosen;
use crate::programs::TUNING_NAME;
use crate::report::{Arm, Measured, Part, Passed, Report, Trial, Workload, round_order};
use crate::select;

pub(super) fn audit(report: &Report, passed: &Passed, faults: &mut Vec<String>) {
    let names: Vec<&str> = passed.measured.iter().map(|measured| measured.workload.as_str()).collect();
    if names != report.workloads.iter().map(|workload| workload.name.as_str()).collect::<Vec<_>>() {
        faults.push("what was measured is not what was to be run".to_owned());
        return;
    }
    let busy = Passed::busy(passed.load, report.machine.cores);
    for (measured, workload) in passed.measured.iter().zip(&report.workloads) {
        if measured.excluded != 0 {
            faults.push(format!("{}: {} trials were left out", workload.name, measured.excluded));
        }
        schedule(report, workload, measured, faults);
        ids(report, workload, measured, faults);
        let again =
            Measured::new(workload, &report.arms, measured.warmups.clone(), measured.trials.clone(), busy);
        faults.extend(measured.differences(&again));
    }
    selection(report, passed, faults);
}

/// The chunk that was chosen, by what, and for what.
fn selection(report: &Report, passed: &Passed, faults: &mut Vec<String>) {
    let (tuning, others): (Vec<&Workload>, Vec<&Workload>) =
        report.workloads.iter().partition(|workload| workload.name.starts_with(TUNING_NAME));
    let Some(selection) = &passed.selection else {
        if !tuning.is_empty() {
            faults.push("runs that choose a chunk, and none is chosen".to_owned());
        }
        return;
    };
    if select::chunk(report, passed, &selection.workloads) != Some(selection.chunk)
        || tuning.iter().map(|workload| &workload.name).ne(&selection.workloads)
    {
        faults.push(format!("chunk {} is not the one that its document chooses", selection.chunk));
    }
    for workload in others {
        if workload.chunk != selection.chunk {
            faults.push(format!("{}: chunk {} is not the one chosen", workload.name, workload.chunk));
        }
        let same = |tuning: &&Workload| {
            workload.ids[0].starts_with(&tuning.ids[0]) || tuning.source == workload.source
        };
        if tuning.iter().any(same) {
            faults.push(format!("{}: the document that the chunk was chosen on", workload.name));
        }
    }
}

/// Who runs when.
fn schedule(report: &Report, workload: &Workload, measured: &Measured, faults: &mut Vec<String>) {
    let name = &workload.name;
    let arms: Vec<&str> = report.arms.iter().map(|arm| arm.name.as_str()).collect();
    let due = |rounds: usize| -> Vec<(usize, usize, &str)> {
        let round = |round: usize| {
            round_order(round, arms.len()).into_iter().enumerate().map(move |(slot, arm)| (round, slot, arm))
        };
        (0..rounds).flat_map(round).map(|(round, slot, arm)| (round, slot, arms[arm])).collect()
    };
    let run = |trials: &[Trial]| -> bool {
        let expected = due(trials.len() / arms.len().max(1));
        trials.iter().map(|t| (t.round, t.slot, t.arm.as_str())).eq(expected.iter().copied())
    };
    let counted = |trials: &[Trial], rounds: usize| trials.len() == rounds * arms.len() && run(trials);
    if !counted(&measured.warmups, report.method.warmups) || !counted(&measured.trials, report.method.trials)
    {
        faults.push(format!("{name}: trials are missing, or not in the order due"));
    }
    let mut last = 0;
    for trial in measured.warmups.iter().chain(&measured.trials) {
        let place = format!("{name}, round {}, {}", trial.round, trial.arm);
        let parts = [trial.prompt_ns, trial.decode_ns];
        let present = [workload.prompt > 0, workload.steps > 0];
        if parts.map(|part| part.is_some()) != present || parts.contains(&Some(0)) {
            faults.push(format!("{place}: a time is missing, or there is one of what was not run"));
        }
        let spent: u64 = parts.iter().flatten().sum();
        if trial.end_ns.checked_sub(trial.start_ns).is_none_or(|span| spent > span) {
            faults.push(format!("{place}: times are longer than the run"));
        }
        if trial.start_ns < last {
            faults.push(format!("{place}: begins before the run before it ended"));
        }
        last = trial.end_ns;
    }
}

/// What each run chose.
fn ids(report: &Report, workload: &Workload, measured: &Measured, faults: &mut Vec<String>) {
    let checked: Vec<Vec<u32>> =
        (0..workload.ids.len()).map(|sequence| chosen(report, workload, sequence)).collect();
    for arm in &report.arms {
        let runs = || measured.warmups.iter().chain(&measured.trials).filter(|t| t.arm == arm.name);
        let expected = match arm.part {
            Part::Candidate | Part::Control => Some(&checked),
            Part::Peer => runs().next().map(|trial| &trial.ids),
        };
        let shaped = |ids: &[Vec<u32>]| {
            ids.len() == workload.ids.len() && ids.iter().all(|ids| ids.len() == workload.outputs())
        };
        for trial in runs().filter(|trial| Some(&trial.ids) != expected || !shaped(&trial.ids)) {
            faults.push(other_ids(workload, arm, trial));
        }
    }
}

fn other_ids(workload: &Workload, arm: &Arm, trial: &Trial) -> String {
    let due = match arm.part {
        Part::Candidate | Part::Control => "those checked against the reference",
        Part::Peer => "those of its first run",
    };
    format!("{}, round {}, {}: its ids are not {due}", workload.name, trial.round, trial.arm)
}
