//! Properties of the programs themselves, by the items of the acceptance list: shapes of launches, orders of stages,
//! which operations are fast, what is kept where.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use tilewright_kernels::attention::{matrix_direct, query_tiled};
use tilewright_kernels::decode::{Goal, Options, megakernel, products, rows, staged};
use tilewright_kernels::parts::{Arithmetic, Exponential};
use tilewright_kernels::prefill::{self, Chunk};
use tilewright_kernels::shape::SAMPLES;
use tilewright_kernels::{Shape, catalogue};
use tilewright_tile::ir::{self, OpId, OpKind, Origin, Param};
use tilewright_tile::pipeline::Binding;
use tilewright_tile::{Kernel, Literal, Pipeline, Report, Scalar, emit, verify};

const MODEL: Shape = Shape::QWEN3_0_6B;

fn step(options: Options, goal: Goal) -> Pipeline {
    staged("step", &MODEL, &options, goal).unwrap()
}

fn report(kernel: Kernel) -> Report {
    Report::new(&verify(kernel).unwrap())
}

/// Fused multiply-adds, products and sums of a kernel, in that order.
fn roundings(kernel: &Kernel) -> [usize; 3] {
    let mut counts = [0; 3];
    kernel.walk(|op, _| match &kernel.ops()[op].kind {
        OpKind::Fma(..) => counts[0] += 1,
        OpKind::Arithmetic(ir::Arithmetic::Mul, ..) => counts[1] += 1,
        OpKind::Arithmetic(ir::Arithmetic::Add, ..) => counts[2] += 1,
        _ => {}
    });
    counts
}

/// B16, C22: nothing by which one threadgroup could wait for another is ever written.
#[test]
fn no_text_can_wait_for_another_threadgroup() {
    let waits = ["atomic", "volatile", "while", "mbarrier", "cooperative", "mem_device", "threadfence"];
    for entry in catalogue::entries() {
        for (name, kernel) in entry.kernels(&Shape::QWEN3_TINY) {
            let kernel = verify(kernel).unwrap();
            for text in [emit::msl(&kernel), emit::cuda(&kernel)] {
                // A cooperative tensor is one threadgroup's own.
                let text = text.replace("get_destination_cooperative_tensor", "tile");
                // The order of launches is no such wait.
                let mut lines = text.lines().filter(|line| !line.contains("griddepcontrol"));
                let found = lines.find(|line| waits.iter().any(|word| line.contains(word)));
                assert!(found.is_none(), "{name}: {found:?}");
            }
        }
    }
}

/// A8: the layers are one loop at run time, the vocabulary is projected behind it, and no text grows with them.
#[test]
fn the_megakernel_loops_over_its_layers() {
    let operations = |layers| report(megakernel(&Shape { layers, ..MODEL }, Scalar::F32)).operations;
    assert_eq!(operations(2), operations(28));
    let kernel = megakernel(&MODEL, Scalar::F32);
    let ends_at_28 = |op: &OpId| match &kernel.ops()[*op].kind {
        OpKind::Loop(l) => kernel.defs()[l.end].origin == Origin::Literal(Literal::I32(28)),
        _ => false,
    };
    assert_eq!(kernel.body().iter().filter(|op| ends_at_28(op)).count(), 1);
}

/// C20: work on heads is spread over the heads; a norm is one threadgroup.
#[test]
fn heads_are_spread_over_threadgroups_and_a_norm_is_one() {
    let pipeline = step(Options::F32, Goal::Logits);
    let groups: BTreeMap<&str, u32> = pipeline
        .stages()
        .iter()
        .filter_map(|s| Some((s.name.strip_suffix(".0")?, s.groups.iter().product())))
        .collect();
    assert_eq!((groups["input_norm"], groups["post_norm"]), (1, 1));
    // Heads to turn are queries, keys and values by eight; a head attends in a threadgroup of its own.
    assert_eq!((groups["heads"], groups["attention"]), ((16 + 8 + 8) / 8, 16));
    assert_eq!((groups["qkv"], groups["output"], groups["gate_up"]), (4096 / 8, 1024 / 8, 3072 / 8));
}

