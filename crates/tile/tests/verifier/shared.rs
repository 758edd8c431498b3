//! Barriers between what different threads do with shared memory.

use tilewright_tile::verify::Rule;
use tilewright_tile::{Builder, Kernel, View};

use super::{accepted, is, refused, small};

/// A kernel with 64 shared floats and an output for each thread.
fn with_shared(body: impl for<'k> FnOnce(&'k Builder, View<'k, f32>, View<'k, f32>)) -> Kernel {
    small(|k| body(k, k.scratch::<f32>("a", [64]), k.write::<f32>("y", [64])))
}

const RACE: fn(&Rule) -> bool = is!(Rule::SharedRace { .. });

#[test]
fn a_write_is_not_read_by_another_thread_without_a_barrier() {
    let exchange = |barrier: bool| {
        with_shared(move |k, a, y| {
            a.set([k.thread()], 1.0);
            if barrier {
                k.barrier();
            }
            y.set([k.thread()], a.at([63 - k.thread()]));
        })
    };
    accepted(exchange(true));
    refused(
        exchange(false),
        RACE,
        "no barrier between this and the write of a by another thread at: store a[thread] = 1.0",
    );
}

#[test]
fn a_read_is_not_overwritten_by_another_thread_without_a_barrier() {
    let reuse = |barrier: bool| {
        with_shared(move |k, a, y| {
            a.set([k.thread()], 1.0);
            k.barrier();
            y.set([k.thread()], a.at([63 - k.thread()]));
            if barrier {
                k.barrier();
            }
            a.set([k.thread()], 2.0);
        })
    };
    accepted(reuse(true));
    refused(reuse(false), RACE, "and the read of a by another thread");
}

#[test]
fn two_threads_do_not_write_one_element() {
    let all = with_shared(|_, a, _| a.set([0], 1.0));
    refused(all, RACE, "the write of a by another thread at: store a[0] = 1.0");
    let pairs = with_shared(|k, a, _| a.set([k.thread() / 2], 1.0));
    refused(pairs, RACE, "the write of a");
    let one = with_shared(|_, a, _| a.set_from_thread(0, [0], 1.0));
    accepted(one);
}

#[test]
fn one_lane_of_each_simd_group_is_still_two_threads() {
    let lanes = with_shared(|_, a, _| a.set_from_lane(0, [0], 1.0));
    refused(lanes, RACE, "the write of a");
    let own = with_shared(|k, a, _| a.set_from_lane(0, [k.simd_group()], 1.0));
    accepted(own);
}

#[test]
fn a_thread_may_read_back_its_own_element() {
    accepted(with_shared(|k, a, y| {
        a.set([k.thread()], 1.0);
        y.set([k.thread()], a.at([k.thread()]));
        a.set([k.thread()], 2.0);
    }));
}

#[test]
fn a_thread_may_read_back_its_own_elements_of_a_strided_loop() {
    accepted(small(|k| {
        let a = k.scratch::<f32>("a", [1000]);
        let y = k.write::<f32>("y", [1000]);
        k.each(k.thread_strided(1000, 1), |i| a.set([i], 1.0));
        k.each(k.thread_strided(1000, 1), |i| y.set([i], a.at([i])));
    }));
    let other_stride = small(|k| {
        let a = k.scratch::<f32>("a", [1000]);
        let y = k.write::<f32>("y", [1000]);
        k.each(k.thread_strided(1000, 1), |i| a.set([i], 1.0));
        k.each(k.thread_strided(1000, 4), |i| y.set([i], a.at([i])));
    });
    refused(other_stride, RACE, "the write of a");
}

#[test]
fn a_simd_barrier_orders_one_simd_group_only() {
    accepted(with_shared(|k, a, y| {
        a.set([k.thread()], 1.0);
        k.simd_barrier();
        y.set([k.thread()], a.at([k.thread() ^ 1]));
    }));
    let across = with_shared(|k, a, y| {
        a.set([k.thread()], 1.0);
        k.simd_barrier();
        y.set([k.thread()], a.at([k.thread() ^ 32]));
    });
    refused(across, RACE, "the write of a");
}

#[test]
fn lanes_are_not_assumed_to_run_in_step() {
    let neighbours = with_shared(|k, a, y| {
        a.set([k.thread()], 1.0);
        y.set([k.thread()], a.at([k.thread() ^ 1]));
    });
    refused(neighbours, RACE, "the write of a");
}

