//! Barriers and collectives are reached by all they need.

use tilewright_tile::verify::{Level, Rule};
use tilewright_tile::{Builder, Kernel, Value};

use super::{accepted, is, refused, small};

fn barrier_when(condition: impl for<'k> FnOnce(&'k Builder) -> Value<'k, bool>) -> Kernel {
    small(|k| {
        let condition = condition(k);
        k.when(condition, || k.barrier());
    })
}

fn sum_when(condition: impl for<'k> FnOnce(&'k Builder) -> Value<'k, bool>) -> Kernel {
    small(|k| {
        let y = k.write::<f32>("y", [64]);
        let condition = condition(k);
        k.when(condition, || y.set([k.thread()], k.lane().f32().simd_sum()));
    })
}

const THREADS: fn(&Rule) -> bool = is!(Rule::Divergent { level: Level::Threads, .. });
const LANES: fn(&Rule) -> bool = is!(Rule::Divergent { level: Level::Lanes, .. });

#[test]
fn a_barrier_is_not_behind_a_condition_of_lane_thread_or_simd_group() {
    refused(barrier_when(|k| k.lane().lt(16)), THREADS, "may not all get here: when %0");
    refused(barrier_when(|k| k.thread().lt(40)), THREADS, "the threads of a threadgroup");
    refused(barrier_when(|k| k.simd_group().eq(0)), THREADS, "the threads of a threadgroup");
}

#[test]
fn a_barrier_may_be_behind_a_condition_all_threads_share() {
    accepted(barrier_when(|k| k.argument("n", 0..=1).eq(0)));
    accepted(barrier_when(|k| k.group_id().eq(0)));
    accepted(barrier_when(|k| k.read::<i32>("flag", [1]).at([0]).eq(0)));
}

#[test]
fn a_barrier_is_not_behind_a_condition_loaded_for_each_thread() {
    let loaded = barrier_when(|k| k.read::<i32>("flags", [64]).at([k.thread()]).eq(0));
    refused(loaded, THREADS, "may not all get here");
}

#[test]
fn a_barrier_is_not_in_a_loop_whose_passes_differ() {
    let start = small(|k| k.each(k.thread_strided(100, 1), |_| k.barrier()));
    refused(start, THREADS, "loop %0 = thread..100 step 64");
    let end = small(|k| k.each(k.range(0, k.simd_group()), |_| k.barrier()));
    refused(end, THREADS, "loop");
    accepted(small(|k| k.each(0..3, |_| k.barrier())));
}

#[test]
fn a_simd_sum_needs_all_lanes_but_not_all_simd_groups() {
    refused(sum_when(|k| k.lane().lt(31)), LANES, "the lanes of a SIMD group may not all get here");
    accepted(sum_when(|k| k.simd_group().eq(0)));
    accepted(sum_when(|k| k.thread().lt(32)));
}

#[test]
fn a_condition_on_threads_that_splits_a_simd_group_is_seen() {
    refused(sum_when(|k| k.thread().lt(33)), LANES, "the lanes of a SIMD group");
}

#[test]
fn a_shuffle_needs_all_lanes() {
    let shuffle = small(|k| {
        let y = k.write::<f32>("y", [64]);
        k.when(k.lane().ne(3), || y.set([k.thread()], k.lane().f32().shuffle_xor(1)));
    });
    refused(shuffle, LANES, "shuffle_xor");
}

#[test]
fn a_simd_barrier_needs_all_lanes() {
    let barrier = small(|k| k.when(k.lane().ne(3), || k.simd_barrier()));
    refused(barrier, LANES, "simd_barrier");
}

#[test]
fn a_threadgroup_reduction_is_not_taken_by_some_threads() {
    let some = small(|k| {
        let y = k.write::<f32>("y", [1]);
        k.when(k.simd_group().eq(0), || {
            let sum = k.threadgroup_sum(k.lane().f32());
            y.set_from_thread(0, [0], sum);
        });
    });
    refused(some, THREADS, "barrier");
}

#[test]
fn a_value_that_a_divergent_loop_leaves_differs_between_threads() {
    let carried = small(|k| {
        let n = k.fold(k.range(0, k.thread()), 0, |n, _| n + 1);
        k.when(n.eq(3), || k.barrier());
    });
    refused(carried, THREADS, "may not all get here");
}

#[test]
fn a_sum_over_the_threadgroup_is_the_same_everywhere() {
    let uniform = small(|k| {
        let sum = k.threadgroup_sum(k.thread());
        k.when(sum.eq(0), || k.barrier());
    });
    accepted(uniform);
    let of_simd_group = small(|k| {
        let sum = k.thread().simd_sum();
        k.when(sum.eq(0), || k.barrier());
    });
    refused(of_simd_group, THREADS, "may not all get here");
}
