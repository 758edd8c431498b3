//! The tier with two buffers: the next step is staged while this one is multiplied.

use tilewright_tile::{Kernel, Launch, Value, View, kernel};

use super::role::{Operands, Product, groups};
use crate::prefill::fragments::{Part, each, multiply, zeros};

/// Rows of the chunk and of matrices in a threadgroup's part.
const TILE: u32 = 64;
/// Columns of a step.
const DEPTH: u32 = 16;

/// 64 × 64 × 16 with two buffers, four elements a load, one barrier a step.
///
/// A pass of the loop takes two steps, one from each buffer; what lies beyond the last column is staged as zeros.
pub fn msl(product: &Product) -> Kernel {
    let launch = Launch::grid(groups(product, TILE, TILE)).threads(128).alone();
    kernel(product.kernel_name("msl"), launch, |k| {
        let operands = Operands::declare(k, product, TILE, TILE);
        let tiles = k.shared::<f32>("tiles", 4 * TILE * DEPTH);
        let tile = |name: &str, n: u32| tiles.view(name, [TILE, DEPTH]).offset(n * TILE * DEPTH);
        let even = [tile("even_a", 0), tile("even_w", 1)];
        let odd = [tile("odd_a", 2), tile("odd_w", 3)];
        let tile_c = tiles.view("tile_c", [TILE, TILE]);
        let (up, left) = (k.simd_group() / 2 * 32, k.simd_group() % 2 * 32);

        let stage = |at, [a, w]: [View<'_, f32>; 2]| {
            operands.stage_a4(k, at, a);
            operands.stage_w4(k, at, w);
        };
        stage(k.i32(0), even);
        k.barrier();
        let sums = k.fold(k.below(product.inner).step(2 * DEPTH), zeros(k, 4, 4), |sums, at| {
            stage(at + DEPTH, odd);
            let sums = step(sums, even, (up, left));
            k.barrier();
            stage(at + 2 * DEPTH, even);
            let sums = step(sums, odd, (up, left));
            k.barrier();
            sums
        });
        each(sums, |r, c, sum| tile_c.set_fragment((up + r, left + c), sum));
        k.barrier();
        operands.finish(k, TILE, |r, n| tile_c.at4((r, n)));
    })
}

/// `sums + a · wᵀ` for a staged step, the quarter that begins at row and column `at`.
fn step<'k>(sums: Part<'k>, [a, w]: [View<'k, f32>; 2], at: (Value<'k, i32>, Value<'k, i32>)) -> Part<'k> {
    [0, 8].into_iter().fold(sums, |sums, i| {
        multiply(sums, |r| a.factor((at.0 + r * 8, i)), |c| w.factor_transposed((at.1 + c * 8, i)))
    })
}
