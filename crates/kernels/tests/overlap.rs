//! The step whose launches overlap: against the float64 reference, and its own next token.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "helpers of tests")]

mod common;

use std::sync::Arc;

use common::session::{Loaded, Session, valid};
use common::{FIXTURES, Left, fixture, reference, shape, some_ids};
use tilewright_kernels::decode::overlap::{end, fits, lies, step};
use tilewright_kernels::decode::{Goal, Layout, Options, PAGE};
use tilewright_kernels::{Shape, catalogue};
use tilewright_model::Checkpoint;
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_tile::ir::Param;
use tilewright_tile::pipeline::Runner;
use tilewright_tile::{Pipeline, Scalar, verify};

const TOKENS: usize = 9;

/// Both halves of a step in the interpreter, on one memory.
struct Overlapped {
    loaded: Loaded,
    shape: Shape,
    options: Options,
    halves: [Runner; 2],
    steps: usize,
    logits: Vec<f32>,
}

impl Overlapped {
    fn new(checkpoint: &Checkpoint, shape: Shape, options: Options) -> Self {
        let mut loaded = Loaded::new(checkpoint, &shape, options.weights);
        let halves = [step("step", &shape, &options), end("end", &shape, &options)].map(|half| {
            let half =
                Arc::new(half.unwrap_or_else(|e| panic!("{e}")).verify().unwrap_or_else(|e| panic!("{e}")));
            for (_, resource) in half.resources().iter() {
                let bytes = resource.bytes as usize;
                let Loaded { memory, buffers } = &mut loaded;
                buffers.entry(resource.name.clone()).or_insert_with(|| match options.layout {
                    Layout::Fragments if resource.name == "cache" => memory.bytes(vec![0; bytes]),
                    _ => memory.bytes(vec![0xff; bytes]),
                });
            }
            Runner::new(&half, &mut loaded.memory, |name| loaded.buffers.get(name).copied())
        });
        Self { loaded, shape, options, halves, steps: 0, logits: Vec::new() }
    }

    fn control(&mut self, token: u32, position: usize) {
        let words = [token as i32, position as i32].map(i32::to_le_bytes).concat();
        self.loaded.memory.data_mut(self.loaded.buffers["control"]).copy_from_slice(&words);
    }

    /// A step of what `control` says; its logits.
    fn again(&mut self) -> Vec<f32> {
        for half in &mut self.halves {
            half.run(&mut self.loaded.memory, &[]).unwrap_or_else(|fault| panic!("{fault}"));
        }
        self.steps += 1;
        let logits = self.loaded.memory.read_f32(self.loaded.buffers["logits"], Scalar::F32);
        self.logits.extend(&logits);
        logits
    }

    fn step(&mut self, token: u32) -> Vec<f32> {
        self.control(token, self.steps);
        self.again()
    }

    /// What it has left behind, of a cache of rows.
    fn left(&self) -> Left {
        let Loaded { memory, buffers } = &self.loaded;
        let all = match self.options.cache {
            Scalar::I8 => {
                let scales = memory.read_f32(buffers["cache_scales"], Scalar::F32);
                let codes = memory.data(buffers["cache"]).chunks(self.shape.head_dim as usize);
                let numbers = codes.zip(scales).flat_map(|(codes, scale)| {
                    codes.iter().map(move |code| f32::from(code.cast_signed()) * scale)
                });
                numbers.collect()
            }
            cache => memory.read_f32(buffers["cache"], cache),
        };
        let heads = (self.shape.capacity * self.shape.head_dim) as usize;
        let half = |which: usize| {
            let of: Vec<f32> = all.chunks(heads).skip(which).step_by(2).flatten().copied().collect();
            valid(&of, &self.shape, 1, 0, self.steps)
        };
        Left { logits: self.logits.clone(), keys: half(0), values: half(1) }
    }
}

