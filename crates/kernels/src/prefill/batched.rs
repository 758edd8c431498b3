//! The batched prefill: eight stages a layer, 1 + 8 · layers + 2 launches from tokens to logits.
//!
//! A plan names the attention path and the tier of each product. The path decides what the cache holds and so how the
//! sequence is decoded afterwards:
//!
//! | path | attention | cache |
//! | --- | --- | --- |
//! | off | [`plain`](crate::attention::plain) | f32 |
//! | grouped with mirror | [`grouped`](crate::attention::grouped) | f32 and packed f16 |
//! | grouped without mirror | [`grouped`](crate::attention::grouped) | packed f16 |
//! | parametric native decode | [`plain`](crate::attention::plain) | packed f16 |

use std::sync::Arc;

use tilewright_tile::verify::Rejection;
use tilewright_tile::{Kernel, Order, Pipeline, ResourceKind, Scalar, Stage, verify};

use super::memory::{LayerWeights, Memory, Weights, cache_bytes, of_layer};
use super::tiers::{self, Product, Role};
use super::{CacheWrite, Chunk, rotate, rows};
use crate::attention;
use crate::decode;
use crate::format::Format;
use crate::formats::Formats;
use crate::layout::{ModelPack, Piece, Tensor};
use crate::parts::Arithmetic;
use crate::shape::Shape;
use crate::verified::Kernels;

/// The most rows of one run; a longer prompt takes several, each at its own position.
pub const MAX_ROWS: u32 = 2048;

/// Attention of a plan, with the cache that follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// No tiled attention.
    Off,
    /// Grouped attention on packed keys and values; an f32 copy is kept for decoding.
    GroupedMirror,
    /// Grouped attention on packed keys and values, which decoding reads too.
    Grouped,
    /// Attention for any head width on packed keys and values, which decoding reads too.
    ParametricNativeDecode,
}

impl Path {
    /// Every path.
    pub const ALL: [Self; 4] = [Self::Off, Self::GroupedMirror, Self::Grouped, Self::ParametricNativeDecode];

    /// The name used in pipeline names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::GroupedMirror => "grouped_mirror",
            Self::Grouped => "grouped",
            Self::ParametricNativeDecode => "parametric",
        }
    }

    /// How the keys and values that attention reads are stored.
    const fn cache(self) -> Scalar {
        match self {
            Self::Off => Scalar::F32,
            Self::GroupedMirror | Self::Grouped | Self::ParametricNativeDecode => Scalar::F16,
        }
    }

    fn kernel(self, shape: &Shape, chunk: &Chunk) -> Kernel {
        match self {
            Self::Off | Self::ParametricNativeDecode => attention::plain(shape, chunk),
            Self::GroupedMirror | Self::Grouped => attention::grouped(shape, chunk),
        }
    }

    /// Whether its kernel has room for the shape.
    pub const fn fits(self, shape: &Shape) -> bool {
        match self {
            Self::Off | Self::ParametricNativeDecode => true,
            Self::GroupedMirror | Self::Grouped => attention::grouped_fits(shape),
        }
    }
}

/// Tier of the products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// One element a load, 32 rows.
    Original,
    /// The stacked query, key and value projection with 64 rows; the others as in `Original`.
    Bm64,
    /// Four elements a load.
    Vecload4,
    /// Two buffers.
    Msl,
    /// The inner index split among SIMD groups.
    SplitK,
    /// Products of whole tiles: the tensor operations of Metal 4.
    Tensor,
}

impl Tier {
    /// Every tier.
    pub const ALL: [Self; 6] =
        [Self::Original, Self::Bm64, Self::Vecload4, Self::Msl, Self::SplitK, Self::Tensor];

    /// The name used in pipeline names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Bm64 => "bm64",
            Self::Vecload4 => "vecload4",
            Self::Msl => "msl",
            Self::SplitK => "splitk",
            Self::Tensor => "tensor",
        }
    }

    /// The kernel of a product.
    pub fn kernel(self, product: &Product) -> Kernel {
        match self {
            Self::Bm64 if product.role == Role::Qkv => tiers::bm64(product),
            Self::Original | Self::Bm64 => tiers::original(product),
            Self::Vecload4 => tiers::vecload4(product),
            Self::Msl => tiers::msl(product),
            Self::SplitK => tiers::splitk(product),
            Self::Tensor => tiers::tensor(product),
        }
    }
}

/// A run of the batched prefill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    /// Rows there is room for, 1 to [`MAX_ROWS`].
    pub rows: u32,
    /// Attention.
    pub path: Path,
    /// Tier of the query, key and value projection.
    pub qkv: Tier,
    /// Tier of the products added to the residual stream.
    pub accumulate: Tier,
    /// Tier of the gate and up projections.
    pub swiglu: Tier,
    /// How the matrices are stored.
    pub weights: Format,
}

