//! A run of a benchmark: gate, warm-ups, rounds, and a report in every case.
//!
//! All workloads of a phase pass the gate before the first of them is timed. From then on every run has to choose the ids
//! that were checked; one that does not makes the whole run a failure, and its report holds no time.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tilewright_backend::{Plan, Resident};
use tilewright_cpu::simd::Isa;
use tilewright_model::{Checkpoint, Code, Finding, Refusal};

use crate::arm::{Ours, Runner};
use crate::fingerprint::fingerprints;
use crate::machine::{load, now, without_paths};
use crate::oracle::{self, Oracle, Remote};
use crate::peer::Peer;
use crate::probe::Limits;
use crate::report::{
    Absent, Arm, Ceilings, Check, Clocks, DeviceCeilings, Failure, Fingerprints, Machine, Measured, Method,
    ModelFacts, Outcome, Part, Passed, Precision, Report, SCHEMA, Selection, Software, Trial, Workload,
    round_order,
};
use crate::stats::{RESAMPLES, SEED};
use crate::{audit, select, validate};

/// The candidate's name in reports.
pub const CANDIDATE: &str = "tilewright";
/// The control's.
pub const CONTROL: &str = "tilewright again";

/// What a time includes where weights are held packed.
pub(crate) const REBUILDING: &str = "rebuilding weights from their pairs, in every kernel that reads them";

/// Makes the model resident with a prefill chunk of so many rows.
pub type Open<'a> = dyn FnMut(usize) -> Result<Box<dyn Resident>, Refusal> + 'a;

/// Measures what the device can do at most.
pub type Measure<'a> = dyn FnMut() -> Result<DeviceCeilings, Refusal> + 'a;

/// What is measured.
pub struct Subject<'a> {
    /// What the model is called in the report.
    pub name: String,
    /// Its checkpoint.
    pub checkpoint: &'a Checkpoint,
    /// The checkpoint's folder, unless it is inside the program.
    pub folder: Option<&'a Path>,
    /// The plan, of any chunk.
    pub plan: Plan,
    /// Which device, and why.
    pub reason: String,
    /// What takes the place of our own float64 forward, if something does.
    pub reference: Option<Remote>,
    /// Makes it resident.
    pub open: &'a mut Open<'a>,
    /// Measures the GPU that it runs on, where that is known how.
    pub ceilings: Option<&'a mut Measure<'a>>,
}

/// How it is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What was asked: `bench end-to-end`.
    pub program: String,
    /// Rounds.
    pub trials: usize,
    /// Warm-ups of each arm.
    pub warmups: usize,
    /// Time before each run in which nothing runs, so that threads which wait by spinning have gone to sleep.
    pub pause: Duration,
    /// Whether the limits of the processor, or of the GPU, are measured before and after.
    pub ceilings: bool,
    /// What the numbers are not.
    pub remarks: Vec<String>,
}

/// How far a run is.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// What is being done.
    pub what: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// How much of it is done.
    pub done: usize,
    /// In all.
    pub total: usize,
}

/// A phase whose workloads choose a chunk for the next, or none.
pub struct Phases<'a> {
    /// The first phase.
    pub first: Vec<Workload>,
    /// The second, given the chunk that the first chose.
    pub second: Option<Box<dyn FnOnce(usize) -> Vec<Workload> + 'a>>,
}

/// Runs it. The report is audited before it is handed over, a failure's as well.
///
/// # Errors
/// What the device or a peer refuses; `measured_changed`; `report_invalid` when the report does not pass its own audit.
pub fn run(
    mut subject: Subject<'_>,
    peers: Vec<Peer>,
    absent: Vec<Absent>,
    settings: &Settings,
    phases: Phases<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, Refusal> {
    let before = fingerprints(subject.folder)?;
    let mut report = blank(&subject, &peers, absent, settings);
    refuse_early(&report, &phases.first)?;
    let reference: Box<dyn Oracle> = match subject.reference.take() {
        None => Box::new(validate::reference(subject.checkpoint, &subject.plan)?),
        Some(remote) => {
            if report.precision.weights != report.model.stored {
                let got = format!("{} of {}", report.precision.weights, report.model.stored);
                let expected = "weights as they are stored, which it reads";
                let refusal = Refusal::new(Code::RequestInvalid, "--reference", expected, got);
                return Err(
                    refusal.with_remedy("Choose --weights as they are stored, or leave --reference out.")
                );
            }
            report.reference = match phases.first.first() {
                Some(workload) => Some(oracle::held(&remote, subject.checkpoint, workload)?),
                None => None,
            };
            Box::new(remote)
        }
    };
    let mut run =
        Running { report: &mut report, peers, settings, clock: Instant::now(), ours: None, progress };
    let outcome = run.phases(&mut subject, &*reference, phases)?;
    report.outcome = outcome;
    let after = fingerprints(subject.folder)?;
    if before != after {
        let changed: Vec<&String> =
            before.keys().filter(|name| before.get(*name) != after.get(*name)).collect();
        return Err(Refusal::new(
            Code::MeasuredChanged,
            "hashes",
            "the same before and after",
            format!("{changed:?}"),
        ));
    }
    report.fingerprints = Fingerprints { before, after };
    let report = report.sealed()?;
    audit::audit(&report)?;
    Ok(report)
}

/// Refuses before any work what the audit of the report would find fault with after all of it.
fn refuse_early(report: &Report, workloads: &[Workload]) -> Result<(), Refusal> {
    let mut findings = Vec::new();
    let mut once = |what: &str, names: Vec<&str>| {
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                findings.push(Finding::new(what, "each once", format!("{name} again")));
            }
        }
    };
    once("lengths", workloads.iter().map(|workload| workload.name.as_str()).collect());
    once("engines", report.arms.iter().map(|arm| arm.name.as_str()).collect());
    if audit::tells_a_path(report) {
        findings.push(Finding::new("name of the model", "a name without a path", &report.model.name));
    }
    Refusal::check(Code::RequestInvalid, findings)
}

