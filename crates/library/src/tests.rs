//! The table as a caller sees it: what there is, what is checked, what comes back.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use serde_json::{Value, json};
use tilewright_backend::execution::{Attention, Gemm};
use tilewright_backend::ledger;
use tilewright_model::{Code, Refusal};

use crate::{Access, Checkpoints, Library, modules};

mod host;

const CONTRACT: &str = "metaldispatch.contract";
const POLICY: &str = "metaldispatch.session_prefill_policy";
const DECODE: &str = "metaldispatch.qwen3_decode";
const PREFILL: &str = "metaldispatch.qwen3_prefill_decode";
const RESIDENT: &str = "residentk.contract";
const PROBE: &str = "residentk.probe";
const REFERENCE: &str = "llmk.reference";
const ROPE: &str = "attnk.rope";

/// The contract: modules and the names of their functions.
const TABLE: [(&str, &str); 8] = [
    (CONTRACT, "metaldispatch_dispatch_budget metaldispatch_status_name"),
    (DECODE, "qwen3_i8_allsimd7_decode_flat"),
    (
        PREFILL,
        "qwen3_i8_allsimd7_prefill_decode_flat qwen3_i8_allsimd7_prefill_decode_flat_af \
         qwen3_i8_allsimd7_prefill_decode_flat_af_vecload4 qwen3_i8_allsimd7_prefill_decode_flat_af_msl \
         qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror \
         qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror_vecload4 \
         qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror_msl \
         qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3 \
         qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3_sampled qwen3_batched_prefill_decode_anyqwen3",
    ),
    (
        POLICY,
        "pf_attn_path_name pf_gemm_path_name kv_contract_name decode_path_name resolve_prefill_execution_plan",
    ),
    (
        RESIDENT,
        "residentk_cache_elements residentk_context_check residentk_dims_check residentk_dispatch_budget \
         residentk_dispatch_budget_deep residentk_prefill_gemm_use_narrow_tile residentk_scalars_ok \
         residentk_splitk_max_n_splits residentk_splitk_policy residentk_splitk_should_split \
         residentk_status_name residentk_weight_elems",
    ),
    (PROBE, "resident_available resident_gpu_kernels_compiled resident_session_probe"),
    (
        REFERENCE,
        "greedy_argmax_flat greedy_argmax_dims_check kv_cache_append_flat kv_cache_append_dims_check \
         gemv_transposed_parallel_flat gemv_transposed_parallel_dims_check residual_add_flat \
         residual_add_dims_check",
    ),
    (
        ROPE,
        "rope_inv_freq rope_inv_freq_llama3 rope_table rope_table_llama3 rope_table_freq_factors rope_apply \
         rope_inverse",
    ),
];

fn call(module: &str, function: &str, args: Value) -> Result<Value, Refusal> {
    Library::default().execute(module, function, Some(&args))
}

fn refused(module: &str, function: &str, args: Value) -> (Code, Vec<String>) {
    let refusal = call(module, function, args).unwrap_err();
    (refusal.code(), refusal.findings().iter().map(|finding| finding.what.clone()).collect())
}

#[test]
fn every_module_and_function_of_the_contract_is_there() {
    let found: Vec<(&str, Vec<&str>)> = modules()
        .iter()
        .map(|module| (module.name, module.functions.iter().map(|function| function.name).collect()))
        .collect();
    let table = TABLE.map(|(module, functions)| (module, functions.split_whitespace().collect::<Vec<_>>()));
    assert_eq!(found, table);
    let signature = |module: usize, function: usize| modules()[module].functions[function].to_string();
    assert_eq!(signature(0, 0), "metaldispatch_dispatch_budget(n_layers: Int) -> Int");
    assert_eq!(
        signature(1, 0),
        "qwen3_i8_allsimd7_decode_flat(checkpoint_dir: String, max_new_tokens: Int) -> Qwen3DecodeResult"
    );
    let all = modules()[2].functions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for line in [
        "qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3(checkpoint_dir: String, max_new_tokens: Int, \
         use_native_grouped_fa_attn_no_mirror: Bool, use_msl_parity_all_roles: Bool, wire_prompt_ids: List[Int], \
         warmup_prefills: Int = 0) -> Qwen3PrefillDecodeResult",
        "qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3_sampled(checkpoint_dir: String, max_new_tokens: Int, \
         temperature: Float, top_k: Int, top_p: Float, min_p: Float, repeat_penalty: Float, presence_penalty: Float, \
         frequency_penalty: Float, seed: Int, wire_prompt_ids: List[Int]) -> Qwen3PrefillDecodeResult",
        "qwen3_batched_prefill_decode_anyqwen3(checkpoint_dir: String, max_new_tokens: Int, \
         use_msl_parity_all_roles: Bool, wire_prompt_ids: List[Int], prompt_lens: List[Int]) -> Qwen3PrefillDecodeResult",
    ] {
        assert!(all.contains(line), "{line}\n{all}");
    }
}

#[test]
fn arguments_come_as_a_list_by_name_or_alone() {
    let function = "metaldispatch_dispatch_budget";
    for args in [json!([28]), json!({"n_layers": 28}), json!(28)] {
        assert_eq!(call(CONTRACT, function, args).unwrap(), ledger::dispatch_budget(28));
    }
    assert_eq!(
        call(CONTRACT, "metaldispatch_status_name", json!(627)).unwrap(),
        "metaldispatch_context_full"
    );
    assert_eq!(
        call(CONTRACT, "metaldispatch_status_name", json!(-1)).unwrap(),
        "metaldispatch_code_out_of_range"
    );
}

