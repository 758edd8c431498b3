//! From a checkpoint to matrices on the GPU.
//!
//! Matrices that read the same input are one matrix, their rows one after the other. Rows go through a buffer of bounded
//! size; those stored as they are held are copied from the file's mapping. GGUF's blocks and 8-bit codes are held in planes
//! of their numbers, as kernels of the language read them.

use half::bf16;
use tilewright_backend::{Progress, Stage, Watch};
use tilewright_kernels::layout::{self, Piece};
use tilewright_kernels::{Format, Formats, ModelPack, Shape, host};
use tilewright_model::{Checkpoint, Refusal, StoredType, Tensor};

use crate::device::{Buffer, Device};
use crate::held::{Held, Numbers};
use crate::round::{Rounded, round};

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

/// Matrices in planes.
pub(crate) struct Planes {
    /// As the fields of [`Layer`].
    pub(crate) layers: Vec<[Buffer; 4]>,
    pub(crate) embedding: Buffer,
    /// `None` when it is the embedding.
    pub(crate) head: Option<Buffer>,
}

/// A decoder's weights.
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
    /// The same matrices in planes, where single sequences read these and others the matrices above.
    pub(crate) planes: Option<Planes>,
}

impl Weights {
    /// Where the head lies.
    pub(crate) fn head(&self) -> u64 {
        self.head.as_ref().unwrap_or(&self.embedding).address
    }

    /// Where a layer's matrices lie for steps of single sequences: as the fields of [`Layer`].
    pub(crate) fn of_layer(&self, layer: usize) -> Option<[u64; 4]> {
        match &self.planes {
            Some(planes) => planes.layers.get(layer).map(|layer| layer.each_ref().map(|b| b.address)),
            None => {
                let of = self.layers.get(layer)?;
                Some([&of.qkv, &of.o, &of.gate_up, &of.down].map(|buffer| buffer.address))
            }
        }
    }

    /// The same of embedding and head.
    pub(crate) fn vocabulary(&self) -> [u64; 2] {
        match &self.planes {
            Some(Planes { embedding, head, .. }) => {
                [embedding.address, head.as_ref().unwrap_or(embedding).address]
            }
            None => [self.embedding.address, self.head()],
        }
    }
}

/// Brings every matrix of `checkpoint` to the GPU as `held` says, planes in these formats.
///
/// # Errors
/// `non_finite_weight`, `out_of_memory`, `device_failed`.
pub(crate) fn upload(
    checkpoint: &Checkpoint,
    held: Held,
    (shape, formats): (&Shape, &Formats),
    device: &Device,
    progress: &mut Watch<'_>,
) -> Result<Weights, Refusal> {
    let parameters = checkpoint.parameters();
    let packs = ModelPack::new(shape, formats);
    let vocabulary = |format| [Piece::whole([shape.vocab, shape.hidden], format)];
    let mut loader = Loader { checkpoint, held, device, progress, done: 0, total: 0 };
    let _ = parameters.try_map(|_, t| {
        loader.total += t.bytes.len() as u64;
        Ok::<(), Refusal>(())
    });
    loader.report()?;
    let (mut layers, mut norms, mut head_norms) = (Vec::new(), Vec::new(), Vec::new());
    let mut second = Vec::new();
    for (n, layer) in (0..).zip(&parameters.layers) {
        let pieces = |tensor| packs.layer(n).1.pieces(tensor);
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
        let qkv = loader.matrix(&[&layer.q, &layer.k, &layer.v], pieces(layout::Tensor::Qkv))?;
        let o = loader.matrix(&[&layer.o], pieces(layout::Tensor::Output))?;
        let gate_up = loader.matrix(&[&layer.gate, &layer.up], pieces(layout::Tensor::GateUp))?;
        let down = loader.matrix(&[&layer.down], pieces(layout::Tensor::Down))?;
        if let (Some(qkv), Some(o), Some(gate_up), Some(down)) = (qkv.1, o.1, gate_up.1, down.1) {
            second.push([qkv, o, gate_up, down]);
        }
        layers.push(Layer { qkv: qkv.0, qkv_bias, o: o.0, gate_up: gate_up.0, down: down.0 });
    }
    norms.extend(loader.vector(&parameters.final_norm)?);
    let (embedding, planes) = loader.matrix(&[&parameters.embedding], &vocabulary(formats.embedding()))?;
    let head = parameters.head.as_ref().map(|head| loader.matrix(&[head], &vocabulary(formats.head())));
    let (head, head_planes) = head.transpose()?.map_or((None, None), |(head, planes)| (Some(head), planes));
    let planes = planes.map(|embedding| Planes { layers: second, embedding, head: head_planes });
    let head_norms =
        (!head_norms.is_empty()).then(|| device.upload(bytemuck::cast_slice(&head_norms))).transpose()?;
    let norms = device.upload(bytemuck::cast_slice(&norms))?;
    device.wait()?;
    Ok(Weights { layers, norms, head_norms, embedding, head, planes })
}

