//! Which device a request gets, and which are refused.

use super::*;

#[test]
fn auto_says_why() {
    let choice = DeviceRequest::Auto.choose().unwrap();
    assert_eq!(choice.kind, DeviceKind::Cpu);
    assert!(choice.reason.starts_with("auto: "), "{}", choice.reason);
}

#[test]
fn a_device_this_build_lacks_is_refused_and_not_replaced() {
    for request in [DeviceRequest::Cuda(0), DeviceRequest::Cuda(3), DeviceRequest::Metal] {
        let refusal = request.choose().unwrap_err();
        assert_eq!(refusal.code(), Code::DeviceUnavailable);
        assert_eq!(refusal.findings()[0].got, request.to_string());
    }
}
