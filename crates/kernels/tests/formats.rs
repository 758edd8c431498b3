//! Every storage of weights, vectors and cache.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; what was observed is shown"
)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::session::Session;
use common::{Left, fixture, reference, shape, some_ids};
use half::{bf16, f16};
use tilewright_kernels::decode::Options;
use tilewright_kernels::{Format, lossless};
use tilewright_model::Checkpoint;
use tilewright_model::reference::{Reference, ReferenceRun};
use tilewright_model::tolerance::Tolerance;
use tilewright_tile::Scalar;

const TOKENS: usize = 7;

fn decode(checkpoint: &Checkpoint, options: Options) -> Left {
    let shape = shape(checkpoint, TOKENS);
    let mut session = Session::new(checkpoint, shape, options);
    some_ids(shape.vocab, TOKENS, 5).iter().for_each(|&id| drop(session.step(&[id])));
    session.left(0)
}

/// The reference on weights each matrix of which `change` has made of `[rows, columns]` numbers.
fn reference_of(checkpoint: &Checkpoint, change: &dyn Fn(&[f32], usize) -> Vec<f64>) -> ReferenceRun {
    let weights = checkpoint.parameters().try_map(|_, tensor| {
        let numbers = tensor.to_f32()?;
        let widened = || numbers.iter().map(|&x| f64::from(x)).collect();
        Ok::<_, tilewright_model::Refusal>(if tensor.shape.len() == 2 {
            change(&numbers, tensor.shape[1])
        } else {
            widened()
        })
    });
    let reference = Reference::from_parts(checkpoint.config().clone(), weights.unwrap());
    let vocab = checkpoint.config().vocab as u32;
    reference.forward(&some_ids(vocab, TOKENS, 5))
}

#[test]
fn packed_weights_give_the_bits_of_f32() {
    for name in ["qwen3-tiny", "qwen2-bias", "llama-d64-odd-heads"] {
        let checkpoint = fixture(name);
        let (seen, packed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let count = |_, tensor: &tilewright_model::Tensor<'_>| {
            seen.fetch_add(1, Ordering::Relaxed);
            let packs = lossless::check(&tensor.to_f32()?).is_ok();
            packed.fetch_add(usize::from(packs), Ordering::Relaxed);
            Ok::<_, tilewright_model::Refusal>(())
        };
        checkpoint.parameters().try_map(count).unwrap();
        assert_eq!(seen.into_inner(), packed.into_inner(), "{name} was stored as bf16");
        let (pairs, plain) = (decode(&checkpoint, Options::PAIRS), decode(&checkpoint, Options::F32));
        assert!(pairs.bits() == plain.bits(), "{name}");
    }
}

#[test]
fn narrow_weights_agree_with_the_reference_on_the_rounded_weights() {
    let checkpoint = fixture("qwen3-untied-mqa-f32");
    for scalar in [Scalar::F16, Scalar::Bf16] {
        let round = |x: f32| match scalar {
            Scalar::F16 => f16::from_f32(x).to_f64(),
            _ => bf16::from_f32(x).to_f64(),
        };
        let all = |numbers: &[f32]| numbers.iter().map(|&x| round(x)).collect::<Vec<f64>>();
        let weights = checkpoint
            .parameters()
            .try_map(|_, tensor| Ok::<_, tilewright_model::Refusal>(all(&tensor.to_f32()?)))
            .unwrap();
        let reference = Reference::from_parts(checkpoint.config().clone(), weights);
        let run = reference.forward(&some_ids(checkpoint.config().vocab as u32, TOKENS, 5));
        let left = decode(&checkpoint, Options::of(Format::Float(scalar), Scalar::F32));
        let (logits, cache) = left.compare(&run, Tolerance::F32_STATE, scalar.name());
        eprintln!("{scalar} weights: logits {:e}, cache {:e}", logits.max_abs, cache.max_abs);
    }
}

