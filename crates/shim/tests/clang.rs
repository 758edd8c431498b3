//! MSL texts are legal, and the judge knows what is not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

use tilewright_shim::{Clang, ShimError};
use tilewright_tile::testing::arbitrary::{recipes, sample};
use tilewright_tile::testing::{examples, zoo};
use tilewright_tile::{Scalar, emit, verify};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

fn clang() -> Option<Clang> {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/clang");
    Clang::find(cache).map_err(|error| eprintln!("skipped: {error}")).ok()
}

#[test]
fn msl_text_is_legal() {
    let Some(clang) = clang() else { return };
    let fragments = [Scalar::F32, Scalar::Bf16].map(zoo::fragments);
    let tiles = [Scalar::F16, Scalar::Bf16].map(zoo::tiles);
    let mut runner = TestRunner::deterministic();
    let random = (0..24).map(|_| sample(&recipes().new_tree(&mut runner).unwrap().current()).kernel);
    for kernel in examples::all().into_iter().chain(zoo::all()).chain(fragments).chain(tiles).chain(random) {
        let text = emit::msl(&verify(kernel).unwrap());
        clang.check(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}

/// Statements that are wrong, and what the message says of each.
const WRONG: &[(&str, &str)] = &[
    ("threadgroup const float* q = x;", "cannot initialize a variable of type 'const __local float"),
    ("const float* q = x;", "cannot initialize a variable of type 'const __private float"),
    ("device float4* q = (device float4*)s;", "mismatching address spaces"),
    ("float v = presice::exp(x[0]);", "undeclared identifier 'presice'"),
    ("float v = float4(1.0f).q;", "illegal vector component"),
    ("float v = dot(int4(1), int4(1));", "no matching function for call to 'dot'"),
    ("x[t] = 1.0f;", "read-only"),
    ("n = 3;", "const-qualified"),
    ("b[t] = x[t];", "implicit conversion"),
    ("h[t] = x[t];", "implicit conversion"),
    ("simdgroup_half8x8 v; simdgroup_load(v, x, 8);", "no matching function for call to 'simdgroup_load'"),
    ("simdgroup_float8x8 v; v.thread_elements()[0] = b[0];", "implicit conversion"),
    ("int v = max(n, t);", "ambiguous"),
    ("float v = fmax(x[0], h[0]);", "ambiguous"),
    ("bfloat v = simd_shuffle(b[0], ushort(1));", "ambiguous"),
    ("float v = as_type<float>(ushort(1));", "as_type keeps the size"),
    ("float4 v = float4(1.0f, 2.0f);", "no matching function"),
    ("float4 v = char4(1);", "cannot initialize"),
    ("uint v = group_position.x;", "undeclared identifier 'group_position'"),
    ("threadgroup float* q = p + 1.5f;", "invalid operands"),
    (
        "tensor<threadgroup float, extents<int, 64, 64>, tensor_inline> q(x, extents<int, 64, 64>());",
        "no matching constructor",
    ),
];

#[test]
fn what_metal_would_refuse_is_refused() {
    let Some(clang) = clang() else { return };
    let text = |statement: &str| {
        format!(
            "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\nkernel void wrong(\n    \
             device const float* x [[buffer(0)]],\n    device half* h [[buffer(1)]],\n    \
             device bfloat* b [[buffer(2)]],\n    constant int& n [[buffer(3)]],\n    \
             uint t [[thread_index_in_threadgroup]]\n) {{\n    threadgroup float s[64];\n    \
             threadgroup float* p = s;\n    {statement}\n}}\n"
        )
    };
    clang.check(&text("p[0] = x[t]; h[t] = half(x[t]); b[t] = bfloat(x[t] + float(n));")).unwrap();
    for (statement, message) in WRONG {
        match clang.check(&text(statement)) {
            Err(ShimError::Refused { messages }) => {
                assert!(messages.contains(message), "{statement}: {messages}");
            }
            other => panic!("{statement}: {other:?}"),
        }
    }
}
