//! Whatever is changed in a report, the auditor says so: with the old seal, and with a new one that fits.

mod packing;
mod published;

use tilewright_model::{Code, WeightFormat};

use super::*;
use crate::bench::Phases;
use crate::programs::synthetic;
use crate::report::{
    Arm, Ceilings, Failure, Gpu, Measured, Metric, Part, Passed, Rate, Trial, Verdict, round_order,
};
use crate::testing::{Small, on_gpu, recorded, workload, workloads};

fn report() -> Report {
    Small::new().report(WeightFormat::Bf16, None, workloads()).unwrap()
}

fn passed(report: &mut Report) -> &mut Passed {
    let Outcome::Passed(passed) = &mut report.outcome else { panic!("it failed") };
    passed
}

fn said(report: &Report) -> String {
    audit(report).err().map(|refusal| refusal.to_string()).unwrap_or_default()
}

type Change = (&'static str, &'static str, fn(&mut Report));

/// What is changed, what the auditor must say even when the seal fits, and the change.
const CHANGES: &[Change] = &[
    ("a token of a trial", "its ids are not those checked", |r| {
        passed(r).measured[2].trials[4].ids[0][1] ^= 1
    }),
    ("a token everywhere it was chosen", "its ids are not those checked", |r| {
        let measured = &mut passed(r).measured[2];
        for trial in measured.warmups.iter_mut().chain(&mut measured.trials) {
            trial.ids[0][1] ^= 1;
        }
    }),
    ("a token of a check", "the reference", |r| {
        let chosen = r.checks[39].chosen.map(|id| id ^ 1);
        (r.checks[39].chosen, r.checks[39].lead) = (chosen, Some(1.0));
    }),
    ("a token of a prompt", "its ids are not those of", |r| r.workloads[0].ids[0][3] ^= 1),
    ("a token of a prompt that there is not", "ids and lengths", |r| r.workloads[0].ids[0][3] = 96),
    ("a time", "do not follow from the trials", |r| {
        let ns = &mut passed(r).measured[0].trials[3].prompt_ns;
        *ns = ns.map(|ns| ns * 3 / 4);
    }),
    ("a trial left out", "trials are missing", |r| {
        passed(r).measured[1].trials.pop();
    }),
    ("a round left out", "trials are missing", |r| {
        let trials = &mut passed(r).measured[1].trials;
        trials.truncate(trials.len() - 2);
    }),
    ("a trial said to be an outlier", "were left out", |r| passed(r).measured[1].excluded = 1),
    ("a warm-up left out", "trials are missing", |r| passed(r).measured[1].warmups.clear()),
    ("two trials exchanged", "not in the order due", |r| passed(r).measured[1].trials.swap(0, 1)),
    ("times that overlap", "begins before", |r| passed(r).measured[1].trials[1].start_ns = 1),
    ("a time longer than its run", "longer than the run", |r| {
        let trial = &mut passed(r).measured[1].trials[0];
        trial.end_ns = trial.start_ns + 1;
    }),
    ("a median", "summaries do not follow", |r| passed(r).measured[0].summaries[0].median.at *= 0.999),
    ("a rate", "summaries do not follow", |r| passed(r).measured[0].summaries[0].rate *= 1.001),
    ("an interval", "noise and its ratios do not follow", |r| {
        passed(r).measured[0].noise[0].median_of_ratios.high *= 1.001;
    }),
    ("a ratio", "noise and its ratios do not follow", |r| passed(r).measured[0].noise[0].ratios[0] *= 1.001),
    ("a hash", "before and after differ", |r| {
        let hash = r.fingerprints.after.get_mut("binary").unwrap();
        *hash = "0".repeat(64);
    }),
    ("a hash that is none", "64 hexadecimal digits", |r| {
        for prints in [&mut r.fingerprints.before, &mut r.fingerprints.after] {
            prints.insert("checkpoint/config.json".to_owned(), "unknown".to_owned());
        }
    }),
    ("no hash of the weights", "no hash of the weights", |r| {
        for prints in [&mut r.fingerprints.before, &mut r.fingerprints.after] {
            prints.remove("checkpoint/model.safetensors");
        }
    }),
    ("the precision's label", "not that of its parts", |r| {
        r.precision.label = r.precision.label.replace("bf16", "f32")
    }),
    ("the precision's weights", "are not those of f32 weights", |r| {
        r.precision.weights = "f32".to_owned();
        relabel(r);
    }),
    ("the precision's keys and values", "tolerance is not that of the precision", |r| {
        r.precision.kv = "f32".to_owned();
        relabel(r);
    }),
    ("an arm's precision", "is not the report's", |r| r.arms[0].precision = "weights f32".to_owned()),
    ("a wider tolerance", "tolerance is not that of the precision", |r| r.precision.atol *= 10.0),
    ("another row's tolerance", "tolerance is not that of the precision", |r| {
        let row = tilewright_model::tolerance::Tolerance::BF16_STATE;
        (r.precision.tolerance, r.precision.rtol, r.precision.atol) =
            (row.name.to_owned(), row.rtol, row.atol);
    }),
    ("values outside", "outside the tolerance", |r| r.checks[5].logits.as_mut().unwrap().outside = 1),
    ("an error that is no number", "not a number", |r| r.checks[5].logits.as_mut().unwrap().max_abs = None),
    ("fewer logits compared", "is not the one due", |r| r.checks[5].logits.as_mut().unwrap().values -= 1),
    ("fewer keys compared", "is not the one due", |r| {
        r.checks.last_mut().unwrap().cache.as_mut().unwrap().keys.values -= 1;
    }),
    ("logits left out", "is not the one due", |r| {
        let check = &mut r.checks[5];
        (check.logits, check.chosen, check.reference, check.lead) = (None, None, None, None);
    }),
    ("a check left out", "the one due", |r| {
        r.checks.remove(7);
    }),
    ("the last check left out", "checks are missing", |r| {
        r.checks.pop();
    }),
    ("a workload left out", "belong to no workload", |r| {
        r.workloads.pop();
        passed(r).measured.pop();
    }),
    ("a workload's times left out", "not what was to be run", |r| {
        passed(r).measured.pop();
    }),
    ("no control", "has one control", |r| {
        r.arms.pop();
    }),
    ("a path of the machine", "a path of the machine", |r| r.model.name = "/home/someone/model".to_owned()),
    ("another seed", "another number of draws or seed", |r| r.method.seed += 1),
    ("the schema", "schema 3 is not 2", |r| r.schema = 3),
    ("an earlier schema", "schema 1 is not 2", |r| {
        r.schema = 1;
        r.replays.clear();
        r.created = "2026-12-01T00:00:00Z".to_owned();
    }),
    ("a prompt compared after one call left out", "prompts instead of", |r| {
        r.replays.pop();
    }),
    ("keys left out after one call", "not the comparison due after one call", |r| r.replays[0].cache = None),
    ("values outside after one call", "outside the tolerance", |r| {
        r.replays[1].cache.as_mut().unwrap().values.outside = 1;
    }),
    ("a comparison with a peer left out", "not every peer's logits", |r| {
        let peer = Arm { name: "peer".to_owned(), part: Part::Peer, ..r.arms[1].clone() };
        r.arms.push(peer);
    }),
    ("a workload's name", "not a name of its lengths", |r| rename(r, 0, "pp512")),
    ("a context's name", "not a name of its lengths", |r| rename(r, 4, "context 64")),
    ("a prompt's source", "its ids are not those of", |r| r.workloads[0].source = "a text".to_owned()),
    ("ceilings beside a GPU", "beside times of a GPU", |r| {
        r.machine.gpu = Some(Gpu { name: "some".to_owned(), driver: None });
        passed(r).ceilings.push(Ceilings { read: 1.0, fma: 1.0 });
    }),
    ("ceilings of a GPU beside the processor", "beside times of cpu, no GPU", |r| {
        passed(r).device_ceilings.push(recorded());
    }),
    ("a failure that is none", "nothing that failed", |r| fail(r, "gate")),
    ("a failure in time of what was not compared", "checks are missing", |r| {
        fail(r, "timing");
        r.checks.pop();
    }),
    ("a failure without reasons", "says what failed", |r| {
        r.outcome = Outcome::Failed(Failure {
            workload: "pp40".to_owned(),
            stage: "gate".to_owned(),
            what: Vec::new(),
        });
    }),
];

