//! Entry points called on the shim, and what they refuse.

use std::path::Path;

use super::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures").join(name)
}

const GREEDY: &str = "qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3";
const SAMPLED: &str = "qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3_sampled";
const BATCHED: &str = "qwen3_batched_prefill_decode_anyqwen3";

fn call(name: &str, prompts: &[&[u32]]) -> EntryCall {
    EntryCall {
        name: name.to_owned(),
        checkpoint_dir: fixture("qwen3-d128-wide-q"),
        max_new_tokens: 6,
        on: Switch::ALL.to_vec(),
        prompts: prompts.iter().map(|prompt| prompt.to_vec()).collect(),
        warmup_prefills: 0,
        sampling: Sampling::default(),
        device: DeviceRequest::Shim,
        cache: Cache::Folder(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")),
    }
}

/// A result, unless this machine has no compiler.
fn ran(call: &EntryCall) -> Option<EntryResult> {
    let result = call.run();
    if result.status == Code::ShaderToolchainAbsent.number() {
        eprintln!("skipped: {}", result.error_message);
        return None;
    }
    assert_eq!((result.status, result.error_message.as_str()), (620, ""));
    Some(result)
}

#[test]
fn the_sampled_function_is_its_greedy_twin_without_a_temperature_and_with_one_candidate() {
    let prompt: &[u32] = &[7, 300, 21, 5, 90];
    let Some(greedy) = ran(&EntryCall { warmup_prefills: 1, ..call(GREEDY, &[prompt]) }) else { return };
    assert_eq!((greedy.n_prompt, greedy.prefill_chunks, &greedy.token_ids[..5]), (5, Some(1), prompt));
    assert!(greedy.token_ids.len() > 5 && greedy.token_ids.len() <= 11);
    assert_eq!(greedy.dispatches_per_token, ledger::dispatch_budget(3));
    assert!(greedy.decode_tokens_per_sec > 0.0 && greedy.prefill_tokens_per_sec > 0.0);
    let sampled = |temperature, top_k| {
        let sampling = Sampling {
            temperature: Some(temperature),
            top_k: Some(top_k),
            top_p: Some(0.95),
            seed: Some(3),
            ..Sampling::default()
        };
        ran(&EntryCall { sampling, on: Vec::new(), ..call(SAMPLED, &[prompt]) }).unwrap().token_ids
    };
    assert_eq!(sampled(0.0, 40), greedy.token_ids);
    assert_eq!(sampled(-1.0, 40), greedy.token_ids);
    assert_eq!(sampled(0.8, 1), greedy.token_ids);
    assert_eq!(sampled(0.8, 40), sampled(0.8, 40), "the same seed draws the same");
}

#[test]
fn a_batch_gives_each_prompt_what_it_gets_alone() {
    let prompts: [&[u32]; 3] = [&[7, 300, 21, 5, 90], &[11], &[3, 3, 250]];
    let Some(all) = ran(&call(BATCHED, &prompts)) else { return };
    assert_eq!((all.n_prompt, all.prefill_chunks, all.token_ids.len()), (9, Some(3), 18));
    for (prompt, ids) in prompts.iter().zip(all.token_ids.chunks(6)) {
        assert_eq!(ran(&call(BATCHED, &[prompt])).unwrap().token_ids, ids);
        let alone = ran(&call(GREEDY, &[prompt])).unwrap().token_ids;
        assert_eq!(alone[prompt.len()..], ids[..alone.len() - prompt.len()]);
    }
}

#[test]
fn every_fixed_function_refuses_another_shape_naming_every_field_before_any_device() {
    for entry in tilewright_backend::entry_point::ENTRY_POINTS.iter().filter(|entry| entry.fixed) {
        let result = EntryCall { device: DeviceRequest::Metal, ..call(entry.name, &[]) }.run();
        assert_eq!(result.status, ledger::UNSUPPORTED_ARCHITECTURE, "{}", result.error_message);
        for field in ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"] {
            assert!(result.error_message.contains(field), "{}", result.error_message);
        }
    }
}

#[test]
fn refusals_are_statuses_with_a_message() {
    let status = |call: EntryCall| call.run().status;
    let prompt: &[u32] = &[1];
    let good = call(GREEDY, &[prompt]);
    let gone = EntryCall { checkpoint_dir: fixture("nowhere"), ..good.clone() };
    assert_eq!(status(gone), ledger::CHECKPOINT_UNREADABLE);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.json"), "{\"model_type\": \"gpt2\"}").unwrap();
    let other = EntryCall { checkpoint_dir: folder.path().to_owned(), ..good.clone() };
    assert!([ledger::CHECKPOINT_UNREADABLE, ledger::UNSUPPORTED_ARCHITECTURE].contains(&status(other)));
    if !cfg!(target_os = "macos") {
        let metal = EntryCall { device: DeviceRequest::Metal, ..good.clone() };
        assert_eq!(status(metal), Code::ShaderToolchainAbsent.number());
    }
    let invalid = [
        call("qwen3_decode", &[prompt]),
        call(GREEDY, &[]),
        call(GREEDY, &[prompt, prompt]),
        call(BATCHED, &[prompt, &[]]),
        call(BATCHED, &[prompt; 33]),
        EntryCall { max_new_tokens: 0, ..good.clone() },
        EntryCall { warmup_prefills: 1, ..call(BATCHED, &[prompt]) },
        EntryCall { device: DeviceRequest::Cpu, ..good.clone() },
    ];
    for call in invalid {
        let result = call.run();
        assert_ne!(result.status, ledger::OK, "{call:?}");
        assert!(result.error_message.starts_with("request_invalid"), "{}", result.error_message);
    }
    let full = EntryCall { max_new_tokens: 5000, ..good };
    let result = full.run();
    let full = [ledger::CONTEXT_FULL, Code::ShaderToolchainAbsent.number()];
    assert!(full.contains(&result.status), "{}", result.error_message);
}
