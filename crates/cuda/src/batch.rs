//! One token for each of several sequences on Hopper: a step recorded once for each number of rows.
//!
//! `native/batch.cu` says how; a row's bits do not depend on the rows beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_model::{Config, Refusal};

use crate::device::{Buffer, Device};
use crate::gpu::Gpu;
use crate::hopper::{DEPTH, RowMaps, STREAM_ROWS, WeightMaps, kernel, row_maps, size_of_rows};
use crate::kv::BLOCK;
use crate::raw::launch::Arg;
use crate::raw::overlap::{Graph, Shape, TensorMap};
use crate::stages::Row;
use crate::weights::Weights;

/// Steps whose ids are kept; `WINDOW` of `native/batch.cu`.
pub(crate) const WINDOW: usize = 16;
/// Blocks that share a row of logits; `SHARES` of `native/batch.cu`.
const SHARES: usize = 32;
/// A warpgroup that multiplies and four warps that send.
const STREAM_THREADS: u32 = 256;
/// Stages of the rings: of QKV, of o and down, of gate and up, of the head.
const QKV_STAGES: u32 = 4;
const ADD_STAGES: u32 = 8;
const GATE_UP_STAGES: u32 = 8;
const HEAD_STAGES: u32 = 8;

/// One kernel for 8, 16 and 32 rows.
type Sizes = [CudaFunction; 3];

/// Kernels and what lies between them.
pub(crate) struct Batch {
    embed: CudaFunction,
    qkv: Sizes,
    attend: CudaFunction,
    add: Sizes,
    gate_up: Sizes,
    head: Sizes,
    choose: CudaFunction,
    multiprocessors: u32,
    rows: Buffer,
    tokens: Buffer,
    /// The residual stream, and sums of its squares.
    x: Buffer,
    squares: Buffer,
    y: Buffer,
    queries: Buffer,
    attended: Buffer,
    product: Buffer,
    pub(crate) logits: Buffer,
    best: Buffer,
    arrived: Buffer,
    out: Buffer,
    /// Of `y`, `attended` and `product`.
    maps: [RowMaps; 3],
    /// Partial results of attention, and how many items a row's head may have.
    parts: Buffer,
    items: usize,
    rope: u64,
    graphs: BTreeMap<usize, Graph>,
}

