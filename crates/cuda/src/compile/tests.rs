//! Compiling, with the NVRTC of this machine where there is one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

use super::*;
use tilewright_model::Code;

/// What pages are multiples of.
const PIECES: crate::text::Granularity = Some(2 << 20);

const TEXT: &str = "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }";

#[test]
fn compiled_once_then_taken_from_the_cache() {
    if let Err(refusal) = Compiler::find(None) {
        eprintln!("skipped: {refusal}");
        assert_eq!(refusal.code(), Code::NvrtcMissing);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().to_path_buf());
    let mut stages = Vec::new();
    let mut run = |text: &str, arch: &str| {
        compile_with(Some(&cache), text, &options(arch), arch, None, &mut |p| {
            stages.push((p.stage, p.done, p.total));
            Ok(())
        })
        .unwrap()
    };
    let first = run(TEXT, "sm_90a");
    assert!(first.compiled && first.cubin.starts_with(b"\x7fELF") && first.notes.is_empty());
    let again = run(TEXT, "sm_90a");
    assert!(!again.compiled && again.cubin == first.cubin);
    assert!(run(TEXT, "sm_80").compiled, "another architecture is other code");
    assert!(run(&format!("{TEXT} "), "sm_90a").compiled, "another text is other code");
    let total = TEXT.len() as u64;
    assert_eq!(stages[..2], [(Stage::Compile, 0, total), (Stage::Compile, total, total)]);
}

#[test]
fn a_text_with_an_error_is_refused_with_the_log() {
    if let Err(refusal) = Compiler::find(None) {
        eprintln!("skipped: {refusal}");
        return;
    }
    let refusal = compile_with(
        None,
        "__global__ void k() { undeclared = 1; }",
        &options("sm_80"),
        "sm_80",
        None,
        &mut |_| Ok(()),
    )
    .unwrap_err();
    assert_eq!(refusal.code(), Code::KernelUncompilable);
    assert!(refusal.to_string().contains("undeclared"), "{refusal}");
}

#[test]
fn a_compiler_newer_than_the_driver_is_not_used() {
    let Ok(compiler) = Compiler::find(None) else {
        eprintln!("skipped: no NVRTC");
        return;
    };
    assert!(Compiler::find(Some(compiler.version())).is_ok());
    let refusal = Compiler::find(Some((9, 0))).unwrap_err();
    assert_eq!(refusal.code(), Code::CudaDriverTooOld);
    assert!(refusal.to_string().contains(&compiler.place().display().to_string()), "{refusal}");
}

#[test]
fn the_persistent_decoders_keep_everything_in_registers() {
    let Ok(compiler) = Compiler::find(None) else {
        eprintln!("skipped: no NVRTC");
        return;
    };
    use tilewright_gate::seeded::Preset;
    let (config, large) = (Preset::Qwen3Small.config(), Preset::Qwen3Large.config());
    let mut options = options("sm_90a");
    options.push("--ptxas-options=-v".to_owned());
    let texts = [(&config, false), (&config, true), (&large, false)]
        .map(|(config, int8)| crate::text::persistent(config, int8, PIECES));
    let several = crate::together::ROWS.into_iter().flat_map(|rows| [(rows, false), (rows, true)]);
    let several = several.map(|(rows, int8)| {
        let most = crate::together::local_bytes(rows, int8);
        (crate::text::together(&config, rows, int8, PIECES), most)
    });
    for (index, (text, most)) in texts.into_iter().map(|text| (text, 0)).chain(several).enumerate() {
        let (_, log) = compiler.cubin(&text, "sm_90a", &options).unwrap();
        let bytes =
            |line: &str| line.split_once(" bytes stack frame")?.0.split_whitespace().last()?.parse().ok();
        let frames: Vec<i32> = log.lines().filter_map(bytes).collect();
        assert!(!frames.is_empty(), "{log}");
        assert!(frames.iter().all(|frame| *frame <= most), "text {index}: {frames:?}");
    }
}

#[test]
fn the_plain_kernels_compile_for_every_architecture_and_cache() {
    let Ok(compiler) = Compiler::find(None) else {
        eprintln!("skipped: no NVRTC");
        return;
    };
    use tilewright_backend::KvFormat;
    use tilewright_gate::seeded::{Preset, small};
    use tilewright_model::Family;
    for arch in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"] {
        for (config, wide) in [(small(Family::Qwen2), true), (Preset::Qwen3Large.config(), false)] {
            for kv in [KvFormat::F32, KvFormat::Bf16, KvFormat::Int8] {
                let text = crate::text::plain(&config, wide, kv, false, PIECES);
                compiler.cubin(&text, arch, &options(arch)).unwrap_or_else(|e| panic!("{arch}, {kv}: {e}"));
            }
        }
    }
}

#[test]
fn the_kernels_for_hopper_compile() {
    let Ok(compiler) = Compiler::find(None) else {
        eprintln!("skipped: no NVRTC");
        return;
    };
    let config = tilewright_gate::seeded::Preset::Qwen3Small.config();
    let text = crate::text::hopper(&config, PIECES);
    compiler.cubin(&text, "sm_90a", &options("sm_90a")).unwrap_or_else(|e| panic!("{e}"));
}

/// The heads of a step of overlapping launches read pages; nothing of that is worth a register in memory.
#[test]
fn attention_over_pages_keeps_everything_in_registers() {
    let Ok(compiler) = Compiler::find(None) else {
        eprintln!("skipped: no NVRTC");
        return;
    };
    use tilewright_backend::KvFormat;
    use tilewright_gate::seeded::Preset;
    use tilewright_kernels::Shape;
    use tilewright_kernels::decode::overlap::{append, attention};
    use tilewright_kernels::decode::{self, Options};
    use tilewright_tile::{Scalar, emit, verify};
    let config = Preset::Qwen3Small.config();
    let shape = Shape::new(&config, 4096);
    let mut with = language_options("sm_90a");
    with.push("--ptxas-options=-v".to_owned());
    let rows = decode::Layout::Rows;
    for (kv, cache, layout) in [
        (KvFormat::F32, Scalar::F32, rows),
        (KvFormat::Bf16, Scalar::Bf16, rows),
        (KvFormat::Bf16, Scalar::Bf16, decode::Layout::Fragments),
        (KvFormat::Int8, Scalar::I8, rows),
    ] {
        let page = crate::kv::Layout::new(&config, kv, PIECES).page_bytes() as u64;
        let options = Options::PAIRS.cache(cache).vectors(Scalar::F32).layout(layout).pages(page);
        for kernel in [attention(&shape, &options), append(&shape, &options)] {
            let kernel = verify(kernel).unwrap();
            let (_, log) = compiler.cubin(&emit::cuda(&kernel), "sm_90a", &with).unwrap();
            assert!(log.contains(" 0 bytes stack frame"), "{kv}, {layout:?}: {log}");
        }
    }
}
