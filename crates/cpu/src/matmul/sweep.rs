//! One pass over the weights of a matrix, spread over the threads.

use std::marker::PhantomData;
use std::ops::Range;

use super::blocks::{self, Blocks, Of, is_dot8, of_type};
use super::float::{Bf16, F32};
use super::inputs::Inputs;
use super::integer::{Int4, Int8};
use super::layout::{Format, Layout, Line, PANEL, WIDE_LINES};
use super::matrix::{Matrix, Part};
use super::ordered;
use super::raw::Block;
use crate::pool::Pool;
use crate::simd::{Isa, Kernel, LANES, Simd};

/// Sums of `M` rows for the outputs of a panel.
pub(super) type Totals<S, const M: usize> = [[<S as Simd>::F32; 2]; M];

/// A format, as a product of panels with activations.
pub(super) trait Product {
    /// Panels that one row is multiplied with at a time, 2 or 4: memory gives more to several streams than to one.
    const STREAMS: usize;

    /// Whether a single tile is multiplied with panels as they are in memory; else they are widened for it.
    const PACKED_TILES: bool;

    /// How parts of a panel are multiplied with tiles. Formats that are the same once they are widened share it.
    type Tiles: Tiles;

    /// Brings the lines of a part into the form that is multiplied with the least work.
    fn widen<S: Simd>(simd: S, part: Layout, packed: &[Line], wide: &mut [Line]);

    /// The results of one row with several panels: the same as of [`tile`](Tiles::tile) with each.
    fn row<S: Simd, const P: usize>(simd: S, layout: Layout, panels: [&[Line]; P], x: &[u32])
    -> Totals<S, P>;
}

/// A product of parts of a panel with tiles of activations.
pub(super) trait Tiles {
    /// The format, or one for all that share this.
    const FORMAT: Format;

    /// Adds the products of a part's inputs to the totals of `M` rows. Whether `lines` are packed or widened changes
    /// no bit.
    fn tile<S: Simd, const M: usize, const WIDE: bool>(
        simd: S,
        part: Layout,
        lines: &[Line],
        x: &[u32],
        totals: &mut Totals<S, M>,
    );
}

/// Bytes of activations that go over a panel before the next panel. More would leave the near caches; with fewer, the
/// panels come from memory more often.
const BLOCK_BYTES: usize = 2 << 20;

/// `out = inputs · matrixᵀ`, or `out +=`.
pub(super) fn sweep(pool: &Pool, isa: Isa, matrix: &Matrix, inputs: &Inputs, out: &mut [f32], add: bool) {
    assert!(inputs.fit(isa, matrix), "inputs made for the matrix");
    assert_eq!(out.len(), inputs.rows() * matrix.rows(), "results, [rows, outputs]");
    let row_words = matrix.parts().first().map_or(0, |part| part.layout.row_words());
    let rows = blocks(inputs.rows(), inputs.tile_rows(), 4 * row_words);
    let cols: Vec<_> = matrix
        .parts()
        .iter()
        .flat_map(|part| {
            let end = |panels: &Range<usize>| part.layout.rows.min(panels.end * PANEL);
            guided(part.layout.panels(), pool.threads())
                .map(move |panels| part.first + panels.start * PANEL..part.first + end(&panels))
        })
        .collect();
    let mut blocks = Block::cut(out, matrix.rows(), &rows, &cols);
    pool.for_each(&mut blocks, |block| {
        let Some(part) = matrix.part_of(block.cols().start) else { return };
        if !inputs.numerics().is_native() {
            return ordered::run(isa, part, inputs, block, add);
        }
        match part.layout.format {
            Format::F32 => run::<F32>(isa, part, inputs, block, add),
            Format::Bf16 => run::<Bf16>(isa, part, inputs, block, add),
            Format::Int8 => run::<Int8>(isa, part, inputs, block, add),
            Format::Int4 => run::<Int4>(isa, part, inputs, block, add),
            Format::Blocks(stored) => of_type!(stored, run_blocks(isa, part, inputs, block, add)),
        }
    });
}

/// The panels of one block of a matrix of blocks.
fn run_blocks<B: Blocks>(isa: Isa, part: &Part, inputs: &Inputs, block: &mut Block<'_>, add: bool) {
    run::<Of<B>>(isa, part, inputs, block, add);
}

/// Ranges of rows, as few as [`BLOCK_BYTES`] allow and about equal, each a whole number of tiles.
fn blocks(rows: usize, tile: usize, row_bytes: usize) -> Vec<Range<usize>> {
    let count = (rows * row_bytes).div_ceil(BLOCK_BYTES).max(1);
    let size = rows.div_ceil(count).next_multiple_of(tile).max(1);
    (0..rows).step_by(size).map(|from| from..rows.min(from + size)).collect()
}

/// Consecutive ranges of panels, large ones first: threads read long streams, and the small ones at the end let them
/// finish together though their speeds differ.
fn guided(panels: usize, threads: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let size = ((panels - next) / (2 * threads)).max(1).min(panels - next);
        let range = next..next + size;
        next = range.end;
        (size > 0).then_some(range)
    })
}

