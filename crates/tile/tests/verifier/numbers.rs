//! Integers without a result.

use tilewright_tile::verify::Rule;
use tilewright_tile::{Builder, Kernel, Value, Vec4};

use super::{accepted, is, refused, small};

fn keep(value: impl for<'k> FnOnce(&'k Builder) -> Value<'k, i32>) -> Kernel {
    small(|k| {
        let value = value(k);
        k.write::<i32>("y", [64]).set([k.thread()], value);
    })
}

#[test]
fn a_divisor_is_never_zero() {
    refused(keep(|k| 7 / k.thread()), is!(Rule::Divisor { .. }), "the divisor can be 0: it is 0..=63");
    refused(keep(|k| k.thread() / 0), is!(Rule::Divisor { .. }), "the divisor can be 0: it is 0");
    refused(keep(|k| k.thread() % (k.thread() - 3)), is!(Rule::Divisor { .. }), "-3..=60");
    accepted(keep(|k| 7 / (k.thread() + 1)));
    accepted(keep(|k| 7 / k.thread().max(1)));
}

#[test]
fn a_division_by_minus_one_can_overflow() {
    refused(keep(|k| k.thread() / k.argument("n", -1..=-1)), is!(Rule::Divisor { .. }), "it is -1");
}

#[test]
fn a_shift_is_by_0_to_31_bits() {
    refused(keep(|k| k.thread() << 32), is!(Rule::Shift { .. }), "the shift is 32");
    refused(keep(|k| k.thread() >> k.thread()), is!(Rule::Shift { .. }), "the shift is 0..=63");
    refused(keep(|k| 1 + (k.thread() << -1)), is!(Rule::Shift { .. }), "the shift is -1");
    accepted(keep(|k| k.thread() << k.lane()));
}

#[test]
fn vectors_of_integers_are_held_to_the_same() {
    let divided = |by: i32| {
        small(move |k| {
            let x = k.read::<i32>("x", [256]).at4([k.thread() * 4]);
            let by: Value<'_, Vec4<i32>> = k.value(by);
            k.write::<i32>("y", [256]).set4([k.thread() * 4], x / by);
        })
    };
    accepted(divided(3));
    refused(divided(0), is!(Rule::Divisor { .. }), "it is 0");
}

#[test]
fn a_shuffle_names_a_lane() {
    refused(keep(|k| k.lane().from_lane(32)), is!(Rule::Lane { .. }), "the lane is 32");
    refused(keep(|k| k.lane().from_lane(k.thread())), is!(Rule::Lane { .. }), "the lane is 0..=63");
    accepted(keep(|k| k.lane().from_lane(k.lane() / 2)));
}

#[test]
fn a_loop_index_does_not_overflow() {
    let far = keep(|k| k.fold(k.range(0, i32::MAX).step(2), 0, |n, _| n.max(1)));
    refused(far, is!(Rule::Step { .. }), "last index below 2^31");
    let near = keep(|k| k.fold(k.range(0, i32::MAX - 64).step(64), 0, |n, _| n.max(1)));
    accepted(near);
}
