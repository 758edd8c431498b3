//! The gate passes what is right and stops what is not, and a report of a failure holds no time.

use tilewright_backend::{DeviceKind, Kernels};
use tilewright_model::{Code, WeightFormat};

use crate::audit::audit;
use crate::bench::Phases;
use crate::programs::{Common, DOCUMENT, Document, TUNING, synthetic};
use crate::report::{Outcome, Report};
use crate::testing::{Fault, Small, workload, workloads};

fn decode_only() -> Phases<'static> {
    Phases { first: vec![workload("tg6 @ d8", [8, 0, 6, 1], false)], second: None }
}

fn failure(report: &Report) -> String {
    let Outcome::Failed(failure) = &report.outcome else { panic!("it passed: {report:?}") };
    let text = report.json(false).unwrap();
    for time in ["_ns\"", "\"median", "\"ratios", "\"rate"] {
        assert!(!text.contains(time), "{time} in {text}");
    }
    format!("{}: {}", failure.stage, failure.what.join("; "))
}

#[test]
fn every_kind_of_workload_passes_in_every_format() {
    let small = Small::new();
    for weights in tilewright_cpu::FORMATS {
        let report = small.report(weights, None, workloads()).unwrap();
        assert!(report.passed().is_some(), "{weights}: {:?}", report.outcome);
        let most = |part: fn(&crate::report::Check) -> Option<f64>| {
            report.checks.iter().filter_map(part).fold(0.0, f64::max)
        };
        let logits = most(|check| check.logits?.max_abs);
        let keys = most(|check| check.cache?.keys.max_abs);
        eprintln!("{weights}: logits {logits:e}, keys {keys:e}");
    }
}

#[test]
fn a_wrong_logit_key_or_value_stops_before_timing_and_is_reported_without_times() {
    let small = Small::new();
    for (fault, named) in [
        (Fault::Logit, "1 of 96 logits outside"),
        (Fault::NotANumber, "not a number"),
        (Fault::Key, "keys outside"),
        (Fault::Value, "values outside"),
    ] {
        let report = small.report(WeightFormat::F32, Some(fault), decode_only()).unwrap();
        let said = failure(&report);
        assert!(said.starts_with("gate: ") && said.contains(named), "{fault:?}: {said}");
        assert!(!report.checks.is_empty(), "the checks that failed are kept");
        audit(&report).unwrap();
    }
}

/// The gate first takes a prompt in by pieces; the one that is timed comes whole, and what that leaves is compared as well.
#[test]
fn a_prompt_that_goes_wrong_only_by_one_call_stops_before_timing() {
    let small = Small::new();
    let phases = |name, shape| Phases { first: vec![workload(name, shape, false)], second: None };
    for (name, shape) in [("pp40", [0, 40, 0, 1]), ("tg4 @ d40", [40, 0, 4, 1])] {
        let report = small.report(WeightFormat::F32, Some(Fault::WholePrompt), phases(name, shape)).unwrap();
        let said = failure(&report);
        assert!(said.starts_with("gate: by one call, ") && said.contains("1 of 96 logits outside"), "{said}");
        assert!(report.checks.iter().all(|check| check.faults().is_empty()), "by pieces it is right");
    }
    let short = phases("pp20", [0, 20, 0, 1]);
    let report = small.report(WeightFormat::F32, Some(Fault::WholePrompt), short).unwrap();
    assert_eq!((report.passed().is_some(), report.replays.len()), (true, 1));
}

/// Five prompts are taken in once more: four of the document that chooses the chunk and the long one.
#[test]
fn every_prompt_of_a_long_document_is_compared_after_one_call() {
    let common = Common { vocab: 4096, chunk: 512 };
    let tuning = common.tuning(&Document::synthetic(4096, 1, TUNING[0]));
    let document = common.document(Document::synthetic(4096, 0, DOCUMENT[0]), 512);
    assert_eq!(tuning.iter().chain([&document]).filter(|workload| workload.is_replayed()).count(), 5);
}

