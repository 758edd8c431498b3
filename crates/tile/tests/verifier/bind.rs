//! Launches that do not fit their kernel.

use tilewright_tile::bind::{BindError, Bound, Range, check};
use tilewright_tile::{Kernel, Literal};

use super::small;

/// Reads `x` by fours, writes `y`, takes `n` in 0..=9.
fn subject() -> Kernel {
    small(|k| {
        let x = k.read::<f32>("x", [256]);
        let y = k.write::<f32>("y", [64]);
        let n = k.argument("n", 0..=9);
        y.set([k.thread()], x.at4([k.thread() * 4]).sum_pairs() + n.f32());
    })
}

fn range(buffer: u64, offset: u64, bytes: u64) -> Bound {
    Bound::Range(Range { buffer, offset, bytes })
}

fn fitting() -> Vec<Bound> {
    vec![range(0, 0, 1024), range(1, 0, 256), Bound::Scalar(Literal::I32(9))]
}

#[track_caller]
fn one(groups: [u32; 3], bound: &[Bound], kind: fn(&BindError) -> bool, message: &str) {
    let errors = check(&subject(), groups, bound);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(kind(&errors[0]), "{errors:?}");
    assert!(errors[0].to_string().contains(message), "{}", errors[0]);
}

fn with(n: usize, bound: Bound) -> Vec<Bound> {
    let mut all = fitting();
    all[n] = bound;
    all
}

#[test]
fn a_fitting_launch_is_accepted() {
    assert_eq!(check(&subject(), [1, 1, 1], &fitting()), []);
}

#[test]
fn parameters_are_counted() {
    one(
        [1, 1, 1],
        &fitting()[..2],
        |e| matches!(e, BindError::Count { .. }),
        "2 parameters are bound, not 3",
    );
}

#[test]
fn threadgroups_are_at_most_those_verified() {
    one([1, 2, 1], &fitting(), |e| matches!(e, BindError::Groups { .. }), "[1, 2, 1] threadgroups");
}

#[test]
fn kinds_are_not_mixed_up() {
    one(
        [1, 1, 1],
        &with(0, Bound::Scalar(Literal::I32(0))),
        |e| matches!(e, BindError::Kind { .. }),
        "x is a buffer",
    );
    one([1, 1, 1], &with(2, range(2, 0, 4)), |e| matches!(e, BindError::Kind { .. }), "n is a scalar");
}

#[test]
fn ranges_are_long_enough() {
    one(
        [1, 1, 1],
        &with(1, range(1, 0, 255)),
        |e| matches!(e, BindError::Short { .. }),
        "y needs 256 bytes, not 255",
    );
}

#[test]
fn ranges_start_where_the_widest_access_can() {
    let kind = |e: &BindError| matches!(e, BindError::Misaligned { .. });
    one([1, 1, 1], &with(0, range(0, 8, 1024)), kind, "x starts at byte 8, which is not a multiple of 16");
    one([1, 1, 1], &with(1, range(1, 2, 256)), kind, "y starts at byte 2, which is not a multiple of 4");
}

#[test]
fn scalars_are_of_their_type_and_range() {
    let kind = |e: &BindError| matches!(e, BindError::Scalar { .. });
    one([1, 1, 1], &with(2, Bound::Scalar(Literal::I32(10))), kind, "n is 10, not i32 in 0..=9");
    one([1, 1, 1], &with(2, Bound::Scalar(Literal::U32(1))), kind, "n is 1u");
    one([1, 1, 1], &with(2, Bound::Scalar(Literal::f32(1.0))), kind, "n is 1.0");
}

#[test]
fn a_written_range_overlaps_no_other() {
    let kind = |e: &BindError| matches!(e, BindError::Alias { .. });
    one([1, 1, 1], &with(1, range(0, 1020, 256)), kind, "x and y overlap and one of them is written");
    assert_eq!(check(&subject(), [1, 1, 1], &with(1, range(0, 1024, 256))), []);
}

#[test]
fn ranges_that_are_only_read_may_overlap() {
    let reads = small(|k| {
        let (a, b) = (k.read::<f32>("a", [64]), k.read::<f32>("b", [64]));
        k.write::<f32>("y", [64]).set([k.thread()], a.at([k.thread()]) + b.at([k.thread()]));
    });
    let bound = [range(0, 0, 256), range(0, 0, 256), range(1, 0, 256)];
    assert_eq!(check(&reads, [1, 1, 1], &bound), []);
}
