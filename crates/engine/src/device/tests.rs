//! Which device a request gets, and which are refused.

use tilewright_backend::execution::{Attention, Gemm};
use tilewright_model::Code;

use super::*;

#[test]
fn auto_says_why() {
    let choice = DeviceRequest::Auto.choose().unwrap();
    assert!(choice.reason.starts_with("auto: ") && choice.reason.len() > 10, "{}", choice.reason);
    assert_eq!(choice.kind, if gpu::find(0).is_ok() { DeviceKind::Cuda(0) } else { DeviceKind::Cpu });
}

#[test]
fn auto_honours_the_other_options() {
    for (options, word) in [
        (OpenOptions { weights: Some(WeightFormat::Int4), ..OpenOptions::default() }, "int4"),
        (OpenOptions { kv: Some(KvFormat::F16), ..OpenOptions::default() }, "f16"),
        (OpenOptions { threads: Some(3), ..OpenOptions::default() }, "3"),
        (OpenOptions { numerics: Some(Numerics::LlamaCpp), ..OpenOptions::default() }, "llama.cpp"),
    ] {
        let choice = options.choose_device().unwrap();
        assert_eq!(choice.kind, DeviceKind::Cpu);
        assert!(choice.reason.contains(word), "{}", choice.reason);
    }
}

#[test]
fn a_device_that_cannot_be_used_is_refused_and_not_replaced() {
    if !cfg!(target_os = "macos") {
        let refusal = DeviceRequest::Metal.choose().unwrap_err();
        assert_eq!(refusal.code(), Code::ShaderToolchainAbsent);
    }
    for n in [0, 4096] {
        match DeviceRequest::Cuda(n).choose() {
            Ok(choice) => assert_eq!(choice.kind, DeviceKind::Cuda(n)),
            Err(refusal) => assert_eq!(refusal, gpu::find(n).unwrap_err()),
        }
    }
}

#[test]
fn options_that_a_device_does_not_have_are_refused_together() {
    let options = OpenOptions {
        attention: Some(Attention::Off),
        gemm: Some(Gemm::SplitK),
        threads: Some(2),
        ..OpenOptions::default()
    };
    let found = |kind| staged::check(kind, &options).unwrap_err();
    for kind in [DeviceKind::Cpu, DeviceKind::Cuda(0)] {
        assert_eq!((found(kind).code(), found(kind).findings().len()), (Code::DeviceOptionInvalid, 2));
    }
    for kind in [DeviceKind::Metal, DeviceKind::Shim] {
        assert_eq!((found(kind).code(), found(kind).findings().len()), (Code::DeviceOptionInvalid, 1));
    }
    assert_eq!(staged::check(DeviceKind::Cpu, &OpenOptions::default()), Ok(()));
}

#[test]
fn numerics_of_another_engine_are_the_processors_alone() {
    let with = |numerics| OpenOptions { numerics: Some(numerics), ..OpenOptions::default() };
    for kind in [DeviceKind::Cuda(0), DeviceKind::Metal, DeviceKind::Shim] {
        let refusal = staged::check(kind, &with(Numerics::LlamaCpp)).unwrap_err();
        assert_eq!(refusal.code(), Code::DeviceOptionInvalid);
        assert_eq!(refusal.findings().iter().map(|f| f.what.as_str()).collect::<Vec<_>>(), ["numerics"]);
        assert_eq!(staged::check(kind, &with(Numerics::Native)), Ok(()));
    }
    assert_eq!(staged::check(DeviceKind::Cpu, &with(Numerics::LlamaCpp)), Ok(()));
    let any = with(Numerics::Native).choose_device().unwrap();
    assert_eq!(any, DeviceRequest::Auto.choose().unwrap());
}