#[test]
fn whatever_does_not_fit_is_refused_at_once() {
    let budget = "metaldispatch_dispatch_budget";
    for args in
        [json!(null), json!([]), json!("28"), json!([28, 1]), json!({"layers": 28}), json!(0), json!(1.5)]
    {
        assert_eq!(refused(CONTRACT, budget, args.clone()).0, Code::InvalidArguments, "{args}");
    }
    let wrong = json!({"max_new_tokens": "x", "y": 1});
    let (_, named) = refused(PREFILL, "qwen3_i8_allsimd7_prefill_decode_flat_af", wrong);
    assert_eq!(named, ["checkpoint_dir", "max_new_tokens", "use_native_grouped_fa_attn", "y"]);
    assert_eq!(refused("metaldispatch", budget, json!(1)).0, Code::ModuleNotRegistered);
    assert_eq!(refused(CONTRACT, "budget", json!(1)).0, Code::FunctionNotRegistered);
}

#[test]
fn numbers_have_the_names_of_the_plan() {
    for (n, attention) in Attention::ALL.iter().enumerate() {
        assert_eq!(call(POLICY, "pf_attn_path_name", json!(n)).unwrap(), attention.name());
    }
    assert_eq!(call(POLICY, "kv_contract_name", json!(1)).unwrap(), "packed_f16");
    assert_eq!(call(POLICY, "decode_path_name", json!(0)).unwrap(), "legacy");
    assert_eq!(refused(POLICY, "pf_gemm_path_name", json!(Gemm::ALL.len())).0, Code::InvalidArguments);
}

#[test]
fn a_request_is_resolved_against_the_kernels_there_are() {
    let resolve = |attention: usize, gemm: usize, grouped: bool, parametric: bool| {
        let args = json!({
            "requested": {"attention_requested": attention, "gemm_requested": gemm},
            "af_grouped_fa_available": grouped,
            "bm64_available": true,
            "vecload4_qkv_available": false,
            "vecload4_accum_available": false,
            "vecload4_swiglu_available": false,
            "parametric_native_decode_available": parametric,
        });
        call(POLICY, "resolve_prefill_execution_plan", args).unwrap()
    };
    let number = |attention| Attention::ALL.iter().position(|a| *a == attention).unwrap();
    let (no_mirror, parametric) =
        (number(Attention::GroupedNoMirror), number(Attention::ParametricNativeDecode));
    let plan = |attention: usize, gemm: usize, kv: usize, decode: usize| json!({"attention": attention, "gemm": gemm, "kv_contract": kv, "decode": decode});
    assert_eq!(resolve(no_mirror, 1, true, false), plan(no_mirror, 1, 1, 1));
    assert_eq!(resolve(no_mirror, 0, false, true), plan(parametric, 0, 1, 1));
    assert_eq!(resolve(no_mirror, 0, false, false), plan(0, 0, 0, 0));
    // A tier that is absent gives way to the next that is there.
    assert_eq!(resolve(0, 2, true, true)["gemm"], 1);
    let (code, named) =
        refused(POLICY, "resolve_prefill_execution_plan", json!([{"attention_requested": 0}]));
    assert_eq!((code, named[0].as_str()), (Code::InvalidArguments, "requested"));
}

#[test]
fn a_decode_that_cannot_be_done_is_a_status() {
    let any = Library::new(Access { checkpoints: Checkpoints::Any, ..Access::default() });
    let result = any.execute(DECODE, "qwen3_i8_allsimd7_decode_flat", Some(&json!(["/nowhere", 4]))).unwrap();
    assert_eq!(result["status"], ledger::CHECKPOINT_UNREADABLE);
    assert!(result["error_message"].as_str().unwrap().contains("checkpoint_not_found"), "{result}");
    assert!(result.get("prefill_chunks").is_none());
    let mut args = json!({
        "checkpoint_dir": "/nowhere",
        "max_new_tokens": 4,
        "use_msl_parity_all_roles": true,
        "wire_prompt_ids": [1, 2, 3],
        "prompt_lens": [1, 2],
    });
    let batched = |args: &Value| any.execute(PREFILL, "qwen3_batched_prefill_decode_anyqwen3", Some(args));
    let result = batched(&args).unwrap();
    assert_eq!(result["status"], ledger::CHECKPOINT_UNREADABLE);
    assert_eq!(result["prefill_chunks"], 0);
    args["prompt_lens"] = json!([1, 1]);
    let refusal = batched(&args).unwrap_err();
    assert_eq!(
        (refusal.code(), refusal.findings()[0].what.as_str()),
        (Code::InvalidArguments, "prompt_lens")
    );
}

#[test]
fn only_checkpoints_that_the_caller_may_open_are_opened() {
    let place = std::env::temp_dir().join(format!("tilewright-library-{}", std::process::id()));
    let (inside, outside) = (place.join("root/model"), place.join("other"));
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    let checkpoints = Checkpoints::Below(place.join("root"));
    let below = Library::new(Access { checkpoints, ..Access::default() });
    let status = |library: &Library, folder: &str| {
        let args = json!([folder, 4]);
        let result = library.execute(DECODE, "qwen3_i8_allsimd7_decode_flat", Some(&args))?;
        Ok::<_, Refusal>(result["status"].clone())
    };
    for folder in ["model", inside.to_str().unwrap()] {
        assert_eq!(status(&below, folder).unwrap(), ledger::CHECKPOINT_UNREADABLE, "{folder}");
    }
    for folder in ["../other", outside.to_str().unwrap(), "/", "absent"] {
        assert_eq!(status(&below, folder).unwrap_err().code(), Code::InvalidArguments, "{folder}");
    }
    assert_eq!(status(&Library::default(), "model").unwrap_err().code(), Code::InvalidArguments);
    std::fs::remove_dir_all(&place).unwrap();
}
