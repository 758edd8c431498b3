//! One pass over the weights of a matrix, spread over the threads.

use std::ops::Range;

use tilewright_model::WeightFormat;

use super::float::{Bf16, F32};
use super::inputs::Inputs;
use super::integer::{Int4, Int8};
use super::layout::{Layout, Line, PANEL};
use super::matrix::Matrix;
use super::raw::Block;
use crate::pool::Pool;
use crate::simd::{Isa, Kernel, LANES, Simd};

/// A format, as a product of one panel with one tile of activations.
pub(super) trait Product {
    /// The most rows of a tile.
    fn rows<S: Simd>() -> usize;

    /// The results of `M` rows, two vectors each.
    fn tile<S: Simd, const M: usize>(simd: S, layout: Layout, panel: &[Line], x: &[u32]) -> [[S::F32; 2]; M];
}

/// Bytes of activations that go over a panel before the next panel: they stay in the second-level cache.
const BLOCK_BYTES: usize = 1 << 20;

/// `out = inputs · matrixᵀ`, or `out +=`.
pub(super) fn sweep(pool: &Pool, isa: Isa, matrix: &Matrix, inputs: &Inputs, out: &mut [f32], add: bool) {
    let layout = matrix.layout();
    assert!(inputs.fit(isa, layout), "inputs made for the matrix");
    assert_eq!(out.len(), inputs.rows() * layout.rows, "results, [rows, outputs]");
    let rows = blocks(inputs.rows(), inputs.tile_rows(), 4 * layout.row_words());
    let cols: Vec<_> = guided(layout.panels(), pool.threads())
        .map(|panels| panels.start * PANEL..layout.rows.min(panels.end * PANEL))
        .collect();
    let mut blocks = Block::cut(out, layout.rows, &rows, &cols);
    pool.for_each(&mut blocks, |block| match layout.format {
        WeightFormat::F32 => run::<F32>(isa, matrix, inputs, block, add),
        WeightFormat::Bf16 => run::<Bf16>(isa, matrix, inputs, block, add),
        WeightFormat::Int8 => run::<Int8>(isa, matrix, inputs, block, add),
        WeightFormat::Int4 => run::<Int4>(isa, matrix, inputs, block, add),
    });
}

/// Ranges of rows, each a whole number of tiles within [`BLOCK_BYTES`].
fn blocks(rows: usize, tile: usize, row_bytes: usize) -> Vec<Range<usize>> {
    let size = (BLOCK_BYTES / (tile * row_bytes).max(1)).max(1) * tile;
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
fn run<P: Product>(isa: Isa, matrix: &Matrix, inputs: &Inputs, block: &mut Block<'_>, add: bool) {
    isa.run(Task { matrix, inputs, block, add, product: std::marker::PhantomData::<P> });
}

struct Task<'t, 'o, P> {
    matrix: &'t Matrix,
    inputs: &'t Inputs,
    block: &'t mut Block<'o>,
    add: bool,
    product: std::marker::PhantomData<P>,
}

impl<P: Product> Kernel for Task<'_, '_, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { matrix, inputs, block, add, .. } = self;
        for from in block.cols().step_by(PANEL) {
            let panel = matrix.panel(from / PANEL);
            let cols = from..block.cols().end.min(from + PANEL);
            for (rows, x) in inputs.tiles(block.rows()) {
                let at = Place { rows, cols: cols.clone(), add };
                match x.len() / matrix.layout().row_words() {
                    12 if P::rows::<S>() >= 12 => at.tile::<S, P, 12>(simd, matrix.layout(), panel, x, block),
                    8 if P::rows::<S>() >= 8 => at.tile::<S, P, 8>(simd, matrix.layout(), panel, x, block),
                    6 if P::rows::<S>() >= 6 => at.tile::<S, P, 6>(simd, matrix.layout(), panel, x, block),
                    4 if P::rows::<S>() >= 4 => at.tile::<S, P, 4>(simd, matrix.layout(), panel, x, block),
                    3 if P::rows::<S>() >= 3 => at.tile::<S, P, 3>(simd, matrix.layout(), panel, x, block),
                    2 if P::rows::<S>() >= 2 => at.tile::<S, P, 2>(simd, matrix.layout(), panel, x, block),
                    _ => at.tile::<S, P, 1>(simd, matrix.layout(), panel, x, block),
                }
            }
        }
    }
}

/// Where the results of a tile belong.
struct Place {
    rows: Range<usize>,
    cols: Range<usize>,
    add: bool,
}

impl Place {
    /// Computes a tile and stores it.
    #[inline(always)]
    fn tile<S: Simd, P: Product, const M: usize>(
        self,
        simd: S,
        layout: Layout,
        panel: &[Line],
        x: &[u32],
        block: &mut Block<'_>,
    ) {
        let results = P::tile::<S, M>(simd, layout, panel, x);
        for (row, result) in self.rows.zip(results) {
            let out = block.segment(row, self.cols.clone());
            if let ([low, high], []) = out.as_chunks_mut::<LANES>() {
                for (out, result) in [low, high].into_iter().zip(result) {
                    let result = if self.add { simd.add(simd.load(out), result) } else { result };
                    simd.store(result, out);
                }
            } else {
                let mut whole = [[0.0; LANES]; 2];
                simd.store(result[0], &mut whole[0]);
                simd.store(result[1], &mut whole[1]);
                for (out, result) in out.iter_mut().zip(whole.as_flattened()) {
                    *out = if self.add { *out + result } else { *result };
                }
            }
        }
    }
}