/// Kernels of a GPU that read no codes read the rounded values, as many bytes as those take: the report says so and is sound.
#[test]
fn int8_whose_values_are_held_in_wider_numbers_is_called_so_and_sound() {
    let small = Small::new();
    for (bytes, called) in [(1, "int8"), (2, "int8 held in bf16"), (4, "int8 held in f32")] {
        let report = small
            .report_as(WeightFormat::Int8, None, decode_only(), |plan| {
                let codes = plan.bytes_per_token;
                plan.device = DeviceKind::Cuda(0);
                plan.kernels = Kernels::Cuda {
                    arch: "sm_90a".to_owned(),
                    hopper: true,
                    persistent: false,
                    overlap: bytes == 1,
                };
                let wider = bytes * codes * 8 / 9 + 65_536;
                plan.bytes_per_token = if bytes == 1 { codes } else { wider };
                plan.weight_bytes = plan.bytes_per_token;
            })
            .unwrap();
        assert_eq!(report.precision.weights, called);
        assert!(report.precision.label.starts_with(&format!("weights {called}, ")));
        // Nor does it hold the GPU against what the processor can do, but against what itself can.
        let passed = report.passed().unwrap();
        assert!(passed.ceilings.is_empty());
        assert_eq!(passed.device_ceilings.len(), 2, "before and after");
    }
}

#[test]
fn what_no_report_could_hold_is_refused_before_any_work() {
    let small = Small::new();
    let twice = || Phases {
        first: vec![workload("pp8", [0, 8, 0, 1], false), workload("pp8", [0, 8, 0, 1], false)],
        second: None,
    };
    let refusal = small.report(WeightFormat::F32, None, twice()).unwrap_err();
    assert_eq!(refusal.code(), Code::RequestInvalid);
    assert!(refusal.to_string().contains("pp8 again"), "{refusal}");
}

/// The gate is passed, and some runs later another token comes: every time that was taken is dropped.
#[test]
fn another_token_after_timing_began_leaves_no_time() {
    let small = Small::new();
    let report = small.report(WeightFormat::F32, Some(Fault::LaterToken(20)), decode_only()).unwrap();
    let said = failure(&report);
    assert!(said.starts_with("timing: ") && said.contains("other ids than were checked"), "{said}");
    audit(&report).unwrap();
}

/// Steps of several sequences are timed with the ids chosen on the device: they are those of the logits compared, or there
/// is no time.
#[test]
fn ids_that_a_device_chooses_for_several_sequences_are_those_that_were_checked() {
    let phases = || Phases { first: vec![workload("batch 3", [4, 0, 3, 3], false)], second: None };
    let small = Small::new();
    let report = small.report(WeightFormat::F32, Some(Fault::ChosenTogether), phases()).unwrap();
    let said = failure(&report);
    assert!(said.starts_with("timing: ") && said.contains("other ids than were checked"), "{said}");
    audit(&report).unwrap();
    // One sequence alone is not asked for this way.
    let report = small.report(WeightFormat::F32, Some(Fault::ChosenTogether), decode_only()).unwrap();
    assert!(report.passed().is_some(), "{:?}", report.outcome);
}

/// Prompt and output lengths of the published table: 15, 23, 39 and 47 positions are compared, 124 in all.
#[test]
fn every_position_of_a_short_run_is_compared() {
    let positions = |prompt, outputs: usize| {
        let points = workload("x", [0, prompt, outputs - 1, 1], false).points();
        assert_eq!(points.last().unwrap().cache, Some(0));
        points.iter().filter(|point| point.logits).count()
    };
    let counts = [(8, 8), (8, 16), (32, 8), (32, 16)].map(|(prompt, outputs)| positions(prompt, outputs));
    assert_eq!(counts, [15, 23, 39, 47]);
    assert_eq!(counts.iter().sum::<usize>(), 124);
}

