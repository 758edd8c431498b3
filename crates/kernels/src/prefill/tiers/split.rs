//! The tier that splits the inner index: for few rows, where tiles are fewer than a device has cores.

use tilewright_tile::{Kernel, Launch, kernel};

use super::role::{Operands, Product, groups};
use crate::prefill::fragments::{each, multiply, zeros};

/// Rows of the chunk and of matrices in a threadgroup's part.
const TILE: u32 = 32;
/// SIMD groups, each with its own quarter of every step.
const SPLITS: u32 = 4;
/// Columns of a step.
const DEPTH: u32 = 64;

/// 32 × 32 × 64: each SIMD group sums the whole part over a quarter of the columns; the four sums then meet in shared
/// memory and are added by adjacent pairs.
///
/// The split stays within a threadgroup, so the product is one launch and its result does not depend on timing.
pub fn splitk(product: &Product) -> Kernel {
    let launch = Launch::grid(groups(product, TILE, TILE)).threads(SPLITS * 32).alone();
    kernel(product.kernel_name("splitk"), launch, |k| {
        let operands = Operands::declare(k, product, TILE, TILE);
        let tiles = k.shared::<f32>("tiles", 2 * TILE * DEPTH);
        let tile_a = tiles.view("tile_a", [TILE, DEPTH]);
        let tile_w = tiles.view("tile_w", [TILE, DEPTH]).offset(TILE * DEPTH);
        let partial = tiles.view("partial", [SPLITS, TILE, TILE]);
        let mine = k.simd_group() * (DEPTH / SPLITS);

        let sums = k.fold(k.below(product.inner).step(DEPTH), zeros(k, 4, 4), |sums, at| {
            operands.stage_a4(k, at, tile_a);
            operands.stage_w4(k, at, tile_w);
            k.barrier();
            let sums = [0, 8].into_iter().fold(sums, |sums, i| {
                let left = |r: u32| tile_a.factor((r * 8, mine + i));
                multiply(sums, left, |c| tile_w.factor_transposed((c * 8, mine + i)))
            });
            k.barrier();
            sums
        });
        each(sums, |r, c, sum| partial.set_fragment((k.simd_group(), r, c), sum));
        k.barrier();
        operands.finish(k, TILE, |r, n| {
            let part = |s: u32| partial.at4((s, r, n));
            (part(0) + part(1)) + (part(2) + part(3))
        });
    })
}
