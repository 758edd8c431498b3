//! Functions that run here on what they are given: sizes, statuses, steps in float64.

use serde_json::{Value, json};
use tilewright_backend::ledger;
use tilewright_model::{Checkpoint, Code};

use super::{PROBE, REFERENCE, RESIDENT, ROPE, call, refused};

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[track_caller]
fn near(got: &[f64], wanted: &[f64]) {
    assert_eq!(got.len(), wanted.len());
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12;
    assert!(got.iter().zip(wanted).all(close), "{got:?}, not {wanted:?}");
}

#[test]
fn sizes_of_a_model_are_those_of_its_checkpoint() {
    let checkpoint = Checkpoint::embedded().unwrap();
    let config = checkpoint.config();
    let dims = json!({
        "n_layers": config.layers, "d_model": config.hidden, "h_q": config.heads, "h_kv": config.kv_heads,
        "d_head": config.head_dim, "d_ff": config.intermediate, "vocab": config.vocab,
        "tied": u8::from(config.tied), "qk_norm": config.qk_norm,
    });
    let elements = call(RESIDENT, "residentk_weight_elems", dims.clone()).unwrap();
    let mut stored = 0;
    checkpoint.parameters().map(|_, tensor| stored += tensor.elements());
    assert_eq!(elements, stored);
    let untied = |tied: u8| {
        let mut dims = dims.clone();
        dims["tied"] = tied.into();
        call(RESIDENT, "residentk_weight_elems", dims).unwrap().as_u64().unwrap()
    };
    assert_eq!(untied(0) - untied(1), (config.vocab * config.hidden) as u64);
    let cache = call(RESIDENT, "residentk_cache_elements", json!([28, 8, 128, 4096])).unwrap();
    assert_eq!(cache, 2 * 28 * 8 * 128 * 4096);
}

#[test]
fn what_does_not_fit_is_a_status_with_a_name() {
    let context = |args: Value| call(RESIDENT, "residentk_context_check", args).unwrap();
    assert_eq!(context(json!([100, 28, 128])), ledger::OK);
    assert_eq!(context(json!([100, 29, 128])), ledger::CONTEXT_FULL);
    let dims = |args: Value| call(RESIDENT, "residentk_dims_check", args).unwrap();
    assert_eq!(dims(json!([1024, 16, 8, 128, 3072])), ledger::OK);
    for odd in [
        json!([1000, 16, 8, 128, 3072]),
        json!([1024, 16, 8, 128, 3000]),
        json!([1024, 16, 5, 128, 3072]),
        json!([1024, 16, 8, 96, 3072]),
    ] {
        assert_eq!(dims(odd.clone()), ledger::UNSUPPORTED_ARCHITECTURE, "{odd}");
    }
    let name = call(RESIDENT, "residentk_status_name", json!(627)).unwrap();
    assert_eq!(name, "metaldispatch_context_full");
    let scalars = |args: Value| call(RESIDENT, "residentk_scalars_ok", args).unwrap();
    assert_eq!(scalars(json!([1e-6, 0.088])), true);
    assert_eq!((scalars(json!([0, 1])), scalars(json!([1e-6, -1]))), (json!(false), json!(false)));
    assert_eq!(
        refused(RESIDENT, "residentk_dims_check", json!([0, 16, 8, 128, 3072])).0,
        Code::InvalidArguments
    );
}

#[test]
fn keys_are_split_where_the_native_step_splits_them() {
    let policy = |keys: usize| call(RESIDENT, "residentk_splitk_policy", json!([keys, 10, 16])).unwrap();
    let most = call(RESIDENT, "residentk_splitk_max_n_splits", json!([10, 16])).unwrap();
    let split = |keys: usize| call(RESIDENT, "residentk_splitk_should_split", json!(keys)).unwrap();
    assert_eq!((policy(511), split(511)), (json!(1), json!(false)));
    assert_eq!((policy(512), split(512)), (most, json!(true)));
    let budget = |name: &str| call(RESIDENT, name, json!(28)).unwrap();
    assert_eq!(budget("residentk_dispatch_budget"), 229);
    assert_eq!(budget("residentk_dispatch_budget_deep"), 257);
}

