//! Device requests, read and written.

use super::*;

#[test]
fn device_requests_read_back_as_written() {
    for text in ["auto", "cpu", "cuda:0", "cuda:3", "metal", "shim"] {
        assert_eq!(text.parse::<DeviceRequest>().unwrap().to_string(), text);
    }
    assert_eq!("cuda".parse(), Ok(DeviceRequest::Cuda(0)));
}

#[test]
fn unknown_devices_are_refused_with_the_list() {
    for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "CPU"] {
        let error = text.parse::<DeviceRequest>().unwrap_err();
        assert!(error.contains(text) && error.contains("cuda:N"), "{error}");
    }
}

#[test]
fn opening_that_nobody_waits_for_any_more_stops() {
    let options = OpenOptions { cache: Cache::Off, ..OpenOptions::default() };
    options.cancel.cancel();
    let refusal = crate::Engine::open(Source::Embedded, &options, &mut |_| ()).unwrap_err();
    assert_eq!(refusal.code(), crate::Code::Cancelled);
}
