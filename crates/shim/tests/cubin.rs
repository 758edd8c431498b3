//! The CUDA texts of small kernels and of kernels that use everything compile to machine code.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

use std::path::Path;

use tilewright_shim::{ARCHITECTURES, Nvrtc, ShimError};
use tilewright_tile::testing::{examples, zoo};
use tilewright_tile::{Scalar, emit, verify};

fn nvrtc() -> Option<Nvrtc> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let found = Nvrtc::find(&target.join("ci/nvrtc/nvidia/cu13/lib"), target.join("nvrtc"));
    found.map_err(|error| eprintln!("skipped: {error}")).ok()
}

#[test]
fn cuda_text_compiles_for_every_architecture() {
    let Some(nvrtc) = nvrtc() else { return };
    let fragments = [Scalar::F32, Scalar::Bf16].map(zoo::fragments);
    for kernel in examples::all().into_iter().chain(zoo::all()).chain(fragments) {
        let kernel = verify(kernel).unwrap();
        for architecture in ARCHITECTURES {
            let text = emit::cuda(&kernel);
            let usage = nvrtc.compile(&text, architecture);
            let usage = usage.unwrap_or_else(|e| panic!("{}, {architecture}: {e}\n{text}", kernel.name()));
            // Scratch for fragments at an edge is not used by this text.
            assert!(u64::from(usage.shared) <= kernel.shared_bytes(), "{}", kernel.name());
            assert!(usage.registers > 0 && usage.spilled == 0, "{}: {usage:?}", kernel.name());
        }
    }
}

#[test]
fn what_is_no_cuda_is_refused_with_its_line() {
    let Some(nvrtc) = nvrtc() else { return };
    let text = "extern \"C\" __global__ void text(float* out) {\n    out[0] = bound;\n}\n";
    let error = nvrtc.compile(text, "sm_80").unwrap_err();
    assert!(
        matches!(&error, ShimError::Refused { messages } if messages.contains("kernels.cu(2)")),
        "{error}"
    );
    assert!(nvrtc.compile(&text.replace("bound", "1.0f"), "sm_80").is_ok());
}
