//! `kernels`: what is listed can be shown, verified and explained.

use crate::harness::{tilewright, tilewright_with};

#[test]
fn every_kernel_of_the_list_can_be_shown() {
    let object = tilewright(&["kernels", "list", "--json", "--shape", "qwen3-tiny"]).expect_code(0).json();
    let entries = object["entries"].as_array().unwrap();
    assert!(entries.len() > 10);
    for entry in entries {
        let name = entry["kernels"][0].as_str().unwrap();
        let shown = tilewright(&["kernels", "show", name, "--shape", "qwen3-tiny"]).expect_code(0);
        assert!(shown.stdout.starts_with(&format!("kernel {name}")), "{}", shown.stdout);
    }
    let page = tilewright(&["kernels", "list"]).expect_code(0).stdout;
    assert!(page.contains("decode_qkv_f32") && page.contains("decode_f32: 227 dispatches"), "{page}");
}

#[test]
fn a_kernel_is_shown_in_every_form() {
    for (flag, part) in [
        ("--ir", "simd_sum"),
        ("--msl", "kernel void decode_qkv_f32("),
        ("--cuda", "extern \"C\" __global__ void"),
        ("--report", "shared memory"),
    ] {
        let shown = tilewright(&["kernels", "show", "decode_qkv_f32", flag]).expect_code(0);
        assert!(shown.stdout.contains(part), "{flag}: {}", shown.stdout);
        assert_eq!(shown.stderr, "");
    }
    let object = tilewright(&["kernels", "show", "decode_qkv_f32", "--msl", "--json"]).expect_code(0).json();
    assert!(object["text"].as_str().unwrap().starts_with("#include <metal_stdlib>"));
    tilewright(&["kernels", "show", "decode_qkv_f32", "--msl", "--cuda"]).expect_code(2);
    tilewright_with(&[("TILEWRIGHT_SHAPE", "none")], &["kernels", "list"]).expect_code(2);
}

#[test]
fn the_megakernel_reports_its_scratch_and_no_fast_operation() {
    let report = tilewright(&["kernels", "show", "decode_megakernel_f32", "--report"]).expect_code(0).stdout;
    assert!(report.contains("shared memory       24576 bytes"), "{report}");
    assert!(report.contains("1x1x1 threadgroups") && report.contains("fast operations     none"), "{report}");
}

#[test]
fn a_pipeline_is_shown_as_its_launches() {
    let shown = tilewright(&["kernels", "show", "decode_f32"]).expect_code(0).stdout;
    assert!(shown.starts_with("pipeline decode_f32, 227 dispatches\n"), "{shown}");
    assert_eq!(shown.lines().count(), 228);
    let explained = tilewright(&["kernels", "explain", "decode_f32", "--shape", "qwen3-tiny"]).expect_code(0);
    assert!(explained.stdout.contains("waits for"), "{}", explained.stdout);
}

#[test]
fn the_verifier_says_why_it_accepts() {
    let explained = tilewright(&["kernels", "explain", "decode_norm_f32"]).expect_code(0).stdout;
    for part in ["inside", "all threads come here", "the index starts at"] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    let verdicts = tilewright(&["kernels", "verify", "--shape", "qwen3-tiny"]).expect_code(0).stdout;
    assert!(
        verdicts.lines().count() > 50 && verdicts.lines().all(|l| l.starts_with("accepted  ")),
        "{verdicts}"
    );
    let object = tilewright(&["kernels", "verify", "decode_norm_f32", "--json"]).expect_code(0).json();
    assert_eq!(object["rejected"], 0);
}

#[test]
fn a_name_that_no_kernel_has_is_refused() {
    for command in ["show", "verify", "explain"] {
        let refusal = tilewright(&["kernels", command, "--json", "decode_nothing"]).refusal();
        assert_eq!(refusal["code"], "kernel_unknown");
    }
}
