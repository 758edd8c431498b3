//! The formats of a model's matrices, where they are not all alike.

use tilewright_model::{LayerParameters, Parameters, StoredType};
use tilewright_tile::Scalar;

use crate::format::Format;
use crate::layout::{ModelPack, Slot, Tensor};
use crate::lossless::Packed;
use crate::shape::Shape;

/// How the matrices of a layer are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerFormats {
    /// Queries, keys, values: the one tensor that may be stored in several formats, in a product for each.
    pub qkv: [Format; 3],
    /// Output projection of attention.
    pub output: Format,
    /// Gate and up projections.
    pub gate_up: Format,
    /// Down projection.
    pub down: Format,
}

impl LayerFormats {
    /// One format for all.
    pub const fn all(format: Format) -> Self {
        Self { qkv: [format; 3], output: format, gate_up: format, down: format }
    }

    /// Rows of a tensor and their format, neighbours in one format together.
    pub(crate) fn of(&self, tensor: Tensor, shape: &Shape, vectors: Scalar) -> Vec<(u32, Format)> {
        let rows = tensor.extents(shape)[0];
        let format = match tensor {
            Tensor::Qkv => {
                let rows = [shape.q_width(), shape.kv_width(), shape.kv_width()];
                let mut pieces: Vec<(u32, Format)> = Vec::new();
                for (rows, format) in rows.into_iter().zip(self.qkv) {
                    match pieces.last_mut() {
                        Some((before, of)) if *of == format => *before += rows,
                        _ => pieces.push((rows, format)),
                    }
                }
                return pieces;
            }
            Tensor::Output => self.output,
            Tensor::GateUp => self.gate_up,
            Tensor::Down => self.down,
            Tensor::InputNorm | Tensor::PostNorm | Tensor::QNorm | Tensor::KNorm | Tensor::QkvBias => {
                Format::Float(vectors)
            }
        };
        vec![(rows, format)]
    }

    /// As tensors are stored: gates and ups in one format, [`Format::Q8_0`] where they differ.
    fn of_stored(stored: &LayerParameters<StoredType>) -> Self {
        let [gate, up] = [stored.gate, stored.up].map(Format::of_stored);
        Self {
            qkv: [stored.q, stored.k, stored.v].map(Format::of_stored),
            output: Format::of_stored(stored.o),
            gate_up: if gate == up { gate } else { Format::Q8_0 },
            down: Format::of_stored(stored.down),
        }
    }
}

/// How every matrix of a model is stored, and the vectors beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formats {
    embedding: Format,
    head: Format,
    layers: Vec<LayerFormats>,
    vectors: Scalar,
}

impl Formats {
    /// One format for all matrices.
    pub fn uniform(shape: &Shape, format: Format) -> Self {
        Self::uniform_with(shape, format, format.vectors())
    }

    /// The same with vectors stored as `vectors`.
    pub fn uniform_with(shape: &Shape, format: Format, vectors: Scalar) -> Self {
        let layers = vec![LayerFormats::all(format); shape.layers as usize];
        Self { embedding: format, head: format, layers, vectors }
    }

    /// Each matrix as its file stores it, as far as there are kernels ([`Format::of_stored`]); vectors in f32.
    pub fn of_stored(stored: &Parameters<StoredType>) -> Self {
        let embedding = Format::of_stored(stored.embedding);
        Self {
            embedding,
            head: stored.head.map_or(embedding, Format::of_stored),
            layers: stored.layers.iter().map(LayerFormats::of_stored).collect(),
            vectors: Scalar::F32,
        }
    }

    /// The token embedding's.
    pub const fn embedding(&self) -> Format {
        self.embedding
    }

    /// The output matrix's, which is the embedding's where they are one.
    pub const fn head(&self) -> Format {
        self.head
    }

    /// Those of a layer.
    pub fn layer(&self, layer: u32) -> &LayerFormats {
        &self.layers[layer as usize]
    }

    /// That of norms and biases.
    pub const fn vectors(&self) -> Scalar {
        self.vectors
    }