/// C21, C27: the order of a layer, and what tokens without logits leave out.
#[test]
fn eight_stages_a_layer_in_the_published_order() {
    let pipeline = step(Options::F32, Goal::Token);
    let names: Vec<&str> = pipeline.stages().iter().map(|s| s.name.as_str()).collect();
    let layer = ["input_norm", "qkv", "heads", "attention", "output", "post_norm", "gate_up", "down"];
    assert_eq!(names[0], "embedding");
    for n in 0..28 {
        let expected = layer.map(|stage| format!("{stage}.{n}"));
        assert_eq!(names[1 + 8 * n..1 + 8 * (n + 1)], expected, "layer {n}");
    }
    let last = ["final_norm", "vocabulary", "argmax_chunks", "argmax"];
    assert_eq!(names[1 + 8 * 28..], last);
    let prefix = step(Options::F32, Goal::Cache);
    assert!(prefix.stages().iter().all(|s| !last.contains(&s.name.as_str())));
}

/// C22: what stages hand on lies in device buffers, each hazard between them covered by the order of launches.
#[test]
fn stages_meet_in_device_buffers_in_the_order_of_launches() {
    let pipeline = step(Options::F32, Goal::Token).verify().unwrap();
    assert!(pipeline.stages().iter().all(|s| !s.bindings.is_empty()));
    let hazards = pipeline.facts();
    // Seven buffers pass between the stages of a layer and into the next one.
    assert!(hazards.covered.len() > 28 * 7, "{}", hazards.covered.len());
    assert!(hazards.covered.iter().all(|h| h.earlier < h.later));
}

/// C25: no stage writes the token and position that the next step reads, so the host has read the one before.
#[test]
fn only_the_host_gives_a_step_its_token_and_position() {
    let pipeline = step(Options::F32, Goal::Token);
    for stage in pipeline.stages() {
        for (parameter, binding) in &stage.bindings {
            if let Binding::Region(region, mode) = binding {
                let resource = &pipeline.resources()[region.resource].name;
                assert!(resource != "control" || !mode.writes(), "{} writes {parameter}", stage.name);
                assert!(resource != "next" || !mode.reads(), "{} reads the token it chose", stage.name);
            }
        }
    }
}

/// D51: one query a SIMD group, eight softmax states each, of a maximum, a sum and the lane's part of the mixture.
#[test]
fn query_tiled_attention_keeps_eight_states_for_each_of_eight_queries() {
    let kernel = query_tiled(&MODEL, &Chunk::new(512, Scalar::F32));
    assert_eq!((kernel.launch().threads, kernel.launch().groups), (256, [16, 512 / 8, 1]));
    let mut carried = Vec::new();
    kernel.walk(|op, _| {
        if let OpKind::Loop(l) = &kernel.ops()[op].kind {
            carried.push(l.carried.len());
        }
    });
    assert!(carried.contains(&(8 * (2 + MODEL.head_dim as usize / 32))), "{carried:?}");
    assert!(report(kernel).fast.is_empty());
}

/// D53: four neighbours a lane, a SIMD group for 128 numbers, one precise reciprocal square root.
#[test]
fn a_prefill_norm_takes_four_neighbours_a_lane() {
    for sample in SAMPLES {
        let width = sample.shape.hidden;
        let kernel = prefill::rows::rms_norm(&sample.shape, &Chunk::new(8, Scalar::F32), Arithmetic::Fused);
        assert_eq!(kernel.launch().threads, 32 * width.div_ceil(128).min(32), "{}", sample.name);
        assert!(emit::msl(&verify(kernel).unwrap()).contains("precise::rsqrt"), "{}", sample.name);
    }
}

