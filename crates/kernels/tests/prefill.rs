//! Chunked and batched prefill against the float64 reference: keys and values of every layer, and the logits that follow.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; what was observed is shown"
)]

mod common;

use std::sync::Arc;

use common::session::{Loaded, valid};
use common::{FIXTURES, Left, fixture, reference, shape, some_ids};
use half::bf16;
use tilewright_kernels::prefill::{
    Attention, Batch, Chunk, ChunkedPrefill, Depth, Options, Path, Tier, batched as batched_pipeline, pieces,
    weights,
};
use tilewright_kernels::{Format, Shape};
use tilewright_model::reference::{Reference, ReferenceRun};
use tilewright_model::tolerance::{Observed, Tolerance};
use tilewright_model::{Checkpoint, Refusal};
use tilewright_tile::pipeline::Runner;
use tilewright_tile::{Pipeline, Scalar};

/// Memory that pipelines share by name, and a prompt in it.
struct Prompt {
    loaded: Loaded,
    shape: Shape,
    ids: Vec<u32>,
}

/// What outlives a run.
const SHARED: [&str; 8] =
    ["keys", "values", "packed_keys", "packed_values", "control", "tokens", "x", "logits"];

impl Prompt {
    fn runner(&mut self, pipeline: Pipeline) -> Runner {
        let pipeline = Arc::new(pipeline.verify().unwrap_or_else(|e| panic!("{e}")));
        let Loaded { memory, buffers } = &mut self.loaded;
        let runner = Runner::new(&pipeline, memory, |name| buffers.get(name).copied());
        for name in SHARED {
            if let Some(buffer) = runner.buffer(name) {
                buffers.insert(name.to_owned(), buffer);
            }
        }
        runner
    }

    fn write(&mut self, name: &str, words: impl Iterator<Item = i32>) {
        let bytes: Vec<u8> = words.flat_map(i32::to_le_bytes).collect();
        self.loaded.memory.data_mut(self.loaded.buffers[name]).copy_from_slice(&bytes);
    }

    /// Runs one piece of `rows` rows; ids beyond it are nonsense.
    fn run(&mut self, runner: &mut Runner, start: u32, count: u32, rows: u32) {
        let ids: Vec<i32> =
            self.ids[start as usize..][..count as usize].iter().map(|&id| id as i32).collect();
        self.write("tokens", ids.into_iter().chain(std::iter::repeat(i32::MAX)).take(rows as usize));
        self.write("control", [start as i32, count as i32].into_iter());
        runner.run(&mut self.loaded.memory, &[]).unwrap_or_else(|fault| panic!("{fault}"));
    }

    fn floats(&self, name: &str, storage: Scalar) -> Vec<f32> {
        self.loaded.memory.read_f32(self.loaded.buffers[name], storage)
    }

    /// The caches and the last logits.
    fn left(&self, [keys, values]: [&str; 2], cache: Scalar, logits: Scalar) -> Left {
        let cache = |name| valid(&self.floats(name, cache), &self.shape, 1, 0, self.ids.len());
        Left { logits: self.floats("logits", logits), keys: cache(keys), values: cache(values) }
    }
}

/// The logits of the last position only.
fn last_logits(run: ReferenceRun, vocab: u32) -> ReferenceRun {
    let logits = run.logits[run.logits.len() - vocab as usize..].to_vec();
    ReferenceRun { logits, ..run }
}

/// Prefills `count` ids in chunks and compares everything.
fn chunked(
    checkpoint: &Checkpoint,
    count: usize,
    options: Options,
    tolerance: Tolerance,
) -> (Observed, Observed) {
    let (shape, storage) = (shape(checkpoint, count), options.chunk.activations);
    let mut loaded = Loaded::new(checkpoint, &shape, Format::Float(storage));
    let matrices = weights::transposed(&checkpoint.parameters(), &shape, storage, |t| t.to_f32()).unwrap();
    let matrices = loaded.memory.bytes(matrices);
    loaded.buffers.insert("matrices".to_owned(), matrices);
    let ids = some_ids(shape.vocab, count, 7);
    let mut prompt = Prompt { loaded, shape, ids };

    let prefill = ChunkedPrefill::new(&shape, &options).unwrap_or_else(|e| panic!("{e}"));
    let (mut next, mut last) = (prompt.runner(prefill.chunk(false)), prompt.runner(prefill.chunk(true)));
    let mut logits = prompt.runner(prefill.logits().unwrap());
    for piece in pieces(0, count as u32, options.chunk.rows) {
        let runner = if piece.last { &mut last } else { &mut next };
        prompt.run(runner, piece.start, piece.valid, options.chunk.rows);
    }
    logits.run(&mut prompt.loaded.memory, &[]).unwrap_or_else(|fault| panic!("{fault}"));
    let run = last_logits(reference(checkpoint).forward(&prompt.ids), shape.vocab);
    let what = format!("{options:?}");
    prompt.left(["keys", "values"], storage, storage).compare(&run, tolerance, &what)
}