impl Batch {
    /// 8-bit weights, one tier for every product.
    pub const fn int8(rows: u32, path: Path, tier: Tier) -> Self {
        Self { rows, path, qkv: tier, accumulate: tier, swiglu: tier, weights: Format::INT8 }
    }

    /// The tier of a product.
    pub const fn tier(&self, role: Role) -> Tier {
        match role {
            Role::Qkv => self.qkv,
            Role::Output | Role::Down => self.accumulate,
            Role::GateUp => self.swiglu,
        }
    }

    /// What attention reads.
    const fn chunk(&self, vectors: Scalar) -> Chunk {
        Chunk { rows: self.rows, activations: Scalar::F32, vectors, cache: self.path.cache() }
    }

    fn name(&self, formats: &Formats) -> String {
        let (path, Self { qkv, accumulate, swiglu, .. }) = (self.path.name(), *self);
        let tiers = match qkv == accumulate && accumulate == swiglu {
            true => qkv.name().to_owned(),
            false => [qkv, accumulate, swiglu].map(Tier::name).join("_"),
        };
        let weights: Vec<_> = formats.distinct().into_iter().map(Format::name).collect();
        format!("{}_prefill_{path}_{tiers}", weights.join("_"))
    }
}

/// Norms and rotation round products before they add.
const ARITHMETIC: Arithmetic = Arithmetic::Separate;

/// The launches of one run of up to `batch.rows` rows: embedding, eight a layer, norm and vocabulary of the last row.
///
/// `control` holds the position of the first row and how many rows hold tokens. The residual stream is left in `x`.
///
/// # Errors
/// A kernel that is refused at this shape.
pub fn batched(shape: &Shape, batch: &Batch) -> Result<Pipeline, Rejection> {
    batched_of(shape, batch, &Formats::uniform(shape, batch.weights))
}

/// The same for matrices in several formats, whatever `batch.weights` says. A layer whose queries, keys and values are in
/// several has a product for each.
///
/// # Errors
/// A kernel that is refused at this shape.
pub fn batched_of(shape: &Shape, batch: &Batch, formats: &Formats) -> Result<Pipeline, Rejection> {
    let path = batch.path;
    let mirrored = path == Path::GroupedMirror;
    // `chunk` is what attention reads, `kept` what is called `keys` and `values`: with a mirror that is the f32 copy.
    let chunk = batch.chunk(formats.vectors());
    let kept = Chunk { cache: if mirrored { Scalar::F32 } else { path.cache() }, ..chunk };
    let write = if mirrored { CacheWrite::Mirrored } else { CacheWrite::One };
    let accept = |kernel| verify(kernel).map(Arc::new);
    let embed_kernel = accept(rows::embed(shape, &chunk, formats.embedding()))?;
    let norm_kernel = accept(rows::rms_norm(shape, &chunk, ARITHMETIC))?;
    let heads_kernel = accept(rotate(shape, &kept, ARITHMETIC, write))?;
    let attention_kernel = accept(path.kernel(shape, &chunk))?;
    let last_kernel = accept(rows::last_norm(shape, &chunk, ARITHMETIC))?;
    let options = decode::Options::of(formats.head(), Scalar::F32);
    let vocabulary_kernel = accept(decode::products::vocabulary(shape, &options))?;
    let mut products = Kernels::new();

    let mut p = Pipeline::new(batch.name(formats), Order::Serial);
    let packs = ModelPack::new(shape, formats);
    let m = Memory::new(&mut p, shape, &kept, (&packs, formats.embedding()), true);
    let packed = mirrored.then(|| {
        let bytes = cache_bytes(shape, Scalar::F16) * u64::from(shape.layers);
        ["packed_keys", "packed_values"].map(|name| p.resource(name, bytes, ResourceKind::State))
    });
    let final_norm = p.resource("final_norm", chunk.vector_bytes(shape.hidden), ResourceKind::Input);
    let head = match shape.tied {
        true => m.embedding,
        false => Weights::vocabulary(&mut p, "head", shape, formats.head()),
    };
    let last = p.resource("last", u64::from(shape.hidden) * 4, ResourceKind::Scratch);
    let logits = p.resource("logits", u64::from(shape.vocab) * 4, ResourceKind::Output);

    let embed = Stage::new("embed", &embed_kernel).read("tokens", m.tokens).read("control", m.control);
    p.push(m.embedding.bind(embed, "embedding").write("x", m.x));
    for layer in 0..shape.layers {
        let weights = LayerWeights::new(shape, &packs, m.layers, layer);
        let stage = |what: &str, kernel| Stage::new(format!("{what}.{layer}"), kernel);
        let norm = |what, tensor| {
            let stage = stage(what, &norm_kernel).read("x", m.x).read("w", weights.vector(tensor));
            stage.write("y", m.h)
        };
        let mut product = |what: &str, role: Role, a| -> Result<Vec<Stage>, Rejection> {
            let pieces = weights.pieces(role.tensor());
            let of = |(n, piece): (usize, &Piece)| {
                let name = if n == 0 { format!("{what}.{layer}") } else { format!("{what}.{layer}.{n}") };
                let key = (role, piece.format, [piece.first, piece.rows]);
                let kernel = products.of(key, || product_of(shape, batch, role, piece))?;
                Ok(weights.bind(Stage::new(name, &kernel).read("a", a), piece))
            };
            pieces.iter().enumerate().map(of).collect()
        };
        let qkv = product("qkv", Role::Qkv, m.h)?;
        let output = product("output", Role::Output, m.mixed)?;
        let gate_up = product("gate_up", Role::GateUp, m.h)?;
        let down = product("down", Role::Down, m.activation)?;
        let [keys, values] = of_layer(shape, kept.cache, layer, [m.keys, m.values]);
        let packed = packed.map(|packed| of_layer(shape, Scalar::F16, layer, packed));

        p.push(norm("input_norm", Tensor::InputNorm));
        qkv.into_iter().for_each(|stage| p.push(stage.write("out", m.qkv)));
        let heads = stage("heads", &heads_kernel).read("qkv", m.qkv).read("rotary", m.rotary);
        let heads = weights.bind_heads(heads).read("control", m.control).write("q", m.q);
        let heads = heads.write("keys", keys).write("values", values);
        p.push(match packed {
            Some([keys, values]) => heads.write("packed_keys", keys).write("packed_values", values),
            None => heads,
        });
        let [keys, values] = packed.unwrap_or([keys, values]);
        let attend = stage("attention", &attention_kernel).read("q", m.q).read("control", m.control);
        p.push(attend.read("keys", keys).read("values", values).write("out", m.mixed));
        output.into_iter().for_each(|stage| p.push(stage.update("out", m.x)));
        p.push(norm("post_norm", Tensor::PostNorm));
        gate_up.into_iter().for_each(|stage| p.push(stage.write("out", m.activation)));
        down.into_iter().for_each(|stage| p.push(stage.update("out", m.x)));
    }
    let norm = Stage::new("final_norm", &last_kernel).read("x", m.x).read("control", m.control);
    p.push(norm.read("w", final_norm).write("y", last));
    let vocabulary = head.bind(Stage::new("vocabulary", &vocabulary_kernel), "weights");
    p.push(vocabulary.read("x", last).write("y", logits));
    Ok(p)
}

