//! GGUF's blocks, computed on as they are stored: the numbers of float64 on what the blocks stand for, and the ids of the
//! CPU device on the same file.

use tilewright_backend::Resident;
use tilewright_backend::execution::Gemm;
use tilewright_metal::MetalOptions;
use tilewright_model::convert::{Quant, write_gguf};
use tilewright_model::{Checkpoint, WeightFormat};

use super::agrees;
use super::common::{fixture, open, prefill, shim, some_ids};

/// A checkpoint as a file of a mixture of blocks, in a folder of its own.
fn as_gguf(checkpoint: &Checkpoint, quant: Quant) -> (tempfile::TempDir, Checkpoint) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    write_gguf(checkpoint, &path, Some(quant), false, &mut |_, _| ()).unwrap();
    let opened = Checkpoint::open(&path).unwrap();
    (folder, opened)
}

/// Runs a file and gives the kernels that ran.
fn check(what: &str, checkpoint: &Checkpoint, quant: Quant) -> Vec<String> {
    let Some(device) = shim() else { return Vec::new() };
    let what = format!("{what} {}", quant.name());
    let (_folder, file) = as_gguf(checkpoint, quant);
    // The wide tile, which short prompts take only where it is asked for.
    let options = MetalOptions { context: Some(512), gemm: Some(Gemm::MslParity), ..MetalOptions::default() };
    let mut model = open(device, &file, options);
    assert_eq!(model.plan().weights, WeightFormat::Gguf, "{what}");
    let mut stored = 0;
    let _ = file.parameters().map(|_, tensor| stored += tensor.bytes.len() as u64);
    // Planes are padded to 16 bytes, and Q4_K takes 4.625 bits instead of 4.5.
    let held = model.plan().weight_bytes;
    assert!(held >= stored && held * 100 < stored * 104, "{what}: {held} bytes for the file's {stored}");

    let prompt = some_ids(file.config().vocab, 11);
    let taken = prefill(&mut model, &prompt);
    agrees(&what, &mut model, (&file, WeightFormat::Gguf), &prompt, taken);
    model.trace().kernels.into_keys().collect()
}

fn ran(kernels: &[String], names: &[&str]) {
    for name in names.iter().filter(|_| !kernels.is_empty()) {
        assert!(kernels.iter().any(|kernel| kernel == name), "{name} did not run: {kernels:?}");
    }
}

#[test]
fn a_file_of_q8_0_is_computed_on_as_it_is() {
    let kernels = check("untied", &fixture("qwen3-untied-mqa-f32"), Quant::Q8_0);
    ran(&kernels, &["decode_embed_q8_0", "decode_qkv_q8_0", "q8_0_matmul_msl_qkv", "decode_vocabulary_q8_0"]);
}

#[test]
fn a_file_of_q4_0_is_computed_on_as_it_is() {
    // Its head is in six bits where rows are long enough, else in eight.
    let kernels = check("bias", &fixture("qwen2-bias"), Quant::Q4_0);
    ran(&kernels, &["decode_embed_q8_0", "decode_qkv_q4_0", "q4_0_matmul_msl_swiglu", "decode_down_q4_0"]);
}

#[test]
fn a_file_of_several_types_of_k_blocks_is_computed_on_as_it_is() {
    let kernels = check("stories", &Checkpoint::embedded().unwrap(), Quant::Q4KM);
    let parts = ["decode_qkv_q4_k", "decode_qkv_q4_k_qk", "decode_qkv_q6_k_v", "q6_k_matmul_msl_qkv_v"];
    ran(&kernels, &parts);
    ran(&kernels, &["decode_embed_q6_k", "decode_down_q6_k", "decode_down_q4_k", "q4_k_matmul_msl_swiglu"]);
}

#[test]
fn rows_of_the_llama_order_are_put_back_with_their_blocks() {
    // Rows of 192 stay in eight bits, those of 256 are K-blocks.
    let kernels = check("llama", &fixture("llama-d64-odd-heads"), Quant::Q4KM);
    ran(&kernels, &["decode_qkv_q8_0", "decode_gate_up_q8_0"]);
}
