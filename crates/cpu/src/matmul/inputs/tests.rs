//! What becomes of a group of activations beside blocks.

use half::f16;

use super::super::blocks::{GROUP, HEADER, WORDS};
use super::{quantize_group, to_half};
use crate::simd::{Isa, Kernel, Simd};

struct Words<'a>(&'a [f32; GROUP]);

impl Kernel for Words<'_> {
    type Output = [u32; WORDS];

    fn run<S: Simd>(self, simd: S) -> [u32; WORDS] {
        quantize_group(simd, self.0)
    }
}

#[test]
fn halves_are_the_nearest_where_they_are_normal() {
    let least = f16::MIN_POSITIVE.to_f32();
    for step in 0..1 << 20 {
        let value = f32::from_bits(step << 12 | step & 0xfff);
        let half = f16::from_f32(value);
        let expected = if value.abs() >= least && half.is_finite() { half.to_f32() } else { value };
        // What is a little less than the least of them may become it or stay.
        if !(least * 0.999..least).contains(&value.abs()) {
            assert!(to_half(value).to_bits() == expected.to_bits(), "{value}");
        }
    }
    // Halfway between two: to the even one.
    let step = 1.0 / 1024.0;
    assert_eq!([to_half(1.0 + 0.5 * step), to_half(1.0 + 1.5 * step)], [1.0, 1.0 + 2.0 * step]);
}

/// The numbers that llama.cpp multiplies Q4_1 and Q5_1 by: scale and sum as f16, the sum made of the scale before it is rounded.
#[test]
fn scale_and_sum_are_rounded_to_halves_each_for_itself() {
    for seed in 0..100 {
        let mut values = [0.0; GROUP];
        values
            .iter_mut()
            .enumerate()
            .for_each(|(i, v)| *v = ((i * 31 + seed * 17) % 101) as f32 / 23.0 - 1.5);
        let greatest = values.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        let integers = values.map(|v| (v * (127.0 / greatest)).round_ties_even() as i32);
        let (scale, sum) = (greatest / 127.0, integers.iter().sum::<i32>());
        let halves = |values: &[i32]| values.iter().sum::<i32>() as f32;
        let half = f16::from_f32(scale).to_f32();
        for isa in Isa::testable() {
            let words = isa.run(Words(&values));
            let [got, all, first, second] = [words[0], words[1], words[2], words[3]].map(f32::from_bits);
            assert!(got == half && got != scale, "{isa}, seed {seed}");
            assert_eq!(all, -f16::from_f32(scale * sum as f32).to_f32(), "{isa}, seed {seed}");
            let (low, high) = integers.split_at(GROUP / 2);
            assert_eq!((first, second), (-(half * halves(low)), -(half * halves(high))));
            assert_eq!(words[4] as i32, sum);
            let bytes = words[HEADER..].iter().flat_map(|word| word.to_le_bytes());
            assert!(bytes.map(|byte| i32::from(byte.cast_signed())).eq(integers));
        }
    }
}

/// What f16 has no number for is multiplied as it is.
#[test]
fn tiny_and_huge_groups_keep_their_scale() {
    for greatest in [1e-20, 1e-4, 2e7] {
        let words = Isa::detect().run(Words(&[greatest; GROUP]));
        assert_eq!(f32::from_bits(words[0]), greatest / 127.0);
    }
}
