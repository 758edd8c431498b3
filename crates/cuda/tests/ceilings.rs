//! What a GPU can do at most is measured by kernels that do all of the work that is counted.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test; what is skipped is said"
)]

mod common;

use common::present;
use tilewright_cuda::{Ceiling, Ceilings, CeilingsProbe, find};
use tilewright_model::Code;

/// Bytes that look random.
fn noise(count: usize) -> Vec<u8> {
    let words = (0..count as u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    words.map(|word| (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).to_le_bytes()[6]).collect()
}

/// The sums that the kernel is to leave.
fn sums(bytes: &[u8]) -> [u32; 4] {
    let (pieces, rest) = bytes.as_chunks::<16>();
    assert!(rest.is_empty());
    let mut sums = [0u32; 4];
    for piece in pieces {
        let (words, _) = piece.as_chunks::<4>();
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = sum.wrapping_add(u32::from_le_bytes(*word));
        }
    }
    sums
}

#[test]
fn the_kernel_that_reads_takes_every_byte_once() {
    if !present() {
        return;
    }
    let mut probe = CeilingsProbe::open(0, &mut |_| Ok(())).unwrap();
    // A sweep is eight loads of every thread; sizes around it, and less than a thread each.
    let sweep = find(0).unwrap().multiprocessors * 1024 * 8;
    for pieces in [1, 1000, sweep / 8, sweep - 1, sweep, sweep + 1, 3 * sweep + 12_345] {
        let mut bytes = noise(pieces * 16);
        assert_eq!(probe.sums_of(&bytes).unwrap(), sums(&bytes), "{pieces} pieces");
        // One bit anywhere shows.
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let before = probe.sums_of(&bytes).unwrap();
            bytes[at] ^= 0x10;
            assert_ne!(probe.sums_of(&bytes).unwrap(), before, "byte {at} of {pieces} pieces");
        }
    }
}

#[test]
fn ceilings_are_finite_and_every_trial_is_kept() {
    if !present() {
        return;
    }
    let ceilings = Ceilings::measure(0, &mut |_| Ok(())).unwrap();
    let gpu = find(0).unwrap();
    assert_eq!((&ceilings.gpu.name, ceilings.gpu.ordinal), (&gpu.name, 0));
    let tell = |what: &str, ceiling: &Ceiling| {
        assert_eq!(ceiling.times_ns.len(), 9, "{what}");
        assert!(ceiling.work > 0 && ceiling.times_ns.iter().all(|ns| ns.is_finite() && *ns > 0.0), "{what}");
        let rates: Vec<String> =
            ceiling.times_ns.iter().map(|ns| format!("{:.3}", ceiling.work as f64 / ns / 1e3)).collect();
        eprintln!(
            "{}, {what}: {} T/s in trials of {:.2} ms",
            gpu.name,
            rates.join(" "),
            ceiling.times_ns[0] / 1e6
        );
    };
    tell("bytes read", &ceilings.read);
    tell("f32 operations", &ceilings.f32);
    assert_eq!(ceilings.bf16.is_some(), gpu.capability >= (8, 0));
    if let Some((instruction, ceiling)) = &ceilings.bf16 {
        assert_eq!(*instruction == "wgmma", gpu.capability == (9, 0), "{instruction}");
        tell(&format!("operations of bf16 by {instruction}"), ceiling);
    }
}

#[test]
fn a_gpu_that_is_not_there_is_refused_by_name() {
    let refusal = Ceilings::measure(4096, &mut |_| Ok(())).unwrap_err();
    let named = [Code::DeviceUnavailable, Code::CudaDriverMissing, Code::CudaDriverTooOld];
    assert!(named.contains(&refusal.code()), "{refusal}");
}