#[test]
fn overlapped_decode_agrees_with_the_reference_on_every_fixture() {
    for name in FIXTURES {
        let checkpoint = fixture(name);
        let shape = shape(&checkpoint, TOKENS);
        assert!(fits(&shape), "{name}");
        let ids = some_ids(shape.vocab, TOKENS, 7);
        let mut overlapped = Overlapped::new(&checkpoint, shape, Options::F32);
        ids.iter().for_each(|&id| drop(overlapped.step(id)));
        overlapped.left().compare(&reference(&checkpoint).forward(&ids), Tolerance::F32_STATE, name);
    }
}

#[test]
fn more_positions_than_one_pass_takes_agree_with_the_reference() {
    let checkpoint = fixture("qwen3-tiny");
    let shape = shape(&checkpoint, 150);
    let ids = some_ids(shape.vocab, 150, 3);
    let mut overlapped = Overlapped::new(&checkpoint, shape, Options::F32);
    ids.iter().for_each(|&id| drop(overlapped.step(id)));
    overlapped.left().compare(&reference(&checkpoint).forward(&ids), Tolerance::F32_STATE, "150 positions");
}

#[test]
fn a_cache_of_fragments_gives_what_a_cache_of_rows_gives() {
    for name in ["qwen3-d128-wide-q", "llama-d64-odd-heads"] {
        let checkpoint = fixture(name);
        let shape = Shape::new(checkpoint.config(), 128);
        let options = Options::F32.cache(Scalar::Bf16);
        assert!(lies(&shape, Layout::Fragments, Scalar::Bf16), "{name}");
        let mut rows = Overlapped::new(&checkpoint, shape, options);
        let mut fragments = Overlapped::new(&checkpoint, shape, options.layout(Layout::Fragments));
        for id in some_ids(shape.vocab, 36, 11) {
            let (a, b) = (rows.step(id), fragments.step(id));
            // A sum in another order may move a new key by one unit in bf16's last place.
            let most = a.iter().zip(&b).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
            assert!(most <= 1e-2, "{name}: {most}");
        }
    }
}

/// Copies what lies in one piece to pages, `width` bytes for each position of a head.
fn to_pages(shape: &Shape, width: usize, stride: usize, one: &[u8], paged: &mut [u8]) {
    let (capacity, page) = (shape.capacity as usize, PAGE as usize);
    for half in 0..(shape.layers * shape.kv_heads * 2) as usize {
        for first in (0..capacity).step_by(page) {
            let bytes = page.min(capacity - first) * width;
            let to = first / page * stride + half * page * width;
            paged[to..to + bytes].copy_from_slice(&one[(half * capacity + first) * width..][..bytes]);
        }
    }
}

/// Steps over the end of a page, between pages that do not follow each other closely.
#[test]
fn a_cache_in_pages_gives_the_bits_of_one_piece() {
    let f32 = |name, layout, cache| (name, Options::F32.layout(layout).cache(cache));
    for (name, options) in [
        f32("qwen3-tiny", Layout::Rows, Scalar::F32),
        f32("llama-d64-odd-heads", Layout::Rows, Scalar::Bf16),
        f32("llama-d64-odd-heads", Layout::Rows, Scalar::I8),
        f32("qwen3-d128-wide-q", Layout::Fragments, Scalar::Bf16),
    ] {
        let checkpoint = fixture(name);
        let shape = Shape::new(checkpoint.config(), 608);
        let width = (shape.head_dim * options.cache.bytes()) as usize;
        let stride = (shape.layers * shape.kv_heads * 2 * PAGE) as usize * (width + 4) + 512;
        let mut one = Overlapped::new(&checkpoint, shape, options);
        let mut paged = Overlapped::new(&checkpoint, shape, options.pages(stride as u64));
        let mut seed = 7u32;
        let mut noise = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let parts = [("cache", options.cache, width), ("cache_scales", Scalar::F32, 4)];
        let parts = &parts[..if options.cache == Scalar::I8 { 2 } else { 1 }];
        for &(part, scalar, width) in parts {
            let bytes = one.loaded.memory.data_mut(one.loaded.buffers[part]);
            for element in bytes.chunks_mut(scalar.bytes() as usize) {
                let number = noise().to_bits().to_le_bytes();
                element.copy_from_slice(&number[4 - element.len()..]);
            }
            let bytes = one.loaded.memory.data(one.loaded.buffers[part]).to_vec();
            let to = paged.loaded.memory.data_mut(paged.loaded.buffers[part]);
            to_pages(&shape, width, stride, &bytes, to);
        }
        for (position, id) in (250..262).chain(505..515).zip(some_ids(shape.vocab, 22, 5)) {
            let [want, got] = [&mut one, &mut paged].map(|overlapped| {
                overlapped.control(id, position);
                overlapped.again()
            });
            assert!(want.iter().all(|x| x.is_finite()), "{name}");
            assert!(got == want, "{name}, {options:?}: position {position}");
        }
        for &(part, _, width) in parts {
            let bytes = one.loaded.memory.data(one.loaded.buffers[part]);
            let got = paged.loaded.memory.data(paged.loaded.buffers[part]);
            let mut want = got.to_vec();
            to_pages(&shape, width, stride, bytes, &mut want);
            assert!(got == want, "{name}, {options:?}: {part}");
        }
    }
}