fn blank(subject: &Subject<'_>, peers: &[Peer], absent: Vec<Absent>, settings: &Settings) -> Report {
    let config = subject.checkpoint.config();
    let stored = subject.checkpoint.parameters().embedding.stored.to_string();
    let model = ModelFacts::of(&subject.name, config, &stored);
    let precision = Precision::of(&subject.plan, model.matrix_elements());
    let software = Software::this();
    let ours = |name: &str, part| Arm {
        name: name.to_owned(),
        part,
        version: format!("tilewright {}", software.version),
        precision: precision.label.clone(),
        remarks: subject.plan.notes.clone(),
    };
    let mut arms = vec![ours(CANDIDATE, Part::Candidate), ours(CONTROL, Part::Control)];
    arms.extend(peers.iter().map(|peer| Arm {
        name: peer.name.clone(),
        part: Part::Peer,
        version: without_paths(&peer.version),
        precision: without_paths(&peer.precision),
        remarks: peer.remarks.iter().map(|remark| without_paths(remark)).collect(),
    }));
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let mut remarks: Vec<String> = texts(&[
        "Medians of parts need not add up to the median of the whole.",
        "One session on one machine with fixed ids: no statement about other texts, other machines or a server's load.",
    ]);
    if !settings.pause.is_zero() {
        remarks.push(format!("Before each run nothing ran for {} ms.", settings.pause.as_millis()));
    }
    remarks.extend(settings.remarks.iter().cloned());
    Report {
        schema: SCHEMA,
        program: settings.program.clone(),
        created: now(),
        machine: Machine::look(&subject.plan, &subject.reason),
        model,
        precision: precision.clone(),
        packing: None,
        method: Method {
            device: subject.plan.device.to_string(),
            kernels: subject.plan.kernels.to_string(),
            threads: subject.plan.threads,
            trials: settings.trials,
            warmups: settings.warmups,
            resamples: RESAMPLES,
            seed: SEED,
            includes: texts(&[
                "creating or emptying the sequence, where the prompt begins it",
                "every layer of every token, the head and the choice of the greatest logit",
                "handing the chosen id to the host, dispatch and synchronisation",
            ]),
            excludes: texts(&[
                "loading, packing and compiling",
                "tokens of the depth before the clock starts",
                "text to ids and ids to text, sampling, end tokens (none ends a run)",
            ]),
            remarks,
        },
        software,
        arms,
        absent: absent
            .into_iter()
            .map(|absent| Absent { reason: without_paths(&absent.reason), ..absent })
            .collect(),
        fingerprints: Fingerprints::default(),
        workloads: Vec::new(),
        reference: None,
        checks: Vec::new(),
        replays: Vec::new(),
        peer_checks: Vec::new(),
        outcome: Outcome::Failed(Failure { workload: String::new(), stage: String::new(), what: Vec::new() }),
        seal: String::new(),
    }
}

/// A run under way.
struct Running<'a, 'p> {
    report: &'a mut Report,
    peers: Vec<Peer>,
    settings: &'a Settings,
    clock: Instant,
    /// Our model, with its chunk.
    ours: Option<(usize, Ours)>,
    progress: &'p mut dyn FnMut(Progress<'_>),
}

