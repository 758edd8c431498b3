//! Shared memory is written before it is read.

use tilewright_tile::verify::Rule;

use super::{accepted, is, refused, small};

const UNWRITTEN: fn(&Rule) -> bool = is!(Rule::Uninitialized { .. });

#[test]
fn nothing_is_read_that_nobody_wrote() {
    let read = small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        k.write::<f32>("y", [64]).set([k.thread()], a.at([k.thread()]));
    });
    refused(read, UNWRITTEN, "elements 0..=63 of a may not have been written yet");
}

#[test]
fn nothing_is_read_beyond_what_was_written() {
    let partly = small(|k| {
        let a = k.scratch::<f32>("a", [128]);
        a.set([k.thread()], 1.0);
        k.barrier();
        k.write::<f32>("y", [64]).set([k.thread()], a.at([k.thread() + 1]));
    });
    refused(partly, UNWRITTEN, "elements 1..=64 of a");
}

#[test]
fn a_loop_that_may_not_run_writes_nothing() {
    let filled = |least: i32| {
        small(move |k| {
            let a = k.scratch::<f32>("a", [64]);
            let n = k.argument("n", least..=4);
            k.each(k.range(0, n), |i| {
                a.set([k.thread()], i.f32());
                k.barrier();
            });
            k.write::<f32>("y", [64]).set([k.thread()], a.at([63 - k.thread()]));
        })
    };
    accepted(filled(1));
    refused(filled(0), UNWRITTEN, "elements 0..=63 of a");
}

#[test]
fn a_condition_that_may_not_hold_writes_nothing() {
    let maybe = small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        let n = k.argument("n", 0..=1);
        k.when(n.eq(1), || a.set([k.thread()], 1.0));
        k.barrier();
        k.write::<f32>("y", [64]).set([k.thread()], a.at([63 - k.thread()]));
    });
    refused(maybe, UNWRITTEN, "elements 0..=63 of a");
}

#[test]
fn a_mask_that_may_not_hold_writes_nothing() {
    let maybe = small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        let n = k.argument("n", 0..=1);
        a.set_if(n.eq(1), [k.thread()], 1.0);
        k.barrier();
        k.write::<f32>("y", [64]).set([k.thread()], a.at([63 - k.thread()]));
    });
    refused(maybe, UNWRITTEN, "elements 0..=63 of a");
}

#[test]
fn what_was_written_under_a_condition_is_read_under_the_same() {
    accepted(small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        let y = k.write::<f32>("y", [64]);
        let some = k.argument("n", 0..=1).eq(1);
        k.when(some, || a.set([k.thread()], 1.0));
        k.barrier();
        k.when(some, || y.set([k.thread()], a.at([63 - k.thread()])));
    }));
}

#[test]
fn what_was_written_in_a_loop_is_read_in_a_loop_to_the_same_end() {
    accepted(small(|k| {
        let a = k.scratch::<f32>("a", [100]);
        let y = k.write::<f32>("y", [64]);
        let n = k.argument("n", 0..=100);
        k.each(k.thread_strided(n, 1), |i| a.set([i], i.f32()));
        k.barrier();
        y.set([k.thread()], k.fold(k.range(0, n), 0.0, |sum, i| sum + a.at([i])));
    }));
}