/// The panels of one block.
fn run<P: Product>(isa: Isa, matrix: &Part, inputs: &Inputs, block: &mut Block<'_>, add: bool) {
    isa.run(Task { matrix, inputs, block, add, product: PhantomData::<P> });
}

struct Task<'t, 'o, P> {
    matrix: &'t Part,
    inputs: &'t Inputs,
    block: &'t mut Block<'o>,
    add: bool,
    product: PhantomData<P>,
}

impl<P: Product> Kernel for Task<'_, '_, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        if self.inputs.rows() == 1 {
            self.one_row(simd);
        } else if P::PACKED_TILES && self.block.rows().len() <= self.inputs.tile_rows() {
            self.one_tile(simd);
        } else {
            self.many_tiles(simd);
        }
    }
}

/// A widened part of a panel.
#[repr(C, align(64))]
struct Wide([Line; WIDE_LINES]);

impl<P: Product> Task<'_, '_, P> {
    /// Several panels at a time meet the only row there is, straight from memory.
    #[inline(always)]
    fn one_row<S: Simd>(self, simd: S) {
        let Self { matrix, inputs, block, add, .. } = self;
        let (mut next, end) = (block.cols().start, block.cols().end);
        for (_, x) in inputs.tiles(0..1) {
            while next < end {
                let left = (end - next).div_ceil(PANEL);
                next = if const { P::STREAMS >= 4 } && left >= 4 {
                    streams::<S, P, 4>(simd, matrix, x, block, next, add)
                } else if left >= 2 {
                    streams::<S, P, 2>(simd, matrix, x, block, next, add)
                } else {
                    streams::<S, P, 1>(simd, matrix, x, block, next, add)
                };
            }
        }
    }

    /// Panels meet one tile, straight from memory.
    #[inline(always)]
    fn one_tile<S: Simd>(self, simd: S) {
        let layout = self.matrix.layout;
        for from in self.block.cols().step_by(PANEL) {
            let lines = self.matrix.panel((from - self.matrix.first) / PANEL);
            let cols = from..self.block.cols().end.min(from + PANEL);
            for (rows, x) in self.inputs.tiles(self.block.rows()) {
                let place = Place { rows, cols: cols.clone(), add: self.add, block: &mut *self.block };
                let step = Step { part: layout, lines, x, sums: &mut [], first: true };
                step.any::<S, P::Tiles, false>(simd, Some(place));
            }
        }
    }

    /// Panels go part by part, widened once, over many tiles; the sums wait in memory meanwhile.
    #[inline(always)]
    fn many_tiles<S: Simd>(self, simd: S) {
        let layout = self.matrix.layout;
        let (rows, tile_rows) = (self.block.rows(), self.inputs.tile_rows());
        let mut wide = Box::new(Wide([[0; 64]; WIDE_LINES]));
        let mut sums = vec![[[0.0; LANES]; 2]; rows.len().next_multiple_of(tile_rows)];
        for from in self.block.cols().step_by(PANEL) {
            let mut lines = self.matrix.panel((from - self.matrix.first) / PANEL);
            let cols = from..self.block.cols().end.min(from + PANEL);
            let mut words = 0..0;
            for part in layout.parts() {
                let packed;
                (packed, lines) = lines.split_at(part.panel_lines());
                P::widen(simd, part, packed, &mut wide.0);
                words = words.end..words.end + part.row_words();
                // What is widened next comes from memory meanwhile, some lines with each tile.
                let share = packed.len().div_ceil(rows.len().div_ceil(tile_rows));
                let mut ahead = packed.len()..2 * packed.len();
                for ((rows, x), sums) in self.inputs.tiles(rows.clone()).zip(sums.chunks_mut(tile_rows)) {
                    for line in ahead.by_ref().take(share) {
                        simd.prefetch(&packed[0], line * size_of::<Line>());
                    }
                    let tile = x.len() / layout.row_words();
                    let x = &x[words.start * tile..words.end * tile];
                    let place = Place { rows, cols: cols.clone(), add: self.add, block: &mut *self.block };
                    let step = Step { part, lines: &wide.0, x, sums, first: words.start == 0 };
                    step.any::<S, P::Tiles, true>(simd, lines.is_empty().then_some(place));
                }
            }
        }
    }
}

/// `N` panels with one row, from the output `from` on; returns the output after them.
#[inline(always)]
fn streams<S: Simd, P: Product, const N: usize>(
    simd: S,
    matrix: &Part,
    x: &[u32],
    block: &mut Block<'_>,
    from: usize,
    add: bool,
) -> usize {
    let panels = std::array::from_fn(|p| matrix.panel((from - matrix.first) / PANEL + p));
    let results = P::row::<S, N>(simd, matrix.layout, panels, x);
    let end = block.cols().end.min(from + N * PANEL);
    for (result, cols) in results.into_iter().zip((from..end).step_by(PANEL)) {
        store(simd, result, block.segment(0, cols..end.min(cols + PANEL)), add);
    }
    end
}

