//! `metaldispatch.session_prefill_policy`: names of a plan's choices, and how a request is resolved.

use serde_json::{Value, json};
use tilewright_backend::execution::{
    Attention, ByRole, DecodeRoute, ExecutionPlan, ExecutionRequest, Gemm, KvContract, Linked,
};
use tilewright_model::{Code, Refusal};

use crate::signature::Fields;
use crate::{Arguments, Function, Kind, Module, Param};

/// What is asked for.
const REQUEST: Fields = Fields {
    name: "UnresolvedPrefillConfig",
    fields: &[("attention_requested", Kind::Int), ("gemm_requested", Kind::Int)],
};

/// What results. The tier is that of the query, key and value projections.
const RESOLVED: Fields = Fields {
    name: "ResolvedSessionExecutionPlan",
    fields: &[
        ("attention", Kind::Int),
        ("gemm", Kind::Int),
        ("kv_contract", Kind::Int),
        ("decode", Kind::Int),
    ],
};

pub(crate) fn module() -> Module {
    let flag = |name| Param::new(name, Kind::Bool);
    let absent = |name| Param::or(name, Kind::Bool, false);
    Module {
        name: "metaldispatch.session_prefill_policy",
        functions: vec![
            name_of("pf_attn_path_name", "The name of an attention.", Attention::ALL, Attention::name),
            name_of("pf_gemm_path_name", "The name of a tier of products.", Gemm::ALL, Gemm::name),
            name_of(
                "kv_contract_name",
                "The name of the caches a prompt fills.",
                KvContract::ALL,
                KvContract::name,
            ),
            name_of("decode_path_name", "The name of a decode step.", DecodeRoute::ALL, DecodeRoute::name),
            Function::new(
                "resolve_prefill_execution_plan",
                "What a request becomes with the kernels there are.",
                vec![
                    Param::new("requested", Kind::Struct(&REQUEST)),
                    flag("af_grouped_fa_available"),
                    flag("bm64_available"),
                    flag("vecload4_qkv_available"),
                    flag("vecload4_accum_available"),
                    flag("vecload4_swiglu_available"),
                    absent("msl_parity_qkv_available"),
                    absent("msl_parity_accum_available"),
                    absent("msl_parity_swiglu_available"),
                    absent("parametric_native_decode_available"),
                ],
                Kind::Struct(&RESOLVED),
                |args, _| resolve(args),
            ),
        ],
    }
}

fn name_of<T: Copy + Send + Sync + 'static>(
    function: &'static str,
    about: &'static str,
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> Function {
    Function::new(function, about, vec![Param::new("code", Kind::Int)], Kind::String, move |args, _| {
        Ok(json!(name(all[args.count("code", 0, all.len() - 1)?])))
    })
}

fn resolve(args: &Arguments) -> Result<Value, Refusal> {
    let asked = args.value("requested");
    let request = ExecutionRequest {
        attention: chosen(asked, "attention_requested", Attention::ALL)?,
        gemm: chosen(asked, "gemm_requested", Gemm::ALL)?,
    };
    let tier = |name: &str| ByRole {
        qkv: args.flag(&format!("{name}_qkv_available")),
        accum: args.flag(&format!("{name}_accum_available")),
        swiglu: args.flag(&format!("{name}_swiglu_available")),
    };
    let linked = Linked {
        grouped: args.flag("af_grouped_fa_available"),
        parametric_native_decode: args.flag("parametric_native_decode_available"),
        bm64: args.flag("bm64_available"),
        vecload4: tier("vecload4"),
        msl_parity: tier("msl_parity"),
        splitk: ByRole::all(false),
        tensor_ops: ByRole::all(false),
    };
    let plan = ExecutionPlan::resolve(request, &linked);
    Ok(json!({
        "attention": plan.attention().and_then(|attention| place(Attention::ALL, attention)),
        "gemm": place(Gemm::ALL, plan.gemm().qkv),
        "kv_contract": place(KvContract::ALL, plan.kv_contract()),
        "decode": place(DecodeRoute::ALL, plan.decode()),
    }))
}

/// The number of a name.
fn place<T: PartialEq>(all: &[T], value: T) -> Option<usize> {
    all.iter().position(|one| *one == value)
}

/// The name of a number.
fn chosen<T: Copy>(object: &Value, field: &str, all: &[T]) -> Result<T, Refusal> {
    let value = object.get(field).unwrap_or(&Value::Null);
    let found = value.as_u64().and_then(|n| all.get(usize::try_from(n).ok()?));
    let expected = format!("a number from 0 to {}", all.len() - 1);
    found.copied().ok_or_else(|| Refusal::new(Code::InvalidArguments, field, expected, value))
}
