//! What the host prepares, read back.

use super::*;

/// The numbers that codes and scales stand for.
fn widened(bytes: &[u8], slot: Slot, format: Format, [rows, columns]: [usize; 2]) -> Vec<f32> {
    let (codes, scales) = bytes[..slot.end() as usize].split_at(slot.planes[0] as usize);
    let (Format::Int8 { group, scale } | Format::Int4 { group, scale }) = format else {
        panic!("{format:?} has no codes")
    };
    let code = |at: usize| match format {
        Format::Int8 { .. } => f32::from(codes[at] as i8),
        _ => f32::from(codes[at / 2] >> (4 * (at % 2)) & 15) - 8.0,
    };
    let number = |at: usize| {
        let groups = columns.div_ceil(group as usize);
        let group = at / columns * groups + at % columns / group as usize;
        let bytes = [scales[group * 2], scales[group * 2 + 1]];
        let scale = match scale {
            Scalar::F16 => f16::from_le_bytes(bytes).to_f32(),
            _ => bf16::from_le_bytes(bytes).to_f32(),
        };
        code(at) * scale
    };
    (0..rows * columns).map(number).collect()
}

#[test]
fn codes_are_within_half_a_step_of_the_weights() {
    // A row of one whole group and a shorter one, with an extreme on either side and a group of zeros.
    let columns = 200;
    let numbers: Vec<f32> = (0..3 * columns)
        .map(|i| if i / columns == 2 { 0.0 } else { ((i * 7919) % 613) as f32 / 613.0 - 0.3 })
        .collect();
    let formats = [(Format::INT8, 127.0), (Format::Q8_0, 127.0), (Format::INT4, 8.0), (Format::Q4_0, 8.0)];
    for (format, steps) in formats {
        let slot = Slot::of_matrix([3, columns as u32], format);
        let mut bytes = vec![0; slot.end() as usize];
        put_numbers(&mut bytes, slot, format, columns as u32, &numbers);
        let back = widened(&bytes, slot, format, [3, columns]);
        for (at, (&was, &is)) in numbers.iter().zip(&back).enumerate() {
            // Half a step, more at the end that the codes do not reach and for the rounding of the scale.
            let allowed = 0.7 / steps * 1.02;
            assert!((was - is).abs() <= allowed, "{format:?} {at}: {was} became {is}");
        }
        assert!(back[2 * columns..].iter().all(|&w| w == 0.0));
    }
}

#[test]
fn rows_quantised_by_parts_are_those_of_the_whole_and_no_code_is_cut() {
    let (rows, columns) = (5, 200);
    let numbers: Vec<f32> =
        (0..rows * columns).map(|i| ((i * 7919) % 613) as f32 / 613.0 - 0.3 - i as f32 * 1e-5).collect();
    let slot = Slot::of_matrix([rows as u32, columns as u32], Format::INT8);
    let mut whole = vec![0; slot.end() as usize];
    put_numbers(&mut whole, slot, Format::INT8, columns as u32, &numbers);
    let (mut codes, mut scales) = (vec![0; rows * columns], vec![0; rows * 2 * 2]);
    for part in [0..2, 2..5] {
        let (from, to) = (part.start, part.end);
        let (codes, scales) = (&mut codes[from * columns..to * columns], &mut scales[from * 4..to * 4]);
        int8_rows(&numbers[from * columns..to * columns], columns, codes, scales);
    }
    assert_eq!(whole[..codes.len()], codes);
    assert_eq!(whole[slot.planes[0] as usize..][..scales.len()], scales);
    let mut back = vec![f32::NAN; numbers.len()];
    int8_numbers(&codes, &scales, columns, &mut back);
    assert_eq!(back, widened(&whole, slot, Format::INT8, [rows, columns]));
    // The scale is no less than the extreme over 127: half a step is the most that any weight moves.
    let groups = numbers.chunks(columns).flat_map(|row| row.chunks(128)).zip(scales.as_chunks::<2>().0);
    let mut places = back.iter();
    for (group, scale) in groups {
        let scale = bf16::from_le_bytes(*scale).to_f32();
        for (was, is) in group.iter().zip(places.by_ref()) {
            assert!((was - is).abs() <= scale * 0.5001, "{was} became {is}");
        }
    }
}

#[test]
fn the_rotary_table_begins_with_no_turn_at_all() {
    let shape = Shape::QWEN3_TINY;
    let checkpoint = tilewright_model::Checkpoint::embedded().unwrap();
    let table = rotary(&checkpoint.config().rope, &shape);
    assert_eq!(table.len() as u32, shape.capacity * shape.pairs() * 2);
    assert!(table[..shape.head_dim as usize].as_chunks().0.iter().all(|pair| *pair == [1.0, 0.0]));
    // The first pair turns by a radian a position.
    assert_eq!(table[shape.head_dim as usize..][..2], [1f64.cos() as f32, 1f64.sin() as f32]);
}

/// Upper halves of other numbers than those that came from bf16 are other numbers.
#[test]
fn pairs_that_do_not_give_back_the_numbers_are_refused_with_the_weight() {
    let number = 1.0 + f32::EPSILON;
    let bytes: Vec<u8> = [1.0, -2.5, 0.5, number].iter().flat_map(|n: &f32| n.to_le_bytes()).collect();
    let tensor = |columns: usize| Tensor {
        name: "some.weight",
        shape: if columns == 2 { &[2, 2] } else { &[1, 3] },
        stored: tilewright_model::StoredType::F32,
        transposed: false,
        interleaved: None,
        bytes: &bytes[..4 * columns * if columns == 2 { 2 } else { 1 }],
    };
    let packed = |tensor: &Tensor<'_>, cut: bool| {
        let extents = [tensor.rows() as u32, tensor.row_len() as u32];
        let mut count = 0;
        let mut numbers = |tensor: &Tensor<'_>| {
            let mut numbers = tensor.to_f32()?;
            numbers.iter_mut().filter(|_| cut).for_each(|n| *n = bf16::from_f32(*n).to_f32());
            Ok(numbers)
        };
        let whole = [Piece::whole(extents, Format::Pairs)];
        counted(&whole, &[tensor], &mut numbers, &mut count).map(|bytes| (bytes, count))
    };
    let (pairs, count) = packed(&tensor(2), true).unwrap();
    assert_eq!((count, &pairs[..8]), (4, &[128, 63, 32, 192, 0, 63, 128, 63][..]));
    let refusal = packed(&tensor(2), false).unwrap_err();
    assert_eq!(refusal.code(), Code::PackedWeightsDiffer);
    let finding = &refusal.findings()[0];
    assert_eq!((finding.what.as_str(), finding.got.as_str()), ("some.weight[3]", "1"), "{refusal}");
    assert_eq!(packed(&tensor(3), true).unwrap_err().code(), Code::PackedWeightsDiffer, "an odd count");
}
