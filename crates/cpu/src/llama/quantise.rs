//! Activations as products with blocks read them.

use half::f16;

use crate::simd::{Kernel, Simd};

/// Inputs of a group.
pub(crate) const GROUP: usize = 32;

/// Words of four integers.
const QUADS: usize = GROUP / 4;

/// Words of a group: the scale; its product with the sum of all integers, with the sign changed; the sum of each four
/// integers; the integers, four a word.
pub(crate) const WORDS: usize = 2 + 2 * QUADS;

/// Quantises one row of whole groups.
pub(crate) struct Quantise<'a> {
    pub(crate) row: &'a [f32],
    /// [`WORDS`] for each group.
    pub(crate) words: &'a mut [u32],
}

impl Kernel for Quantise<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for (values, words) in self.row.as_chunks().0.iter().zip(self.words.as_chunks_mut().0) {
            *words = group(values);
        }
    }
}

/// The scale takes the greatest magnitude to 127; integers are the nearest, ties to even. The sum is multiplied by the scale
/// before that is rounded to f16. A value that is not finite makes the scale not a number.
#[inline(always)]
fn group(values: &[f32; GROUP]) -> [u32; WORDS] {
    let greatest = values.iter().fold(0.0_f32, |most, v| if v.abs() > most { v.abs() } else { most });
    let finite = values.iter().fold(true, |all, v| all & v.is_finite());
    let scale = greatest / 127.0;
    let inverse = if greatest > 0.0 { 127.0 / greatest } else { 0.0 };
    let integers = values.map(|v| (v * inverse).round_ties_even() as i32 as i8);
    let quads = integers.as_chunks::<4>().0;
    let sums: [i32; QUADS] = std::array::from_fn(|at| quads[at].iter().map(|v| i32::from(*v)).sum());
    let sum: i32 = sums.iter().sum();
    let narrow = |value: f32| f16::from_f32(value).to_f32();
    let mut words = [0; WORDS];
    words[0] = if finite { narrow(scale) } else { f32::NAN }.to_bits();
    words[1] = (-narrow(scale * sum as f32)).to_bits();
    for (at, (sum, quad)) in sums.into_iter().zip(quads).enumerate() {
        words[2 + at] = sum as u32;
        words[2 + QUADS + at] = u32::from_le_bytes(quad.map(i8::cast_unsigned));
    }
    words
}