/// Three steps are compared at each context of a step that is timed at one position.
#[test]
fn three_steps_are_compared_at_a_fixed_context() {
    for context in [0, 16, 64] {
        let points = workload("x", [context, 0, 1, 1], true).points();
        let after: Vec<_> = points.iter().filter(|point| point.position > context).collect();
        assert_eq!(after.len(), 3);
        assert!(after.iter().all(|point| point.logits && point.cache == Some(0)));
    }
}

/// The long document: the whole cache at every chunk's end, at the first output, every 64 outputs and the last; the new
/// position at every other.
#[test]
fn a_long_document_is_compared_at_its_chunks_and_every_64_outputs() {
    let mut document = workload("x", [0, 4096, 1023, 1], false);
    document.chunk = 512;
    let points = document.points();
    let whole = |range: std::ops::Range<usize>| {
        points.iter().filter(|point| range.contains(&point.position) && point.cache == Some(0)).count()
    };
    assert_eq!(whole(0..4097), 8);
    assert_eq!(whole(4097..5121), 15 + 1);
    assert_eq!(points.iter().filter(|point| point.logits).count(), 1024);
    let new = points.iter().find(|point| point.position == 4100).unwrap();
    assert_eq!(new.cache, Some(4099));
    let tuning = [128, 256, 512, 1024].map(|chunk| {
        let mut document = workload("x", [0, 2048, 7, 1], false);
        document.chunk = chunk;
        let points = document.points();
        (points.iter().filter(|p| p.position <= 2048).count(), points.iter().filter(|p| p.logits).count())
    });
    assert_eq!(tuning.map(|(boundaries, _)| boundaries).iter().sum::<usize>() + 8, 38);
    assert_eq!(tuning.map(|(_, outputs)| outputs).iter().sum::<usize>() + 1024, 1056);
}

/// A chunk is chosen by the first phase, and its document is another than the one that is reported.
#[test]
fn the_chunk_of_the_second_phase_is_the_one_chosen_on_the_first() {
    let small = Small::new();
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
    let report = small.report(WeightFormat::F32, None, phases).unwrap();
    let selection = report.passed().unwrap().selection.clone().unwrap();
    assert_eq!(selection.workloads, ["tuning, chunk 16", "tuning, chunk 32"]);
    assert_eq!(report.workload("50/4").unwrap().chunk, selection.chunk);
}

/// The checkpoint is written to while it is measured: there is no report.
#[test]
fn a_checkpoint_that_changes_while_it_is_measured_gives_no_report() {
    let small = Small::new();
    let file = small.folder.path().join("generation_config.json");
    let second = move |_| {
        std::fs::write(&file, "{}").unwrap();
        vec![workload("pp9", [0, 9, 0, 1], false)]
    };
    let phases = Phases { first: vec![workload("pp8", [0, 8, 0, 1], false)], second: Some(Box::new(second)) };
    let refusal = small.report(WeightFormat::F32, None, phases).unwrap_err();
    assert_eq!(refusal.code(), Code::MeasuredChanged);
    assert!(refusal.to_string().contains("generation_config.json"), "{refusal}");
}

/// Another token in the second phase: the times of the first are not published either.
#[test]
fn a_failure_in_the_second_phase_leaves_no_time_of_the_first() {
    let second = |_| vec![workload("tg4 @ d8", [8, 0, 4, 1], false)];
    let phases = Phases { first: vec![workload("pp8", [0, 8, 0, 1], false)], second: Some(Box::new(second)) };
    let report = Small::new().report(WeightFormat::F32, Some(Fault::LaterToken(22)), phases).unwrap();
    let said = failure(&report);
    assert!(said.starts_with("timing: "), "{said}");
    let Outcome::Failed(failure) = &report.outcome else { unreachable!() };
    assert_eq!(failure.workload, "tg4 @ d8");
}
