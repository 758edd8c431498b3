//! Known defects of tile compilers: each must be done right, or refused.
//!
//! Three more are of hosts and are tested where a host is: errors of a run that nobody sees and libraries that are never
//! released (`shim`, `library/tests.rs` and `raw/tests.rs`), and a second way to compile when the first fails (there too).

use tilewright_tile::interp::{Bound, Memory};
use tilewright_tile::verify::Rule;
use tilewright_tile::{Kernel, Launch, Scalar, kernel, verify};

use super::{common, is, refused, small, unused};

/// Runs a kernel of one output of `n` floats after inputs of floats.
fn output(kernel: Kernel, inputs: &[&[f32]], n: usize) -> Vec<f32> {
    let kernel = verify(kernel).unwrap();
    let mut memory = Memory::new();
    let mut ids: Vec<_> = inputs.iter().map(|data| memory.f32(data)).collect();
    ids.push(memory.poison(n * 4));
    let bound: Vec<Bound> = ids.iter().map(|&id| Bound::Buffer(memory.whole(id))).collect();
    common::run_all(&kernel, &mut memory, &bound).unwrap();
    memory.read_f32(ids[inputs.len()], Scalar::F32)
}

/// A product of 8×8 matrices, with the operands and the result changed on the way.
fn product(factor: f32, scale: f32, shift: f32, leak: Option<f32>) -> Kernel {
    kernel("product", Launch::groups(1).threads(32), move |k| {
        let (a, b) = (k.read::<f32>("a", [8, 8]), k.read::<f32>("b", [8, 8]));
        let c = k.write::<f32>("c", [8, 8]);
        let doubled = a.fragment((0, 0)) * factor;
        let sum = k.fragment(0.0).multiply_add(doubled, b.factor((0, 0)));
        let result = sum.scale(scale) + shift;
        let result = leak.map_or(result, |leak| result.max(result * leak));
        c.set_fragment((0, 0), result);
    })
}

fn ramp() -> Vec<f32> {
    (0..64).map(|i| (i % 7) as f32 - 3.0).collect()
}

fn expected(factor: f32, scale: f32, shift: f32, leak: Option<f32>) -> Vec<f32> {
    let (a, b) = (ramp(), ramp());
    let dot = |r: usize, c: usize| (0..8).map(|i| a[r * 8 + i] * factor * b[i * 8 + c]).sum::<f32>();
    let value = |n: usize| dot(n / 8, n % 8) * scale + shift;
    (0..64).map(value).map(|v| leak.map_or(v, |leak| v.max(v * leak))).collect()
}

#[test]
fn arithmetic_on_the_operands_of_a_product_is_kept() {
    assert_eq!(output(product(2.0, 1.0, 0.0, None), &[&ramp(), &ramp()], 64), expected(2.0, 1.0, 0.0, None));
}

#[test]
fn arithmetic_on_the_result_of_a_product_is_kept() {
    assert_eq!(output(product(1.0, 0.5, 3.0, None), &[&ramp(), &ramp()], 64), expected(1.0, 0.5, 3.0, None));
}

#[test]
fn a_leaky_epilogue_leaks() {
    let got = output(product(1.0, 1.0, 0.0, Some(0.25)), &[&ramp(), &ramp()], 64);
    assert_eq!(got, expected(1.0, 1.0, 0.0, Some(0.25)));
    assert!(got.iter().any(|&v| v < 0.0));
}

#[test]
fn a_select_is_lowered_as_written() {
    let leaky = small(|k| {
        let x = k.read::<f32>("x", [64]);
        let v = x.at([k.thread()]);
        k.write::<f32>("y", [64]).set([k.thread()], v.gt(1.0).select(v, v * 0.25));
    });
    let expected: Vec<f32> = ramp().iter().map(|&v| if v > 1.0 { v } else { v * 0.25 }).collect();
    assert_eq!(output(leaky, &[&ramp()], 64), expected);
}

#[test]
fn the_maximum_and_minimum_of_a_threadgroup_use_their_own_identity() {
    let extremes = |shift: Option<f32>| {
        small(move |k| {
            let x = k.read::<f32>("x", [64]);
            let y = k.write::<f32>("y", [3]);
            let v = x.at([k.thread()]);
            let v = shift.map_or(v, |shift| v + shift);
            let (most, least, sum) = (k.threadgroup_max(v), k.threadgroup_min(v), k.threadgroup_sum(v));
            y.set_from_thread(0, [0], most);
            y.set_from_thread(0, [1], least);
            y.set_from_thread(0, [2], sum);
        })
    };
    assert_eq!(output(extremes(Some(-100.0)), &[&ramp()], 3)[0], -97.0);
    assert_eq!(output(extremes(Some(100.0)), &[&ramp()], 3)[1], 97.0);
    assert_eq!(output(extremes(None), &[&[-0.0; 64]], 3)[2].to_bits(), (-0.0f32).to_bits());
}