/// E60 to E62: 32 queries a threadgroup of four SIMD groups; 2 + 1 + 1 KiB; queries stay in fragments.
#[test]
fn direct_matrix_attention_is_four_simd_groups_and_three_small_arrays() {
    let kernel = matrix_direct(&MODEL, &Chunk::new(512, Scalar::F32));
    assert_eq!((kernel.launch().threads, kernel.launch().groups), (128, [16, 512 / 32, 1]));
    let report = report(kernel.clone());
    let bytes: Vec<u64> = report.allocations.iter().map(|(_, bytes)| *bytes).collect();
    assert_eq!(bytes, [2048, 1024, 1024], "{:?}", report.allocations);
    // Before the loops over keys: the sixteen fragments of the queries.
    let kinds = kernel.body().iter().map(|&op| &kernel.ops()[op].kind);
    let before = kinds.take_while(|kind| !matches!(kind, OpKind::Loop(_)));
    let loaded = before.filter(|kind| matches!(kind, OpKind::MatrixLoad { .. }));
    assert_eq!(loaded.count(), 16);
}

/// E67, E68: the only fast operations are the exponentials that are written as such; the denominator is fused.
#[test]
fn fast_operations_are_only_those_that_are_named() {
    let direct = report(matrix_direct(&MODEL, &Chunk::new(512, Scalar::F32)));
    assert_eq!(direct.fast.keys().copied().collect::<Vec<_>>(), ["fast_exp2"]);
    assert!(direct.fused > 0);
    let named = |name: &str| {
        name.contains("matrix_attention")
            || name.contains("grouped_attention")
            || name.ends_with("_fast")
            || name.starts_with("rotary_table_fast")
    };
    for entry in catalogue::entries() {
        for (name, kernel) in entry.kernels(&Shape::QWEN3_TINY) {
            assert_eq!(!report(kernel).fast.is_empty(), named(&name), "{name}");
        }
    }
}

/// E71: norms and rotation fuse in the one arithmetic and round twice in the other; SwiGLU's exponential is chosen.
#[test]
fn rows_round_as_their_arithmetic_says() {
    let fused = rows::norm(&MODEL, &Options::F32);
    let apart = rows::norm(&MODEL, &Options::F32.arithmetic(Arithmetic::Separate));
    let ([fused_fma, ..], [apart_fma, products, sums]) = (roundings(&fused), roundings(&apart));
    assert!(fused_fma > 0 && apart_fma == 0 && products > 0 && sums > 0);
    let chunk = Chunk::new(8, Scalar::F32);
    let swiglu = |exponential| report(prefill::rows::swiglu(&MODEL, &chunk, exponential)).fast;
    assert!(swiglu(Exponential::Precise).is_empty());
    assert_eq!(swiglu(Exponential::Fast).keys().copied().collect::<Vec<_>>(), ["fast_exp"]);
    // The baseline by lanes keeps separate roundings and the precise exponential.
    let baseline = prefill::Options::by_lanes(chunk);
    assert_eq!((baseline.arithmetic, baseline.exponential), (Arithmetic::Separate, Exponential::Precise));
}

/// F77: every projection of a step and the vocabulary read pairs; tables, activations and the cache are f32, and the
/// vectors of norms bf16, as they were.
#[test]
fn pairs_are_the_matrices_of_a_step_and_nothing_else() {
    let pipeline = step(Options::PAIRS, Goal::Logits);
    let matrices = ["embedding", "qkv", "output", "gate_up", "down", "vocabulary"];
    for stage in pipeline.stages() {
        let kernel: &Kernel = &stage.kernel;
        let packed: Vec<&str> = kernel
            .params()
            .iter()
            .filter(|&&p| kernel.scalar_of(p) == Scalar::U32)
            .map(|&p| kernel.param_name(p))
            .collect();
        let name = stage.name.split('.').next().unwrap();
        assert_eq!(packed.len(), usize::from(matrices.contains(&name)), "{}: {packed:?}", stage.name);
        for &param in kernel.params().iter().filter(|p| matches!(p, Param::Buffer(_))) {
            let expected = match kernel.param_name(param) {
                "control" => Scalar::I32,
                "w" | "q_norm" | "k_norm" => Scalar::Bf16,
                name if packed.contains(&name) => Scalar::U32,
                _ => Scalar::F32,
            };
            let what = (&stage.name, kernel.param_name(param));
            assert_eq!(kernel.scalar_of(param), expected, "{what:?}");
        }
    }
    let vocabulary = products::vocabulary(&MODEL, &Options::PAIRS);
    assert_eq!(vocabulary.launch().groups, products::vocabulary(&MODEL, &Options::F32).launch().groups);
}
