//! Products in llama.cpp's order ([`llama`](crate::llama)): each row alone with every panel.

use std::marker::PhantomData;

use tilewright_model::StoredType;

use super::blocks::{self, Blocks, ordered};
use super::inputs::Inputs;
use super::layout::{Format, Layout, Line, PANEL};
use super::matrix::Part;
use super::raw::Block;
use super::sweep::store;
use crate::llama::lanes::{Terms, dot};
use crate::simd::{Isa, Kernel, Simd};

/// The panels of one block. Formats without an order known are refused before.
pub(super) fn run(isa: Isa, matrix: &Part, inputs: &Inputs, block: &mut Block<'_>, add: bool) {
    let task = Task { matrix, inputs, block, add };
    match matrix.layout.format {
        Format::F32 => isa.run(Of::<Floats>(task, PhantomData)),
        Format::Blocks(StoredType::Q8_0) => isa.run(Of::<OfBlocks<blocks::Q8_0>>(task, PhantomData)),
        Format::Blocks(StoredType::Q4_1) => isa.run(Of::<OfBlocks<blocks::Q4_1>>(task, PhantomData)),
        Format::Blocks(StoredType::Q5_0) => isa.run(Of::<OfBlocks<blocks::Q5_0>>(task, PhantomData)),
        Format::Blocks(StoredType::Q5_1) => isa.run(Of::<OfBlocks<blocks::Q5_1>>(task, PhantomData)),
        Format::Blocks(_) | Format::Bf16 | Format::Int8 | Format::Int4 => {
            unreachable!("without an order, and `cover::check` lets none such in")
        }
    }
}

/// One row with one panel.
trait Product {
    fn row<S: Simd>(simd: S, layout: Layout, panel: &[Line], x: &[u32]) -> [S::F32; 2];
}

struct Floats;

impl Product for Floats {
    #[inline(always)]
    fn row<S: Simd>(simd: S, layout: Layout, panel: &[Line], x: &[u32]) -> [S::F32; 2] {
        let vector = |vector| Vector { lines: panel.as_chunks().0, x, vector };
        [dot(simd, layout.cols, &vector(0)), dot(simd, layout.cols, &vector(1))]
    }
}

/// A vector of a panel of f32, and a row.
struct Vector<'a> {
    lines: &'a [[Line; 2]],
    x: &'a [u32],
    vector: usize,
}

impl<S: Simd> Terms<S> for Vector<'_> {
    #[inline(always)]
    fn at(&self, simd: S, index: usize) -> [S::F32; 2] {
        [simd.load_bytes(&self.lines[index][self.vector]), simd.splat(f32::from_bits(self.x[index]))]
    }
}

struct OfBlocks<B>(PhantomData<B>);

impl<B: Blocks> Product for OfBlocks<B> {
    #[inline(always)]
    fn row<S: Simd>(simd: S, layout: Layout, panel: &[Line], x: &[u32]) -> [S::F32; 2] {
        ordered::<S, B>(simd, layout, panel, x)
    }
}

struct Task<'t, 'o> {
    matrix: &'t Part,
    inputs: &'t Inputs,
    block: &'t mut Block<'o>,
    add: bool,
}

struct Of<'t, 'o, P>(Task<'t, 'o>, PhantomData<P>);

impl<P: Product> Kernel for Of<'_, '_, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Task { matrix, inputs, block, add } = self.0;
        for from in block.cols().step_by(PANEL) {
            let panel = matrix.panel((from - matrix.first) / PANEL);
            let cols = from..block.cols().end.min(from + PANEL);
            for (rows, x) in inputs.tiles(block.rows()) {
                let result = P::row(simd, matrix.layout, panel, x);
                store(simd, result, block.segment(rows.start, cols.clone()), add);
            }
        }
    }
}