/// The largest error in units of the wanted values' root mean square.
fn scaled(got: &[f32], want: &[f64], what: &str) -> f64 {
    let rms = (want.iter().map(|w| w * w).sum::<f64>() / want.len() as f64).sqrt();
    let got: Vec<f64> = got.iter().map(|g| f64::from(*g) / rms).collect();
    let want: Vec<f64> = want.iter().map(|w| w / rms).collect();
    compare(&got, &want, Tolerance::INT8_CACHE).unwrap_or_else(|m| panic!("{what}: {m}")).max_abs
}

#[test]
fn keys_and_values_of_8_bits_stay_within_what_rounding_them_costs() {
    for name in FIXTURES {
        let checkpoint = fixture(name);
        // One has several passes of every SIMD group.
        let tokens = if name == "llama-d64-odd-heads" { 150 } else { 20 };
        let shape = shape(&checkpoint, tokens);
        let ids = some_ids(shape.vocab, tokens, 7);
        let mut overlapped = Overlapped::new(&checkpoint, shape, Options::F32.cache(Scalar::I8));
        ids.iter().for_each(|&id| drop(overlapped.step(id)));
        let (run, left) = (reference(&checkpoint).forward(&ids), overlapped.left());
        let logits = scaled(&left.logits, &run.logits, &format!("{name}: logits"));
        let mut most = 0f64;
        for layer in 0..shape.layers as usize {
            most = most.max(scaled(&left.keys[layer], &run.k[layer], &format!("{name}: keys of {layer}")));
            most =
                most.max(scaled(&left.values[layer], &run.v[layer], &format!("{name}: values of {layer}")));
        }
        eprintln!("{name}: logits within {logits:.4} rms, keys and values within {most:.4}");
    }
}

/// Every code is the nearest, and an extreme is 127: values of the first layer do not depend on what else is rounded.
#[test]
fn codes_of_a_value_are_the_nearest_multiples_of_its_scale() {
    let checkpoint = fixture("qwen3-d128-wide-q");
    let shape = shape(&checkpoint, TOKENS);
    let ids = some_ids(shape.vocab, TOKENS, 9);
    let left = |options| {
        let mut overlapped = Overlapped::new(&checkpoint, shape, options);
        ids.iter().for_each(|&id| drop(overlapped.step(id)));
        let scales = overlapped.loaded.buffers.get("cache_scales").copied();
        (overlapped.left(), scales.map(|scales| overlapped.loaded.memory.read_f32(scales, Scalar::F32)))
    };
    let ((exact, _), (codes, scales)) = (left(Options::F32), left(Options::F32.cache(Scalar::I8)));
    let (scales, dim) = (scales.unwrap(), shape.head_dim as usize);
    let heads = exact.values[0].chunks(dim).zip(codes.values[0].chunks(dim));
    for (at, (was, is)) in heads.enumerate() {
        let (head, position) = (at / TOKENS, at % TOKENS);
        let scale = scales[(2 * head + 1) * shape.capacity as usize + position];
        let extreme = was.iter().fold(0f32, |most, x| most.max(x.abs()));
        assert!((extreme / 127.0 - scale).abs() <= scale * 1e-6, "{extreme} with {scale}");
        assert!(is.iter().any(|x| (x.abs() - extreme).abs() <= scale * 1e-3));
        for (was, is) in was.iter().zip(is) {
            assert!((was - is).abs() <= scale * 0.501, "{was} became {is} in steps of {scale}");
        }
    }
}