/// The product of a piece of a matrix.
fn product_of(shape: &Shape, batch: &Batch, role: Role, piece: &Piece) -> Kernel {
    let (columns, rows) = (piece.first..piece.first + piece.rows, batch.rows);
    batch.tier(role).kernel(&match role {
        Role::Qkv => Product::of_qkv(shape, columns, rows, piece.format),
        Role::Output | Role::GateUp | Role::Down => Product::new(shape, role, rows, piece.format),
    })
}

/// From the residual stream a run leaves to the logits of `rows` of its rows, in two launches. They have the bits of the
/// run's own logits.
///
/// # Errors
/// A kernel that is refused at this shape.
pub fn row_logits(shape: &Shape, rows: u32, formats: &Formats) -> Result<Pipeline, Rejection> {
    let format = formats.head();
    let chunk = Chunk { vectors: formats.vectors(), ..Chunk::new(rows, Scalar::F32) };
    let accept = |kernel| verify(kernel).map(Arc::new);
    let norm = accept(rows::rms_norm(shape, &chunk, ARITHMETIC))?;
    let options = decode::Options::of(format, Scalar::F32).sequences(rows);
    let vocabulary = accept(decode::products::vocabulary(shape, &options))?;

    let mut p = Pipeline::new(format!("{}_row_logits_{rows}", format.name()), Order::Serial);
    let x = p.resource("x", chunk.bytes(shape.hidden), ResourceKind::State);
    let final_norm = p.resource("final_norm", chunk.vector_bytes(shape.hidden), ResourceKind::Input);
    let head = if shape.tied { "embedding" } else { "head" };
    let head = Weights::vocabulary(&mut p, head, shape, format);
    let h = p.resource("h", chunk.bytes(shape.hidden), ResourceKind::Scratch);
    let logits = p.resource("logits", chunk.bytes(shape.vocab), ResourceKind::Output);
    p.push(Stage::new("final_norm", &norm).read("x", x).read("w", final_norm).write("y", h));
    p.push(head.bind(Stage::new("vocabulary", &vocabulary), "weights").read("x", h).write("y", logits));
    Ok(p)
}