#[test]
fn quantised_weights_agree_with_the_reference_on_what_the_codes_stand_for() {
    for name in ["qwen3-tiny", "llama-d64-odd-heads"] {
        let checkpoint = fixture(name);
        for (options, most, least) in [(Options::INT8, 127.0, 127.0), (Options::INT4, 7.0, 8.0)] {
            let (Format::Int8 { group, .. } | Format::Int4 { group, .. }) = options.weights else { continue };
            let scale = |group: &[f32]| {
                let extreme = group.iter().fold(0.0f32, |a, &b| if b.abs() > a.abs() { b } else { a });
                match options.weights {
                    // Away from zero.
                    Format::Int8 { .. } => {
                        let bits = (extreme.abs() / 127.0).to_bits().saturating_add(0xffff) >> 16;
                        bf16::from_bits(bits as u16).to_f32()
                    }
                    _ => bf16::from_f32(extreme / -8.0).to_f32(),
                }
            };
            let codes = |group: &[f32]| -> Vec<f64> {
                let scale = scale(group);
                let step = |&x: &f32| (x * (1.0 / scale)).round_ties_even().clamp(-least, most);
                group.iter().map(|x| f64::from(step(x)) * f64::from(scale)).collect()
            };
            let run = reference_of(&checkpoint, &|numbers, columns| {
                let rows = numbers.chunks(columns);
                rows.flat_map(|row| row.chunks(group as usize).flat_map(codes)).collect()
            });
            let what = format!("{name} {}", options.weights.name());
            let (logits, cache) = decode(&checkpoint, options).compare(&run, Tolerance::F32_STATE, &what);
            eprintln!("{what}: logits {:e}, cache {:e}", logits.max_abs, cache.max_abs);
        }
    }
}

#[test]
fn narrow_vectors_and_caches_stay_within_their_tolerances() {
    let cases = [
        (Options::F16, Tolerance::F16_STATE),
        (Options::BF16, Tolerance::BF16_STATE),
        (Options::F32.cache(Scalar::F16), Tolerance::F16_STATE),
    ];
    for name in ["qwen3-tiny", "qwen2-bias", "qwen3-d128-wide-q"] {
        let checkpoint = fixture(name);
        let shape = shape(&checkpoint, TOKENS);
        let run = reference(&checkpoint).forward(&some_ids(shape.vocab, TOKENS, 5));
        for (options, tolerance) in cases {
            let what = format!("{name}, {} with cache {}", options.activations, options.cache);
            let (logits, cache) = decode(&checkpoint, options).compare(&run, tolerance, &what);
            eprintln!("{what}: logits {:e}, cache {:e}", logits.max_abs, cache.max_abs);
        }
    }
}

/// Differences of logits, keys and values from the reference, in the unit that tolerances are stated in: a difference
/// divided by one and the wanted magnitude.
fn differences(left: &Left, run: &ReferenceRun) -> Vec<f64> {
    let caches = left.keys.iter().zip(&run.k).chain(left.values.iter().zip(&run.v));
    let pairs = caches.chain([(&left.logits, &run.logits)]).flat_map(|(got, want)| got.iter().zip(want));
    pairs.map(|(&got, &want)| (f64::from(got) - want) / (1.0 + want.abs())).collect()
}

#[test]
fn what_bf16_loses_is_eight_times_what_f16_loses() {
    // Numbers of 11 and of 8 bits: a rounding is eight times as large, and errors of first order are proportional to it.
    // What a wrong constant, position or order adds is not.
    for name in ["qwen3-tiny", "qwen2-bias", "qwen3-d128-wide-q"] {
        let checkpoint = fixture(name);
        let shape = shape(&checkpoint, TOKENS);
        let reference = reference(&checkpoint);
        let lost = |options: Options| -> Vec<f64> {
            let of = |seed| {
                let ids = some_ids(shape.vocab, TOKENS, seed);
                let mut session = Session::new(&checkpoint, shape, options);
                ids.iter().for_each(|&id| drop(session.step(&[id])));
                differences(&session.left(0), &reference.forward(&ids))
            };
            (1..=6).flat_map(of).collect()
        };
        let deviation = |lost: &[f64]| (lost.iter().map(|x| x * x).sum::<f64>() / lost.len() as f64).sqrt();
        let most = |lost: &[f64]| lost.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let (half, brain) = (lost(Options::F16), lost(Options::BF16));
        let (narrow, wide) = (deviation(&half), deviation(&brain));
        eprintln!(
            "{name}: deviation {narrow:.5} and {wide:.5}, most {:.4} and {:.4}",
            most(&half),
            most(&brain)
        );
        assert!((6.0..10.0).contains(&(wide / narrow)), "{name}: {}", wide / narrow);
        assert!(most(&brain) < Tolerance::BF16_STATE.atol, "{name}: {}", most(&brain));
    }
}
