//! Two layers of width 32: the dispatches of a prompt, the numbers it leaves, the steps that follow, and the gates.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use common::{argmax, compare_state, open, prefill, reference, shim};
use tilewright_backend::execution::{
    Attention, ByRole, DecodeRoute, ExecutionPlan, ExecutionRequest, Gemm, KvContract,
};
use tilewright_backend::{Cancel, LogitSink, Resident, Step};
use tilewright_metal::{MetalOptions, Session, ShimDevice};
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Code, Config, WeightFormat};

const PROMPT: [u32; 4] = [5, 40, 17, 63];
const OFF: MetalOptions = MetalOptions {
    weights: None,
    kv: None,
    context: None,
    prefill_chunk: None,
    attention: Some(Attention::Off),
    gemm: Some(Gemm::Original),
};

/// A checkpoint of random weights: two layers of width 32.
fn toy() -> (tempfile::TempDir, Checkpoint) {
    let like = common::fixture("qwen3-tiny").config().clone();
    let config = Config {
        hidden: 32,
        layers: 2,
        heads: 2,
        kv_heads: 1,
        head_dim: 16,
        intermediate: 64,
        vocab: 96,
        ..like
    };
    let folder = tempfile::tempdir().unwrap();
    tilewright_gate::seeded::write(&config, 11, folder.path(), &mut |_| ()).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    (folder, checkpoint)
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64).sqrt()
}

#[test]
fn four_rows_take_nineteen_dispatches_and_every_step_after_them_agrees_with_float64() {
    let Some(device) = shim() else { return };
    let (_folder, checkpoint) = toy();
    let mut model = open(device, &checkpoint, OFF);
    assert_eq!(model.plan().weights, WeightFormat::Int8, "the default");
    let (sequence, mut logits) = prefill(&mut model, &PROMPT);
    assert_eq!((model.last_dispatches(), model.trace().command_buffers), (19, 1));

    let (rounded, stored) =
        (reference(&checkpoint, WeightFormat::Int8), reference(&checkpoint, WeightFormat::F32));
    let mut ids = PROMPT.to_vec();
    for step in 0..6 {
        let run = rounded.forward(&ids);
        compare_state(&model, sequence, &logits, &run, Tolerance::F32_STATE, &format!("step {step}"));
        let last = |run: &[f64]| run[run.len() - logits.len()..].to_vec();
        // What rounding the weights to eight bits may cost.
        let exact = last(&stored.forward(&ids).logits);
        let size = rms(&exact);
        let scaled: Vec<f32> = logits.iter().map(|x| (f64::from(*x) / size) as f32).collect();
        let wanted: Vec<f64> = exact.iter().map(|x| x / size).collect();
        compare(&scaled, &wanted, Tolerance::INT8_WEIGHTS).unwrap_or_else(|m| panic!("step {step}: {m}"));
        let token = argmax(&logits);
        let wanted: Vec<f32> = last(&run.logits).iter().map(|x| *x as f32).collect();
        assert_eq!(token, argmax(&wanted), "step {step}");
        ids.push(token);
        model.decode(&[Step { sequence, token }], &mut logits).unwrap();
        assert_eq!(model.last_dispatches(), 19, "a step to logits");
        assert_eq!(model.len(sequence), ids.len());
    }
    model.greedy(sequence, argmax(&logits), 1, &[]).unwrap();
    assert_eq!(model.last_dispatches(), tilewright_backend::ledger::dispatch_budget(2));
}

/// What a prefill, a step and a greedy step are refused with.
fn refusals(model: &mut Session<ShimDevice>, sequence: tilewright_backend::Sequence) -> [Code; 3] {
    let mut logits = vec![0.0; model.config().vocab];
    let prefill = model.prefill(sequence, &PROMPT, LogitSink::Last(&mut logits), &Cancel::default());
    let step = model.decode(&[Step { sequence, token: 1 }], &mut logits);
    let greedy = model.greedy(sequence, 1, 1, &[]);
    [prefill.unwrap_err().code(), step.unwrap_err().code(), greedy.unwrap_err().code()]
}

#[test]
fn a_plan_that_may_not_run_is_not_run_and_resolving_again_recovers() {
    let Some(device) = shim() else { return };
    let (_folder, checkpoint) = toy();
    let mut model = open(device, &checkpoint, OFF);
    let (_, before) = prefill(&mut model, &PROMPT);
    let sequence = model.create(32).unwrap();
    let gemm = ByRole::all(Gemm::Original);
    let bad = [
        ExecutionPlan::UNRESOLVED,
        ExecutionPlan::forged(Some(Attention::Off), gemm, KvContract::PackedF16, DecodeRoute::Native),
        ExecutionPlan::forged(
            Some(Attention::GroupedNoMirror),
            gemm,
            KvContract::NaturalF32,
            DecodeRoute::Legacy,
        ),
    ];
    for plan in bad {
        let ran = model.trace();
        model.force_plan(plan);
        assert_eq!(refusals(&mut model, sequence), [Code::SessionOpenFailed; 3]);
        assert_eq!(model.create(8).unwrap_err().code(), Code::SessionOpenFailed);
        assert_eq!((model.trace(), model.len(sequence)), (ran, 0), "nothing ran");

        let request = ExecutionRequest { attention: Attention::Off, gemm: Gemm::Original };
        model.resolve_plan(request).unwrap();
        let (again, logits) = prefill(&mut model, &PROMPT);
        assert_eq!((logits, model.last_dispatches()), (before.clone(), 19));
        model.release(again);
    }
}

#[test]
fn a_sequence_whose_caches_another_plan_fills_is_refused() {
    let Some(device) = shim() else { return };
    let (_folder, checkpoint) = toy();
    let mut model = open(device, &checkpoint, OFF);
    let (natural, _) = prefill(&mut model, &PROMPT);
    let request = ExecutionRequest { attention: Attention::ParametricNativeDecode, gemm: Gemm::Original };
    model.resolve_plan(request).unwrap();
    assert_eq!(refusals(&mut model, natural), [Code::RequestInvalid; 3]);
    let (packed, _) = prefill(&mut model, &PROMPT);
    assert_eq!(model.len(packed), 4);
}