/// A report of a failure instead.
fn fail(report: &mut Report, stage: &str) {
    let what = vec!["something".to_owned()];
    report.outcome = Outcome::Failed(Failure { workload: "pp40".to_owned(), stage: stage.to_owned(), what });
}

/// Another name for a workload everywhere.
fn rename(report: &mut Report, index: usize, name: &str) {
    let was = std::mem::replace(&mut report.workloads[index].name, name.to_owned());
    passed(report).measured[index].workload = name.to_owned();
    for check in report.checks.iter_mut().chain(&mut report.replays).filter(|check| check.workload == was) {
        check.workload = name.to_owned();
    }
}

fn relabel(report: &mut Report) {
    let p = &mut report.precision;
    p.label = crate::report::Precision::label_of(&p.weights, &p.activations, &p.kv, &p.sums);
    for arm in &mut report.arms {
        arm.precision.clone_from(&p.label);
    }
}

#[test]
fn a_report_passes_its_audit_and_survives_its_file() {
    let report = report();
    audit(&report).unwrap();
    let mut altered = report.clone();
    altered.machine.cores += 1;
    assert!(said(&altered).contains("the seal does not fit"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    report.write_new(&path).unwrap();
    assert_eq!(report.write_new(&path).unwrap_err().code(), Code::OutputExists);
    let audited = audit_path(folder.path()).unwrap();
    assert_eq!(audited.len(), 1);
    assert_eq!(audited[0].1, AnyReport::Run(Box::new(report)));
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(audit_path(empty.path()).unwrap_err().code(), Code::ReportInvalid);
}

#[test]
fn whatever_is_altered_is_caught_even_under_a_seal_that_fits() {
    let report = report();
    for (what, said_to_be, change) in CHANGES {
        let mut altered = report.clone();
        change(&mut altered);
        assert_ne!(altered.due_seal().unwrap(), altered.seal, "{what}: the old seal fits");
        let resealed = altered.sealed().unwrap();
        let said = said(&resealed);
        assert!(!said.contains("seal"), "{what}: {said}");
        assert!(said.contains(said_to_be), "{what}: said {said:?}, not {said_to_be:?}");
    }
}

/// What chose the chunk cannot be altered either.
#[test]
fn a_chunk_that_was_chosen_otherwise_is_caught() {
    let tuning = |chunk: usize| {
        let mut tuning = workload(&format!("tuning, chunk {chunk}"), [0, 40, 2, 1], false);
        tuning.chunk = chunk;
        tuning.source = "synthetic ids, sequence 1".to_owned();
        tuning.ids = vec![synthetic(96, 1, 40)];
        tuning
    };
    let second = |chunk| {
        let mut document = workload("50/4", [0, 50, 3, 1], false);
        document.chunk = chunk;
        vec![document]
    };
    let phases = Phases { first: vec![tuning(16), tuning(32)], second: Some(Box::new(second)) };
    let report = Small::new().report(WeightFormat::F32, None, phases).unwrap();
    let changes: [Change; 5] = [
        ("the choice left out", "none is chosen", |r| passed(r).selection = None),
        ("a candidate left out", "not the one that its document chooses", |r| {
            passed(r).selection.as_mut().unwrap().workloads.pop();
        }),
        ("another chunk chosen", "not the one that its document chooses", |r| {
            let chunk = &mut passed(r).selection.as_mut().unwrap().chunk;
            *chunk = 48 - *chunk;
        }),
        ("another chunk used", "is not the one chosen", |r| r.workloads[2].chunk = 48 - r.workloads[2].chunk),
        ("the document itself chose", "that the chunk was chosen on", |r| {
            let document = r.workloads[2].clone();
            for tuning in &mut r.workloads[..2] {
                (tuning.source, tuning.ids) = (document.source.clone(), vec![document.ids[0][..40].to_vec()]);
            }
        }),
    ];
    for (what, said_to_be, change) in changes {
        let mut altered = report.clone();
        change(&mut altered);
        let said = said(&altered.sealed().unwrap());
        assert!(said.contains(said_to_be), "{what}: said {said:?}");
    }
}

#[test]
fn ceilings_of_a_gpu_that_do_not_follow_from_their_trials_are_caught() {
    let report = Small::new().report_as(WeightFormat::Bf16, None, workloads(), on_gpu(true)).unwrap();
    audit(&report).unwrap();
    let changes: &[Change] = &[
        ("a median", "read does not follow from its trials", |r| {
            passed(r).device_ceilings[1].read.median *= 1.001;
        }),
        ("the least", "f32 multiply-add does not follow from its trials", |r| {
            passed(r).device_ceilings[0].f32.least *= 0.9;
        }),
        ("the most", "products by wgmma with sums in f32 does not follow from its trials", |r| {
            passed(r).device_ceilings[0].bf16.as_mut().unwrap().rate.most *= 1.1;
        }),
        ("a trial's time", "read does not follow", |r| passed(r).device_ceilings[0].read.times_ns[0] /= 2.0),
        ("a trial left out", "read does not follow", |r| {
            passed(r).device_ceilings[0].read.times_ns.pop();
        }),
        ("trials left out, and the rest made to fit", "read does not follow", |r| {
            let read = &mut passed(r).device_ceilings[0].read;
            *read = Rate::new(read.work, read.times_ns[..2].to_vec());
        }),
        ("the work of a trial", "read does not follow", |r| passed(r).device_ceilings[0].read.work += 1),
        ("another GPU", "beside times of cuda:0", |r| {
            passed(r).device_ceilings[0].name = "another".to_owned();
        }),
        ("another device", "ceilings of cuda:1", |r| {
            passed(r).device_ceilings[1].device = "cuda:1".to_owned();
        }),
        ("one more", "measured 3 times", |r| passed(r).device_ceilings.push(recorded())),
        ("products by nothing", "products by no instruction", |r| {
            for ceilings in &mut passed(r).device_ceilings {
                ceilings.bf16.as_mut().unwrap().instruction.clear();
            }
        }),
        ("products left out once", "of other products", |r| passed(r).device_ceilings[1].bf16 = None),
    ];
    for (what, said_to_be, change) in changes {
        let mut altered = report.clone();
        change(&mut altered);
        let said = said(&altered.sealed().unwrap());
        assert!(said.contains(said_to_be), "{what}: said {said:?}, not {said_to_be:?}");
    }
}

/// After an hour of runs another program may hold the memory that ceilings are measured in.
#[test]
fn ceilings_that_fail_afterwards_leave_the_times_and_before_them_no_work() {
    let small = Small::new();
    let failing = |from: usize| {
        let mut calls = 0;
        move || {
            calls += 1;
            if calls < from {
                return Ok(recorded());
            }
            Err(Refusal::new(Code::OutOfMemory, "memory of the GPU", "some", "none"))
        }
    };
    let report = |from| {
        let how = (WeightFormat::F32, None);
        small.report_measured(how, workloads(), on_gpu(false), &mut failing(from))
    };
    let later = report(2).unwrap();
    assert_eq!(later.passed().unwrap().device_ceilings.len(), 1);
    let said = later.method.remarks.last().unwrap();
    assert!(said.contains("afterwards, out_of_memory: memory of the GPU"), "{said}");
    assert_eq!(report(1).unwrap_err().code(), Code::OutOfMemory);
}

/// A time cannot be slipped into the report of a failure, nor any field that the schema does not have.
#[test]
fn a_field_that_the_schema_does_not_have_is_refused() {
    let mut report = report();
    report.outcome = Outcome::Failed(Failure {
        workload: "pp40".to_owned(),
        stage: "timing".to_owned(),
        what: vec!["logits".to_owned()],
    });
    let report = report.sealed().unwrap();
    audit(&report).unwrap();
    let text = report.json(false).unwrap();
    for (from, to) in [
        (r#""stage":"timing""#, r#""stage":"timing","decode_ns":5"#),
        (r#""failed":{"#, r#""failed":{"measured":[],"#),
        (r#""checks":["#, r#""times":[1],"checks":["#),
    ] {
        assert!(text.contains(from), "{from}");
        let refusal = Report::from_json(&text.replacen(from, to, 1)).unwrap_err();
        assert_eq!(refusal.code(), Code::ReportInvalid);
    }
}

fn arm(name: &str, part: Part) -> Arm {
    Arm { name: name.to_owned(), part, version: String::new(), precision: String::new(), remarks: Vec::new() }
}

/// What is said of a peer whose times are these, where the control's are `again`.
fn compared(ours: &[u64], again: &[u64], theirs: &[u64]) -> (Verdict, String) {
    compared_on(false, ours, again, theirs)
}

fn compared_on(busy: bool, ours: &[u64], again: &[u64], theirs: &[u64]) -> (Verdict, String) {
    let arms = [arm("a", Part::Candidate), arm("b", Part::Control), arm("c", Part::Peer)];
    let work = workload("x", [0, 8, 0, 1], false);
    let trial = |(round, arm): (usize, usize)| Trial {
        arm: arms[arm].name.clone(),
        round,
        slot: 0,
        start_ns: 0,
        end_ns: 0,
        prompt_ns: Some([ours, again, theirs][arm][round]),
        decode_ns: None,
        ids: vec![vec![1]],
    };
    let places =
        (0..ours.len()).flat_map(|round| round_order(round, 3).into_iter().map(move |arm| (round, arm)));
    let measured = Measured::new(&work, &arms, Vec::new(), places.map(trial).collect(), busy);
    let comparison = &measured.comparisons[0];
    assert_eq!(comparison.metric, Metric::Prompt);
    (comparison.verdict, comparison.headline.clone())
}

#[test]
fn a_difference_beyond_the_noise_is_a_headline() {
    let (verdict, headline) =
        compared(&[100, 101, 99, 100, 102], &[101, 100, 100, 99, 101], &[200, 210, 190, 200, 205]);
    assert_eq!(verdict, Verdict::Faster, "{headline}");
    assert!(headline.contains("times as fast"), "{headline}");
    let (verdict, _) =
        compared(&[200, 210, 190, 200, 205], &[201, 209, 191, 200, 205], &[100, 101, 99, 100, 102]);
    assert_eq!(verdict, Verdict::Slower);
}

/// Five quiet pairs near one are still no proof that two engines are equally fast.
#[test]
fn a_ratio_near_one_is_never_called_parity() {
    for theirs in [[100, 101, 99, 100, 102], [101, 102, 100, 101, 103], [99, 100, 98, 99, 101]] {
        let (verdict, headline) = compared(&[100, 101, 99, 100, 102], &[103, 98, 99, 102, 101], &theirs);
        assert_eq!(verdict, Verdict::NotShown, "{headline}");
        assert!(headline.contains("no difference") && headline.contains("not parity"), "{headline}");
    }
}

/// A published case: paired ratios say 0.97, medians 0.34.
#[test]
fn a_headline_is_refused_when_the_two_summaries_disagree_beyond_the_noise() {
    let (verdict, headline) =
        compared(&[695, 243, 976, 224, 750], &[690, 245, 970, 226, 752], &[195, 236, 210, 947, 900]);
    assert_eq!(verdict, Verdict::Refused, "{headline}");
    assert!(headline.contains("nothing is said"), "{headline}");
}

/// Threads of an engine that spin while others wait for a core make any ratio: seen was 62 for what is 2.
#[test]
fn nothing_is_said_of_a_peer_on_a_machine_that_was_busy() {
    let ours = [100, 101, 99, 100, 102];
    let (verdict, headline) = compared_on(true, &ours, &ours, &[6200; 5]);
    assert_eq!(verdict, Verdict::Refused);
    assert!(headline.contains("busy"), "{headline}");
    assert!(
        Passed::busy(Some([[2.1, 0.0, 0.0], [0.0; 3]]), 2)
            && Passed::busy(Some([[0.0; 3], [5.1, 0.0, 0.0]]), 2)
    );
    assert!(!Passed::busy(Some([[0.5, 9.0, 9.0], [2.5, 9.0, 9.0]]), 2) && !Passed::busy(None, 2));
}

#[test]
fn no_arm_is_always_first_or_always_after_the_same_other() {
    for arms in 2..5 {
        let orders: Vec<Vec<usize>> = (0..2 * arms).map(|round| round_order(round, arms)).collect();
        for slot in 0..arms {
            let at: std::collections::BTreeSet<usize> = orders.iter().map(|order| order[slot]).collect();
            assert_eq!(at.len(), arms, "slot {slot} of {arms}: {orders:?}");
        }
    }
}
