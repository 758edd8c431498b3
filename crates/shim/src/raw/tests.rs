//! Texts that no kernel would print.

use super::Functions;
use crate::library::functions;
use crate::{Compiler, Language, ShimError};

/// Compiles a text whose kernel takes one buffer, and runs it on `threads` threads.
fn run(language: Language, text: &str, threads: u32, out: &mut [i32]) -> Result<(), ShimError> {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim");
    let mut functions: Functions = match Compiler::find(cache) {
        Ok(compiler) => functions(&compiler, language, &[text.to_owned()])?,
        Err(error) => return Err(error),
    };
    let arguments = [out.as_mut_ptr().cast()];
    // SAFETY: the texts below write `out[0..threads]`.
    unsafe { functions.run(0, &arguments, [1, 1, 1], threads, false) }.map_err(|stop| stop.of("text"))
}

fn msl(body: &str) -> String {
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void text(\n    device int* out [[buffer(0)]],\n    \
         uint t [[thread_index_in_threadgroup]]\n) {{\n{body}\n}}\n"
    )
}

/// Whether there is a compiler; says so where there is none.
fn skipped() -> bool {
    match Compiler::find("") {
        Ok(_) => false,
        Err(error) => {
            eprintln!("skipped: {error}");
            true
        }
    }
}

#[test]
fn a_barrier_that_some_threads_miss_stops_the_run() {
    if skipped() {
        return;
    }
    let body = "out[t] = 1;\nif (t < 40) threadgroup_barrier(mem_flags::mem_threadgroup);";
    let error = run(Language::Msl, &msl(body), 64, &mut [0; 64]).unwrap_err();
    assert!(matches!(error, ShimError::Stopped { thread: 40, line: 0, other_line: 8, .. }), "{error}");
}

#[test]
fn a_reduction_that_some_lanes_miss_stops_the_run() {
    if skipped() {
        return;
    }
    let body = "int v = t;\nif (t != 3) v = simd_sum(v);\nout[t] = v;";
    let error = run(Language::Msl, &msl(body), 32, &mut [0; 32]).unwrap_err();
    assert!(matches!(error, ShimError::Stopped { thread: 3, other: 2, other_line: 8, .. }), "{error}");
}

#[test]
fn without_a_barrier_another_threads_value_is_not_there() {
    if skipped() {
        return;
    }
    let read = "threadgroup int shared[64];\nshared[t] = t;\nBARRIER\nout[t] = shared[63 - t];";
    let barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";
    let mut out = [0; 64];
    run(Language::Msl, &msl(&read.replace("BARRIER", barrier)), 64, &mut out).unwrap();
    assert!((0..64).all(|t| out[t] == 63 - t as i32));
    run(Language::Msl, &msl(&read.replace("BARRIER", "")), 64, &mut out).unwrap();
    assert_eq!(out[0], -1, "what nobody wrote is minus one");
}

#[test]
fn what_is_no_metal_is_refused_with_its_line() {
    if skipped() {
        return;
    }
    for body in ["out[t] = half(1.0f) + half(2.0f);", "out[t] = bound;", "float4 v = 1.0f;"] {
        let error = run(Language::Msl, &msl(body), 32, &mut [0; 32]).unwrap_err();
        assert!(matches!(&error, ShimError::Refused { messages } if messages.contains("text:7")), "{error}");
    }
}

#[test]
fn a_kernel_too_deep_for_its_stack_is_noticed() {
    if skipped() {
        return;
    }
    let body =
        "volatile int deep[14000];\nfor (int n = 0; n < 14000; n++) deep[n] = 0;\nout[t] = deep[t] + 1;";
    run(Language::Msl, &msl(body), 32, &mut [0; 32]).unwrap();
    let error = run(Language::Msl, &msl(&body.replace("14000", "16350")), 32, &mut [0; 32]).unwrap_err();
    assert!(matches!(&error, ShimError::Stopped { what, .. } if what.contains("stack")), "{error}");
}

#[test]
fn lanes_that_a_mask_leaves_out_are_refused() {
    if skipped() {
        return;
    }
    let text = "extern \"C\" __global__ void __launch_bounds__(32) text(\n    int* __restrict__ out\n) {\n    \
                out[threadIdx.x] = __shfl_xor_sync(MASK, threadIdx.x, 1);\n}\n";
    let mut out = [0; 32];
    run(Language::Cuda, &text.replace("MASK", "0xffffffffu"), 32, &mut out).unwrap();
    assert_eq!(out[..4], [1, 0, 3, 2]);
    let error = run(Language::Cuda, &text.replace("MASK", "0xffu"), 32, &mut out).unwrap_err();
    assert!(matches!(&error, ShimError::Stopped { what, .. } if what.contains("part of a warp")), "{error}");
}
