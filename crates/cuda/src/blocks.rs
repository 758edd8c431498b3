//! Products with GGUF's blocks and 8-bit codes for prompts and batches: kernels of the language between those of the plain
//! path.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::CudaFunction;
use tilewright_backend::Watch;
use tilewright_kernels::decode::{self, Options};
use tilewright_kernels::layout::{Piece, Slot};
use tilewright_kernels::prefill::tiers::{Product, Role, msl};
use tilewright_kernels::prefill::{Chunk, rows};
use tilewright_kernels::{Format, Formats, ModelPack, Shape};
use tilewright_model::{Code, Refusal};
use tilewright_tile::ir::Param;
use tilewright_tile::{Kernel, Scalar, Verified, verify};

use crate::device::{Buffer, Device};
use crate::gpu::Gpu;
use crate::overlap::compiled;
use crate::raw::launch::Arg;
use crate::raw::overlap;

/// Rows of a tile of a product.
const TILE: u32 = 64;

/// What a product is for: its role, the format of its matrix, the first of its rows and how many.
type Key = (Role, Format, [u32; 2]);

/// A kernel, ready to run.
struct Ready {
    kernel: Arc<Verified>,
    function: CudaFunction,
}

impl Ready {
    /// Starts it with `rows` threadgroups along y. `named` says where the parameters lie.
    fn start(&self, device: &Device, rows: u32, named: &[(String, u64)]) -> Result<(), Refusal> {
        let kernel = &self.kernel;
        let mut args = Vec::new();
        for &param in kernel.params() {
            let Param::Buffer(id) = param else { continue };
            let name = &kernel.buffers()[id].name;
            let known = named.iter().find(|(known, _)| known == name);
            let Some((_, address)) = known else {
                let refusal = Refusal::new(Code::KernelUnknown, "parameter", "one that has a place", name);
                return Err(refusal.at(kernel.name()));
            };
            args.push(Arg::U64(*address));
        }
        let launch = kernel.launch();
        let shape = overlap::Shape::new((launch.groups[0], rows, 1), launch.threads, 0);
        device.start(&self.function, shape, false, &args)
    }
}

/// Where the planes of a matrix lie that begins at `base`, by the names of parameters.
fn planes(name: &str, format: Format, slot: Slot, base: u64) -> Vec<(String, u64)> {
    let places = format.planes(0).into_iter().zip(slot.places());
    places.map(|(plane, (start, _))| (format!("{name}{}", plane.suffix), base + start)).collect()
}

/// What multiplies with blocks.
pub(crate) struct Blocks {
    packs: ModelPack,
    embedding: (Format, Slot),
    head: (Format, Slot),
    embed: Ready,
    vocabulary: Ready,
    products: Vec<(Key, Ready)>,
    /// The first row of a chunk and how many hold tokens, as the embedding's kernel reads them.
    control: Buffer,
    hidden: u64,
    vocab: u64,
}

impl Blocks {
    /// Compiles for chunks of up to `most` rows.
    ///
    /// # Errors
    /// `kernel_rejected`, `kernel_uncompilable`, `out_of_memory`, `device_failed`.
    pub(crate) fn new(
        device: &Device,
        gpu: &Gpu,
        (shape, formats): (&Shape, &Formats),
        most: usize,
        progress: &mut Watch<'_>,
    ) -> Result<Self, Refusal> {
        let (packs, rows) = (ModelPack::new(shape, formats), most as u32);
        let mut functions = BTreeMap::new();
        let mut ready = |kernel: Kernel| {
            let kernel = verify(kernel).map(Arc::new).map_err(|rejection| {
                Refusal::new(Code::KernelRejected, "a product with blocks", "one that fits", rejection)
            })?;
            let function = compiled(device, gpu, &mut functions, &kernel, progress)?;
            Ok::<_, Refusal>(Ready { kernel, function })
        };
        let matrix = |format| (format, Slot::of_matrix([shape.vocab, shape.hidden], format));
        let [embed, vocabulary] = ends(shape, formats, rows);
        let (embed, vocabulary) = (ready(embed)?, ready(vocabulary)?);
        let products = products(shape, &packs, rows).into_iter();
        let products =
            products.map(|(key, kernel)| Ok((key, ready(kernel)?))).collect::<Result<_, Refusal>>()?;
        Ok(Self {
            embedding: matrix(formats.embedding()),
            head: matrix(formats.head()),
            embed,
            vocabulary,
            products,
            control: device.zeros(8)?,
            packs,
            hidden: u64::from(shape.hidden),
            vocab: u64::from(shape.vocab),
        })
    }

