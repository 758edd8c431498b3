//! The matrices of a chunked prefill: transposed once, reused by every chunk (D44).

use tilewright_model::{Parameters, Refusal};
use tilewright_tile::Scalar;

use crate::host;
use crate::layout::Tensor;
use crate::shape::Shape;

/// Matrices of a layer in pack order.
const MATRICES: [Tensor; 4] = [Tensor::Qkv, Tensor::Output, Tensor::GateUp, Tensor::Down];

/// Where the transposed matrices `[in, out]` of a layer lie in its block of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransposedPack {
    shape: [[u32; 2]; 4],
    storage: Scalar,
}

impl TransposedPack {
    /// The pack of a layer with matrices stored in `storage`.
    pub fn new(shape: &Shape, storage: Scalar) -> Self {
        Self { shape: MATRICES.map(|tensor| tensor.extents(shape)), storage }
    }

    /// First byte and length of a matrix, from the start of its layer; nothing for a vector.
    pub fn place(&self, tensor: Tensor) -> (u64, u64) {
        let bytes = |[rows, columns]: [u32; 2]| {
            u64::from(rows) * u64::from(columns) * u64::from(self.storage.bytes())
        };
        let index = MATRICES.iter().position(|&m| m == tensor).unwrap_or(MATRICES.len());
        let offset = self.shape.iter().take(index).map(|&s| bytes(s)).sum();
        (offset, self.shape.get(index).map_or(0, |&s| bytes(s)))
    }

    /// Bytes of a layer.
    pub fn bytes(&self) -> u64 {
        MATRICES.iter().map(|&m| self.place(m).1).sum()
    }
}

/// The resource `matrices` of a chunked prefill: every layer's matrices, transposed and rounded to `storage`.
///
/// # Errors
/// What `tensor` gives when asked for a tensor's numbers, in row-major order.
pub fn transposed<T>(
    parameters: &Parameters<T>,
    shape: &Shape,
    storage: Scalar,
    mut tensor: impl FnMut(&T) -> Result<Vec<f32>, Refusal>,
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    for layer in &parameters.layers {
        for matrix in MATRICES {
            let mut numbers = Vec::new();
            for part in host::parts(layer, matrix) {
                numbers.extend(tensor(part)?);
            }
            let [rows, columns] = matrix.extents(shape).map(|n| n as usize);
            for column in 0..columns {
                for row in 0..rows {
                    let number = numbers.get(row * columns + column).copied().unwrap_or_default();
                    host::push_float(&mut bytes, storage, number);
                }
            }
        }
    }
    Ok(bytes)
}
