//! Widening is exact for every pattern; rows and layouts agree.

use half::{bf16, f16};
use proptest::prelude::*;

use super::{widen_bf16, widen_f16};
use crate::{StoredType, Tensor};

#[test]
fn every_finite_half_widens_to_its_value() {
    for bits in 0..=u16::MAX {
        let (b, h) = (bf16::from_bits(bits), f16::from_bits(bits));
        if b.is_finite() {
            assert_eq!(widen_bf16(bits).to_bits(), b.to_f32().to_bits(), "bf16 {bits:#06x}");
        }
        assert_eq!(widen_bf16(bits).is_finite(), b.is_finite());
        if h.is_finite() {
            assert_eq!(widen_f16(bits).to_bits(), h.to_f32().to_bits(), "f16 {bits:#06x}");
        }
        assert_eq!(widen_f16(bits).is_finite(), h.is_finite());
    }
}

#[test]
fn an_f64_beyond_the_range_of_f32_is_refused_as_f32_only() {
    let bytes = 1e300f64.to_le_bytes();
    let tensor = Tensor {
        name: "t",
        shape: &[1],
        stored: StoredType::F64,
        transposed: false,
        interleaved: None,
        bytes: &bytes,
    };
    assert_eq!(tensor.to_f64().unwrap(), [1e300]);
    tensor.check_finite(0..1).unwrap();
    assert_eq!(tensor.to_f32().unwrap_err().findings()[0].what, "t[0]");
}

/// A matrix counting up in logical order, as f32 bytes in either layout.
fn counting(rows: usize, columns: usize, transposed: bool) -> Vec<u8> {
    let logical = |row: usize, column: usize| (row * columns + column) as f32;
    let stored: Vec<f32> = if transposed {
        (0..columns).flat_map(|c| (0..rows).map(move |r| logical(r, c))).collect()
    } else {
        (0..rows).flat_map(|r| (0..columns).map(move |c| logical(r, c))).collect()
    };
    stored.into_iter().flat_map(f32::to_le_bytes).collect()
}

proptest! {
    #[test]
    fn rows_are_those_of_the_logical_matrix(
        rows in 1usize..40,
        columns in 1usize..300,
        ends in (0usize..40, 0usize..40),
        transposed: bool,
    ) {
        let (start, end) = (ends.0.min(ends.1).min(rows), ends.0.max(ends.1).min(rows));
        let bytes = counting(rows, columns, transposed);
        let shape = [rows, columns];
        let tensor = Tensor { name: "t", shape: &shape, stored: StoredType::F32, transposed, interleaved: None, bytes: &bytes };
        let mut out = vec![f32::NAN; (end - start) * columns];
        tensor.rows_f32(start..end, &mut out).unwrap();
        let expected: Vec<f32> = (start * columns..end * columns).map(|i| i as f32).collect();
        prop_assert_eq!(out, expected);
        tensor.check_finite(start..end).unwrap();
    }

    #[test]
    fn a_spoilt_element_is_found_where_it_is(
        rows in 1usize..20,
        columns in 1usize..700,
        at in any::<prop::sample::Index>(),
        transposed: bool,
    ) {
        let (mut bytes, shape) = (counting(rows, columns, transposed), [rows, columns]);
        let at = at.index(rows * columns);
        let (row, column) = (at / columns, at % columns);
        let stored = if transposed { column * rows + row } else { at };
        bytes[stored * 4..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        let tensor = Tensor { name: "t", shape: &shape, stored: StoredType::F32, transposed, interleaved: None, bytes: &bytes };
        let place = format!("t[{row}, {column}]");
        for refusal in [
            tensor.to_f32().unwrap_err(),
            tensor.to_f64().unwrap_err(),
            tensor.check_finite(row..row + 1).unwrap_err(),
        ] {
            prop_assert_eq!(&refusal.findings()[0].what, &place);
        }
    }
}