impl Batch {
    pub(crate) fn new(
        device: &Device,
        module: &Arc<CudaModule>,
        config: &Config,
        gpu: &Gpu,
    ) -> Result<Self, Refusal> {
        let most = STREAM_ROWS;
        let (h, q, i) = (config.hidden, config.q_width(), config.intermediate);
        let sizes = |name: &str, tall: u32, stages: u32| {
            let get = |size| kernel(module, &format!("{name}_{}", 8 << size), ring(size, tall, stages));
            Ok::<_, Refusal>([get(0)?, get(1)?, get(2)?])
        };
        let (y, attended, product) =
            (device.zeros(most * h * 2)?, device.zeros(most * q * 2)?, device.zeros(most * i * 2)?);
        let maps = [
            row_maps(y.address, most, h)?,
            row_maps(attended.address, most, q)?,
            row_maps(product.address, most, i)?,
        ];
        Ok(Self {
            embed: kernel(module, "embed_rows", 0)?,
            qkv: sizes("qkv_rows", 2, QKV_STAGES)?,
            attend: kernel(module, "attend_rows", attend_shared(config))?,
            add: sizes("add_rows", 1, ADD_STAGES)?,
            gate_up: sizes("gate_up_rows", 1, GATE_UP_STAGES)?,
            head: sizes("head_rows", 1, HEAD_STAGES)?,
            choose: kernel(module, "choose", 0)?,
            multiprocessors: gpu.multiprocessors as u32,
            rows: device.zeros(most * size_of::<Row>())?,
            tokens: device.zeros(most * 4)?,
            x: device.zeros(most * h * 4)?,
            squares: device.zeros(most * h / 8 * 4)?,
            y,
            queries: device.zeros(most * q * 4)?,
            attended,
            product,
            logits: device.zeros(most * config.vocab * 4)?,
            best: device.zeros(most * SHARES * 8)?,
            arrived: device.zeros(most * (config.kv_heads + 1) * 4)?,
            out: device.zeros(WINDOW * most * 4)?,
            maps,
            parts: device.zeros(0)?,
            items: 0,
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
        // `item_count` of `native/batch.cu`.
        let items = (positions.div_ceil(BLOCK) + 8).div_ceil(16);
        if items > self.items {
            let part = config.group() * (config.head_dim + 2) * 4;
            let parts = device.zeros(STREAM_ROWS * config.kv_heads * items * part)?;
            device.wait()?;
            self.graphs.clear();
            self.parts = parts;
            self.items = items;
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

    /// Appends a token to each row's sequence, `steps` times, up to [`WINDOW`], from the second time on the id of the greatest
    /// logit. The last step's logits stay in `logits`; the ids it chose are not yet appended.
    pub(crate) fn run(
        &mut self,
        device: &Device,
        config: &Config,
        weights: (&Weights, &WeightMaps),
        (rows, tokens): (&[Row], &[u32]),
        steps: usize,
    ) -> Result<(), Refusal> {
        let count = rows.len();
        device.write(&mut self.rows, 0, bytemuck::cast_slice(rows))?;
        device.write(&mut self.tokens, 0, bytemuck::cast_slice(tokens))?;
        if !self.graphs.contains_key(&count) {
            let graph = device.record(|| self.start(device, config, weights, count))?;
            self.graphs.insert(count, graph);
        }
        for _ in 0..steps {
            self.graphs.get_mut(&count).map_or(Ok(()), |graph| device.replay(graph))?;
        }
        Ok(())
    }

    /// The ids that the last run's steps chose, for each row in turn; `rows` as that run had them.
    pub(crate) fn chosen(
        &self,
        device: &Device,
        rows: &[Row],
        steps: usize,
    ) -> Result<Vec<Vec<u32>>, Refusal> {
        let mut ids = vec![0u32; WINDOW * STREAM_ROWS];
        device.read(&self.out, 0, bytemuck::cast_slice_mut(&mut ids))?;
        let of = |(index, row): (usize, &Row)| {
            (0..steps).map(|s| ids[(row.position as usize + s) % WINDOW * STREAM_ROWS + index]).collect()
        };
        Ok(rows.iter().enumerate().map(of).collect())
    }

    /// Starts every kernel of a step of `count` rows.
    fn start(
        &self,
        device: &Device,
        config: &Config,
        (weights, maps): (&Weights, &WeightMaps),
        count: usize,
    ) -> Result<(), Refusal> {
        let size = size_of_rows(count);
        let (h, q, i) = (config.hidden, config.q_width(), config.intermediate);
        let [y, attended, product] = &self.maps;
        let gain = |index: usize| weights.norms.address + (index * h * 4) as u64;
        // `Stream` of `native/batch.cu`.
        let stream =
            |gain: u64| Arg::Words(Box::new([self.x.address, gain, self.y.address, self.squares.address]));
        let args = [Arg::U64(self.tokens.address), Arg::U64(weights.embedding.address), stream(gain(0))];
        device.start(&self.embed, Shape::new((count as u32, 1, 1), 256, 0), false, &args)?;
        let add = |input: &RowMaps, map: &TensorMap, columns: usize, gain: u64| {
            let blocks = h.div_ceil(64) as u32;
            let splits = self.splits(blocks, columns);
            let shape = Shape::new((blocks, splits, 1), STREAM_THREADS, ring(size, 1, ADD_STAGES));
            let mut args = vec![Arg::Map(Box::new(input[size])), Arg::Map(Box::new(*map)), stream(gain)];
            args.extend([columns as u32, ADD_STAGES, count as u32].map(Arg::U32));
            device.start(&self.add[size], Shape { cluster: (1, splits), ..shape }, true, &args)
        };
        for (index, layer) in maps.layers.iter().enumerate() {
            self.qkv(device, config, (weights, &layer.qkv), index, count)?;
            let mut args = [&self.queries, &self.rows, &self.parts, &self.arrived, &self.attended]
                .map(|b| Arg::U64(b.address))
                .to_vec();
            args.extend([index as u32, count as u32, self.items as u32].map(Arg::U32));
            let shape = Shape::new((3 * self.multiprocessors, 1, 1), 160, attend_shared(config));
            device.start(&self.attend, shape, true, &args)?;
            add(attended, &layer.o, q, gain(2 * index + 1))?;
            let args = [
                Arg::Map(Box::new(y[size])),
                Arg::Map(Box::new(layer.paired)),
                Arg::U64(self.squares.address),
                Arg::U64(self.product.address),
                Arg::U32(GATE_UP_STAGES),
            ];
            let shape =
                Shape::new((i.div_ceil(32) as u32, 1, 1), STREAM_THREADS, ring(size, 1, GATE_UP_STAGES));
            device.start(&self.gate_up[size], shape, true, &args)?;
            add(product, &layer.down, i, gain(2 * index + 2))?;
        }
        self.multiply_head(device, config, maps, y, (0, count), self.squares.address)?;
        let arrived = self.arrived.address + (STREAM_ROWS * config.kv_heads * 4) as u64;
        let args = [
            self.logits.address,
            self.best.address,
            arrived,
            self.tokens.address,
            self.out.address,
            self.rows.address,
        ];
        device.start(
            &self.choose,
            Shape::new((SHARES as u32, count as u32, 1), 256, 0),
            true,
            &args.map(Arg::U64),
        )
    }

    fn qkv(
        &self,
        device: &Device,
        config: &Config,
        (weights, map): (&Weights, &TensorMap),
        index: usize,
        count: usize,
    ) -> Result<(), Refusal> {
        let head_norm = |which: usize| {
            let norms = weights.head_norms.as_ref().map_or(0, |b| b.address);
            norms + ((2 * index + which) * config.head_dim * 4) as u64
        };
        let size = size_of_rows(count);
        let blocks = (config.q_width() + 2 * config.kv_width()).div_ceil(128) as u32;
        let splits = self.splits(blocks, config.hidden);
        // `Rotate` of `native/batch.cu`.
        let rotate = [
            self.squares.address,
            weights.layers[index].qkv_bias.as_ref().map_or(0, |b| b.address),
            head_norm(0),
            head_norm(1),
            self.rope,
            self.queries.address,
            self.rows.address,
            index as u64 | (count as u64) << 32,
        ];
        let args = [
            Arg::Map(Box::new(self.maps[0][size])),
            Arg::Map(Box::new(*map)),
            Arg::Words(Box::new(rotate)),
            Arg::U32(QKV_STAGES),
        ];
        let shape = Shape::new((blocks, splits, 1), STREAM_THREADS, ring(size, 2, QKV_STAGES));
        device.start(&self.qkv[size], Shape { cluster: (1, splits), ..shape }, true, &args)
    }

    /// Blocks of a cluster that share a tile's columns: as many as keep the GPU busy, of the matrix's shape alone.
    fn splits(&self, blocks: u32, columns: usize) -> u32 {
        let most = (self.multiprocessors / blocks).min((columns as u32).div_ceil(DEPTH)).clamp(1, 8);
        1 << most.ilog2()
    }

    fn multiply_head(
        &self,
        device: &Device,
        config: &Config,
        maps: &WeightMaps,
        input: &RowMaps,
        (first, count): (usize, usize),
        squares: u64,
    ) -> Result<(), Refusal> {
        let size = size_of_rows(count);
        let args = [
            Arg::Map(Box::new(input[size])),
            Arg::Map(Box::new(maps.head)),
            Arg::U64(squares),
            Arg::U64(self.logits.address),
            Arg::U32(HEAD_STAGES),
            Arg::U32(first as u32),
        ];
        let blocks = (config.vocab.div_ceil(64) as u32).min(2 * self.multiprocessors);
        device.start(
            &self.head[size],
            Shape::new((blocks, 1, 1), STREAM_THREADS, ring(size, 1, HEAD_STAGES)),
            true,
            &args,
        )
    }

    /// Logits of `count` normed rows of `input`, at most [`STREAM_ROWS`], from row `first` on.
    pub(crate) fn head(
        &self,
        device: &Device,
        config: &Config,
        maps: &WeightMaps,
        input: &RowMaps,
        rows: (usize, usize),
        out: &mut [f32],
    ) -> Result<(), Refusal> {
        self.multiply_head(device, config, maps, input, rows, 0)?;
        device.read(&self.logits, 0, bytemuck::cast_slice_mut(out))
    }
}

/// Bytes of a ring of stages with 64 * `tall` rows of weights and the rows of a size, aligned; what a block's cluster reads
/// of its sums fits too.
fn ring(size: usize, tall: u32, stages: u32) -> u32 {
    let rows = 8 << size;
    1024 + (stages * (tall * 8192 + rows * 128)).max(rows * (64 * tall + 4) * 4)
}

/// Bytes of attention's ring, aligned.
fn attend_shared(config: &Config) -> u32 {
    let slots = if config.head_dim > 64 { 4 } else { 8 };
    (slots * 4 * BLOCK * config.head_dim + 128) as u32
}