fn show(what: &str, (logits, cache): (Observed, Observed)) {
    eprintln!("{what}: largest error of logits {:.1e}, of the cache {:.1e}", logits.max_abs, cache.max_abs);
}

fn f32_chunk(rows: u32) -> Chunk {
    Chunk::new(rows, Scalar::F32)
}

#[test]
fn chunked_prefill_agrees_with_the_reference_on_every_fixture() {
    for name in FIXTURES {
        let checkpoint = fixture(name);
        for options in [Options::by_lanes(f32_chunk(16)), Options::by_matrices(f32_chunk(16))] {
            show(name, chunked(&checkpoint, 37, options, Tolerance::F32_STATE));
        }
    }
}

#[test]
fn every_chunk_size_leaves_the_same_state() {
    let checkpoint = fixture("qwen3-tiny");
    for rows in [1, 7, 32, 33, 80] {
        for options in [Options::by_lanes(f32_chunk(rows)), Options::by_matrices(f32_chunk(rows))] {
            let seen = chunked(&checkpoint, 33, options, Tolerance::F32_STATE);
            show(&format!("chunks of {rows}"), seen);
        }
    }
}

#[test]
fn every_attention_and_depth_agrees_with_the_reference() {
    for name in ["qwen3-d128-wide-q", "llama-d64-odd-heads"] {
        let checkpoint = fixture(name);
        for attention in Attention::ALL {
            for depth in [Depth::D32, Depth::D64] {
                let options = Options { depth, ..Options::by_matrices(f32_chunk(24)).attention(attention) };
                show(
                    &format!("{name}, {attention:?}, {depth:?}"),
                    chunked(&checkpoint, 29, options, Tolerance::F32_STATE),
                );
            }
        }
    }
}

/// E70, on tiles with edges.
#[test]
fn projections_on_tensor_operations_agree_with_the_reference() {
    let check = |name, chunk, tolerance| {
        let options = Options::by_matrices(chunk).on_tensor_operations();
        show(&format!("{name}, {chunk:?}"), chunked(&fixture(name), 29, options, tolerance));
    };
    FIXTURES.into_iter().for_each(|name| check(name, f32_chunk(24), Tolerance::F32_STATE));
    for name in ["qwen3-tiny", "qwen2-bias", "qwen3-sharded-f16"] {
        check(name, Chunk::new(24, Scalar::F16), Tolerance::F16_STATE);
        check(name, Chunk::new(24, Scalar::Bf16), Tolerance::BF16_STATE);
    }
}

#[test]
fn narrow_boundaries_stay_within_their_tolerances() {
    for name in ["qwen3-tiny", "qwen2-bias", "qwen3-sharded-f16"] {
        let checkpoint = fixture(name);
        for (storage, tolerance) in
            [(Scalar::F16, Tolerance::F16_STATE), (Scalar::Bf16, Tolerance::BF16_STATE)]
        {
            for build in [Options::by_lanes, Options::by_matrices] {
                let seen = chunked(&checkpoint, 21, build(Chunk::new(16, storage)), tolerance);
                show(&format!("{name} in {storage}"), seen);
            }
        }
    }
}

#[test]
fn the_stories_model_agrees_with_the_reference() {
    let checkpoint = Checkpoint::embedded().unwrap();
    for options in [Options::by_lanes(f32_chunk(32)), Options::by_matrices(f32_chunk(64))] {
        show("stories", chunked(&checkpoint, 70, options, Tolerance::F32_STATE));
    }
}

