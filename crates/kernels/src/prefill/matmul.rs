//! Tiled matrix product of a chunk's rows with a transposed matrix (D43, D44).

use tilewright_tile::{Kernel, Launch, Scalar, kernel};

use super::chunk::stage;
use super::fragments::{each, multiply, zeros};

/// Rows and columns of a threadgroup's part of the product.
const TILE: u32 = 64;

/// Columns of `a` that are multiplied between two barriers (D43, E70).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// 64 × 64 × 32.
    D32,
    /// 64 × 64 × 64.
    D64,
}

impl Depth {
    /// The number.
    pub const fn columns(self) -> u32 {
        match self {
            Self::D32 => 32,
            Self::D64 => 64,
        }
    }
}

/// Sizes of a product `c[rows, columns] = a[rows, inner] · b[inner, columns]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of `a` and `c`.
    pub rows: u32,
    /// Columns of `b` and `c`; a multiple of 4, at least 8.
    pub columns: u32,
    /// Columns of `a`, rows of `b`; a multiple of 4.
    pub inner: u32,
    /// How all three are stored.
    pub storage: Scalar,
}

/// `c = a · b` in tiles of 64 × 64 × 64 on tensor operations, summed in f32 (E70).
///
/// As [`matmul`], but a product is one of whole tiles, by the threadgroup. Sums lie where the left factors were; those of
/// narrow storage have memory of their own.
pub fn tensor_matmul(name: &str, product: &Product) -> Kernel {
    let Product { rows, columns, inner, storage } = *product;
    let launch = Launch::grid([columns.div_ceil(TILE), rows.div_ceil(TILE), 1]).threads(128).alone();
    kernel(format!("prefill_tensor_matmul_{name}_{storage}"), launch, |k| {
        let a = k.read::<f32>("a", [rows, inner]).stored(storage).guarded();
        let b = k.read::<f32>("b", [inner, columns]).stored(storage).guarded();
        let c = k.write::<f32>("c", [rows, columns]).stored(storage).guarded();
        let tiles = k.shared::<f32>("tiles", 2 * TILE * TILE);
        let tile_a = tiles.view("tile_a", [TILE, TILE]).stored(storage);
        let tile_b = tiles.view("tile_b", [TILE, TILE]).offset(TILE * TILE).stored(storage);
        let tile_c = match storage {
            Scalar::F32 => tiles.view("tile_c", [TILE, TILE]),
            _ => k.scratch::<f32>("tile_c", [TILE, TILE]),
        };
        let (row, column) = (k.group_axis(1) * TILE, k.group_axis(0) * TILE);

        let sums = k.fold(k.below(inner).step(TILE), k.tile(0.0), |sums, at| {
            stage(k, (TILE, TILE), a, [row, at], tile_a);
            stage(k, (TILE, TILE), b, [at, column], tile_b);
            k.barrier();
            let sums = sums.multiply_tiles(tile_a, tile_b);
            k.barrier();
            sums
        });
        tile_c.set_tile(sums);
        k.barrier();
        k.each(k.thread_strided(TILE * TILE, 4), |i| {
            c.set((row + i / TILE, column + i % TILE), tile_c.at((i / TILE, i % TILE)));
        });
    })
}

/// `c = a · b` in 64 × 64 tiles on matrix fragments, summed in f32.
///
/// Four SIMD groups a threadgroup, each a 32 × 32 quarter: sixteen fragments. Each step brings a tile of either factor
/// into shared memory. Tails of any axis are filled with zeros and not written; fragments of `c` that cross an edge
/// pass through what was the first tile.
pub fn matmul(name: &str, product: &Product, depth: Depth) -> Kernel {
    let Product { rows, columns, inner, storage } = *product;
    let step = depth.columns();
    let launch = Launch::grid([columns.div_ceil(TILE), rows.div_ceil(TILE), 1]).threads(128).alone();
    kernel(format!("prefill_matmul_{step}_{name}_{storage}"), launch, |k| {
        let a = k.read::<f32>("a", [rows, inner]).stored(storage).guarded();
        let b = k.read::<f32>("b", [inner, columns]).stored(storage).guarded();
        let c = k.write::<f32>("c", [rows, columns]).stored(storage).guarded();
        let tiles = k.shared::<f32>("tiles", 2 * TILE * step);
        let tile_a = tiles.view("tile_a", [TILE, step]).stored(storage);
        let tile_b = tiles.view("tile_b", [step, TILE]).offset(TILE * step).stored(storage);
        let edge = tiles.view("edge", [4, 8, 8]).stored(storage);

        let (row, column) = (k.group_axis(1) * TILE, k.group_axis(0) * TILE);
        let (up, left) = (k.simd_group() / 2 * 32, k.simd_group() % 2 * 32);

        let sums = k.fold(k.below(inner).step(step), zeros(k, 4, 4), |sums, at| {
            stage(k, (TILE, step), a, [row, at], tile_a);
            stage(k, (step, TILE), b, [at, column], tile_b);
            k.barrier();
            let sums = k.fold(k.below(step).step(8), sums, |sums, i| {
                let factors = |r| tile_a.factor((up + r * 8, i));
                multiply(sums, factors, |c| tile_b.factor((i, left + c * 8)))
            });
            k.barrier();
            sums
        });
        let c = c.through(edge);
        each(sums, |r, s, sum| c.set_fragment((row + up + r, column + left + s), sum));
    })
}
