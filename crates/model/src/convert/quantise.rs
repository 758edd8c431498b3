//! Rows of f32 as stored elements, quantised where the type is one of blocks.
//!
//! A scale is rounded first and integers are the nearest multiples of what it was rounded to, so that the error is that of
//! one rounding. Where a type has more freedom (a scale of either sign, scale and minimum), several candidates are tried
//! and the one with the least square error is taken.

use half::{bf16, f16};

use crate::StoredType;

/// Appends `values`, a whole number of blocks, to `bytes`. Types that are only read are written as f32: nobody asks for them.
pub(super) fn quantise(stored: StoredType, values: &[f32], bytes: &mut Vec<u8>) {
    for block in values.chunks(stored.block_len()) {
        match stored {
            StoredType::F64 => bytes.extend(block.iter().flat_map(|v| f64::from(*v).to_le_bytes())),
            StoredType::F16 => bytes.extend(block.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes())),
            StoredType::Bf16 => bytes.extend(block.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes())),
            StoredType::Q8_0 => q8_0(block, bytes),
            StoredType::Q4_0 => q4_0(block, bytes),
            StoredType::Q4K => q4_k(block, bytes),
            StoredType::Q6K => q6_k(block, bytes),
            _ => bytes.extend(block.iter().flat_map(|v| v.to_le_bytes())),
        }
    }
}

/// Appends an f16 and gives what it holds.
fn put_half(value: f32, bytes: &mut Vec<u8>) -> f32 {
    let half = f16::from_f32(value);
    bytes.extend(half.to_le_bytes());
    half.to_f32()
}

fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}

fn greatest(values: &[f32]) -> f32 {
    values.iter().fold(0.0f32, |greatest, v| if v.abs() > greatest.abs() { *v } else { greatest })
}

fn q8_0(values: &[f32], bytes: &mut Vec<u8>) {
    let inverse = inverse(put_half(greatest(values).abs() / 127.0, bytes));
    bytes.extend(values.iter().map(|v| ((v * inverse).round().clamp(-127.0, 127.0) as i8).cast_unsigned()));
}

/// The scale, near the one that takes the greatest magnitude to `-most`, for integers from `-most` to `most - 1`.
fn best_scale(values: &[f32], most: f32) -> f32 {
    let greatest = greatest(values);
    let mut best = (f32::INFINITY, 0.0);
    for step in -8..=8 {
        let scale = greatest / -(most + step as f32 * most / 160.0);
        let by = inverse(scale);
        let integers = values.iter().map(|v| (v * by).round().clamp(-most, most - 1.0));
        let error: f32 = values.iter().zip(integers).map(|(v, q)| (v - q * scale) * (v - q * scale)).sum();
        if error < best.0 {
            best = (error, scale);
        }
    }
    best.1
}

fn q4_0(values: &[f32], bytes: &mut Vec<u8>) {
    let by = inverse(put_half(best_scale(values, 8.0), bytes));
    let integer = |v: f32| (v * by + 8.0).round().clamp(0.0, 15.0) as u8;
    let (low, high) = values.split_at(16);
    bytes.extend(low.iter().zip(high).map(|(low, high)| integer(*low) | integer(*high) << 4));
}

/// Scale and minimum of one group for integers from 0 to 15: elements are `scale * integer - minimum`.
fn scale_and_minimum(values: &[f32]) -> (f32, f32) {
    let least = values.iter().fold(0.0f32, |a, b| a.min(*b));
    let most = values.iter().fold(0.0f32, |a, b| a.max(*b));
    let mut best = (f32::INFINITY, 0.0, -least);
    for step in 0..=20 {
        let by = (14.0 + step as f32 * 0.1) * inverse(most - least);
        let integers = values.iter().map(|v| ((v - least) * by).round().clamp(0.0, 15.0));
        // The least squares of scale and minimum for these integers.
        let n = values.len() as f32;
        let (mut q, mut qq, mut x, mut qx) = (0.0, 0.0, 0.0, 0.0);
        for (v, i) in values.iter().zip(integers.clone()) {
            q += i;
            qq += i * i;
            x += v;
            qx += i * v;
        }
        let determinant = n * qq - q * q;
        let scale = if determinant > 0.0 { (n * qx - q * x) / determinant } else { 0.0 };
        let minimum = ((q * scale - x) / n).max(0.0);
        let scale = if minimum == 0.0 && qq > 0.0 { qx / qq } else { scale };
        let error: f32 = values.iter().zip(integers).map(|(v, i)| (scale * i - minimum - v).powi(2)).sum();
        if error < best.0 && scale >= 0.0 {
            best = (error, scale, minimum);
        }
    }
    (best.1, best.2)
}

fn q4_k(values: &[f32], bytes: &mut Vec<u8>) {
    let groups: Vec<(f32, f32)> = values.chunks(32).map(scale_and_minimum).collect();
    let most = |of: fn(&(f32, f32)) -> f32| groups.iter().map(of).fold(0.0f32, f32::max);
    let d = put_half(most(|group| group.0) / 63.0, bytes);
    let dmin = put_half(most(|group| group.1) / 63.0, bytes);
    let six = |value: f32, unit: f32| (value * inverse(unit)).round().clamp(0.0, 63.0) as u8;
    let scales: Vec<u8> = groups.iter().map(|group| six(group.0, d)).collect();
    let minima: Vec<u8> = groups.iter().map(|group| six(group.1, dmin)).collect();
    for (numbers, part) in [(&scales, 0), (&minima, 0), (&scales, 4)] {
        for i in 0..4 {
            bytes.push(match part {
                0 => numbers[i] | numbers[i + 4] >> 4 << 6,
                _ => scales[i + 4] & 15 | minima[i + 4] << 4,
            });
        }
    }
    let integer = |at: usize| {
        let (scale, minimum) = (d * f32::from(scales[at / 32]), dmin * f32::from(minima[at / 32]));
        ((values[at] + minimum) * inverse(scale)).round().clamp(0.0, 15.0) as u8
    };
    bytes.extend((0..128).map(|i| integer(i / 32 * 64 + i % 32) | integer(i / 32 * 64 + 32 + i % 32) << 4));
}

fn q6_k(values: &[f32], bytes: &mut Vec<u8>) {
    let wanted: Vec<f32> = values.chunks(16).map(|group| best_scale(group, 32.0)).collect();
    let mut tail = Vec::new();
    let d = put_half(greatest(&wanted) / -128.0, &mut tail);
    let scales: Vec<i8> =
        wanted.iter().map(|scale| (scale * inverse(d)).round().clamp(-128.0, 127.0) as i8).collect();
    let integer = |at: usize| {
        let scale = d * f32::from(scales[at / 16]);
        (values[at] * inverse(scale) + 32.0).round().clamp(0.0, 63.0) as u8
    };
    for half in [0, 128] {
        let low = |at: usize| integer(half + at) & 15 | integer(half + 64 + at) << 4;
        bytes.extend((0..64).map(low));
    }
    for half in [0, 128] {
        let high = |at: usize| {
            (0..4).fold(0, |byte, quarter| byte | integer(half + 32 * quarter + at) >> 4 << (2 * quarter))
        };
        bytes.extend((0..32).map(high));
    }
    bytes.extend(scales.iter().map(|scale| scale.cast_unsigned()));
    bytes.extend(tail);
}

#[cfg(test)]
mod tests;