#[test]
fn the_end_of_a_pass_meets_the_start_of_the_next() {
    let passes = |trailing: bool| {
        with_shared(move |k, a, y| {
            let sum = k.fold(0..4, 0.0, |sum, i| {
                a.set([k.thread()], i.f32());
                k.barrier();
                let other = a.at([63 - k.thread()]);
                if trailing {
                    k.barrier();
                }
                sum + other
            });
            y.set([k.thread()], sum);
        })
    };
    accepted(passes(true));
    refused(passes(false), RACE, "and the read of a by another thread at: %");
}

#[test]
fn a_threadgroup_sum_in_a_loop_keeps_its_partials_apart() {
    accepted(with_shared(|k, _, y| {
        let sum = k.fold(0..4, 0.0, |sum, i| sum + k.threadgroup_sum(i.f32()));
        y.set([k.thread()], sum);
    }));
}

#[test]
fn a_barrier_in_a_loop_that_may_not_run_is_no_barrier() {
    let exchange = |least: i32| {
        with_shared(move |k, a, y| {
            let n = k.argument("n", least..=4);
            a.set([k.thread()], 1.0);
            k.each(k.range(0, n), |_| k.barrier());
            y.set([k.thread()], a.at([63 - k.thread()]));
        })
    };
    accepted(exchange(1));
    refused(exchange(0), RACE, "the write of a");
}

#[test]
fn a_barrier_under_a_condition_is_no_barrier() {
    let exchange = with_shared(|k, a, y| {
        let n = k.argument("n", 0..=1);
        a.set([k.thread()], 1.0);
        k.when(n.eq(1), || k.barrier());
        y.set([k.thread()], a.at([63 - k.thread()]));
    });
    refused(exchange, RACE, "the write of a");
}

#[test]
fn a_write_under_a_condition_still_races() {
    let exchange = with_shared(|k, a, y| {
        let n = k.argument("n", 0..=1);
        a.set([k.thread()], 0.0);
        k.barrier();
        k.when(n.eq(1), || a.set([k.thread()], 1.0));
        y.set([k.thread()], a.at([63 - k.thread()]));
    });
    refused(exchange, RACE, "the write of a");
}

#[test]
fn views_that_overlap_are_compared_as_positions() {
    let overlapping = |offset: u32| {
        small(move |k| {
            let all = k.shared::<f32>("a", 192);
            let first = all.view("first", [64]);
            let second = all.view("second", [64]).offset(offset);
            let y = k.write::<f32>("y", [64]);
            second.set([k.thread()], 0.0);
            k.barrier();
            first.set([k.thread()], 1.0);
            y.set([k.thread()], second.at([k.thread()]));
        })
    };
    accepted(overlapping(64));
    accepted(overlapping(128));
    refused(overlapping(63), RACE, "the write of a");
    refused(overlapping(1), RACE, "the write of a");
}

#[test]
fn rows_of_different_simd_groups_do_not_meet() {
    let rows = |width: u32| {
        small(move |k| {
            let a = k.shared::<f32>("a", 64).view("a", [2, 32]).strides([width, 1]);
            a.set((k.simd_group(), k.lane()), 1.0);
        })
    };
    accepted(rows(32));
    let meets = small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        a.set([k.simd_group() * 16 + k.lane()], 1.0);
    });
    refused(meets, RACE, "the write of a");
}

#[test]
fn vectors_are_compared_with_all_their_elements() {
    let fours = |stride: i32| {
        small(move |k| {
            let a = k.scratch::<f32>("a", [256]);
            let zero = k.value::<tilewright_tile::Vec4<f32>>(0.0);
            a.set4([k.thread() * 4], zero);
            a.set([k.thread() * 4 + stride], 1.0);
        })
    };
    accepted(fours(3));
    let across = small(|k| {
        let a = k.scratch::<f32>("a", [260]);
        let zero = k.value::<tilewright_tile::Vec4<f32>>(0.0);
        a.set4([k.thread() * 4], zero);
        a.set([k.thread() * 4 + 4], 1.0);
    });
    refused(across, RACE, "the write of a");
}

#[test]
fn an_element_chosen_by_memory_may_be_any() {
    let scattered = small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        let at = k.read::<i32>("at", [64]).at([k.thread()]).clamp(0, 63);
        a.set([at], 1.0);
    });
    refused(scattered, RACE, "the write of a");
}
