//! What a kernel may do before its launch barrier.

use tilewright_tile::verify::Rule;
use tilewright_tile::{emit, verify};

use super::{accepted, is, refused, small};

const EARLY: fn(&Rule) -> bool = is!(Rule::EarlyAccess { .. });

#[test]
fn what_is_only_read_may_be_read_early() {
    let kernel = small(|k| {
        let (w, x) = (k.read::<f32>("w", [64]), k.read::<f32>("x", [64]));
        let y = k.write::<f32>("y", [64]);
        let early = w.at([k.thread()]);
        k.launch_barrier();
        y.set([k.thread()], early * x.at([k.thread()]));
    });
    let kernel = verify(kernel).unwrap();
    let is_early: Vec<bool> = kernel.buffers().iter().map(|(id, _)| kernel.facts().is_early(id)).collect();
    assert_eq!(is_early, [true, false, false]);
    // A promise that nobody else writes would let the compiler read on either side of the barrier.
    let text = emit::cuda(&kernel);
    assert!(text.contains("const float* w,") && !text.contains("__restrict__"), "{text}");
    assert!(text.find("= w[").unwrap() < text.find("tile_launch_barrier();").unwrap(), "{text}");
    assert!(text.find("tile_launch_barrier();").unwrap() < text.find("= x[").unwrap(), "{text}");
}

#[test]
fn nothing_is_written_early() {
    let kernel = small(|k| {
        let y = k.write::<f32>("y", [64]);
        y.set([k.thread()], 1.0);
        k.launch_barrier();
    });
    refused(kernel, EARLY, "y is written before the launch barrier");
}

#[test]
fn what_the_kernel_writes_is_not_read_early() {
    let kernel = small(|k| {
        let y = k.read_write::<f32>("y", [64]);
        let before = y.at([k.thread()]);
        k.launch_barrier();
        y.set([k.thread()], before + 1.0);
    });
    refused(kernel, EARLY, "y is read, and written later before the launch barrier");
}

#[test]
fn reads_in_loops_and_conditions_count() {
    let kernel = small(|k| {
        let y = k.read_write::<f32>("y", [64]);
        k.when(k.thread().lt(8), || y.set([k.thread()], 1.0));
        k.launch_barrier();
    });
    refused(kernel, EARLY, "y is written");
}

#[test]
fn a_launch_barrier_stands_once_and_at_the_top() {
    let twice = small(|k| {
        k.launch_barrier();
        k.launch_barrier();
    });
    refused(twice, is!(Rule::LaunchBarrier), "stands once");
    let inside = small(|k| k.when(k.group_id().eq(0), || k.launch_barrier()));
    refused(inside, is!(Rule::LaunchBarrier), "outside loops and conditions");
    accepted(small(|k| k.launch_barrier()));
}