/// The most rows of a tile of activations for `format`.
pub(super) const fn most_rows<S: Simd>(format: Format) -> usize {
    match format {
        Format::F32 | Format::Bf16 => S::FLOAT_ROWS,
        Format::Int8 => S::INT8_ROWS,
        Format::Int4 => S::INT4_ROWS,
        Format::Blocks(stored) if is_dot8(stored) => S::INT8_ROWS,
        Format::Blocks(_) => S::INT4_ROWS,
    }
}

/// One part of a panel with one tile.
struct Step<'a> {
    part: Layout,
    lines: &'a [Line],
    x: &'a [u32],
    /// What the parts before have come to, and this one will.
    sums: &'a mut [[[f32; LANES]; 2]],
    first: bool,
}

impl Step<'_> {
    /// With as many rows as the tile has. The last part of a panel has a place for its results.
    #[inline(always)]
    fn any<S: Simd, P: Tiles, const WIDE: bool>(self, simd: S, place: Option<Place<'_, '_>>) {
        let tile = self.x.len() / self.part.row_words();
        // Conditions on constants, so that tiles which an instruction set does not have are not compiled for it.
        if const { most_rows::<S>(P::FORMAT) >= 12 } && tile == 12 {
            simd.call(Tile::<P, 12, WIDE>::new(self, place));
        } else if const { most_rows::<S>(P::FORMAT) >= 8 } && tile == 8 {
            simd.call(Tile::<P, 8, WIDE>::new(self, place));
        } else if const { most_rows::<S>(P::FORMAT) >= 6 } && tile == 6 {
            simd.call(Tile::<P, 6, WIDE>::new(self, place));
        } else if const { most_rows::<S>(P::FORMAT) >= 4 } && tile == 4 {
            simd.call(Tile::<P, 4, WIDE>::new(self, place));
        } else if const { most_rows::<S>(P::FORMAT) >= 3 } && tile == 3 {
            simd.call(Tile::<P, 3, WIDE>::new(self, place));
        } else if tile == 2 {
            simd.call(Tile::<P, 2, WIDE>::new(self, place));
        } else {
            simd.call(Tile::<P, 1, WIDE>::new(self, place));
        }
    }
}

/// A step with a tile of `M` rows: a kernel within the kernel.
struct Tile<'a, 'p, 'o, P, const M: usize, const WIDE: bool> {
    step: Step<'a>,
    place: Option<Place<'p, 'o>>,
    product: PhantomData<P>,
}

impl<'a, 'p, 'o, P, const M: usize, const WIDE: bool> Tile<'a, 'p, 'o, P, M, WIDE> {
    fn new(step: Step<'a>, place: Option<Place<'p, 'o>>) -> Self {
        Self { step, place, product: PhantomData }
    }
}

impl<P: Tiles, const M: usize, const WIDE: bool> Kernel for Tile<'_, '_, '_, P, M, WIDE> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Step { part, lines, x, sums, first } = self.step;
        let mut totals = [[simd.splat(0.0); 2]; M];
        if !first {
            for (total, sum) in totals.iter_mut().zip(&*sums) {
                *total = [simd.load(&sum[0]), simd.load(&sum[1])];
            }
        }
        P::tile::<S, M, WIDE>(simd, part, lines, x, &mut totals);
        match self.place {
            Some(place) => place.put(simd, totals),
            None => {
                for (total, sum) in totals.into_iter().zip(sums) {
                    simd.store(total[0], &mut sum[0]);
                    simd.store(total[1], &mut sum[1]);
                }
            }
        }
    }
}

/// Where the results of a tile belong.
struct Place<'p, 'o> {
    rows: Range<usize>,
    cols: Range<usize>,
    add: bool,
    block: &'p mut Block<'o>,
}

impl Place<'_, '_> {
    /// Stores a tile's results.
    #[inline(always)]
    fn put<S: Simd, const M: usize>(self, simd: S, results: Totals<S, M>) {
        for (row, result) in self.rows.zip(results) {
            store(simd, result, self.block.segment(row, self.cols.clone()), self.add);
        }
    }
}

/// Stores one row's results of one panel, as many as there are outputs.
#[inline(always)]
pub(super) fn store<S: Simd>(simd: S, result: [S::F32; 2], out: &mut [f32], add: bool) {
    if let ([low, high], []) = out.as_chunks_mut::<LANES>() {
        for (out, result) in [low, high].into_iter().zip(result) {
            let result = if add { simd.add(simd.load(out), result) } else { result };
            simd.store(result, out);
        }
    } else {
        let mut whole = [[0.0; LANES]; 2];
        simd.store(result[0], &mut whole[0]);
        simd.store(result[1], &mut whole[1]);
        for (out, result) in out.iter_mut().zip(whole.as_flattened()) {
            *out = if add { *out + result } else { *result };
        }
    }
}
