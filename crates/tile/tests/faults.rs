//! What the interpreter notices on its own, in kernels the verifier has not seen.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use tilewright_tile::interp::{Bound, Dispatch, FaultKind, Memory, Program, run};
use tilewright_tile::{Builder, Kernel, Launch, Literal, kernel};

fn small(body: impl for<'k> FnOnce(&'k Builder)) -> Kernel {
    kernel("small", Launch::groups(1).threads(64), body)
}

/// The fault of a kernel whose buffers are 64 floats of 0.5 each, in order of declaration.
fn fault(kernel: &Kernel) -> tilewright_tile::interp::Fault {
    let mut memory = Memory::new();
    let ids: Vec<_> = kernel.params().iter().map(|_| memory.f32(&[0.5; 256])).collect();
    let bound: Vec<Bound> = ids.iter().map(|&id| Bound::Buffer(memory.whole(id))).collect();
    let dispatch = Dispatch { groups: kernel.launch().groups, bound: &bound };
    *run(&Program::new(kernel), &mut memory, &dispatch).expect_err("no fault")
}

#[track_caller]
fn faults(kernel: Kernel, kind: fn(&FaultKind) -> bool, message: &str) {
    let fault = fault(&kernel);
    assert!(kind(&fault.kind), "{fault}");
    assert!(fault.to_string().contains(message), "{fault}");
}

#[test]
fn an_access_outside_a_view() {
    let store = small(|k| k.write::<f32>("y", [63]).set([k.thread()], 0.0));
    faults(
        store,
        |f| matches!(f, FaultKind::OutOfBounds { axis: 0, coordinate: 63, length: 63 }),
        "store y[thread] = 0.0 (built at",
    );
}

#[test]
fn an_access_beyond_a_run_time_limit() {
    let load = small(|k| {
        let x = k.read::<f32>("x", [64]).limit(0, 10).guarded_axes(&[]);
        k.write::<f32>("y", [64]).set([k.thread()], x.at([k.thread()]));
    });
    faults(load, |f| matches!(f, FaultKind::OutOfBounds { coordinate: 10, length: 10, .. }), "thread 10");
}

#[test]
fn a_limit_beyond_its_axis() {
    let load = small(|k| {
        let x = k.read::<f32>("x", [64]).limit(0, 65);
        k.write::<f32>("y", [64]).set([k.thread()], x.at([k.thread()]));
    });
    faults(load, |f| matches!(f, FaultKind::Limit { length: 65, most: 64 }), "length 65 exceeds");
}

#[test]
fn a_vector_across_the_end_or_at_an_odd_place() {
    let across = small(|k| {
        let x = k.read::<f32>("x", [254]).guarded();
        k.write::<f32>("y", [256]).set4([k.thread() * 4], x.at4([k.thread() * 4]));
    });
    faults(across, |f| matches!(f, FaultKind::Straddles { width: 4, coordinate: 252, .. }), "straddle");
    let odd = small(|k| {
        let x = k.read::<f32>("x", [256]);
        k.write::<f32>("y", [256]).set4([k.thread() * 4], x.at4([k.thread() * 3]));
    });
    faults(odd, |f| matches!(f, FaultKind::Misaligned { element: 3, width: 4 }), "element 3");
}

#[test]
fn shared_memory_that_nobody_wrote() {
    let read = small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        a.set_if(k.thread().ne(7), [k.thread()], 1.0);
        k.barrier();
        k.write::<f32>("y", [64]).set([k.thread()], a.at([k.thread()]));
    });
    faults(read, |f| matches!(f, FaultKind::Uninitialized { element: 7 }), "thread 7");
}

#[test]
fn shared_memory_is_forgotten_between_threadgroups() {
    let second = kernel("second", Launch::groups(2).threads(64), |k| {
        let a = k.scratch::<f32>("a", [64]);
        k.when(k.group_id().eq(0), || a.set([k.thread()], 1.0));
        k.barrier();
        k.write::<f32>("y", [2, 64]).set((k.group_id(), k.thread()), a.at([k.thread()]));
    });
    faults(second, |f| matches!(f, FaultKind::Uninitialized { .. }), "group [1, 0, 0]");
}

