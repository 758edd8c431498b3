//! What is counted is what is done, worked out here the slow way; and the kernels compile wherever they are used.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

use tilewright_model::Code;
use tilewright_nvrtc::Compiler;

use super::work::{Kernel, Matrix, NAMES, number, word_sums};
use super::*;

/// Elements of a tile of B as bf16 has them: the number itself, for eight bits are enough.
fn is_exact(value: i32) -> bool {
    let rounded = f32::from_bits((value as f32).to_bits() & 0xffff_0000);
    rounded == value as f32
}

#[test]
fn elements_are_odd_and_they_and_one_less_them_are_exact_in_bf16() {
    for value in (0..1 << 16).map(|i| i32::from(number(i))) {
        assert!(value % 2 != 0 && (-127..=127).contains(&value), "{value}");
        assert!(is_exact(value) && is_exact(1 - value), "{value}");
    }
}

#[test]
fn sums_of_words_are_those_of_a_loop() {
    for pieces in [0u64, 1, 2, 1000, 65_536, 100_003] {
        let mut sums = [0u32; 4];
        for word in 0..4 * pieces as u32 {
            let sum = &mut sums[word as usize % 4];
            *sum = sum.wrapping_add(word.wrapping_mul(2_654_435_761).wrapping_mul(3));
        }
        assert_eq!(word_sums(pieces, 3), sums, "{pieces}");
    }
    // One piece of 4 GiB that is read twice, or not at all, shows in every sum.
    let whole = word_sums(1 << 28, 1);
    let less = word_sums((1 << 28) - 1, 1);
    assert!(whole.iter().zip(less).all(|(a, b)| *a != b), "{whole:?} {less:?}");
}

/// A lap of one warp, or of one group of four, as a product of whole matrices with nothing cancelled beforehand.
fn lap(rows: usize, columns: usize, depth: usize, rounds: i64) -> (i64, i64) {
    let a: Vec<i64> = (0..rows * depth).map(|i| i64::from(number(i as u32))).collect();
    let b: Vec<i64> = (0..columns * depth).map(|i| i64::from(number(i as u32))).collect();
    let (mut sum, mut most) = (0, 0);
    for row in 0..rows {
        for column in 0..columns {
            let (mut first, mut both) = (0i64, 0i64);
            for k in 0..depth {
                let (a, b) = (a[row * depth + k], b[column * depth + k]);
                first += a * b;
                both += a * b + (1 - a) * b;
            }
            sum += rounds * both;
            most = most.max(rounds * both.abs() + first.abs());
        }
    }
    (sum, most)
}

#[test]
fn products_leave_what_whole_matrices_give_in_numbers_that_f32_has() {
    for (matrix, units, [rows, columns, depth], rounds) in
        [(Matrix::Mma, 3 * 2 * 8, [16, 64, 16], 4096), (Matrix::Wgmma, 3 * 2, [64, 256, 64], 1024)]
    {
        let kernel = Kernel::bf16(matrix, 3);
        let (sum, most) = lap(rows, columns, depth, rounds);
        assert_eq!(kernel.lap_sum, units * sum, "{}", kernel.name);
        assert!(sum != 0 && most < 1 << 24, "{}: {sum}, {most}", kernel.name);
        let multiply_adds = units * (rows * columns * depth) as i64 * 2 * rounds;
        assert_eq!(kernel.lap_operations, (2 * multiply_adds).cast_unsigned(), "{}", kernel.name);
    }
}

#[test]
fn multiply_adds_leave_what_f32_leaves() {
    let kernel = Kernel::f32(2);
    let [a, b] = kernel.factors.unwrap();
    let chain = |start: f32| (0..4096).fold(start, |x, _| x.mul_add(a, b));
    let thread: u64 = (0..8).map(|j| chain(j as f32) as u64).sum();
    assert_eq!(kernel.lap_sum.cast_unsigned(), 4 * 512 * thread);
    assert_eq!(kernel.lap_operations, 4 * 512 * 8 * 4096 * 2);
}

#[test]
fn what_is_read_is_far_more_than_the_cache_holds_or_refused() {
    let sweep = 132 * 1024 * 8 * 16;
    let large = read_bytes(140 << 30, 50 << 20, sweep).unwrap();
    assert!(large <= 4 << 30 && large > 4 << 30 >> 1 && large.is_multiple_of(sweep), "{large}");
    let small = read_bytes(2 << 30, 50 << 20, sweep).unwrap();
    assert!((400 << 20..=1 << 30).contains(&small), "{small}");
    let refusal = read_bytes(512 << 20, 50 << 20, sweep).unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfMemory);
    assert!(refusal.to_string().contains("more than the cache holds"), "{refusal}");
}

#[test]
fn a_trial_has_laps_enough_and_never_none() {
    assert_eq!([laps(1e6), laps(3e6), laps(1e9), laps(0.0)], [10, 4, 1, 10_000]);
}

#[test]
fn the_kernels_have_the_numbers_that_their_work_is_counted_by() {
    let text = text::ceilings(true);
    for (name, value) in NAMES {
        let line = text.lines().find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name));
        let got = line.unwrap_or_else(|| panic!("no {name}")).split_whitespace().next();
        assert_eq!(got.map(|got| got.trim_end_matches('u')), Some(value.to_string().as_str()), "{name}");
    }
}

#[test]
fn the_instruction_is_the_fastest_that_kernels_here_use() {
    let of = |capability| Matrix::of(capability).map(Matrix::instruction);
    assert_eq!([of((7, 5)), of((8, 0)), of((8, 9))], [None, Some("mma.sync"), Some("mma.sync")]);
    assert_eq!([of((9, 0)), of((10, 0)), of((12, 0))], [Some("wgmma"), Some("mma.sync"), Some("mma.sync")]);
}

#[test]
fn the_kernels_compile_for_every_architecture_without_spilling() {
    let Ok(compiler) = Compiler::find(None) else {
        eprintln!("skipped: no NVRTC");
        return;
    };
    for arch in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"] {
        let text = text::ceilings(arch == "sm_90a");
        let mut options = crate::compile::options(arch);
        options.push("--ptxas-options=-v".to_owned());
        let (_, log) = compiler.cubin(&text, arch, &options).unwrap_or_else(|e| panic!("{arch}: {e}"));
        let frames: Vec<&str> = log.lines().filter(|line| line.contains("bytes stack frame")).collect();
        assert!(frames.len() >= 3, "{arch}: {log}");
        assert!(frames.iter().all(|line| line.contains(" 0 bytes stack frame")), "{arch}: {log}");
        // Products whose sums leave their registers between two of them would be slower than the GPU is.
        assert!(!log.contains("serialized"), "{arch}: {log}");
    }
}
