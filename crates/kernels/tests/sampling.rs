//! Choosing tokens on the device: argmax, the largest in order, masked softmax.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use tilewright_kernels::Shape;
use tilewright_kernels::decode::{sampling, select};
use tilewright_tile::interp::{Bound, BufferId, Dispatch, Memory, Program, run};
use tilewright_tile::{Kernel, Literal, Scalar, verify};

/// A shape of which only the vocabulary matters: three chunks, the last short.
const SHAPE: Shape = Shape { vocab: 2500, ..Shape::QWEN3_TINY };

fn launch(kernel: Kernel, memory: &mut Memory, buffers: &[BufferId], scalars: &[Literal]) {
    let kernel = verify(kernel).unwrap_or_else(|e| panic!("{e}"));
    // The one scalar there is stands before the last buffer.
    let mut bound: Vec<Bound> = buffers.iter().map(|&b| Bound::Buffer(memory.whole(b))).collect();
    for &scalar in scalars {
        bound.insert(bound.len() - 1, Bound::Scalar(scalar));
    }
    let dispatch = Dispatch { groups: kernel.launch().groups, bound: &bound };
    run(&Program::new(&kernel), memory, &dispatch).unwrap_or_else(|fault| panic!("{fault}"));
}

fn argmax(rows: &[Vec<f32>]) -> Vec<i32> {
    let sequences = rows.len() as u32;
    let chunks = (select::chunks(&SHAPE) * sequences) as usize;
    let mut memory = Memory::new();
    let logits = memory.f32(&rows.concat());
    let (best, at) = (memory.poison(chunks * 4), memory.poison(chunks * 4));
    let next = memory.poison(rows.len() * 4);
    launch(select::argmax_chunks(&SHAPE, sequences, Scalar::F32), &mut memory, &[logits, best, at], &[]);
    launch(select::argmax(&SHAPE, sequences), &mut memory, &[best, at, next], &[]);
    memory.read_i32(next).into_iter().map(Option::unwrap).collect()
}

fn row(value: f32, places: &[(usize, f32)]) -> Vec<f32> {
    let mut row = vec![value; SHAPE.vocab as usize];
    places.iter().for_each(|&(at, value)| row[at] = value);
    row
}

#[test]
fn the_largest_logit_wins_and_ties_go_to_the_lowest_id() {
    assert_eq!(argmax(&[row(-7.0, &[(2400, 3.0), (1030, 3.0), (1029, 2.0)])]), [1030]);
    assert_eq!(argmax(&[row(0.0, &[])]), [0]);
    assert_eq!(argmax(&[row(-1.0, &[(2499, -0.5)]), row(f32::NEG_INFINITY, &[(17, -1e30)])]), [2499, 17]);
    assert_eq!(argmax(&[row(f32::NEG_INFINITY, &[])]), [0], "all masked: the first");
}

#[test]
fn a_nan_is_never_chosen_and_without_a_number_no_token_is() {
    assert_eq!(argmax(&[row(f32::NAN, &[(1500, -4.0)])]), [1500]);
    assert_eq!(argmax(&[row(f32::NAN, &[])]), [2500], "an id that no token has");
}

/// The `count` best of each row by the kernels, with their ids.
fn best(rows: &[Vec<f32>], count: u32) -> Vec<Vec<(f32, i32)>> {
    let sequences = rows.len() as u32;
    let chunks = (select::chunks(&SHAPE) * sequences * count) as usize;
    let mut memory = Memory::new();
    let logits = memory.f32(&rows.concat());
    let (best, at) = (memory.poison(chunks * 4), memory.poison(chunks * 4));
    let (top, ids) =
        (memory.poison(rows.len() * count as usize * 4), memory.poison(rows.len() * count as usize * 4));
    let first = sampling::top_chunks(&SHAPE, sequences, Scalar::F32, count);
    launch(first, &mut memory, &[logits, best, at], &[]);
    launch(sampling::top(&SHAPE, sequences, count), &mut memory, &[best, at, top, ids], &[]);
    let ids = memory.read_i32(ids).into_iter().map(Option::unwrap);
    let all: Vec<(f32, i32)> = memory.read_f32(top, Scalar::F32).into_iter().zip(ids).collect();
    all.chunks(count as usize).map(<[_]>::to_vec).collect()
}

#[test]
fn the_best_come_in_order_with_lower_ids_first() {
    // Few different values, so that most are ties.
    let rows: Vec<Vec<f32>> = (1..3)
        .map(|s| common::some_ids(40, 2500, s).iter().map(|&v| v as f32 * 0.5 - 9.0).collect())
        .collect();
    for (got, row) in best(&rows, 30).into_iter().zip(&rows) {
        let mut expected: Vec<(f32, i32)> = row.iter().copied().zip(0..).collect();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        assert_eq!(got, expected[..30]);
    }
}

#[test]
fn fewer_numbers_than_asked_for_leave_the_rest_without_ids() {
    let got = best(&[row(f32::NAN, &[(3, 1.0), (2000, 2.0)])], 4).remove(0);
    assert_eq!(got, [(2.0, 2000), (1.0, 3), (f32::NEG_INFINITY, 2500), (f32::NEG_INFINITY, 2500)]);
}

#[test]
fn masked_ids_have_no_probability_and_the_rest_sum_to_one() {
    let logits: Vec<f32> = common::some_ids(1000, 2500, 4).iter().map(|&v| v as f32 / 100.0 - 5.0).collect();
    let mask: Vec<u8> = (0..2500).map(|i| u8::from(i % 3 != 0) * 7).collect();
    let temperature = 0.7;
    let mut memory = Memory::new();
    let (a, b) = (memory.f32(&logits), memory.bytes(mask.clone()));
    let out = memory.poison(2500 * 4);
    let kernel = sampling::masked_softmax(&SHAPE, 1, Scalar::F32);
    launch(kernel, &mut memory, &[a, b, out], &[Literal::f32(temperature)]);
    let got = memory.read_f32(out, Scalar::F32);

    let weight =
        |i: usize| if mask[i] == 0 { 0.0 } else { (f64::from(logits[i]) / f64::from(temperature)).exp() };
    let sum: f64 = (0..2500).map(weight).sum();
    for (i, &got) in got.iter().enumerate() {
        let want = weight(i) / sum;
        assert!((f64::from(got) - want).abs() <= 1e-5 * want, "id {i}: {got} is not {want}");
        assert!(mask[i] != 0 || got == 0.0, "id {i}");
    }
}

#[test]
fn with_every_id_masked_all_probabilities_are_zero() {
    let mut memory = Memory::new();
    let (logits, mask) = (memory.f32(&row(1.0, &[])), memory.bytes(vec![0; 2500]));
    let out = memory.poison(2500 * 4);
    let kernel = sampling::masked_softmax(&SHAPE, 1, Scalar::F32);
    launch(kernel, &mut memory, &[logits, mask, out], &[Literal::f32(1.0)]);
    assert!(memory.read_f32(out, Scalar::F32).iter().all(|&p| p == 0.0));
}