#[test]
fn each_load_has_its_own_mask() {
    let two = small(|k| {
        let (a, b) = (k.read::<f32>("a", [10]), k.read::<f32>("b", [20]));
        let i = k.thread();
        let sum = a.at_if(i.lt(10), [i]) + b.at_if(i.lt(20), [i]);
        k.write::<f32>("y", [64]).set([i], sum);
    });
    let expected: Vec<f32> =
        (0..64).map(|i| f32::from(u8::from(i < 10)) + f32::from(u8::from(i < 20))).collect();
    assert_eq!(output(two, &[&[1.0; 10], &[1.0; 20]], 64), expected);
}

#[test]
fn masks_hold_under_a_condition_on_the_simd_group() {
    let roles = small(|k| {
        let x = k.read::<f32>("x", [50]);
        let y = k.write::<f32>("y", [64]);
        let i = k.thread();
        k.when(k.simd_group().eq(0), || y.set([i], x.at_if(i.lt(50), [i])));
        k.when(k.simd_group().eq(1), || y.set([i], x.at_if(i.lt(50), [i]) * 2.0));
    });
    let expected: Vec<f32> = (0..64)
        .map(|i| {
            if i < 32 {
                1.0
            } else if i < 50 {
                2.0
            } else {
                0.0
            }
        })
        .collect();
    assert_eq!(output(roles, &[&[1.0; 50]], 64), expected);
}

#[test]
fn a_vector_of_a_row_that_is_no_multiple_of_four_is_refused() {
    let rows = kernel("rows", Launch::rows(4).threads(32), |k| {
        let x = k.read::<f32>("x", [4, 130]);
        let y = k.write::<f32>("y", [4, 128]);
        y.set4((k.group_id(), k.lane() * 4), x.at4((k.group_id(), k.lane() * 4)));
    });
    refused(rows, is!(Rule::Misaligned { .. }), "stride 130 of axis 0");
}

#[test]
fn the_axis_of_a_threadgroup_is_kept() {
    let grid = kernel("grid", Launch::grid([2, 3, 4]).threads(32), |k| {
        let y = k.write::<f32>("y", [4, 3, 2]);
        let [x, row, plane] = [0, 1, 2].map(|axis| k.group_axis(axis));
        y.set_from_thread(0, (plane, row, x), (plane * 100 + row * 10 + x).f32());
    });
    let text = tilewright_tile::emit::msl(&verify(grid.clone()).unwrap());
    assert!(text.contains("group_position.y") && text.contains("group_position.z"), "{text}");
    let at = |n: usize| (n / 6 * 100 + n / 2 % 3 * 10 + n % 2) as f32;
    assert_eq!(output(grid, &[], 24), (0..24).map(at).collect::<Vec<f32>>());
}

#[test]
fn a_reduction_in_a_loop_does_not_overwrite_what_is_being_read() {
    let repeated = |k: &tilewright_tile::Builder| {
        let y = k.write::<f32>("y", [1]);
        let sum = k.fold(0..3, 0.0, |sum, i| sum + k.threadgroup_sum(i.f32()));
        y.set_from_thread(0, [0], sum);
    };
    assert_eq!(output(small(|k| repeated(k)), &[], 1), [192.0]);
}

#[test]
fn floats_are_not_folded() {
    let zeros = small(|k| {
        let x = k.read::<f32>("x", [64]);
        let v = x.at([k.thread()]);
        k.write::<f32>("y", [64]).set([k.thread()], (v * 0.0) + 0.0);
    });
    let mut x = ramp();
    (x[0], x[1]) = (f32::NAN, f32::INFINITY);
    let got = output(zeros, &[&x], 64);
    assert!(got[0].is_nan() && got[1].is_nan() && got[2] == 0.0, "{:?}", &got[..3]);
}

#[test]
fn integer_division_truncates_everywhere() {
    let halves = small(|k| {
        let y = k.write::<f32>("y", [64]);
        let n = k.thread() - 32;
        y.set([k.thread()], (n / 4 * 100 + n % 4).f32());
    });
    let expected: Vec<f32> = (-32..32).map(|n: i32| (n / 4 * 100 + n % 4) as f32).collect();
    assert_eq!(output(halves, &[], 64), expected);
    let folded = small(|k| {
        let constant = k.i32(-7) / 2;
        k.write::<f32>("y", [64]).set([k.thread()], constant.f32());
    });
    assert_eq!(output(folded, &[], 64), [-3.0; 64]);
}

#[test]
fn an_unknown_option_is_not_silently_dropped() {
    // There are no free options: everything that changes a kernel is a call with a type, and a storage type
    // that a view cannot have is refused.
    let kept = small(|k| unused(k.read::<f32>("x", [64]).stored(Scalar::Bool)));
    refused(kept, is!(Rule::Storage { .. }), "bool is not kept in memory");
}
