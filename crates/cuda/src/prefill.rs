//! Prompts on Hopper: chunks of rows of one sequence through the decoder, recorded once for each number of tiles.
//!
//! `native/prefill.cu`, `native/broad.cu` and `native/flash.cu` say how; a row's bits do not depend on where a prompt is cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_model::{Config, Refusal};

use crate::device::{Buffer, Device};
use crate::hopper::{Chunk, DEPTH, LayerMaps, WeightMaps, kernel, matrix};
use crate::raw::launch::Arg;
use crate::raw::overlap::{Graph, Shape, TensorMap};
use crate::weights::Weights;

/// Rows and columns of a tile; the rows of a block of attention.
const TILE: usize = 128;
/// Columns of a sum of squares.
const PIECE: usize = 64;
/// Blocks that share a tile of o or down where rows are few.
const PARTS: usize = 2;
/// Blocks that run at once with one a multiprocessor.
const WAVE: usize = 132;
/// Columns of a tile of gate and up that many, or few, rows are cut into.
const PLAIN: usize = 128;
const WIDE: usize = 192;
const MULTIPLY_THREADS: u32 = 288;
/// Columns of a tile of `native/broad.cu`, of whose tiles a block takes one after another.
const BROAD: usize = 256;
const BROAD_THREADS: u32 = 384;
const BROAD_STAGES: u32 = 4;
/// Of the kernel that adds, which keeps pieces of the first part behind its ring.
const BROAD_ADD_STAGES: u32 = 3;
const BROAD_PARKED: u32 = 64 << 10;

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
    multiply_pair_64: CudaFunction,
    multiply_pair_128: CudaFunction,
    multiply_gate_up: CudaFunction,
    multiply_gate_up_wide: CudaFunction,
    broad_qkv: CudaFunction,
    broad_gate_up: CudaFunction,
    broad_add: CudaFunction,
    flash: CudaFunction,
    /// The chunk, then its tokens.
    input: Buffer,
    /// The residual stream, f32, as `Residual` of `native/prefill.cu` has it.
    x: Buffer,
    /// The residual stream weighed by the next norm's weight, bf16; after a pass normed, for the head.
    pub(crate) y: Buffer,
    /// Sums of squares of the residual stream, `[rows, pieces]`.
    squares: Buffer,
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
            multiply_qkv: kernel(module, "multiply_qkv", ring(PLAIN, 6))?,
            multiply_add: kernel(module, "multiply_add", ring(PLAIN, 6))?,
            multiply_pair_64: kernel(module, "multiply_pair_64", ring(64, 8))?,
            multiply_pair_128: kernel(module, "multiply_pair_128", ring(128, 5))?,
            multiply_gate_up: kernel(module, "multiply_gate_up", ring(PLAIN, 3))?,
            multiply_gate_up_wide: kernel(module, "multiply_gate_up_wide", ring(WIDE, 5))?,
            broad_qkv: kernel(module, "broad_qkv", broad_shared(BROAD_STAGES, 0))?,
            broad_gate_up: kernel(module, "broad_gate_up", broad_shared(BROAD_STAGES, 0))?,
            broad_add: kernel(module, "broad_add", broad_shared(BROAD_ADD_STAGES, BROAD_PARKED))?,
            flash: kernel(module, "flash", flash_shared(config))?,
            input: device.zeros(size_of::<Chunk>() + most * 4)?,
            x: device.zeros(most * h.next_multiple_of(PIECE) * 4)?,
            y,
            squares: device.zeros(most * h.div_ceil(PIECE) * 4)?,
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
    ) -> Result<(), Refusal> {
        let room = positions.next_multiple_of(TILE);
        if room > self.room {
            let (rows, dim) = (config.kv_heads * room, config.head_dim);
            // All of it is there before anything is replaced: what is refused leaves what was recorded as it is.
            let (keys, values) = (device.zeros(rows * dim * 2)?, device.zeros(rows * dim * 2)?);
            let maps = (
                matrix(keys.address, rows, dim, TILE as u32)?,
                matrix(values.address, rows, dim, TILE as u32)?,
            );
            device.wait()?;
            self.graphs.clear();
            (self.keys, self.values) = (keys, values);
            (self.maps.keys, self.maps.values) = maps;
            self.room = room;
        }
        Ok(())
    }

    /// Reads RoPE's table from where it lies now; what is recorded with another is forgotten. Nothing is under way.
    pub(crate) fn follow(&mut self, rope: u64) {
        if rope != self.rope {
            self.graphs.clear();
            self.rope = rope;
        }
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
            start: place.start as u32,
            count: tokens.len() as u32,
            room: self.room as u32,
            rest: 0,
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
        let args = [
            Arg::U64(tokens),
            Arg::U64(weights.embedding.address),
            self.residual(config, weights, 0),
            chunk.clone(),
        ];
        device.start(&self.embed, Shape::new((rows, 1, 1), 256, 0), false, &args)?;
        let layers = maps.layers.len();
        for (index, layer) in maps.layers.iter().enumerate() {
            let last = key.wanted == Wanted::Last && index + 1 == layers;
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
            let groups = if config.heads * tiles <= WAVE { 1 } else { 2 };
            let tall = if last { 1 } else { tiles * 2 / groups };
            let threads = 128 * (groups as u32 + 1);
            let shape = Shape::new((config.heads as u32, tall as u32, 1), threads, flash_shared(config));
            device.start(&self.flash, shape, true, &args)?;
            let next = self.residual(config, weights, 2 * index + 1);
            self.add(device, config, (&self.maps.attended, &layer.o, next), config.q_width(), (tiles, last))?;
            self.gate_up(device, config, layer, (tiles, last))?;
            let next = self.residual(config, weights, 2 * index + 2);
            self.add(device, config, (&self.maps.product, &layer.down, next), i, (tiles, last))?;
        }
        let last = key.wanted == Wanted::Last;
        let args = [self.residual(config, weights, 2 * layers), chunk, Arg::U32(last.into())];
        device.start(&self.rms_norm, Shape::new((if last { 1 } else { rows }, 1, 1), 128, 0), true, &args)
    }

    /// `Residual` of `native/prefill.cu`, weighed for a norm.
    fn residual(&self, config: &Config, weights: &Weights, norm: usize) -> Arg {
        let gain = weights.norms.address + (norm * config.hidden * 4) as u64;
        Arg::Words(Box::new([self.x.address, self.y.address, self.squares.address, gain]))
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
        let squares = self.squares.address;
        // `Heads` of `native/prefill.cu`.
        let heads =
            [squares, bias, head_norm(0), head_norm(1), self.rope, queries, keys, values, index as u64];
        let mut args = vec![
            Arg::Map(Box::new(self.maps.y)),
            Arg::Map(Box::new(layer.qkv)),
            Arg::Words(Box::new(heads)),
            Arg::U64(self.input.address),
        ];
        let width = config.q_width() + 2 * config.kv_width();
        if let Some(shape) = broad(tiles(rows) * width.div_ceil(BROAD), BROAD_STAGES, 0) {
            return device.start(&self.broad_qkv, shape, true, &args);
        }
        // Where blocks are few, one a multiprocessor with a longer ring.
        let columns = width.div_ceil(PLAIN);
        let stages = if tiles(rows) * columns <= WAVE { 6 } else { 3 };
        args.push(Arg::U32(stages));
        let shape = multiply((tiles(rows), columns), PLAIN, stages);
        device.start(&self.multiply_qkv, shape, true, &args)
    }

    fn gate_up(
        &self,
        device: &Device,
        config: &Config,
        layer: &LayerMaps,
        (tiles, last): (usize, bool),
    ) -> Result<(), Refusal> {
        let columns = |tile: usize| (2 * config.intermediate).div_ceil(tile);
        let mut args = vec![
            Arg::Map(Box::new(self.maps.y)),
            Arg::Map(Box::new(layer.gate_up)),
            Arg::U64(self.squares.address),
            Arg::U64(self.product.address),
            Arg::U64(self.input.address),
        ];
        if !last && let Some(shape) = broad(tiles * columns(BROAD), BROAD_STAGES, 0) {
            return device.start(&self.broad_gate_up, shape, true, &args);
        }
        // Wider tiles where these make one wave of blocks, and others more.
        let wide = tiles * columns(PLAIN) > WAVE && tiles * columns(WIDE) <= WAVE;
        let (function, tile, stages) = if wide {
            args[1] = Arg::Map(Box::new(layer.gate_up_wide));
            (&self.multiply_gate_up_wide, WIDE, 5)
        } else {
            (&self.multiply_gate_up, PLAIN, 3)
        };
        args.extend([Arg::U32(stages), Arg::U32(last.into())]);
        device.start(function, multiply((tiles, columns(tile)), tile, stages), true, &args)
    }

    /// Adds a product to the residual stream, which is then weighed for the norm of `next`.
    fn add(
        &self,
        device: &Device,
        config: &Config,
        (input, weights, next): (&TensorMap, &TensorMap, Arg),
        depth: usize,
        (tiles, last): (usize, bool),
    ) -> Result<(), Refusal> {
        let mut args = vec![Arg::Map(Box::new(*input)), Arg::Map(Box::new(*weights)), next];
        args.extend([Arg::U64(self.input.address), Arg::U32(depth as u32)]);
        let wide = broad(tiles * config.hidden.div_ceil(BROAD), BROAD_ADD_STAGES, BROAD_PARKED);
        if !last && let Some(shape) = wide {
            return device.start(&self.broad_add, shape, true, &args);
        }
        let blocks = |tile: usize| tiles * config.hidden.div_ceil(tile) * PARTS;
        // Two blocks a tile, and narrower tiles, where there are multiprocessors for them.
        let (function, tile, parts, stages) = if blocks(64) <= WAVE {
            (&self.multiply_pair_64, 64, PARTS, 8)
        } else if blocks(128) <= WAVE {
            (&self.multiply_pair_128, 128, PARTS, 5)
        } else {
            (&self.multiply_add, PLAIN, 1, 6)
        };
        let shape = multiply((tiles, config.hidden.div_ceil(tile) * parts), tile, stages);
        let shape = Shape { cluster: (1, parts as u32), ..shape };
        args.extend([Arg::U32(stages), Arg::U32(last.into())]);
        device.start(function, shape, true, &args)
    }
}

