//! Prompts on Hopper: chunks of rows of one sequence through the decoder, recorded once for each number of tiles.
//!
//! `native/prefill.cu` and `native/flash.cu` say how; a row's bits do not depend on where a prompt is cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_model::{Config, Refusal};

use crate::device::{Buffer, Device};
use crate::hopper::{Chunk, LayerMaps, WeightMaps, kernel, matrix};
use crate::raw::launch::Arg;
use crate::raw::overlap::{Graph, Shape, TensorMap};
use crate::weights::Weights;

/// Rows and columns of a tile; the rows of a block of attention.
const TILE: usize = 128;
/// Parts of the columns that o and down are summed up in.
const PARTS: usize = 4;
/// Tiles of o and down up to which each part has a block of its own.
const FEW_TILES: usize = 66;
const STAGE: u32 = 32 << 10;
const MULTIPLY_THREADS: u32 = 288;

/// Which rows are wanted after the last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wanted {
    Every,
    Last,
}

/// What a recorded pass is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    rows: usize,
    /// Whether positions come before the chunk.
    follows: bool,
    wanted: Wanted,
}

/// Kernels and what lies between them.
pub(crate) struct Prefill {
    embed: CudaFunction,
    rms_norm: CudaFunction,
    recall: CudaFunction,
    multiply_qkv: CudaFunction,
    multiply_add: CudaFunction,
    multiply_part: CudaFunction,
    multiply_gate_up: CudaFunction,
    flash: CudaFunction,
    /// The chunk, then its tokens.
    input: Buffer,
    /// The residual stream, f32.
    x: Buffer,
    /// Partial sums of few rows.
    parts: Buffer,
    /// The input of the next product, and after a pass of the head, bf16.
    pub(crate) y: Buffer,
    queries: Buffer,
    attended: Buffer,
    product: Buffer,
    maps: Maps,
    /// Keys and values of one layer, `[kv_heads, room, head_dim]`.
    keys: Buffer,
    values: Buffer,
    room: usize,
    rope: u64,
    graphs: BTreeMap<Key, Graph>,
}

struct Maps {
    y: TensorMap,
    queries: TensorMap,
    attended: TensorMap,
    product: TensorMap,
    keys: TensorMap,
    values: TensorMap,
}

/// Where a chunk goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) cache: u64,
    pub(crate) blocks: usize,
    pub(crate) start: usize,
}

impl Prefill {
    /// For chunks of up to `most` rows.
    pub(crate) fn new(
        device: &Device,
        module: &Arc<CudaModule>,
        config: &Config,
        most: usize,
    ) -> Result<Self, Refusal> {
        let most = bucket(most);
        let (h, q, i) = (config.hidden, config.q_width(), config.intermediate);
        let halves = |width: usize| device.zeros(most * width * 2);
        let map = |buffer: &Buffer, width: usize| matrix(buffer.address, most, width, 64);
        let (y, queries, attended, product) = (halves(h)?, halves(q)?, halves(q)?, halves(i)?);
        let few = (FEW_TILES / h.div_ceil(TILE)).max(1) * TILE;
        let (keys, values) = (device.zeros(0)?, device.zeros(0)?);
        let maps = Maps {
            y: map(&y, h)?,
            queries: map(&queries, q)?,
            attended: map(&attended, q)?,
            product: map(&product, i)?,
            keys: matrix(keys.address, TILE, config.head_dim, 1)?,
            values: matrix(values.address, TILE, config.head_dim, 1)?,
        };
        Ok(Self {
            embed: kernel(module, "embed", 0)?,
            rms_norm: kernel(module, "rms_norm", 0)?,
            recall: kernel(module, "recall", 0)?,
            multiply_qkv: kernel(module, "multiply_qkv", ring(6))?,
            multiply_add: kernel(module, "multiply_add", ring(6))?,
            multiply_part: kernel(module, "multiply_part", ring(6))?,
            multiply_gate_up: kernel(module, "multiply_gate_up", ring(6))?,
            flash: kernel(module, "flash", flash_shared(config))?,
            input: device.zeros(size_of::<Chunk>() + most * 4)?,
            x: device.zeros(most * h * 4)?,
            parts: device.zeros(PARTS * few * h * 4)?,
            y,
            queries,
            attended,
            product,
            maps,
            keys,
            values,
            room: 0,
            rope: 0,
            graphs: BTreeMap::new(),
        })
    }

