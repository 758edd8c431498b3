//! Rows of stacked tensors.

use tilewright_model::{StoredType, Tensor};

use super::read_rows;

#[test]
fn stacked_tensors_read_as_one() {
    let bytes: Vec<u8> = (0..12).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let shapes = [[1, 2], [3, 2], [2, 2]];
    let mut rest = bytes.as_slice();
    let tensors: Vec<Tensor<'_>> = shapes
        .iter()
        .map(|shape| {
            let (mine, others) = rest.split_at(shape[0] * 8);
            rest = others;
            Tensor {
                name: "t",
                shape,
                stored: StoredType::F32,
                transposed: false,
                interleaved: None,
                bytes: mine,
            }
        })
        .collect();
    let stack: Vec<&Tensor<'_>> = tensors.iter().collect();
    for start in 0..6 {
        for end in start..=6 {
            let mut out = vec![0.0; 2 * (end - start)];
            read_rows(&stack, start..end, &mut out).unwrap();
            let want: Vec<f32> = (2 * start..2 * end).map(|i| i as f32).collect();
            assert_eq!(out, want, "rows {start}..{end}");
        }
    }
}
