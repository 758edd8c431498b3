//! What is refused before a GPU is used, and how it is said.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;

#[test]
fn drivers_older_than_the_oldest_are_refused_by_name() {
    assert_eq!(check_driver(Some((12, 0))).unwrap(), (12, 0));
    assert_eq!(check_driver(Some((13, 1))).unwrap(), (13, 1));
    let refusal = check_driver(Some((11, 8))).unwrap_err();
    assert_eq!(refusal.code(), Code::CudaDriverTooOld);
    assert!(refusal.to_string().contains("11.8"), "{refusal}");
    assert_eq!(check_driver(None).unwrap_err().code(), Code::CudaDriverMissing);
}

#[test]
fn gpus_older_than_the_oldest_are_refused_by_name() {
    assert!(check_capability("new", (7, 5)).is_ok());
    assert!(check_capability("newer", (12, 0)).is_ok());
    for old in [(7, 0), (6, 1), (3, 5)] {
        let refusal = check_capability("NVIDIA Relic", old).unwrap_err();
        assert_eq!(refusal.code(), Code::GpuTooOld);
        assert!(refusal.to_string().contains("NVIDIA Relic"), "{refusal}");
    }
}

#[test]
fn a_gpu_is_found_or_refused_by_a_code_of_its_own() {
    match find(0) {
        Ok(gpu) => {
            assert!(gpu.capability >= OLDEST_GPU && gpu.multiprocessors > 0 && gpu.free <= gpu.memory);
            let refusal = find(4096).unwrap_err();
            assert_eq!(refusal.code(), Code::DeviceUnavailable);
        }
        Err(refusal) => {
            eprintln!("skipped: no GPU to look at: {refusal}");
            let known =
                [Code::CudaDriverMissing, Code::CudaDriverTooOld, Code::DeviceUnavailable, Code::GpuTooOld];
            assert!(known.contains(&refusal.code()), "{refusal}");
        }
    }
}

#[test]
fn architectures_are_named_as_the_compiler_wants_them() {
    let gpu = |capability| Gpu {
        ordinal: 0,
        name: String::new(),
        capability,
        multiprocessors: 1,
        shared_memory: 0,
        memory: 0,
        free: 0,
        granularity: None,
        driver: (13, 0),
    };
    assert_eq!(gpu((7, 5)).arch(), "sm_75");
    assert_eq!(gpu((8, 9)).arch(), "sm_89");
    assert_eq!(gpu((9, 0)).arch(), "sm_90a");
    assert_eq!(gpu((12, 0)).arch(), "sm_120a");
}

#[test]
fn a_device_that_is_full_is_told_from_one_that_fails() {
    assert_eq!(code(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)), Code::OutOfMemory);
    assert_eq!(code(DriverError(sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)), Code::DeviceFailed);
}