/// Rows that a recorded pass is for: a power of two of tiles.
fn bucket(rows: usize) -> usize {
    rows.div_ceil(TILE).next_power_of_two() * TILE
}

fn tiles(rows: usize) -> usize {
    rows.div_ceil(TILE)
}

/// Bytes of a ring of so many stages for tiles of so many columns, aligned.
fn ring(columns: usize, stages: u32) -> u32 {
    stages * ((TILE + columns) as u32 * DEPTH * 2) + 1024
}

/// Bytes of queries and of two stages of keys and of values, aligned.
fn flash_shared(config: &Config) -> u32 {
    (5 * TILE * config.head_dim * 2 + 1024) as u32
}

/// Bytes of a ring of so many stages for broad tiles, of the desks behind it and of what lies behind these, aligned.
fn broad_shared(stages: u32, parked: u32) -> u32 {
    stages * ((TILE + BROAD) as u32 * DEPTH * 2) + 8 * (16 * PIECE as u32 * 2) + parked + 1024
}

/// A kernel of broad tiles, where these keep nine tenths of the multiprocessors busy to the end.
fn broad(tiles: usize, stages: u32, parked: u32) -> Option<Shape> {
    let waves = tiles.div_ceil(WAVE);
    (tiles * 10 >= waves * WAVE * 9)
        .then(|| Shape::new((tiles.min(WAVE) as u32, 1, 1), BROAD_THREADS, broad_shared(stages, parked)))
}

fn multiply((tiles, columns): (usize, usize), tile: usize, stages: u32) -> Shape {
    Shape::new((tiles as u32, columns as u32, 1), MULTIPLY_THREADS, ring(tile, stages))
}