    /// Every format there is, each once.
    pub fn distinct(&self) -> Vec<Format> {
        let mut all = vec![self.embedding, self.head];
        for LayerFormats { qkv: [q, k, v], output, gate_up, down } in &self.layers {
            all.extend([q, k, v, output, gate_up, down]);
        }
        let mut distinct = Vec::new();
        all.into_iter().for_each(|format| {
            if !distinct.contains(&format) {
                distinct.push(format);
            }
        });
        distinct
    }

    /// Bytes of the matrices in each format, in the order of [`distinct`](Self::distinct).
    pub fn bytes(&self, shape: &Shape) -> Vec<(Format, u64)> {
        let vocabulary = [shape.vocab, shape.hidden];
        let mut all = vec![(self.embedding, Slot::of_matrix(vocabulary, self.embedding).end())];
        if !shape.tied {
            all.push((self.head, Slot::of_matrix(vocabulary, self.head).end()));
        }
        let packs = ModelPack::new(shape, self);
        for layer in 0..shape.layers {
            let pack = packs.layer(layer).1;
            let matrices = Tensor::ALL.into_iter().filter(|tensor| tensor.is_matrix());
            let pieces = matrices.flat_map(|tensor| pack.pieces(tensor));
            all.extend(pieces.map(|piece| (piece.format, piece.slot.end() - piece.slot.offset)));
        }
        let sum = |format: Format| all.iter().filter(|(of, _)| *of == format).map(|(_, bytes)| bytes).sum();
        self.distinct().into_iter().map(|format| (format, sum(format))).collect()
    }

    /// Elements of the matrices that are held as pairs.
    pub fn packed(&self, shape: &Shape) -> Packed {
        let of = |format: Format, elements: u64| if format == Format::Pairs { elements } else { 0 };
        let vocabulary = u64::from(shape.vocab) * u64::from(shape.hidden);
        let head = if shape.tied { 0 } else { of(self.head, vocabulary) };
        let matrices = || Tensor::ALL.into_iter().filter(|tensor| tensor.is_matrix());
        let pieces = self.layers.iter().flat_map(|layer| {
            matrices().flat_map(|tensor| {
                let columns = u64::from(tensor.extents(shape)[1]);
                let pieces = layer.of(tensor, shape, self.vectors);
                pieces.into_iter().map(move |(rows, format)| of(format, u64::from(rows) * columns))
            })
        });
        Packed { vocabulary: of(self.embedding, vocabulary) + head, layers: pieces.sum() }
    }

    /// The matrices that are not held as they are stored, a line for each role, type and format.
    pub fn rounded(&self, stored: &Parameters<StoredType>) -> Vec<String> {
        let mut lines: Vec<(String, Vec<usize>)> = Vec::new();
        let mut see = |name: &str, layer: Option<usize>, stored: StoredType, held: Format| {
            let mixed = held != Format::of_stored(stored);
            if mixed || stored.is_block() && !held.keeps(stored) {
                let why =
                    if mixed { ", since gate and up are one matrix and stored in two types" } else { "" };
                let line = format!("{name}: {stored} held as {}{why}", held.name());
                match lines.iter_mut().find(|(of, _)| *of == line) {
                    Some((_, layers)) => layers.extend(layer),
                    None => lines.push((line, layer.into_iter().collect())),
                }
            }
        };
        see("embedding", None, stored.embedding, self.embedding);
        if let Some(head) = stored.head {
            see("head", None, head, self.head);
        }
        for (n, (of, held)) in stored.layers.iter().zip(&self.layers).enumerate() {
            let LayerFormats { qkv: [q, k, v], output, gate_up, down } = *held;
            for (name, stored, held) in [
                ("q", of.q, q),
                ("k", of.k, k),
                ("v", of.v, v),
                ("output", of.o, output),
                ("gate", of.gate, gate_up),
                ("up", of.up, gate_up),
                ("down", of.down, down),
            ] {
                see(name, Some(n), stored, held);
            }
        }
        let told = |(line, layers): (String, Vec<usize>)| match &layers[..] {
            [] => line,
            some if some.len() == self.layers.len() => format!("{line} in every layer"),
            [one] => format!("{line} in layer {one}"),
            some => {
                let some: Vec<_> = some.iter().map(usize::to_string).collect();
                format!("{line} in layers {}", some.join(", "))
            }
        };
        lines.into_iter().map(told).collect()
    }
}
