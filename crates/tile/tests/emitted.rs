//! Emitted text says what is not known before: no condition that always holds, no operation nobody asks for.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use tilewright_tile::{Builder, Kernel, Launch, emit, kernel, verify};

/// Both texts, from the kernel's name on.
fn texts(kernel: Kernel) -> [String; 2] {
    let kernel = verify(kernel).unwrap();
    [emit::msl, emit::cuda].map(|print| print(&kernel).split_once("small(").unwrap().1.to_owned())
}

/// A kernel of one threadgroup of 32 threads.
fn small(body: impl for<'k> FnOnce(&'k Builder)) -> Kernel {
    kernel("small", Launch::groups(1).threads(32), body)
}

#[test]
fn a_condition_that_always_holds_is_not_written() {
    let kernel = small(|k| {
        let y = k.write::<f32>("y", [32]);
        k.when(k.thread().lt(32), || y.set([k.thread()], k.thread().lt(40).select(k.f32(1.0), k.f32(2.0))));
    });
    for text in texts(kernel) {
        assert!(text.contains("y[thread_index] = 1.0f;"), "{text}");
        assert!(!text.contains("if (") && !text.contains("2.0f") && !text.contains('<'), "{text}");
    }
}

#[test]
fn a_block_that_never_runs_is_left_out_with_what_only_it_asks_for() {
    let kernel = small(|k| {
        let x = k.read::<f32>("x", [32]);
        let y = k.write::<f32>("y", [32]);
        let twice = x.at([k.lane()]) * 2.0;
        k.when(k.thread().gt(31), || y.set([k.thread()], twice));
        y.set([k.thread()], k.f32(0.5));
    });
    for text in texts(kernel) {
        assert!(text.contains("y[thread_index] = 0.5f;"), "{text}");
        assert!(!text.contains("2.0f") && !text.contains("x["), "{text}");
    }
}

#[test]
fn the_place_of_the_only_threadgroup_is_a_constant() {
    let kernel = small(|k| {
        let y = k.write::<f32>("y", [4, 32]);
        y.set((k.group_axis(1) + 2, k.group_id() * 32 + k.thread()), k.f32(0.0));
    });
    for text in texts(kernel) {
        assert!(text.contains("y[thread_index + 64] = 0.0f;"), "{text}");
        assert!(!text.contains("group_"), "{text}");
    }
}

#[test]
fn floats_are_written_as_they_are() {
    let kernel = small(|k| {
        let x = k.read::<f32>("x", [32]);
        k.write::<f32>("y", [32]).set([k.thread()], x.at([k.thread()]) * 1.0 + 0.0);
    });
    for text in texts(kernel) {
        assert!(text.contains("* 1.0f;") && text.contains("+ 0.0f;"), "{text}");
    }
}