impl Running<'_, '_> {
    fn phases(
        &mut self,
        subject: &mut Subject<'_>,
        reference: &dyn Oracle,
        phases: Phases<'_>,
    ) -> Result<Outcome, Refusal> {
        let before = load();
        let cool = self.clocks();
        let mut passed = Passed {
            load: None,
            clocks: None,
            ceilings: Vec::new(),
            device_ceilings: Vec::new(),
            measured: Vec::new(),
            selection: None,
        };
        self.ceilings(subject, &mut passed)?;
        let names: Vec<String> = phases.first.iter().map(|workload| workload.name.clone()).collect();
        if let Some(failure) = self.phase(subject, reference, phases.first, &mut passed)? {
            return Ok(Outcome::Failed(failure));
        }
        if let Some(second) = phases.second
            && let Some(chunk) = select::chunk(self.report, &passed, &names)
        {
            passed.selection = Some(Selection { workloads: names, chunk });
            if let Some(failure) = self.phase(subject, reference, second(chunk), &mut passed)? {
                return Ok(Outcome::Failed(failure));
            }
        }
        // The load has just ended: what it made of the clocks shows.
        passed.clocks = Some([cool, self.clocks()]);
        // What was measured stands without them, and the GPU's memory is wanted for them.
        self.ours = None;
        self.peers.clear();
        if let Err(refusal) = self.ceilings(subject, &mut passed) {
            let what =
                refusal.findings().first().map_or(String::new(), |finding| format!(": {}", finding.what));
            self.report.method.remarks.push(format!(
                "Ceilings could not be measured again afterwards, {}{what}.",
                refusal.code().name()
            ));
        }
        passed.load = before.zip(load()).map(|(before, after)| [before, after]);
        if Passed::busy(passed.load, self.report.machine.cores) {
            for (measured, workload) in passed.measured.iter_mut().zip(&self.report.workloads) {
                let (warmups, trials) = (measured.warmups.clone(), measured.trials.clone());
                *measured = Measured::new(workload, &self.report.arms, warmups, trials, true);
            }
        }
        Ok(Outcome::Passed(passed))
    }

    fn clocks(&self) -> Clocks {
        Clocks::look(&self.report.method.device)
    }

    /// Measures the device that runs the model, where asked to: against the processor's limits nothing can be held that a
    /// GPU does.
    fn ceilings(&mut self, subject: &mut Subject<'_>, passed: &mut Passed) -> Result<(), Refusal> {
        if !self.settings.ceilings {
            return Ok(());
        }
        let tell = Progress { what: "ceilings", workload: "", done: 0, total: 1 };
        match (&self.report.machine.gpu, &mut subject.ceilings) {
            (None, _) => {
                (self.progress)(tell);
                let Limits { read, fma } = Limits::measure(Isa::detect(), self.report.method.threads);
                passed.ceilings.push(Ceilings { read, fma });
            }
            (Some(_), Some(measure)) => {
                (self.progress)(tell);
                passed.device_ceilings.push(measure()?);
            }
            (Some(_), None) => {}
        }
        Ok(())
    }

    /// The gate for all of `workloads`, then their times.
    fn phase(
        &mut self,
        subject: &mut Subject<'_>,
        reference: &dyn Oracle,
        workloads: Vec<Workload>,
        passed: &mut Passed,
    ) -> Result<Option<Failure>, Refusal> {
        self.report.workloads.extend(workloads.iter().cloned());
        let failure = |workload: &Workload, stage: &str, what| {
            Ok(Some(Failure { workload: workload.name.clone(), stage: stage.to_owned(), what }))
        };
        for workload in &workloads {
            let ours = resident(&mut self.ours, subject, workload.chunk)?;
            ours.release();
            self.report.packing = ours.model.packing();
            let includes = &mut self.report.method.includes;
            if self.report.packing.is_some() && !includes.iter().any(|what| what == REBUILDING) {
                includes.push(REBUILDING.to_owned());
            }
            let precision = &self.report.precision;
            let progress = &mut self.progress;
            let mut tell = |done, total| {
                progress(Progress { what: "checking", workload: &workload.name, done, total });
            };
            let checked = validate::validate(&mut *ours.model, reference, precision, workload, &mut tell)?;
            self.report.checks.extend(checked.checks);
            self.report.replays.extend(checked.replays);
            if !checked.faults.is_empty() {
                return failure(workload, "gate", checked.faults);
            }
        }
        if self.report.peer_checks.is_empty()
            && let Some(workload) = workloads.first()
        {
            let ids = &workload.ids[0][..workload.given_ids().min(32)];
            for peer in &mut self.peers {
                let check = peer.check(ids, &reference.sequence().extend(ids, 1)?)?;
                let name = peer.name.clone();
                let (seen, passed) = (check.relative_rms, check.passed());
                self.report.peer_checks.push(check);
                if !passed {
                    return failure(
                        workload,
                        "gate",
                        vec![format!("{name}: its logits are off by {seen:.3} of their size")],
                    );
                }
            }
        }
        for workload in &workloads {
            resident(&mut self.ours, subject, workload.chunk)?;
            match self.time(workload)? {
                Ok(measured) => passed.measured.push(measured),
                Err(what) => return failure(workload, "timing", what),
            }
        }
        Ok(None)
    }

