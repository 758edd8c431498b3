//! One token for each of several sequences on Hopper: a step recorded once for each number of rows.
//!
//! `native/batch.cu` says how; a row's bits do not depend on the rows beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule};
use tilewright_model::{Config, Refusal};

use crate::device::{Buffer, Device};
use crate::gpu::Gpu;
use crate::hopper::{
    Product, RowMaps, STREAM_ROWS, Streams, WeightMaps, kernel, row_maps,
};
use crate::raw::launch::Arg;
use crate::raw::overlap::{Graph, Shape};
use crate::stages::Row;
use crate::weights::Weights;

/// Steps whose ids are kept; `WINDOW` of `native/batch.cu`.
pub(crate) const WINDOW: usize = 16;
/// Positions of an item of attention; `SPAN` of `native/batch.cu`.
const SPAN: usize = 128;
/// Blocks that share a row of logits; `SHARES` of `native/batch.cu`.
const SHARES: usize = 32;

/// Kernels and what lies between them.
pub(crate) struct Batch {
    add_norm: CudaFunction,
    rotate: CudaFunction,
    attend: CudaFunction,
    choose: CudaFunction,
    pub(crate) streams: Streams,
    blocks: u32,
    rows: Buffer,
    tokens: Buffer,
    x: Buffer,
    partial: Buffer,
    y: Buffer,
    queries: Buffer,
    attended: Buffer,
    product: Buffer,
    pub(crate) logits: Buffer,
    best: Buffer,
    arrived: Buffer,
    out: Buffer,
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
        let streams = Streams::new(module, gpu)?;
        let qkv = q + 2 * config.kv_width();
        let partial =
            [(qkv, h), (h, q), (h, i)].map(|(outputs, columns)| streams.splits(outputs, columns) as usize * outputs);
        let partial = partial.into_iter().max().unwrap_or(0) * most * 4;
        let (y, attended, product) =
            (device.zeros(most * h * 2)?, device.zeros(most * q * 2)?, device.zeros(most * i * 2)?);
        let maps = [
            row_maps(y.address, most, h)?,
            row_maps(attended.address, most, q)?,
            row_maps(product.address, most, i)?,
        ];
        Ok(Self {
            add_norm: kernel(module, "add_norm", 0)?,
            rotate: kernel(module, "rotate_rows", 0)?,
            attend: kernel(module, "attend_rows", 0)?,
            choose: kernel(module, "choose", 0)?,
            streams,
            blocks: gpu.multiprocessors as u32 * 2,
            rows: device.zeros(most * size_of::<Row>())?,
            tokens: device.zeros(most * 4)?,
            x: device.zeros(most * h * 4)?,
            partial: device.zeros(partial)?,
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
        rope: u64,
    ) -> Result<(), Refusal> {
        let items = positions.div_ceil(SPAN);
        if items > self.items || rope != self.rope {
            device.wait()?;
            self.graphs.clear();
            self.rope = rope;
        }
        if items > self.items {
            let part = config.group() * (config.head_dim + 2) * 4;
            self.parts = device.zeros(STREAM_ROWS * config.kv_heads * items * part)?;
            self.items = items;
        }
        Ok(())
    }

    /// Appends a token to each row's sequence, `steps` times, from the second time on the id of the greatest logit: those ids,
    /// `[steps][rows]`. Up to [`WINDOW`] steps; the last one's logits stay in `logits`, the last ids are not yet appended.
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
    pub(crate) fn chosen(&self, device: &Device, rows: &[Row], steps: usize) -> Result<Vec<Vec<u32>>, Refusal> {
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
        let (h, q, i) = (config.hidden, config.q_width(), config.intermediate);
        let qkv = q + 2 * config.kv_width();
        let [y, attended, product] = &self.maps;
        let partial = |input, weights, outputs, columns| {
            let splits = self.streams.splits(outputs, columns);
            let out = self.partial.address;
            let rows = (0, count);
            self.streams
                .multiply(device, &Product { input, weights, out, outputs, columns, splits, rows })
                .map(|()| splits)
        };
        let mut splits = 0;
        for (index, layer) in maps.layers.iter().enumerate() {
            self.norm(device, config, weights, (2 * index, splits), count)?;
            let parts = partial(y, &layer.qkv, qkv, h)?;
            self.rotate(device, config, weights, (index, parts), count)?;
            let args = [
                Arg::U64(self.queries.address),
                Arg::U64(self.rows.address),
                Arg::U64(self.parts.address),
                Arg::U64(self.arrived.address),
                Arg::U64(self.attended.address),
                Arg::U32(index as u32),
                Arg::U32(count as u32),
                Arg::U32(self.items as u32),
            ];
            device.start(&self.attend, grid(self.blocks, 1, 256), true, &args)?;
            splits = partial(attended, &layer.o, h, q)?;
            self.norm(device, config, weights, (2 * index + 1, splits), count)?;
            self.streams.gate_up(device, y, &layer.paired, self.product.address, (count, i))?;
            splits = partial(product, &layer.down, h, i)?;
        }
        self.norm(device, config, weights, (2 * maps.layers.len(), splits), count)?;
        let (out, rows) = (self.logits.address, (0, count));
        let (outputs, columns) = (config.vocab, h);
        let head = Product { input: y, weights: &maps.head, out, outputs, columns, splits: 1, rows };
        self.streams.multiply(device, &head)?;
        let arrived = self.arrived.address + (STREAM_ROWS * config.kv_heads * 4) as u64;
        let args = [
            self.logits.address,
            self.best.address,
            arrived,
            self.tokens.address,
            self.out.address,
            self.rows.address,
        ];
        device.start(&self.choose, grid(SHARES as u32, count as u32, 256), true, &args.map(Arg::U64))
    }

    fn norm(
        &self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        (index, splits): (usize, u32),
        count: usize,
    ) -> Result<(), Refusal> {
        let first = index == 0;
        let args = [
            Arg::U64(self.x.address),
            Arg::U64(self.partial.address),
            Arg::U32(splits),
            Arg::U64(weights.norms.address + (index * config.hidden * 4) as u64),
            Arg::U64(self.y.address),
            Arg::U64(if first { self.tokens.address } else { 0 }),
            Arg::U64(weights.embedding.address),
        ];
        device.start(&self.add_norm, grid(count as u32, 1, 256), !first, &args)
    }

    fn rotate(
        &self,
        device: &Device,
        config: &Config,
        weights: &Weights,
        (index, splits): (usize, u32),
        count: usize,
    ) -> Result<(), Refusal> {
        let head_norm = |which: usize| {
            let norms = weights.head_norms.as_ref().map_or(0, |b| b.address);
            norms + ((2 * index + which) * config.head_dim * 4) as u64
        };
        let args = [
            Arg::U64(self.partial.address),
            Arg::U32(splits),
            Arg::U64(weights.layers[index].qkv_bias.as_ref().map_or(0, |b| b.address)),
            Arg::U64(head_norm(0)),
            Arg::U64(head_norm(1)),
            Arg::U64(self.rope),
            Arg::U64(self.queries.address),
            Arg::U64(self.rows.address),
            Arg::U32(index as u32),
            Arg::U32(count as u32),
        ];
        let heads = (config.heads + 2 * config.kv_heads) as u32;
        device.start(&self.rotate, grid(heads.div_ceil(4), count as u32, 128), true, &args)
    }

    /// Logits of `count` rows of `input`, at most [`STREAM_ROWS`], from row `first` on.
    pub(crate) fn head(
        &self,
        device: &Device,
        config: &Config,
        maps: &WeightMaps,
        input: &RowMaps,
        rows: (usize, usize),
        out: &mut [f32],
    ) -> Result<(), Refusal> {
        let product = Product {
            input,
            weights: &maps.head,
            out: self.logits.address,
            outputs: config.vocab,
            columns: config.hidden,
            splits: 1,
            rows,
        };
        self.streams.multiply(device, &product)?;
        device.read(&self.logits, 0, bytemuck::cast_slice_mut(out))
    }
}

fn grid(x: u32, y: u32, threads: u32) -> Shape {
    Shape { blocks: (x, y, 1), threads, shared: 0 }
}
