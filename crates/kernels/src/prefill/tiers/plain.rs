//! Tiers with one buffer: stage, multiply, stage again.

use tilewright_tile::{Builder, Kernel, Launch, kernel};

use super::role::{Operands, Product, groups};
use crate::prefill::fragments::{each, multiply, zeros};

/// The part of a product that a threadgroup computes, by four SIMD groups, each a quarter.
#[derive(Clone, Copy)]
struct Tile {
    rows: u32,
    width: u32,
    depth: u32,
    /// Four elements a load, or one.
    fours: bool,
}

/// 32 × 32 × 32, one element a load.
pub fn original(product: &Product) -> Kernel {
    tiled("original", product, Tile { rows: 32, width: 32, depth: 32, fours: false })
}

/// 64 × 32 × 32, one element a load: a matrix is read half as often.
pub fn bm64(product: &Product) -> Kernel {
    tiled("bm64", product, Tile { rows: 64, width: 32, depth: 32, fours: false })
}

/// 64 × 64 × 32, four elements a load.
pub fn vecload4(product: &Product) -> Kernel {
    tiled("vecload4", product, Tile { rows: 64, width: 64, depth: 32, fours: true })
}

fn tiled(tier: &str, product: &Product, tile: Tile) -> Kernel {
    let Tile { rows, width, depth, .. } = tile;
    let launch = Launch::grid(groups(product, rows, width)).threads(128).alone();
    kernel(product.kernel_name(tier), launch, |k| {
        let operands = Operands::declare(k, product, rows, width);
        let tiles = k.shared::<f32>("tiles", ((rows + width) * depth).max(rows * width));
        let tile_a = tiles.view("tile_a", [rows, depth]);
        let tile_w = tiles.view("tile_w", [width, depth]).offset(rows * depth);
        let tile_c = tiles.view("tile_c", [rows, width]);
        let (up, left) = (k.simd_group() / 2 * (rows / 2), k.simd_group() % 2 * (width / 2));

        let none = zeros(k, rows / 16, width / 16);
        let sums = k.fold(k.below(product.inner).step(depth), none, |sums, at| {
            stage(k, &operands, tile, at, [tile_a, tile_w]);
            k.barrier();
            let sums = k.fold(k.below(depth).step(8), sums, |sums, i| {
                let left_factor = |r| tile_a.factor((up + r * 8, i));
                multiply(sums, left_factor, |c| tile_w.factor_transposed((left + c * 8, i)))
            });
            k.barrier();
            sums
        });
        each(sums, |r, c, sum| tile_c.set_fragment((up + r, left + c), sum));
        k.barrier();
        operands.finish(k, rows, |r, n| tile_c.at4((r, n)));
    })
}

fn stage<'k>(
    k: &'k Builder,
    operands: &Operands<'k>,
    tile: Tile,
    at: tilewright_tile::Value<'k, i32>,
    [tile_a, tile_w]: [tilewright_tile::View<'k, f32>; 2],
) {
    if tile.fours {
        operands.stage_a4(k, at, tile_a);
        operands.stage_w4(k, at, tile_w);
    } else {
        operands.stage_a(k, at, tile_a);
        operands.stage_w(k, at, tile_w);
    }
}
