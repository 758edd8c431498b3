//! Which device a request gets, and which are refused.

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
        (OpenOptions { weights: Some(WeightFormat::Int8), ..OpenOptions::default() }, "int8"),
        (OpenOptions { kv: Some(KvFormat::F16), ..OpenOptions::default() }, "f16"),
        (OpenOptions { threads: Some(3), ..OpenOptions::default() }, "3"),
    ] {
        let choice = options.choose_device().unwrap();
        assert_eq!(choice.kind, DeviceKind::Cpu);
        assert!(choice.reason.contains(word), "{}", choice.reason);
    }
}

#[test]
fn a_device_that_cannot_be_used_is_refused_and_not_replaced() {
    let refusal = DeviceRequest::Metal.choose().unwrap_err();
    assert_eq!(refusal.code(), Code::DeviceUnavailable);
    for n in [0, 4096] {
        match DeviceRequest::Cuda(n).choose() {
            Ok(choice) => assert_eq!(choice.kind, DeviceKind::Cuda(n)),
            Err(refusal) => assert_eq!(refusal, gpu::find(n).unwrap_err()),
        }
    }
}
