//! int8 and int4 against the float64 reference run on the weights as they are after rounding: what is left is what
//! 8-bit activations cost, and that has a bound.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use std::ops::Range;

use common::{FIXTURES, fixture, greedy, prefill_all, resident, stories};
use tilewright_backend::KvFormat;
use tilewright_cpu::CpuOptions;
use tilewright_cpu::matmul::Matrix;
use tilewright_cpu::pool::Pool;
use tilewright_cpu::simd::Isa;
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::{Observed, Tolerance, compare};
use tilewright_model::{Checkpoint, WeightFormat};

const FORMATS: [WeightFormat; 2] = [WeightFormat::Int8, WeightFormat::Int4];

/// The float64 reference over the weights of `checkpoint` rounded to `weights`; vectors stay as they are.
fn rounded(checkpoint: &Checkpoint, weights: WeightFormat) -> Reference {
    let (pool, isa) = (Pool::new(2), Isa::detect());
    let parameters = checkpoint.parameters().try_map(|_, tensor| {
        if tensor.shape.len() == 1 {
            return tensor.to_f64();
        }
        let cols = tensor.row_len();
        let read = |rows: Range<usize>, out: &mut [f32]| tensor.rows_f32(rows, out);
        let matrix = Matrix::pack(&pool, isa, weights, (tensor.rows(), cols), &read)?;
        let mut values = vec![0.0; tensor.elements()];
        values.chunks_exact_mut(cols).enumerate().for_each(|(row, out)| matrix.row_f32(row, out));
        Ok(values.into_iter().map(f64::from).collect())
    });
    Reference::from_parts(checkpoint.config().clone(), parameters.unwrap())
}

/// Compares in units of the root mean square of what is wanted, which for random and trained models alike is the size
/// of an ordinary value.
fn compare_scaled(got: &[f32], want: &[f64], what: &str) -> Observed {
    let rms = (want.iter().map(|w| w * w).sum::<f64>() / want.len() as f64).sqrt();
    let got: Vec<f64> = got.iter().map(|g| f64::from(*g) / rms).collect();
    let want: Vec<f64> = want.iter().map(|w| w / rms).collect();
    compare(&got, &want, Tolerance::QUANTISED_STATE).unwrap_or_else(|m| panic!("{what}: {m}"))
}

#[test]
fn logits_keys_and_values_are_within_what_8_bit_activations_cost() {
    let prompt: Vec<u32> = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4].to_vec();
    for name in FIXTURES {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        for weights in FORMATS {
            let what = format!("{name}, {weights}");
            let want = rounded(&checkpoint, weights).forward(&prompt);
            let options = CpuOptions { kv: Some(KvFormat::F32), ..CpuOptions::default() };
            let mut model = resident(&checkpoint, weights, options);
            let (sequence, logits) = prefill_all(&mut *model, &prompt);
            let of_logits = compare_scaled(&logits, &want.logits, &format!("{what}: logits"));
            let mut of_state = Observed::default();
            for layer in 0..checkpoint.config().layers {
                let (keys, values) = model.copy_kv(sequence, layer);
                for (part, got, want) in [("keys", keys, &want.k[layer]), ("values", values, &want.v[layer])]
                {
                    of_state = of_state.merge(compare_scaled(&got, want, &format!("{what}: {part} {layer}")));
                }
            }
            eprintln!("{what}: logits {:.4}, keys and values {:.4} rms", of_logits.max_abs, of_state.max_abs);
        }
    }
}

/// A trained model is sure of most tokens: wherever its margin is wider than the error can be, the token is the same.
#[test]
fn the_story_model_takes_the_tokens_its_rounded_weights_call_for() {
    let checkpoint = Checkpoint::open(&stories("")).unwrap();
    for weights in FORMATS {
        let reference = rounded(&checkpoint, weights);
        let prompt = [643, 782, 256, 667];
        let want = reference.greedy(&prompt, 40);
        let mut model = resident(&checkpoint, weights, CpuOptions::default());
        let (sequence, logits) = prefill_all(&mut *model, &prompt);
        let seen = compare_scaled(&logits, &reference.forward(&prompt).logits, "logits");
        let vocab = checkpoint.config().vocab;
        let last = logits[logits.len() - vocab..].to_vec();
        let rms = (last.iter().map(|l| f64::from(l * l)).sum::<f64>() / vocab as f64).sqrt();
        let got = greedy(&mut *model, sequence, last, want.ids.len());
        let sure = want.margins.iter().take_while(|margin| **margin > 2.0 * seen.max_abs * rms).count();
        eprintln!("{weights}: logits {:.4} rms, {sure} tokens are sure", seen.max_abs);
        assert!(sure > 0);
        assert_eq!(got[..sure], want.ids[..sure], "{weights}");
    }
}
