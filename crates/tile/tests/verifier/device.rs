//! Threads of a launch do not meet in device memory.

use tilewright_tile::verify::Rule;
use tilewright_tile::{Kernel, Launch, kernel};

use super::{accepted, is, refused, small};

const RACE: fn(&Rule) -> bool = is!(Rule::DeviceRace { .. });

fn rows(groups: u32, body: impl for<'k> FnOnce(&'k tilewright_tile::Builder)) -> Kernel {
    kernel("rows", Launch::rows(groups).threads(64), body)
}

#[test]
fn two_threads_do_not_write_one_element() {
    let all = small(|k| k.write::<f32>("y", [1]).set([0], 1.0));
    refused(all, RACE, "another thread of the launch may write the same element of y at: store y[0] = 1.0");
    accepted(small(|k| k.write::<f32>("y", [1]).set_from_thread(0, [0], 1.0)));
}

#[test]
fn two_threadgroups_do_not_write_one_element() {
    let forgets = rows(3, |k| k.write::<f32>("y", [64]).set([k.thread()], 1.0));
    refused(forgets, RACE, "may write the same element of y");
    accepted(rows(1, |k| k.write::<f32>("y", [64]).set([k.thread()], 1.0)));
    accepted(rows(3, |k| k.write::<f32>("y", [3, 64]).set((k.group_id(), k.thread()), 1.0)));
}

#[test]
fn overlapping_tiles_of_threadgroups_are_seen() {
    let tiles =
        |step: u32| rows(3, move |k| k.write::<f32>("y", [192]).set([k.group_id() * step + k.thread()], 1.0));
    accepted(tiles(64));
    refused(tiles(63), RACE, "may write the same element of y");
}

#[test]
fn a_buffer_is_not_read_where_another_thread_writes() {
    let shift = small(|k| {
        let x = k.read_write::<f32>("x", [64]);
        let next = x.at([(k.thread() + 1) % 64]);
        x.set([k.thread()], next);
    });
    refused(shift, RACE, "may read the same element of x");
    accepted(small(|k| {
        let x = k.read_write::<f32>("x", [64]);
        x.set([k.thread()], x.at([k.thread()]) + 1.0);
    }));
}

#[test]
fn a_barrier_does_not_order_device_memory() {
    let shift = small(|k| {
        let x = k.read_write::<f32>("x", [64]);
        let next = x.at([(k.thread() + 1) % 64]);
        k.barrier();
        x.set([k.thread()], next);
    });
    refused(shift, RACE, "may read the same element of x");
}

#[test]
fn a_cache_is_read_before_the_position_that_is_written() {
    let attends = |inclusive: i32| {
        small(move |k| {
            let cache = k.read_write::<f32>("cache", [100, 64]);
            let y = k.write::<f32>("y", [64]);
            let position = k.argument("position", 0..=98);
            let sum = k.fold(k.range(0, position + inclusive), 0.0, |sum, t| sum + cache.at((t, k.thread())));
            cache.set((position, 63 - k.thread()), 1.0);
            y.set([k.thread()], sum);
        })
    };
    accepted(attends(0));
    refused(attends(1), RACE, "may read the same element of cache");
}

#[test]
fn simd_groups_that_share_rows_are_seen() {
    let shared_rows = |groups: i32| {
        small(move |k| {
            let y = k.write::<f32>("y", [64]);
            k.each(k.range(k.simd_group() % groups, 64).step(groups as u32), |row| {
                y.set_from_lane(0, [row], 1.0);
            });
        })
    };
    accepted(shared_rows(2));
    refused(shared_rows(1), RACE, "may write the same element of y");
}