    /// Warm-ups and rounds of a workload; what was wrong when a run chose other ids.
    fn time(&mut self, workload: &Workload) -> Result<Result<Measured, Vec<String>>, Refusal> {
        let mut due: Vec<Option<Vec<Vec<u32>>>> = vec![None; self.report.arms.len()];
        let checked: Vec<Vec<u32>> =
            (0..workload.ids.len()).map(|sequence| chosen(self.report, workload, sequence)).collect();
        for (arm, due) in self.report.arms.iter().zip(&mut due) {
            *due = (arm.part != Part::Peer).then(|| checked.clone());
        }
        let (warmups, rounds) = (self.settings.warmups, self.settings.trials);
        let mut trials = Vec::new();
        for index in 0..warmups + rounds {
            let (what, round) = match index.checked_sub(warmups) {
                None => ("warming up", index),
                Some(round) => ("timing", round),
            };
            (self.progress)(Progress {
                what,
                workload: &workload.name,
                done: index,
                total: warmups + rounds,
            });
            for (slot, arm) in round_order(round, due.len()).into_iter().enumerate() {
                thread::sleep(self.settings.pause);
                let trial = self.trial(workload, arm, round, slot)?;
                match &due[arm] {
                    Some(ids) if *ids != trial.ids => {
                        return Ok(Err(vec![format!(
                            "{}, round {round} of {what}: chose other ids than {}",
                            trial.arm,
                            if self.report.arms[arm].part == Part::Peer {
                                "in its first run"
                            } else {
                                "were checked"
                            }
                        )]));
                    }
                    Some(_) => {}
                    None => due[arm] = Some(trial.ids.clone()),
                }
                trials.push(trial);
            }
        }
        let rounds = trials.split_off(warmups * due.len());
        Ok(Ok(Measured::new(workload, &self.report.arms, trials, rounds, false)))
    }

    fn trial(
        &mut self,
        workload: &Workload,
        arm: usize,
        round: usize,
        slot: usize,
    ) -> Result<Trial, Refusal> {
        let facts = &self.report.arms[arm];
        let runner: &mut dyn Runner = match (facts.part, &mut self.ours) {
            (Part::Peer, _) => {
                let peer = self.peers.iter_mut().find(|peer| peer.name == facts.name);
                peer.ok_or_else(|| {
                    Refusal::new(Code::PeerUnavailable, &facts.name, "a running peer", "none")
                })?
            }
            (_, Some((_, ours))) => ours,
            (_, None) => return Err(Refusal::new(Code::ReportInvalid, "run", "a resident model", "none")),
        };
        let start_ns = self.clock.elapsed().as_nanos() as u64;
        let run = runner.run(workload)?;
        let end_ns = self.clock.elapsed().as_nanos() as u64;
        Ok(Trial {
            arm: facts.name.clone(),
            round,
            slot,
            start_ns,
            end_ns,
            prompt_ns: run.prompt.map(|time| time.as_nanos() as u64),
            decode_ns: run.decode.map(|time| time.as_nanos() as u64),
            ids: run.ids,
        })
    }
}

/// Our model with a chunk of so many rows; another chunk is another plan.
fn resident<'m>(
    ours: &'m mut Option<(usize, Ours)>,
    subject: &mut Subject<'_>,
    chunk: usize,
) -> Result<&'m mut Ours, Refusal> {
    if ours.as_ref().is_none_or(|(held, _)| *held != chunk) {
        // The one before goes first, so that memory holds one.
        *ours = None;
        *ours = Some((chunk, Ours::new((subject.open)(chunk)?)));
    }
    match ours {
        Some((_, ours)) => Ok(ours),
        None => Err(Refusal::new(Code::ReportInvalid, "run", "a resident model", "none")),
    }
}

/// The ids that a sequence was seen to choose while it was checked.
///
/// The first is of the prompt as it is timed, where it was taken in so.
pub(crate) fn chosen(report: &Report, workload: &Workload, sequence: usize) -> Vec<u32> {
    let from = workload.start() + usize::from(workload.given);
    let mine = |check: &&Check| check.workload == workload.name && check.sequence == sequence;
    let due = |check: &&Check| mine(check) && check.position >= from;
    let mut ids: Vec<u32> =
        report.checks.iter().filter(due).filter_map(|check| check.chosen).take(workload.outputs()).collect();
    let replay = report.replays.iter().filter(due).find_map(|check| check.chosen);
    if let (Some(first), Some(id)) = (ids.first_mut(), replay) {
        *first = id;
    }
    ids
}