/// Uploads and keeps count.
struct Loader<'a> {
    checkpoint: &'a Checkpoint,
    held: Held,
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

    /// One matrix of the rows of all `tensors`; a second time in planes where it is held in both ways.
    fn matrix(
        &mut self,
        tensors: &[&Tensor<'_>],
        pieces: &[Piece],
    ) -> Result<(Buffer, Option<Buffer>), Refusal> {
        match (self.held.numbers, pieces) {
            (Some(numbers), _) if !self.held.rounded => Ok((self.rows(tensors, numbers)?, None)),
            (_, [piece]) if self.held.rounded => self.rounded(tensors, piece),
            _ => Ok((self.blocks(tensors, pieces)?, None)),
        }
    }

    /// In the formats of `pieces`, made by the host.
    fn blocks(&mut self, tensors: &[&Tensor<'_>], pieces: &[Piece]) -> Result<Buffer, Refusal> {
        let bytes = host::matrix(pieces, tensors, &mut |tensor: &Tensor<'_>| tensor.to_f32())?;
        let buffer = self.device.upload(&bytes)?;
        for tensor in tensors {
            self.checkpoint.release(tensor.bytes);
            self.count(tensor.bytes.len())?;
        }
        Ok(buffer)
    }

    /// Rounded to 8 bits: the codes in planes, what they stand for by rows, or both.
    fn rounded(
        &mut self,
        tensors: &[&Tensor<'_>],
        piece: &Piece,
    ) -> Result<(Buffer, Option<Buffer>), Refusal> {
        let Held { planes, numbers, .. } = self.held;
        let columns = piece.columns as usize;
        let elements = piece.rows as usize * columns;
        let slot = Piece::whole([piece.rows, piece.columns], Format::INT8).slot;
        let mut codes = planes.then(|| self.device.zeros(slot.end() as usize)).transpose()?;
        let values = numbers.map(|of| Ok::<_, Refusal>((of, self.device.zeros(elements * of.bytes())?)));
        let mut values = values.transpose()?;
        let mut at = 0;
        for tensor in tensors {
            let step = (TILE / columns).max(1);
            for first in (0..tensor.rows()).step_by(step) {
                let rows = first..(first + step).min(tensor.rows());
                let mut numbers = vec![0f32; rows.len() * columns];
                tensor.rows_f32(rows.clone(), &mut numbers)?;
                let Rounded { codes: of_rows, scales } = round(&mut numbers, columns);
                if let Some(codes) = &mut codes {
                    let first_scale = slot.planes[0] as usize + at * (scales.len() / rows.len());
                    self.device.write(codes, at * columns, &of_rows)?;
                    self.device.write(codes, first_scale, &scales)?;
                }
                if let Some((of, values)) = &mut values {
                    self.put(values, at * columns, &numbers, *of)?;
                }
                // What is copied goes.
                self.device.wait()?;
                at += rows.len();
                self.count(tensor.stored.bytes(rows.len() * columns))?;
            }
            self.checkpoint.release(tensor.bytes);
        }
        match (values.map(|(_, values)| values), codes) {
            (Some(values), codes) => Ok((values, codes)),
            (None, Some(codes)) => Ok((codes, None)),
            (None, None) => Ok((self.device.zeros(0)?, None)),
        }
    }

    /// Writes numbers from element `at` of a matrix on.
    fn put(&self, buffer: &mut Buffer, at: usize, numbers: &[f32], of: Numbers) -> Result<(), Refusal> {
        match of {
            Numbers::F32 => self.device.write(buffer, at * 4, bytemuck::cast_slice(numbers))?,
            Numbers::Bf16 => {
                let narrow: Vec<bf16> = numbers.iter().map(|v| bf16::from_f32(*v)).collect();
                self.device.write(buffer, at * 2, bytemuck::cast_slice(&narrow))?;
            }
        }
        // What is copied goes.
        self.device.wait()
    }

    /// By rows.
    fn rows(&mut self, tensors: &[&Tensor<'_>], of: Numbers) -> Result<Buffer, Refusal> {
        let element = of.bytes();
        let elements: usize = tensors.iter().map(|t| t.elements()).sum();
        let mut buffer = self.device.zeros(elements * element)?;
        let mut at = 0;
        for tensor in tensors {
            let columns = tensor.row_len();
            let as_stored = match of {
                Numbers::F32 => tensor.stored == StoredType::F32,
                Numbers::Bf16 => tensor.stored == StoredType::Bf16,
            } && tensor.is_row_major();
            let step = (TILE / columns).max(1);
            for first in (0..tensor.rows()).step_by(step) {
                let rows = first..(first + step).min(tensor.rows());
                let elements = rows.len() * columns;
                if as_stored {
                    tensor.check_finite(rows.clone())?;
                    let stored = &tensor.bytes[first * columns * element..][..elements * element];
                    self.device.write(&mut buffer, at * element, stored)?;
                    self.checkpoint.release(stored);
                } else {
                    let mut values = vec![0f32; elements];
                    tensor.rows_f32(rows.clone(), &mut values)?;
                    self.put(&mut buffer, at, &values, of)?;
                }
                at += elements;
                self.count(tensor.stored.bytes(elements))?;
            }
        }
        Ok(buffer)
    }
}
