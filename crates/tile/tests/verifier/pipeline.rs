//! Pipelines whose order, regions or launches are wrong.

use std::sync::Arc;

use tilewright_tile::interp::Memory;
use tilewright_tile::pipeline::{HazardKind, Runner, StageError};
use tilewright_tile::{Order, Pipeline, ResourceKind, Scalar, Stage, Verified, verify};

use super::small;

/// `y = x + 1`, 64 elements.
fn increment() -> Arc<Verified> {
    let kernel = small(|k| {
        let (x, y) = (k.read::<f32>("x", [64]), k.write::<f32>("y", [64]));
        y.set([k.thread()], x.at([k.thread()]) + 1.0);
    });
    Arc::new(verify(kernel).unwrap())
}

/// Input → first → second → output, each of `stages` adding one.
fn chain(order: Order, fences: bool) -> Pipeline {
    let kernel = increment();
    let mut p = Pipeline::new("chain", order);
    let input = p.resource("input", 256, ResourceKind::Input);
    let middle = p.resource("middle", 256, ResourceKind::Scratch);
    let output = p.resource("output", 256, ResourceKind::Output);
    p.push(Stage::new("one", &kernel).read("x", input).write("y", middle));
    if fences {
        p.fence();
    }
    p.push(Stage::new("two", &kernel).read("x", middle).write("y", output));
    p
}

#[track_caller]
fn refused(pipeline: Pipeline, kind: fn(&StageError) -> bool, message: &str) {
    let error = pipeline.verify().map(drop).unwrap_err();
    for (stage, finding) in &error.findings {
        assert!(kind(finding), "stage {stage}: {finding}");
    }
    assert!(error.to_string().contains(message), "{error}");
}

/// A pipeline of one stage that `bind` completes.
fn one(bind: impl FnOnce(&mut Pipeline, Stage) -> Stage) -> Pipeline {
    let mut p = Pipeline::new("one", Order::Serial);
    let stage = bind(&mut p, Stage::new("one", &increment()));
    p.push(stage);
    p
}

#[test]
fn a_serial_pipeline_covers_its_hazards_and_runs() {
    let pipeline = Arc::new(chain(Order::Serial, false).verify().unwrap());
    assert_eq!(pipeline.dispatches(), 2);
    let hazards = &pipeline.facts().covered;
    assert_eq!(hazards.len(), 1);
    assert_eq!((hazards[0].earlier, hazards[0].later, hazards[0].kind), (0, 1, HazardKind::ReadAfterWrite));
    let mut memory = Memory::new();
    let input = memory.f32(&[1.5; 64]);
    let mut runner = Runner::new(&pipeline, &mut memory, |name| (name == "input").then_some(input));
    runner.run(&mut memory, &[]).unwrap();
    let output = runner.buffer("output").unwrap();
    assert_eq!(memory.read_f32(output, Scalar::F32), [3.5; 64]);
}

#[test]
fn launches_that_may_overlap_need_a_fence() {
    chain(Order::Concurrent, true).verify().unwrap();
    let hazard = |e: &StageError| matches!(e, StageError::Hazard { kind: HazardKind::ReadAfterWrite, .. });
    refused(chain(Order::Concurrent, false), hazard, "stage two: read after write of middle after stage one");
}

#[test]
fn overwriting_what_is_read_or_written_needs_a_fence() {
    let kernel = increment();
    let mut p = Pipeline::new("overwrite", Order::Concurrent);
    let (a, b) = (p.resource("a", 256, ResourceKind::State), p.resource("b", 256, ResourceKind::State));
    let c = p.resource("c", 256, ResourceKind::Input);
    p.push(Stage::new("one", &kernel).read("x", a).write("y", b));
    p.push(Stage::new("two", &kernel).read("x", c).write("y", a));
    let hazard = |e: &StageError| matches!(e, StageError::Hazard { kind: HazardKind::WriteAfterRead, .. });
    refused(p.clone(), hazard, "write after read of a");
    let mut p = Pipeline::new("overwrite", Order::Concurrent);
    let (b, c) = (p.resource("b", 256, ResourceKind::State), p.resource("c", 256, ResourceKind::Input));
    p.push(Stage::new("one", &kernel).read("x", c).write("y", b));
    p.push(Stage::new("two", &kernel).read("x", c).write("y", b));
    let hazard = |e: &StageError| matches!(e, StageError::Hazard { kind: HazardKind::WriteAfterWrite, .. });
    refused(p, hazard, "write after write of b");
}