#[test]
fn few_rows_of_a_prompt_take_the_narrow_tile() {
    let narrow = |rows: i64| call(RESIDENT, "residentk_prefill_gemm_use_narrow_tile", json!(rows));
    assert_eq!(
        [1, 32, 33, 2048].map(|rows| narrow(rows).unwrap()),
        [true, true, false, false].map(Value::Bool)
    );
    for wrong in [-1, 0, 2049] {
        assert_eq!(narrow(wrong).unwrap_err().code(), Code::InvalidArguments, "{wrong}");
    }
}

#[test]
fn a_probe_says_what_a_session_would_take_and_why_there_is_none() {
    let probe =
        |heads: usize| call(PROBE, "resident_session_probe", json!([2, 64, heads, 2, 32, 96, 512])).unwrap();
    let found = probe(4);
    let available = call(PROBE, "resident_available", json!([])).unwrap();
    let compiled = call(PROBE, "resident_gpu_kernels_compiled", json!([])).unwrap();
    assert_eq!((&found["device_present"], &found["kernels_compiled"]), (&available, &compiled));
    assert_eq!(found["session_possible"], available);
    assert_eq!(found["session_possible"] == true, found["status"] == ledger::OK, "{found}");
    let layer = 64 * 32 * (2 * 4 + 2 * 2) + 3 * 64 * 96 + 2 * 64 + 2 * 32;
    assert_eq!(found["resident_f32_elems"], 2 * layer + 2 * 2 * 2 * 32 * 512);
    assert_eq!(found["dispatch_budget"], ledger::dispatch_budget(2));
    let odd = probe(3);
    assert_eq!(
        (&odd["status"], &odd["session_possible"]),
        (&json!(ledger::UNSUPPORTED_ARCHITECTURE), &json!(false))
    );
}

#[test]
fn steps_on_flat_lists_are_those_of_a_decoder() {
    let best = |logits: Value| call(REFERENCE, "greedy_argmax_flat", json!([logits])).unwrap();
    assert_eq!((best(json!([1, 3, 3, 2])), best(json!([-2.5]))), (json!(1), json!(0)));
    assert_eq!(refused(REFERENCE, "greedy_argmax_flat", json!([[]])).0, Code::InvalidArguments);
    // [2 inputs, 3 outputs]
    let product =
        call(REFERENCE, "gemv_transposed_parallel_flat", json!([[1, 2, 3, 4, 5, 6], [10, 1], 2, 3]));
    assert_eq!(floats(&product.unwrap()), [14.0, 25.0, 36.0]);
    let cache = call(REFERENCE, "kv_cache_append_flat", json!([[1, 1, 2, 2, 3, 3], [8, 9], 1])).unwrap();
    assert_eq!(floats(&cache), [1.0, 1.0, 8.0, 9.0, 3.0, 3.0]);
    let sum = call(REFERENCE, "residual_add_flat", json!([[1, 2], [0.5, -2]])).unwrap();
    assert_eq!(floats(&sum), [1.5, 0.0]);
    for (function, args) in [
        ("gemv_transposed_parallel_flat", json!([[1, 2, 3], [1, 2], 2, 2])),
        ("kv_cache_append_flat", json!([[1, 2, 3], [1, 2], 0])),
        ("kv_cache_append_flat", json!([[1, 2], [1, 2], 1])),
        ("residual_add_flat", json!([[1], [1, 2]])),
    ] {
        assert_eq!(refused(REFERENCE, function, args.clone()).0, Code::InvalidArguments, "{function} {args}");
    }
}

#[test]
fn a_result_that_is_not_finite_is_refused_and_never_null() {
    for (module, function, args) in [
        (REFERENCE, "residual_add_flat", json!([[1e308], [1e308]])),
        (REFERENCE, "gemv_transposed_parallel_flat", json!([[1e300, 1.0], [1e300], 1, 2])),
        (ROPE, "rope_apply", json!([[1e308, 1e308], [1e308], [1e308]])),
        (ROPE, "rope_table_freq_factors", json!([2, 2, 10_000, [1e-320]])),
    ] {
        assert_eq!(
            refused(module, function, args),
            (Code::InvalidArguments, vec!["result".to_owned()]),
            "{function}"
        );
    }
}