#[test]
fn a_race_in_shared_memory() {
    let kind: fn(&FaultKind) -> bool = |f| matches!(f, FaultKind::Race { .. });
    let exchange = small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        a.set([k.thread()], 1.0);
        k.write::<f32>("y", [64]).set([k.thread()], a.at([k.thread() ^ 1]));
    });
    faults(exchange, kind, "touched by another thread (thread 1)");
    let everybody = small(|k| k.scratch::<f32>("a", [1]).set([0], 1.0));
    faults(everybody, kind, "element 0 is touched");
    let overwrite = small(|k| {
        let a = k.scratch::<f32>("a", [64]);
        a.set([k.thread()], 1.0);
        k.barrier();
        k.write::<f32>("y", [64]).set([k.thread()], a.at([0]));
        a.set([k.thread()], 2.0);
    });
    faults(overwrite, kind, "touched by another thread");
    let fragments = small(|k| {
        let a = k.scratch::<f32>("a", [8, 8]);
        k.when(k.simd_group().eq(0), || {
            a.set_fragment((0, 0), k.fragment(1.0));
            a.set((0, k.lane() % 8), 1.0);
        });
    });
    faults(fragments, kind, "SIMD group 0");
}

#[test]
fn a_race_in_device_memory() {
    let kind: fn(&FaultKind) -> bool = |f| matches!(f, FaultKind::Race { .. });
    let groups = kernel("groups", Launch::groups(2).threads(64), |k| {
        k.write::<f32>("y", [64]).set([k.thread()], 0.0);
    });
    faults(groups, kind, "in this dispatch");
    let shift = small(|k| {
        let x = k.read_write::<f32>("x", [64]);
        let next = x.at([(k.thread() + 1) % 64]);
        k.barrier();
        x.set([k.thread()], next);
    });
    faults(shift, kind, "in this dispatch");
}

#[test]
fn a_barrier_or_collective_without_all_lanes() {
    let barrier = small(|k| k.when(k.lane().lt(16), || k.barrier()));
    faults(
        barrier,
        |f| matches!(f, FaultKind::Divergent { lanes: 0xffff }),
        "only lanes 0x0000ffff are here",
    );
    let sum = small(|k| {
        let y = k.write::<f32>("y", [64]);
        k.when(k.lane().ne(0), || y.set([k.thread()], k.lane().f32().simd_sum()));
    });
    faults(sum, |f| matches!(f, FaultKind::Divergent { .. }), "simd_sum");
}

#[test]
fn simd_groups_at_different_barriers() {
    let one = small(|k| k.when(k.simd_group().eq(0), || k.barrier()));
    faults(one, |f| matches!(f, FaultKind::BarrierMismatch { .. }), "is not at this barrier");
    let two = small(|k| {
        k.when(k.simd_group().eq(0), || k.barrier());
        k.when(k.simd_group().eq(1), || k.barrier());
    });
    faults(two, |f| matches!(f, FaultKind::BarrierMismatch { .. }), "is not at this barrier");
}

#[test]
fn integers_without_a_result() {
    let divide = small(|k| k.write::<f32>("y", [64]).set([k.thread()], (7 / k.thread()).f32()));
    faults(divide, |f| matches!(f, FaultKind::Division), "thread 0");
    let shift = small(|k| k.write::<f32>("y", [64]).set([k.thread()], (k.i32(1) << k.thread()).f32()));
    faults(shift, |f| matches!(f, FaultKind::Amount { amount: 32 }), "32 is not in 0..32");
    let lane = small(|k| k.write::<f32>("y", [64]).set([k.thread()], k.lane().from_lane(k.thread()).f32()));
    faults(lane, |f| matches!(f, FaultKind::Amount { amount: 32 }), "32 is not in 0..32");
}

#[test]
fn lanes_that_disagree_on_a_fragment() {
    let place = small(|k| {
        let x = k.read::<f32>("x", [8, 8]);
        let y = k.write::<f32>("y", [16, 8]);
        y.set_fragment((k.simd_group() * 8, 0), x.fragment((k.lane() % 2, 0)));
    });
    faults(place, |f| matches!(f, FaultKind::NotUniform), "differs between lanes");
    let factor = small(|k| {
        let y = k.write::<f32>("y", [16, 8]);
        y.set_fragment((k.simd_group() * 8, 0), k.fragment(1.0).scale(k.lane().f32()));
    });
    faults(factor, |f| matches!(f, FaultKind::NotUniform), "differs between lanes");
}

#[test]
fn a_launch_that_does_not_fit() {
    let kernel = small(|k| {
        let n = k.argument("n", 0..=3);
        k.write::<i32>("y", [64]).set([k.thread()], n);
    });
    let mut memory = Memory::new();
    let y = memory.poison(256);
    let bound = [Bound::Scalar(Literal::I32(4)), Bound::Buffer(memory.whole(y).part(0, 252))];
    let dispatch = Dispatch { groups: [1, 1, 1], bound: &bound };
    let fault = run(&Program::new(&kernel), &mut memory, &dispatch).unwrap_err();
    let text = fault.to_string();
    assert!(
        text.contains("n is 4, not i32 in 0..=3") && text.contains("y needs 256 bytes, not 252"),
        "{text}"
    );
}
