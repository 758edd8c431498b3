//! The decode functions of the Metal family.
//!
//! They are rows of [`ENTRY_POINTS`]; here is what they are called with. Each call opens the checkpoint, runs and closes.

use serde_json::{Value, json};
use tilewright_backend::entry_point::{ENTRY_POINTS, EntryPoint, EntryResult, Kind as Way, Switch};
use tilewright_engine::{EntryCall, Sampling};
use tilewright_model::Refusal;

use crate::arguments::invalid;
use crate::signature::Fields;
use crate::{Access, Arguments, Function, Kind, Module, Param};

/// The fields of a result; the last one is of prompts taken in tiles alone.
const RESULT: &[(&str, Kind)] = &[
    ("status", Kind::Int),
    ("error_message", Kind::String),
    ("token_ids", Kind::Ints),
    ("n_prompt", Kind::Int),
    ("stopped_on_eos", Kind::Bool),
    ("dispatches_per_token", Kind::Int),
    ("decode_tokens_per_sec", Kind::Float),
    ("prefill_tokens_per_sec", Kind::Float),
    ("prefill_chunks", Kind::Int),
];

/// The result of the function that takes its prompt in steps.
const DECODED: Fields = Fields { name: "Qwen3DecodeResult", fields: RESULT.split_at(8).0 };

/// The result of those that take it in tiles.
const PREFILLED: Fields = Fields { name: "Qwen3PrefillDecodeResult", fields: RESULT };

/// The function that takes its prompt in steps.
pub(crate) fn steps() -> Module {
    module("metaldispatch.qwen3_decode", |way| way == Way::Steps)
}

/// Those that take it in tiles.
pub(crate) fn prefill() -> Module {
    module("metaldispatch.qwen3_prefill_decode", |way| way != Way::Steps)
}

fn module(name: &'static str, belongs: impl Fn(Way) -> bool) -> Module {
    let functions = ENTRY_POINTS.iter().filter(|entry| belongs(entry.kind)).map(function).collect();
    Module { name, functions }
}

fn function(entry: &'static EntryPoint) -> Function {
    let about = match (entry.fixed, entry.kind) {
        (true, _) => "Qwen3-0.6B-Base, greedy, with the prompt of the manifest.",
        (false, Way::Sampled) => "Any supported model, sampled.",
        (false, Way::Batched) => "Any supported model, up to 32 prompts together, greedy.",
        (false, _) => "Any supported model, greedy.",
    };
    let returns = Kind::Struct(if entry.kind == Way::Steps { &DECODED } else { &PREFILLED });
    Function::new(entry.name, about, params(entry), returns, move |args, access| call(entry, args, access))
}

fn params(entry: &EntryPoint) -> Vec<Param> {
    let mut params =
        vec![Param::new("checkpoint_dir", Kind::String), Param::new("max_new_tokens", Kind::Int)];
    if entry.kind == Way::Sampled {
        let float = |name| Param::new(name, Kind::Float);
        params.extend([
            float("temperature"),
            Param::new("top_k", Kind::Int),
            float("top_p"),
            float("min_p"),
            float("repeat_penalty"),
            float("presence_penalty"),
            float("frequency_penalty"),
            Param::new("seed", Kind::Int),
        ]);
    }
    params.extend(entry.switches.iter().map(|switch| Param::new(switch.name(), Kind::Bool)));
    if !entry.fixed {
        params.push(Param::new("wire_prompt_ids", Kind::Ints));
    }
    if entry.kind == Way::Batched {
        params.push(Param::new("prompt_lens", Kind::Ints));
    }
    if entry.warmup {
        params.push(Param::or("warmup_prefills", Kind::Int, 0));
    }
    params
}

fn call(entry: &EntryPoint, args: &Arguments, access: &Access) -> Result<Value, Refusal> {
    let checkpoint_dir = access.checkpoint(args.text("checkpoint_dir"))?;
    let sampling = match entry.kind {
        Way::Sampled => Sampling {
            temperature: Some(args.float("temperature")),
            top_k: Some(args.int("top_k")),
            top_p: Some(args.float("top_p")),
            min_p: Some(args.float("min_p")),
            repetition_penalty: Some(args.float("repeat_penalty")),
            presence_penalty: Some(args.float("presence_penalty")),
            frequency_penalty: Some(args.float("frequency_penalty")),
            seed: Some(seed(args)?),
            ..Sampling::default()
        },
        _ => Sampling::default(),
    };
    let result = EntryCall {
        name: entry.name.to_owned(),
        checkpoint_dir,
        max_new_tokens: args.count("max_new_tokens", 1, usize::MAX)?,
        on: Switch::ALL.into_iter().filter(|switch| args.flag(switch.name())).collect(),
        prompts: prompts(entry, args)?,
        warmup_prefills: if entry.warmup { args.count("warmup_prefills", 0, 1000)? } else { 0 },
        sampling,
        device: access.device,
        cache: access.cache.clone(),
    }
    .run();
    Ok(object(entry, &result))
}

fn seed(args: &Arguments) -> Result<u64, Refusal> {
    args.value("seed").as_u64().ok_or_else(|| invalid("seed", "a whole number from 0 on", args.value("seed")))
}

/// The prompts: one, or several that lie one after another in a list.
fn prompts(entry: &EntryPoint, args: &Arguments) -> Result<Vec<Vec<u32>>, Refusal> {
    if entry.fixed {
        return Ok(Vec::new());
    }
    let mut ids = args.ids("wire_prompt_ids")?;
    if entry.kind != Way::Batched {
        return Ok(vec![ids]);
    }
    let lens: Vec<usize> = args.ids("prompt_lens")?.into_iter().map(|len| len as usize).collect();
    let sum = lens.iter().try_fold(0usize, |sum, len| sum.checked_add(*len));
    if sum != Some(ids.len()) {
        return Err(invalid(
            "prompt_lens",
            format!("lengths that sum to {}", ids.len()),
            format!("{lens:?}"),
        ));
    }
    Ok(lens.into_iter().map(|len| ids.drain(..len).collect()).collect())
}

/// A result by its fields.
fn object(entry: &EntryPoint, result: &EntryResult) -> Value {
    let mut object = json!({
        "status": result.status,
        "error_message": result.error_message,
        "token_ids": result.token_ids,
        "n_prompt": result.n_prompt,
        "stopped_on_eos": result.stopped_on_eos,
        "dispatches_per_token": result.dispatches_per_token,
        "decode_tokens_per_sec": result.decode_tokens_per_sec,
        "prefill_tokens_per_sec": result.prefill_tokens_per_sec,
    });
    if entry.kind != Way::Steps {
        object["prefill_chunks"] = json!(result.prefill_chunks.unwrap_or_default());
    }
    object
}