#[test]
fn lengths_have_a_status_before_lists_are_made() {
    for (function, good, bad) in [
        ("greedy_argmax_dims_check", json!([3]), json!([0])),
        ("kv_cache_append_dims_check", json!([6, 2, 2]), json!([6, 2, 3])),
        ("gemv_transposed_parallel_dims_check", json!([6, 2, 2, 3]), json!([6, 3, 2, 3])),
        ("residual_add_dims_check", json!([2, 2]), json!([2, 3])),
    ] {
        assert_eq!(call(REFERENCE, function, good).unwrap(), ledger::OK, "{function}");
        assert_eq!(call(REFERENCE, function, bad).unwrap(), Code::UploadLength.number(), "{function}");
    }
}

#[test]
fn heads_are_turned_by_a_table_s_row_and_back() {
    let frequencies = floats(&call(ROPE, "rope_inv_freq", json!([4, 10_000])).unwrap());
    near(&frequencies, &[1.0, 0.01]);
    let table = call(ROPE, "rope_table", json!([3, 4, 10_000])).unwrap();
    let row = |name: &str| floats(&table[name])[4..].to_vec();
    near(&row("cos"), &[2f64.cos(), 0.02f64.cos()]);
    near(&row("sin"), &[2f64.sin(), 0.02f64.sin()]);
    let x = [1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 0.0, 0.0];
    let turned = floats(&call(ROPE, "rope_apply", json!([x, row("cos"), row("sin")])).unwrap());
    near(&turned[..1], &[2f64.cos() - 3.0 * 2f64.sin()]);
    near(&turned[5..8], &[0.02f64.cos(), 0.0, 0.02f64.sin()]);
    let back = call(ROPE, "rope_inverse", json!([turned, row("cos"), row("sin")])).unwrap();
    near(&floats(&back), &x);
    assert_eq!(refused(ROPE, "rope_apply", json!([[1, 2, 3], [1], [0]])).0, Code::InvalidArguments);
}

#[test]
fn stretched_tables_are_those_of_stretched_frequencies() {
    let llama3 = |factor: f64| {
        let args = json!([8, 500_000, factor, 1, 4, 8192]);
        floats(&call(ROPE, "rope_inv_freq_llama3", args).unwrap())
    };
    let plain = floats(&call(ROPE, "rope_inv_freq", json!([8, 500_000])).unwrap());
    near(&llama3(1.0), &plain);
    // The slowest turns less than once in 8,192 positions and is divided; the fastest is kept.
    near(&[llama3(8.0)[0], llama3(8.0)[3] * 8.0], &[plain[0], plain[3]]);
    let table = call(ROPE, "rope_table_llama3", json!([2, 8, 500_000, 8, 1, 4, 8192])).unwrap();
    near(&floats(&table["sin"])[4..], &llama3(8.0).iter().map(|f| f.sin()).collect::<Vec<_>>());
    let divided = call(ROPE, "rope_table_freq_factors", json!([2, 4, 10_000, [1, 4]])).unwrap();
    near(&floats(&divided["cos"])[2..], &[1f64.cos(), 0.0025f64.cos()]);
    for (function, args) in [
        ("rope_table_freq_factors", json!([2, 4, 10_000, [1]])),
        ("rope_table_freq_factors", json!([2, 4, 10_000, [1, 0]])),
        ("rope_inv_freq", json!([5, 10_000])),
        ("rope_inv_freq", json!([4, 0])),
        ("rope_inv_freq_llama3", json!([8, 500_000, 8, 4, 4, 8192])),
        ("rope_table", json!([1 << 20, 4, 10_000])),
    ] {
        assert_eq!(refused(ROPE, function, args.clone()).0, Code::InvalidArguments, "{function} {args}");
    }
}
