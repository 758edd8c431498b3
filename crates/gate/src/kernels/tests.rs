//! Products agree with float64 in every format, and the check notices one that does not.

use tilewright_model::Family;

use super::*;
use crate::seeded::small;

#[test]
fn every_product_of_a_layer_is_compared_and_timed() {
    for weights in tilewright_cpu::FORMATS {
        let settings = KernelSettings { weights, threads: 1, rows: vec![1, 5], trials: 2, bytes: 1 };
        let times = measure(&small(Family::Qwen3), &settings, &mut |_, _| ()).unwrap();
        assert_eq!(times.len(), 5 * 2);
        for kernel in times {
            assert_eq!(kernel.times_ns.len(), 2);
            assert!(kernel.error.unwrap() > 0.0 && kernel.bytes_per_second > 0.0, "{kernel:?}");
        }
    }
}

#[test]
fn a_wrong_product_is_not_timed() {
    let settings =
        KernelSettings { weights: WeightFormat::F32, threads: 1, rows: vec![1], trials: 1, bytes: 1 };
    let pool = Pool::new(1);
    let matrices = copies(&pool, Isa::detect(), &settings, "x", (8, 16)).unwrap();
    let refusal = check(WeightFormat::F32, &matrices[0], &[1.0; 16], &[0.5; 8]).unwrap_err();
    assert_eq!(refusal.code(), Code::GateFailed);
}
