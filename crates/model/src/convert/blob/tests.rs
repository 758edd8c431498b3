//! The blob at every size of tile.

use super::*;
use crate::StoredType;

/// A matrix of 5 rows and 7 columns holding 0, 1, 2, … in logical order, stored as told.
fn bytes(transposed: bool) -> Vec<u8> {
    let value = |row: usize, column: usize| (row * 7 + column) as f32;
    let values: Vec<f32> = if transposed {
        (0..35).map(|i| value(i % 5, i / 5)).collect()
    } else {
        (0..35).map(|i| value(i / 7, i % 7)).collect()
    };
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn tiles_of_any_size_give_the_same_order() {
    for (stored_so, transpose) in [(false, false), (false, true), (true, false), (true, true)] {
        let bytes = bytes(stored_so);
        let tensor = Tensor {
            name: "m",
            shape: &[5, 7],
            stored: StoredType::F32,
            transposed: stored_so,
            interleaved: None,
            bytes: &bytes,
        };
        let expected: Vec<f64> =
            (0..35).map(|i| if transpose { i % 5 * 7 + i / 5 } else { i } as f64).collect();
        for size in [1, 5, 6, 11, 14, 34, 35, 100] {
            let mut got = Vec::new();
            each_tile(&tensor, transpose, (size, None), |tile| {
                got.extend_from_slice(tile);
                Ok(())
            })
            .unwrap();
            assert_eq!(got, expected, "stored {stored_so}, wanted {transpose}, tiles of {size}");
        }
    }
}

#[test]
fn a_bad_weight_is_named_by_its_place_in_the_whole() {
    let mut bytes = bytes(false);
    bytes[17 * 4..18 * 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let tensor = Tensor {
        name: "m",
        shape: &[5, 7],
        stored: StoredType::F32,
        transposed: false,
        interleaved: None,
        bytes: &bytes,
    };
    for transpose in [false, true] {
        let refusal = each_tile(&tensor, transpose, (6, None), |_| Ok(())).unwrap_err();
        assert_eq!(refusal.code(), Code::NonFiniteWeight);
        assert_eq!(refusal.findings()[0].what, "m[2, 3]");
    }
}

/// A rounding whose result depends on where a group begins.
#[test]
fn rounding_sees_whole_groups_of_every_row_in_every_order() {
    let (rows, columns) = (3, 700);
    let value = |row: usize, column: usize| (row * 10_000 + column * column % 997) as f32;
    let round = |values: &mut [f32], n: usize| {
        for group in values.chunks_mut(n).flat_map(|row| row.chunks_mut(Rounding::GROUP)) {
            let first = group[0];
            group.iter_mut().for_each(|value| *value -= first);
        }
        Ok(())
    };
    let expected = |row, column| value(row, column) - value(row, column / Rounding::GROUP * Rounding::GROUP);
    let order =
        |transpose: bool, i: usize| if transpose { (i % rows, i / rows) } else { (i / columns, i % columns) };
    for (stored_so, transpose) in [(false, false), (false, true), (true, false), (true, true)] {
        let cells = |transpose| (0..rows * columns).map(move |i| order(transpose, i));
        let bytes: Vec<u8> =
            cells(stored_so).flat_map(|(row, column)| value(row, column).to_le_bytes()).collect();
        let stored = StoredType::F32;
        let shape = [rows, columns];
        let tensor = Tensor {
            name: "m",
            shape: &shape,
            stored,
            transposed: stored_so,
            interleaved: None,
            bytes: &bytes,
        };
        for size in [1, 700, 900, 10_000] {
            let mut got = Vec::new();
            each_tile(&tensor, transpose, (size, Some(Rounding(&round))), |tile| {
                got.extend_from_slice(tile);
                Ok(())
            })
            .unwrap();
            let wanted: Vec<f64> =
                cells(transpose).map(|(row, column)| expected(row, column).into()).collect();
            assert_eq!(got, wanted, "stored {stored_so}, wanted {transpose}, tiles of {size}");
        }
    }
}
