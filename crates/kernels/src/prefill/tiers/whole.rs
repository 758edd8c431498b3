//! The tier whose products are of whole tiles, by the threadgroup: tensor operations of Metal 4.

use tilewright_tile::{Kernel, Launch, kernel};

use super::role::{Operands, Product, groups};

/// Rows, columns and depth.
const TILE: u32 = 64;

/// 64 × 64 × 64, four elements a load.
///
/// Factors take all the shared memory there is, and the sums then lie where the left one was.
pub fn tensor(product: &Product) -> Kernel {
    let launch = Launch::grid(groups(product, TILE, TILE)).threads(128).alone();
    kernel(product.kernel_name("tensor"), launch, |k| {
        let operands = Operands::declare(k, product, TILE, TILE);
        let tiles = k.shared::<f32>("tiles", 2 * TILE * TILE);
        let tile_a = tiles.view("tile_a", [TILE, TILE]);
        let tile_w = tiles.view("tile_w", [TILE, TILE]).offset(TILE * TILE);
        let tile_c = tiles.view("tile_c", [TILE, TILE]);

        let sums = k.fold(k.below(product.inner).step(TILE), k.tile(0.0), |sums, at| {
            operands.stage_a4(k, at, tile_a);
            operands.stage_w4(k, at, tile_w);
            k.barrier();
            let sums = sums.multiply_tiles_transposed(tile_a, tile_w);
            k.barrier();
            sums
        });
        tile_c.set_tile(sums);
        k.barrier();
        operands.finish(k, TILE, |r, n| tile_c.at4((r, n)));
    })
}
