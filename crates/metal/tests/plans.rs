//! Every attention, tier, tile size and format on whole models: state against float64, ids against the CPU device, and
//! the names of the kernels that ran.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

#[path = "plans/blocks.rs"]
mod blocks;
mod common;
#[path = "../../model/tests/common/fixtures.rs"]
mod fixtures;

use Attention::{Grouped, GroupedNoMirror, Off, ParametricNativeDecode as Parametric};
use Gemm::{Bm64, MslParity, Original, SplitK, TensorOps, Vecload4};
use WeightFormat::{Bf16, F16, F32, Int8};
use common::{compare_state, fixture, open, prefill, reference, shim, some_ids};
use fixtures::FIXTURES;
use tilewright_backend::execution::{Attention, DecodeRoute, Gemm};
use tilewright_backend::{Kernels, Resident, Sequence, Step};
use tilewright_cpu::CpuOptions;
use tilewright_metal::{MetalOptions, Session, ShimDevice, Trace};
use tilewright_model::reference::ReferenceRun;
use tilewright_model::tolerance::Tolerance;
use tilewright_model::{Checkpoint, WeightFormat};

/// A model, how it is opened, and how long its prompt is.
type Case = (&'static str, WeightFormat, Attention, Gemm, usize, usize);

/// Each attention, tier, format and tile size of 1, 7, 64 and 2,048 rows stands here, in pairs that meet once.
const CASES: [Case; 15] = [
    ("qwen3-tiny", F32, Off, Original, 1, 9),
    ("qwen3-tiny", Int8, Off, MslParity, 7, 23),
    ("qwen3-tiny", F32, Grouped, Vecload4, 64, 70),
    ("qwen3-tiny", Int8, Parametric, SplitK, 2048, 33),
    ("llama-d64-odd-heads", F32, GroupedNoMirror, Bm64, 7, 23),
    ("llama-d64-odd-heads", Bf16, Parametric, MslParity, 2048, 37),
    ("qwen3-d128-wide-q", F32, GroupedNoMirror, MslParity, 64, 70),
    ("qwen3-d128-wide-q", Int8, Grouped, Original, 1, 6),
    ("qwen2-bias", Bf16, Off, Vecload4, 2048, 40),
    ("qwen3-sharded-f16", F16, Off, SplitK, 64, 70),
    ("qwen3-untied-mqa-f32", F32, Off, Bm64, 7, 16),
    ("llama3-rope-scaling", F32, Parametric, Original, 64, 20),
    ("qwen3-yarn", Int8, GroupedNoMirror, Vecload4, 7, 16),
    ("qwen3-d128-wide-q", Bf16, GroupedNoMirror, TensorOps, 64, 70),
    ("qwen2-bias", Int8, Off, TensorOps, 7, 23),
];

#[test]
fn every_fixture_has_a_case() {
    let without = FIXTURES.into_iter().filter(|name| CASES.iter().all(|case| case.0 != *name));
    assert_eq!(without.collect::<Vec<_>>(), [] as [&str; 0]);
}

/// Tokens after the prompt.
const MORE: usize = 12;

fn options((_, weights, attention, gemm, chunk, _): Case) -> MetalOptions {
    MetalOptions {
        weights: Some(weights),
        attention: Some(attention),
        gemm: Some(gemm),
        prefill_chunk: Some(chunk),
        context: Some(3000),
        ..MetalOptions::default()
    }
}

/// What a plan's numbers may be off by: what is in f32 throughout, or attends to f16.
fn tolerance(attention: Attention) -> Tolerance {
    if attention == Off { Tolerance::F32_STATE } else { Tolerance::F16_CACHE }
}

/// Ids the CPU device appends to a prompt with the same format of weights, and what its first logits are off by.
fn on_cpu(
    checkpoint: &Checkpoint,
    weights: WeightFormat,
    prompt: &[u32],
    run: &ReferenceRun,
) -> (Vec<u32>, f64) {
    let options = CpuOptions { weights: Some(weights), threads: Some(2), ..CpuOptions::default() };
    let mut model = tilewright_cpu::open(checkpoint, &options, &mut |_| Ok(())).unwrap();
    let sequence = model.create(prompt.len() + MORE).unwrap();
    let mut logits = vec![0.0; model.config().vocab];
    let sink = tilewright_backend::LogitSink::Last(&mut logits);
    model.prefill(sequence, prompt, sink, &tilewright_backend::Cancel::default()).unwrap();
    let last = &run.logits[run.logits.len() - logits.len()..];
    let off = logits.iter().zip(last).fold(0.0, |most: f64, (a, b)| most.max((f64::from(*a) - b).abs()));
    let mut ids = Vec::new();
    for _ in 0..MORE {
        let token = common::argmax(&logits);
        ids.push(token);
        model.decode(&[Step { sequence, token }], &mut logits).unwrap();
    }
    (ids, off)
}

/// The kernels a plan must have run.
fn expected(case: Case, checkpoint: &Checkpoint) -> Vec<String> {
    let (_, weights, attention, gemm, ..) = case;
    let format = match weights {
        F32 => "f32",
        Bf16 => "pairs",
        Int8 => "int8",
        F16 => "f16",
        WeightFormat::Int4 => "int4",
        WeightFormat::Gguf => "gguf",
    };
    let tier = match gemm {
        Original => "original",
        Bm64 => "bm64",
        Vecload4 => "vecload4",
        MslParity => "msl",
        SplitK => "splitk",
        TensorOps => "tensor",
    };
    // The 64-row tier is for the projection alone.
    let others = if gemm == Bm64 { "original" } else { tier };
    let mut names = vec![format!("{format}_matmul_{tier}_qkv")];
    names.extend(
        ["swiglu", "accumulate_output", "accumulate_down"]
            .map(|role| format!("{format}_matmul_{others}_{role}")),
    );
    names.push(
        match attention {
            Off => "plain_attention_f32",
            Parametric => "plain_attention_f16",
            Grouped | GroupedNoMirror => "grouped_attention_f16",
        }
        .to_owned(),
    );
    let decode = match attention.decode() {
        DecodeRoute::Legacy => "decode_attention_f32",
        DecodeRoute::Native => "decode_attention_key_parallel_f32_cache_f16",
    };
    names.push(decode.to_owned());
    let cache = match attention {
        Off => "",
        Grouped => "_mirrored",
        GroupedNoMirror | Parametric => "_cache_f16",
    };
    let heads = checkpoint.config().qk_norm || checkpoint.config().qkv_bias;
    let vectors = match weights {
        Bf16 if heads => "_weights_bf16",
        F16 if heads => "_weights_f16",
        _ => "",
    };
    names.push(format!("prefill_heads_f32{cache}_separate{vectors}"));
    names
}

fn check_names(case: Case, checkpoint: &Checkpoint, trace: &Trace) {
    let expected = expected(case, checkpoint);
    for name in &expected {
        assert!(trace.kernels.contains_key(name), "{case:?}: {name} did not run: {:?}", trace.kernels);
    }
    let decides = |name: &str| {
        name.contains("_matmul_") || name.contains("attention") || name.starts_with("prefill_heads")
    };
    let more: Vec<_> =
        trace.kernels.keys().filter(|name| decides(name) && !expected.contains(name)).collect();
    assert!(more.is_empty(), "{case:?}: {more:?} ran as well");
}

/// Holds a session that has taken `prompt` in to float64, and where choices are certain to the CPU device: logits, keys and
/// values of the prompt, the ids that steps choose, and the state that these leave.
fn agrees(
    what: &str,
    model: &mut Session<ShimDevice>,
    (checkpoint, weights): (&Checkpoint, WeightFormat),
    prompt: &[u32],
    (sequence, logits): (Sequence, Vec<f32>),
) {
    let Kernels::Staged(execution) = model.plan().kernels else { panic!("{:?}", model.plan().kernels) };
    let bound = tolerance(execution.attention().unwrap_or(Off));
    let reference = reference(checkpoint, weights);
    let run = reference.forward(prompt);
    let seen = compare_state(model, sequence, &logits, &run, bound, what);

    // The prompt again, then ids one after another without the logits in between.
    let greedy = reference.greedy(prompt, MORE);
    let first = common::argmax(&logits);
    let mut ids = vec![first];
    ids.extend(model.greedy(sequence, first, MORE - 1, &[]).unwrap());
    let certain = |least: f64| greedy.margins.iter().take_while(|margin| **margin > least).count();
    let sure = certain(4.0 * seen.max_abs);
    assert!(sure > 0, "{what}: no step is certain");
    assert_eq!(ids[..sure], greedy.ids[..sure], "{what}: float64");
    // The CPU device rounds activations as well where weights are 8-bit.
    // It has no f16 weights; f32 holds them exactly.
    let (cpu, off) = on_cpu(checkpoint, if weights == F16 { F32 } else { weights }, prompt, &run);
    let both = certain(4.0 * seen.max_abs + 2.0 * off);
    assert_eq!(ids[..both], cpu[..both], "{what}: CPU");
    eprintln!(
        "{what}: logits within {:.1e}; {sure} of {MORE} ids certain, {both} beside the CPU",
        seen.max_abs
    );

    // What steps have left agrees as well.
    let all: Vec<u32> = prompt.iter().chain(&ids).copied().collect();
    let mut logits = vec![0.0; checkpoint.config().vocab];
    model.decode(&[Step { sequence, token: ids[MORE - 1] }], &mut logits).unwrap();
    let after = format!("{what}, after steps");
    compare_state(model, sequence, &logits, &reference.forward(&all), bound, &after);
}

fn check(case: Case) {
    let Some(device) = shim() else { return };
    let (name, weights, _, _, chunk, length) = case;
    let checkpoint = fixture(name);
    let prompt = some_ids(checkpoint.config().vocab, length);
    let mut model = open(device, &checkpoint, options(case));
    let taken = prefill(&mut model, &prompt);
    assert_eq!(model.trace().command_buffers, length.div_ceil(chunk), "one for a tile");
    agrees(&format!("{case:?}"), &mut model, (&checkpoint, weights), &prompt, taken);
    check_names(case, &checkpoint, &model.trace());
}

#[test]
fn the_first_cases_agree() {
    CASES[..6].iter().for_each(|&case| check(case));
}

#[test]
fn the_other_cases_agree() {
    CASES[6..].iter().for_each(|&case| check(case));
}

#[test]
fn every_choice_stands_in_a_case() {
    let has = |choice: &dyn Fn(&Case) -> bool| CASES.iter().any(choice);
    Attention::ALL.iter().for_each(|a| assert!(has(&|case| case.2 == *a), "{a}"));
    Gemm::ALL.iter().for_each(|g| assert!(has(&|case| case.3 == *g), "{g}"));
    [1, 7, 64, 2048].iter().for_each(|rows| assert!(has(&|case| case.4 == *rows), "{rows}"));
    [F32, Bf16, F16, Int8].iter().for_each(|w| assert!(has(&|case| case.1 == *w), "{w}"));
}