    /// `x[row] = embedding[token[row]]` of `count` rows.
    pub(crate) fn embed(
        &mut self,
        device: &Device,
        embedding: u64,
        [tokens, x]: [u64; 2],
        count: u32,
    ) -> Result<(), Refusal> {
        device.write(&mut self.control, 0, bytemuck::cast_slice(&[0u32, count]))?;
        let mut named = planes("embedding", self.embedding.0, self.embedding.1, embedding);
        let others = [("tokens", tokens), ("control", self.control.address), ("x", x)];
        named.extend(others.map(|(name, address)| (name.to_owned(), address)));
        self.embed.start(device, count, &named)
    }

    /// The product of a layer's matrix, which begins at `base`, with `count` rows of `a`: stored to `out`, or added to it
    /// where the role says so; of gates and ups what SwiGLU makes of them.
    pub(crate) fn multiply(
        &self,
        device: &Device,
        (layer, role): (usize, Role),
        base: u64,
        [a, out]: [u64; 2],
        count: u32,
    ) -> Result<(), Refusal> {
        let pieces = self.packs.layer(layer as u32).1.pieces(role.tensor());
        let first = pieces.first().map_or(0, |piece| piece.slot.offset);
        for Piece { format, slot, first: row, rows, .. } in pieces {
            let key = (role, *format, [*row, *rows]);
            let product = self.products.iter().find(|(known, _)| *known == key);
            let (_, product) = product.ok_or_else(|| {
                Refusal::new(
                    Code::KernelUnknown,
                    "product",
                    "one made when the model was opened",
                    format!("{key:?}"),
                )
            })?;
            let mut named = planes("weights", *format, *slot, base - first);
            named.extend([("a".to_owned(), a), ("out".to_owned(), out)]);
            product.start(device, count.div_ceil(TILE), &named)?;
        }
        Ok(())
    }

    /// Logits of `count` rows of `x`, one after another.
    pub(crate) fn vocabulary(
        &self,
        device: &Device,
        head: u64,
        [x, logits]: [u64; 2],
        count: u64,
    ) -> Result<(), Refusal> {
        for row in 0..count {
            let mut named = planes("weights", self.head.0, self.head.1, head);
            let (x, y) = (x + row * self.hidden * 4, logits + row * self.vocab * 4);
            named.extend([("x".to_owned(), x), ("y".to_owned(), y)]);
            self.vocabulary.start(device, 1, &named)?;
        }
        Ok(())
    }
}

/// The kernels of the embedding and of the head, for chunks of up to `rows` rows.
fn ends(shape: &Shape, formats: &Formats, rows: u32) -> [Kernel; 2] {
    let chunk = Chunk::new(rows, Scalar::F32);
    let options = Options::F32.weights(formats.head());
    [rows::embed(shape, &chunk, formats.embedding()), decode::products::vocabulary(shape, &options)]
}

/// A kernel for each kind of product that layers have.
fn products(shape: &Shape, packs: &ModelPack, rows: u32) -> Vec<(Key, Kernel)> {
    let mut products: Vec<(Key, Kernel)> = Vec::new();
    for layer in 0..shape.layers {
        for role in Role::ALL {
            for piece in packs.layer(layer).1.pieces(role.tensor()) {
                let key = (role, piece.format, [piece.first, piece.rows]);
                if products.iter().any(|(known, _)| *known == key) {
                    continue;
                }
                let product = match role {
                    Role::Qkv => {
                        Product::of_qkv(shape, piece.first..piece.first + piece.rows, rows, piece.format)
                    }
                    Role::Output | Role::GateUp | Role::Down => Product::new(shape, role, rows, piece.format),
                };
                products.push((key, msl(&product)));
            }
        }
    }
    products
}

#[cfg(test)]
mod tests;