    /// Makes ready for sequences of `positions`.
    pub(crate) fn reach(
        &mut self,
        device: &Device,
        config: &Config,
        positions: usize,
        rope: u64,
    ) -> Result<(), Refusal> {
        let room = positions.next_multiple_of(TILE);
        if room > self.room || rope != self.rope {
            device.wait()?;
            self.graphs.clear();
            self.rope = rope;
        }
        if room > self.room {
            let (rows, dim) = (config.kv_heads * room, config.head_dim);
            self.keys = device.zeros(rows * dim * 2)?;
            self.values = device.zeros(rows * dim * 2)?;
            self.maps.keys = matrix(self.keys.address, rows, dim, TILE as u32)?;
            self.maps.values = matrix(self.values.address, rows, dim, TILE as u32)?;
            self.room = room;
        }
        Ok(())
    }

    /// Takes a chunk through every layer: its keys and values are then in the cache, its rows (or the last alone) normed in `y`.
    pub(crate) fn run(
        &mut self,
        device: &Device,
        config: &Config,
        weights: (&Weights, &WeightMaps),
        place: Place,
        tokens: &[u32],
        wanted: Wanted,
    ) -> Result<(), Refusal> {
        let chunk = Chunk {
            cache: place.cache,
            blocks: place.blocks as u32,
            start: place.start as u32,
            count: tokens.len() as u32,
            room: self.room as u32,
        };
        let input = [bytemuck::bytes_of(&chunk), bytemuck::cast_slice(tokens)].concat();
        device.write(&mut self.input, 0, &input)?;
        let key = Key { rows: bucket(tokens.len()), follows: place.start > 0, wanted };
        if !self.graphs.contains_key(&key) {
            let graph = device.record(|| self.start(device, config, weights, key))?;
            self.graphs.insert(key, graph);
        }
        self.graphs.get_mut(&key).map_or(Ok(()), |graph| device.replay(graph))
    }

    /// Starts every kernel of a pass.
    fn start(
        &self,
        device: &Device,
        config: &Config,
        (weights, maps): (&Weights, &WeightMaps),
        key: Key,
    ) -> Result<(), Refusal> {
        let i = config.intermediate;
        let chunk = Arg::U64(self.input.address);
        let tokens = self.input.address + size_of::<Chunk>() as u64;
        let rows = key.rows as u32;
        let args = [tokens, weights.embedding.address, self.x.address].map(Arg::U64);
        device.start(
            &self.embed,
            Shape::new((rows, 1, 1), 256, 0),
            false,
            &[&args[..], std::slice::from_ref(&chunk)].concat(),
        )?;
        let layers = maps.layers.len();
        let mut splits = 0;
        for (index, layer) in maps.layers.iter().enumerate() {
            let last = key.wanted == Wanted::Last && index + 1 == layers;
            self.norm(device, config, weights, 2 * index, splits, (rows, false))?;
            if key.follows {
                let args = [self.input.address, self.keys.address, self.values.address].map(Arg::U64);
                let args = [&args[..], &[Arg::U32(index as u32)]].concat();
                device.start(&self.recall, Shape::new((528, 1, 1), 256, 0), true, &args)?;
            }
            self.qkv(device, config, weights, layer, index, key.rows)?;
            let tiles = if last { 1 } else { tiles(key.rows) };
            let args = [
                Arg::Map(Box::new(self.maps.queries)),
                Arg::Map(Box::new(self.maps.keys)),
                Arg::Map(Box::new(self.maps.values)),
                Arg::U64(self.attended.address),
                chunk.clone(),
                Arg::U32(last.into()),
            ];
            // Blocks of one warpgroup where two would leave multiprocessors without work.
            let groups = if config.heads as u32 * tiles <= 132 { 1 } else { 2 };
            let tall = if last { 1 } else { tiles * 2 / groups };
            let threads = 128 * (groups + 1);
            let shape = Shape::new((config.heads as u32, tall, 1), threads, flash_shared(config));
            device.start(&self.flash, shape, true, &args)?;
            splits =
                self.add(device, config, (&self.maps.attended, &layer.o), config.q_width(), (tiles, last))?;
            self.norm(device, config, weights, 2 * index + 1, splits, (rows, last))?;
            let args = [
                Arg::Map(Box::new(self.maps.y)),
                Arg::Map(Box::new(layer.gate_up)),
                Arg::U64(self.product.address),
                chunk.clone(),
                Arg::U32(3),
                Arg::U32(last.into()),
            ];
            let shape = multiply(tiles, i.div_ceil(64) as u32, 1, 3);
            device.start(&self.multiply_gate_up, shape, true, &args)?;
            splits = self.add(device, config, (&self.maps.product, &layer.down), i, (tiles, last))?;
        }
        let last = key.wanted == Wanted::Last;
        self.norm(device, config, weights, 2 * layers, splits, (rows, last))
    }