#[test]
fn narrow_weights_and_cache_stay_near_the_staged_step() {
    let checkpoint = fixture("qwen3-tiny");
    let shape = shape(&checkpoint, TOKENS);
    let ids = some_ids(shape.vocab, TOKENS, 5);
    for options in [Options::PAIRS, Options::INT8, Options::INT4] {
        let options = options.cache(Scalar::Bf16);
        let mut overlapped = Overlapped::new(&checkpoint, shape, options);
        let loaded = Loaded::new(&checkpoint, &shape, options.weights);
        let mut staged = Session::of(loaded, shape, options, Goal::Logits);
        for &id in &ids {
            let (a, b) = (overlapped.step(id), staged.step(&[id]));
            for (a, b) in a.iter().zip(&b[0]) {
                assert!((a - b).abs() <= 2e-2, "{options:?}: {a} and {b}");
            }
        }
    }
}

#[test]
fn a_step_gives_the_next_one_its_token_and_position() {
    let checkpoint = fixture("qwen3-tiny");
    let shape = shape(&checkpoint, TOKENS);
    let mut by_itself = Overlapped::new(&checkpoint, shape, Options::F32);
    let mut by_host = Overlapped::new(&checkpoint, shape, Options::F32);
    let mut token = 5;
    let mut chosen = Vec::new();
    by_itself.control(token, 0);
    for n in 0..TOKENS {
        by_itself.again();
        let logits = by_host.step(token);
        token = (0..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best }) as u32;
        chosen.push(Some(token as i32));
        let Loaded { memory, buffers } = &by_itself.loaded;
        assert_eq!(memory.read_i32(buffers["ids"])[..=n], chosen);
        assert_eq!(memory.read_i32(buffers["control"]), [Some(token as i32), Some(n as i32 + 1)]);
    }
}

#[test]
fn inputs_of_a_product_are_staged_in_parts_where_shared_memory_does_not_hold_them() {
    let wide = Shape { intermediate: 12_288, hidden: 4096, layers: 1, vocab: 32, ..Shape::QWEN3_0_6B };
    step("wide", &wide, &Options::PAIRS).unwrap_or_else(|e| panic!("{e}"));
    assert!(!fits(&Shape { hidden: 8192, ..wide }));
}

#[test]
fn launches_of_a_layer_read_early_what_no_launch_writes() {
    // The last four are written at the end of a step, which waits for all of it.
    let early =
        ["weights", "weights_scales", "w", "q_norm", "k_norm", "rotary", "cache", "cache_scales", "control"];
    let mut overlapping = 0;
    for entry in catalogue::entries().filter(|entry| entry.name.starts_with("overlap")) {
        // Wide enough that every lane has something to read ahead.
        for (name, kernel) in entry.kernels(&Shape::QWEN3_0_6B) {
            let kernel = verify(kernel).unwrap();
            let at_the_end = ["append", "choose", "candidates"].iter().any(|end| name.contains(end));
            for &param in kernel.params() {
                let Param::Buffer(buffer) = param else { continue };
                let is_early = early.contains(&kernel.param_name(param)) && !at_the_end;
                assert_eq!(kernel.facts().is_early(buffer), is_early, "{name}: {}", kernel.param_name(param));
            }
            overlapping += usize::from(kernel.facts().begins_early());
        }
    }
    assert!(overlapping >= 30, "{overlapping}");
}

#[test]
fn five_launches_a_layer() {
    let launches = |half: Pipeline| half.verify().unwrap_or_else(|e| panic!("{e}")).dispatches();
    let options = Options::PAIRS.cache(Scalar::Bf16);
    assert_eq!(launches(step("count", &Shape::QWEN3_0_6B, &options).unwrap()), 1 + 5 * 28 + 1);
    assert_eq!(launches(end("count", &Shape::QWEN3_0_6B, &options).unwrap()), 3);
}
