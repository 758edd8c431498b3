//! From a checkpoint to matrices on the GPU.
//!
//! Matrices that read the same input are one matrix, their rows one after the other. Rows go through a buffer of bounded
//! size; those stored as they are held are copied from the file's mapping. GGUF's blocks are held in planes of their
//! numbers, as kernels of the language read them.

use half::bf16;
use tilewright_backend::{Progress, Stage, Watch};
use tilewright_kernels::layout::{self, Piece};
use tilewright_kernels::{Formats, ModelPack, Shape, host};
use tilewright_model::{Checkpoint, Refusal, StoredType, Tensor, WeightFormat};

use crate::device::{Buffer, Device};

/// Elements converted at once.
const TILE: usize = 8 << 20;

/// One layer.
pub(crate) struct Layer {
    /// `[q_width + 2 * kv_width, hidden]`.
    pub(crate) qkv: Buffer,
    /// Added to the product with `qkv`.
    pub(crate) qkv_bias: Option<Buffer>,
    /// `[hidden, q_width]`.
    pub(crate) o: Buffer,
    /// Gate, then up, `[2 * intermediate, hidden]`.
    pub(crate) gate_up: Buffer,
    /// `[hidden, intermediate]`.
    pub(crate) down: Buffer,
}

/// A decoder's weights, matrices by rows.
pub(crate) struct Weights {
    pub(crate) layers: Vec<Layer>,
    /// f32, `[layers][2][hidden]`, before attention and before the MLP; then the last, `[hidden]`.
    pub(crate) norms: Buffer,
    /// f32, `[layers][2][head_dim]`, of queries and of keys.
    pub(crate) head_norms: Option<Buffer>,
    /// `[vocab, hidden]`.
    pub(crate) embedding: Buffer,
    /// `[vocab, hidden]`; `None` when it is the embedding.
    pub(crate) head: Option<Buffer>,
}

impl Weights {
    /// Where the head lies.
    pub(crate) fn head(&self) -> u64 {
        self.head.as_ref().unwrap_or(&self.embedding).address
    }
}

/// Brings every matrix of `checkpoint` to the GPU, where there are `blocks` as their formats say.
///
/// # Errors
/// `non_finite_weight`, `out_of_memory`, `device_failed`.
pub(crate) fn upload(
    checkpoint: &Checkpoint,
    (format, blocks): (WeightFormat, Option<(&Shape, &Formats)>),
    device: &Device,
    progress: &mut Watch<'_>,
) -> Result<Weights, Refusal> {
    let parameters = checkpoint.parameters();
    let packs = blocks.map(|(shape, formats)| ModelPack::new(shape, formats));
    let vocabulary = |format: fn(&Formats) -> tilewright_kernels::Format| {
        blocks.map(|(shape, formats)| Piece::whole([shape.vocab, shape.hidden], format(formats)))
    };
    let mut loader = Loader { checkpoint, format, device, progress, done: 0, total: 0 };
    let _ = parameters.try_map(|_, t| {
        loader.total += t.bytes.len() as u64;
        Ok::<(), Refusal>(())
    });
    loader.report()?;
    let (mut layers, mut norms, mut head_norms) = (Vec::new(), Vec::new(), Vec::new());
    for (n, layer) in (0..).zip(&parameters.layers) {
        let pieces = |tensor| packs.as_ref().map(|packs| packs.layer(n).1.pieces(tensor));
        norms.extend(loader.vector(&layer.input_norm)?);
        norms.extend(loader.vector(&layer.post_norm)?);
        for norm in [&layer.q_norm, &layer.k_norm].into_iter().flatten() {
            head_norms.extend(loader.vector(norm)?);
        }
        let qkv_bias = match (&layer.q_bias, &layer.k_bias, &layer.v_bias) {
            (Some(q), Some(k), Some(v)) => {
                let bias = [loader.vector(q)?, loader.vector(k)?, loader.vector(v)?].concat();
                Some(device.upload(bytemuck::cast_slice(&bias))?)
            }
            _ => None,
        };
        layers.push(Layer {
            qkv: loader.matrix(&[&layer.q, &layer.k, &layer.v], pieces(layout::Tensor::Qkv))?,
            qkv_bias,
            o: loader.matrix(&[&layer.o], pieces(layout::Tensor::Output))?,
            gate_up: loader.matrix(&[&layer.gate, &layer.up], pieces(layout::Tensor::GateUp))?,
            down: loader.matrix(&[&layer.down], pieces(layout::Tensor::Down))?,
        });
    }
    norms.extend(loader.vector(&parameters.final_norm)?);
    let (first, last) = (vocabulary(Formats::embedding), vocabulary(Formats::head));
    let (first, last) = (first.as_ref().map(std::slice::from_ref), last.as_ref().map(std::slice::from_ref));
    let embedding = loader.matrix(&[&parameters.embedding], first)?;
    let head = parameters.head.as_ref().map(|head| loader.matrix(&[head], last)).transpose()?;
    let head_norms =
        (!head_norms.is_empty()).then(|| device.upload(bytemuck::cast_slice(&head_norms))).transpose()?;
    let norms = device.upload(bytemuck::cast_slice(&norms))?;
    device.wait()?;
    Ok(Weights { layers, norms, head_norms, embedding, head })
}