    fn norm(
        &self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        index: usize,
        splits: usize,
        (rows, last): (u32, bool),
    ) -> Result<(), Refusal> {
        let weight = weights.norms.address + (index * config.hidden * 4) as u64;
        let args = [
            Arg::U64(self.x.address),
            Arg::U64(self.parts.address),
            Arg::U32(splits as u32),
            Arg::U32(self.pitch(config)),
            Arg::U64(weight),
            Arg::U64(self.y.address),
            Arg::U64(self.input.address),
            Arg::U32(last.into()),
        ];
        device.start(&self.rms_norm, Shape::new((if last { 1 } else { rows }, 1, 1), 128, 0), true, &args)
    }

    fn qkv(
        &self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        layer: &LayerMaps,
        index: usize,
        rows: usize,
    ) -> Result<(), Refusal> {
        let head_norm = |which: usize| {
            let norms = weights.head_norms.as_ref().map_or(0, |b| b.address);
            norms + ((2 * index + which) * config.head_dim * 4) as u64
        };
        let bias = weights.layers[index].qkv_bias.as_ref().map_or(0, |b| b.address);
        let (queries, keys, values) = (self.queries.address, self.keys.address, self.values.address);
        // `Heads` of `native/prefill.cu`.
        let heads = [bias, head_norm(0), head_norm(1), self.rope, queries, keys, values, index as u64];
        let columns = (config.q_width() + 2 * config.kv_width()).div_ceil(TILE) as u32;
        // Where blocks are few, one a multiprocessor with a longer ring.
        let stages = if tiles(rows) * columns <= 132 { 6 } else { 3 };
        let args = [
            Arg::Map(Box::new(self.maps.y)),
            Arg::Map(Box::new(layer.qkv)),
            Arg::Words(Box::new(heads)),
            Arg::U64(self.input.address),
            Arg::U32(stages),
        ];
        let shape = multiply(tiles(rows), columns, 1, stages);
        device.start(&self.multiply_qkv, shape, true, &args)
    }

    /// Adds a product to the residual stream; or leaves so many partial sums for the next norm.
    fn add(
        &self,
        device: &Device,
        config: &Config,
        (input, weights): (&TensorMap, &TensorMap),
        depth: usize,
        (tiles, last): (u32, bool),
    ) -> Result<usize, Refusal> {
        let columns = config.hidden.div_ceil(TILE) as u32;
        let few = tiles == 1 || tiles * columns <= FEW_TILES as u32;
        let out = if few { self.parts.address } else { self.x.address };
        let mut args = vec![Arg::Map(Box::new(*input)), Arg::Map(Box::new(*weights)), Arg::U64(out)];
        args.extend([Arg::U64(self.input.address), Arg::U32(depth as u32), Arg::U32(6)]);
        if few {
            args.push(Arg::U32(self.pitch(config)));
        }
        args.push(Arg::U32(last.into()));
        let (function, parts) =
            if few { (&self.multiply_part, PARTS as u32) } else { (&self.multiply_add, 1) };
        device.start(function, multiply(tiles, columns, parts, 6), true, &args)?;
        Ok(if few { PARTS } else { 0 })
    }

    /// Rows of a part of the partial sums.
    fn pitch(&self, config: &Config) -> u32 {
        (self.parts.len() / (PARTS * config.hidden * 4)) as u32
    }
}

/// Rows that a recorded pass is for: a power of two of tiles.
fn bucket(rows: usize) -> usize {
    rows.div_ceil(TILE).next_power_of_two() * TILE
}

fn tiles(rows: usize) -> u32 {
    rows.div_ceil(TILE) as u32
}

/// Bytes of a ring of so many stages, aligned.
fn ring(stages: u32) -> u32 {
    stages * STAGE + 1024
}

/// Bytes of queries and of two stages of keys and of values, aligned.
fn flash_shared(config: &Config) -> u32 {
    (5 * TILE * config.head_dim * 2 + 1024) as u32
}

fn multiply(tiles: u32, columns: u32, parts: u32, stages: u32) -> Shape {
    Shape::new((tiles, columns, parts), MULTIPLY_THREADS, ring(stages))
}