/// What the 8-bit codes of a matrix of `columns` stand for.
fn quantised(numbers: &[f32], columns: usize) -> Vec<f64> {
    let Format::Int8 { group, .. } = Format::INT8 else { panic!() };
    let codes = |group: &[f32]| -> Vec<f64> {
        let extreme = group.iter().fold(0.0f32, |a, &b| a.max(b.abs()));
        // Away from zero.
        let scale =
            bf16::from_bits(((extreme / 127.0).to_bits().saturating_add(0xffff) >> 16) as u16).to_f32();
        let step = |&x: &f32| (x * (1.0 / scale)).round_ties_even();
        group.iter().map(|x| f64::from(step(x)) * f64::from(scale)).collect()
    };
    numbers.chunks(columns).flat_map(|row| row.chunks(group as usize).flat_map(codes)).collect()
}

/// The reference on what the codes stand for.
fn quantised_reference(checkpoint: &Checkpoint) -> Reference {
    let weights = checkpoint.parameters().try_map(|_, tensor| {
        let numbers = tensor.to_f32()?;
        Ok::<_, Refusal>(match tensor.shape[..] {
            [_, columns] => quantised(&numbers, columns),
            _ => numbers.iter().map(|&x| f64::from(x)).collect(),
        })
    });
    Reference::from_parts(checkpoint.config().clone(), weights.unwrap())
}

/// Prefills `count` ids in runs of `rows` and compares with the reference on the same codes.
fn batched(checkpoint: &Checkpoint, count: usize, rows: u32, path: Path, tier: Tier) -> (Observed, Observed) {
    let shape = shape(checkpoint, count);
    let loaded = Loaded::new(checkpoint, &shape, Format::INT8);
    let mut prompt = Prompt { loaded, shape, ids: some_ids(shape.vocab, count, 7) };
    let mut runner = prompt
        .runner(batched_pipeline(&shape, &Batch::int8(rows, path, tier)).unwrap_or_else(|e| panic!("{e}")));
    for piece in pieces(0, count as u32, rows) {
        prompt.run(&mut runner, piece.start, piece.valid, rows);
    }
    let run = last_logits(quantised_reference(checkpoint).forward(&prompt.ids), shape.vocab);
    let what = format!("{path:?}, {tier:?}");
    let (natural, packed) = (["keys", "values"], ["packed_keys", "packed_values"]);
    match path {
        Path::Off => {
            prompt.left(natural, Scalar::F32, Scalar::F32).compare(&run, Tolerance::F32_STATE, &what)
        }
        Path::Grouped | Path::ParametricNativeDecode => {
            prompt.left(natural, Scalar::F16, Scalar::F32).compare(&run, Tolerance::F16_STATE, &what)
        }
        Path::GroupedMirror => {
            // Attention reads the packed cache, so the f32 copy of later layers inherits its rounding.
            prompt.left(packed, Scalar::F16, Scalar::F32).compare(&run, Tolerance::F16_STATE, &what);
            prompt.left(natural, Scalar::F32, Scalar::F32).compare(&run, Tolerance::F16_STATE, &what)
        }
    }
}

#[test]
fn every_plan_of_the_batched_prefill_agrees_with_the_reference() {
    let checkpoint = fixture("qwen3-tiny");
    for path in Path::ALL {
        for tier in Tier::ALL {
            show(&format!("{path:?}, {tier:?}"), batched(&checkpoint, 21, 16, path, tier));
        }
    }
}

#[test]
fn batched_prefill_agrees_with_the_reference_on_every_fixture() {
    for name in FIXTURES {
        for (path, tier) in [(Path::Off, Tier::Vecload4), (Path::Grouped, Tier::Msl)] {
            show(name, batched(&fixture(name), 19, 32, path, tier));
        }
    }
}

#[test]
fn a_prompt_of_several_runs_continues_at_its_position() {
    let checkpoint = fixture("llama-d64-odd-heads");
    for rows in [1, 5, 32] {
        show(
            &format!("runs of {rows}"),
            batched(&checkpoint, 11, rows, Path::ParametricNativeDecode, Tier::SplitK),
        );
    }
}