/// Uploads and keeps count.
struct Loader<'a> {
    checkpoint: &'a Checkpoint,
    format: WeightFormat,
    device: &'a Device,
    progress: &'a mut Watch<'a>,
    done: u64,
    total: u64,
}

impl Loader<'_> {
    fn report(&mut self) -> Result<(), Refusal> {
        (self.progress)(Progress { stage: Stage::Pack, done: self.done, total: self.total })
    }

    fn count(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.done += bytes as u64;
        self.report()
    }

    /// A tensor as f32.
    fn vector(&mut self, tensor: &Tensor<'_>) -> Result<Vec<f32>, Refusal> {
        let vector = tensor.to_f32()?;
        self.count(tensor.bytes.len())?;
        Ok(vector)
    }

    /// One matrix of the rows of all `tensors`, in `pieces` of several formats where there are such.
    fn matrix(&mut self, tensors: &[&Tensor<'_>], pieces: Option<&[Piece]>) -> Result<Buffer, Refusal> {
        if let Some(pieces) = pieces {
            let bytes = host::matrix(pieces, tensors, &mut |tensor: &Tensor<'_>| tensor.to_f32())?;
            let buffer = self.device.upload(&bytes)?;
            for tensor in tensors {
                self.checkpoint.release(tensor.bytes);
                self.count(tensor.bytes.len())?;
            }
            return Ok(buffer);
        }
        let element = if self.format == WeightFormat::F32 { 4 } else { 2 };
        let elements: usize = tensors.iter().map(|t| t.elements()).sum();
        let mut buffer = self.device.zeros(elements * element)?;
        let mut at = 0;
        for tensor in tensors {
            let columns = tensor.row_len();
            let as_stored = match self.format {
                WeightFormat::F32 => tensor.stored == StoredType::F32,
                _ => tensor.stored == StoredType::Bf16,
            } && tensor.is_row_major();
            let step = (TILE / columns).max(1);
            for first in (0..tensor.rows()).step_by(step) {
                let rows = first..(first + step).min(tensor.rows());
                let bytes = rows.len() * columns * element;
                if as_stored {
                    tensor.check_finite(rows.clone())?;
                    let stored = &tensor.bytes[first * columns * element..][..bytes];
                    self.device.write(&mut buffer, at, stored)?;
                    self.checkpoint.release(stored);
                } else {
                    let mut values = vec![0f32; rows.len() * columns];
                    tensor.rows_f32(rows.clone(), &mut values)?;
                    if element == 2 {
                        let narrow: Vec<bf16> = values.iter().map(|v| bf16::from_f32(*v)).collect();
                        self.device.write(&mut buffer, at, bytemuck::cast_slice(&narrow))?;
                    } else {
                        self.device.write(&mut buffer, at, bytemuck::cast_slice(&values))?;
                    }
                    self.device.wait()?;
                }
                at += bytes;
                self.count(tensor.stored.bytes(rows.len() * columns))?;
            }
        }
        Ok(buffer)
    }
}