#[test]
fn launches_on_different_parts_may_overlap() {
    let kernel = increment();
    let mut p = Pipeline::new("parts", Order::Concurrent);
    let (a, b) = (p.resource("a", 256, ResourceKind::Input), p.resource("b", 512, ResourceKind::Output));
    p.push(Stage::new("one", &kernel).read("x", a).write("y", b.part(0, 256)));
    p.push(Stage::new("two", &kernel).read("x", a).write("y", b.part(256, 256)));
    assert!(p.verify().unwrap().facts().covered.is_empty());
}

#[test]
fn scratch_is_written_before_it_is_read() {
    let unwritten = one(|p, stage| {
        let (a, b) =
            (p.resource("a", 256, ResourceKind::Scratch), p.resource("b", 256, ResourceKind::Output));
        stage.read("x", a).write("y", b)
    });
    refused(
        unwritten,
        |e| matches!(e, StageError::Unwritten { .. }),
        "a is read at bytes 0..256, which no earlier stage writes",
    );
}

#[test]
fn an_input_is_not_written() {
    let written = one(|p, stage| {
        let (a, b) = (p.resource("a", 256, ResourceKind::Input), p.resource("b", 256, ResourceKind::Input));
        stage.read("x", a).write("y", b)
    });
    refused(written, |e| matches!(e, StageError::WritesInput { .. }), "b is an input and would be written");
}

#[test]
fn every_parameter_is_bound_once_by_its_name() {
    let unbound = one(|p, stage| {
        let a = p.resource("a", 256, ResourceKind::Input);
        stage.read("x", a)
    });
    refused(unbound, |e| matches!(e, StageError::Unbound { .. }), "nothing is bound to y");
    let unknown = one(|p, stage| {
        let (a, b) = (p.resource("a", 256, ResourceKind::Input), p.resource("b", 256, ResourceKind::Output));
        stage.read("x", a).write("y", b).read("z", a)
    });
    refused(unknown, |e| matches!(e, StageError::Unknown { .. }), "z is no parameter of small");
}

#[test]
fn a_stage_says_what_its_kernel_does() {
    let read = one(|p, stage| {
        let (a, b) = (p.resource("a", 256, ResourceKind::Input), p.resource("b", 256, ResourceKind::State));
        stage.read("x", a).read("y", b)
    });
    refused(
        read,
        |e| matches!(e, StageError::Mode { .. }),
        "y is declared read, but the kernel's mode is write",
    );
}

#[test]
fn regions_stay_inside_their_resources() {
    let beyond = one(|p, stage| {
        let (a, b) = (p.resource("a", 256, ResourceKind::Input), p.resource("b", 256, ResourceKind::Output));
        stage.read("x", a).write("y", b.part(4, 256))
    });
    refused(
        beyond,
        |e| matches!(e, StageError::BeyondResource { .. }),
        "y ends at byte 260 of b, which has 256",
    );
}

#[test]
fn a_stage_does_not_alias_its_own_regions() {
    let alias = one(|p, stage| {
        let a = p.resource("a", 256, ResourceKind::State);
        stage.read("x", a).write("y", a)
    });
    refused(alias, |e| matches!(e, StageError::Bind(_)), "x and y overlap and one of them is written");
}

#[test]
fn an_argument_of_a_run_stays_within_the_kernels_range() {
    let kernel = small(|k| {
        let n = k.argument("n", 0..=9);
        k.write::<i32>("y", [64]).set([k.thread()], n);
    });
    let kernel = Arc::new(verify(kernel).unwrap());
    let with = |range| {
        let mut p = Pipeline::new("argument", Order::Serial);
        let y = p.resource("y", 256, ResourceKind::Output);
        let n = p.argument("position", range);
        p.push(Stage::new("one", &kernel).write("y", y).argument("n", n));
        p
    };
    with((0, 9)).verify().unwrap();
    refused(with((0, 10)), |e| matches!(e, StageError::Bind(_)), "n is 10, not within 0..=9");
    refused(with((-1, 9)), |e| matches!(e, StageError::Bind(_)), "n is -1");
}

#[test]
fn what_is_read_early_is_an_input() {
    let kernel = small(|k| {
        let (w, y) = (k.read::<f32>("w", [64]), k.write::<f32>("y", [64]));
        let early = w.at([k.thread()]);
        k.launch_barrier();
        y.set([k.thread()], early);
    });
    let kernel = Arc::new(verify(kernel).unwrap());
    let of = |kind| {
        let mut p = Pipeline::new("early", Order::Serial);
        let (w, y) = (p.resource("w", 256, kind), p.resource("y", 256, ResourceKind::Output));
        p.push(Stage::new("one", &kernel).read("w", w).write("y", y));
        p
    };
    of(ResourceKind::Input).verify().unwrap();
    let kind: fn(&StageError) -> bool = |e| matches!(e, StageError::EarlyRead { .. });
    refused(of(ResourceKind::State), kind, "w is read before the launch barrier, and w is no input");
}
