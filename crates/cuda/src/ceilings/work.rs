//! How much the kernels of `native/ceilings.cu` do in a lap, and what sums they leave of it.

/// As in `native/ceilings.cu`.
const FACTOR: u32 = 2_654_435_761;
const F32_CHAINS: u64 = 8;
const F32_ROUNDS: u64 = 4096;
const MMA_TILES: u64 = 8;
const MMA_ROUNDS: u64 = 4096;
/// As in `native/ceilings_hopper.cu`.
const WGMMA_COLUMNS: u64 = 256;
const WGMMA_DEPTH: u64 = 64;
const WGMMA_ROUNDS: u64 = 1024;
/// Rows of a tile that a warp, or a group of four, multiplies at once.
const MMA_ROWS: u64 = 16;
const WGMMA_ROWS: u64 = 64;
/// Columns and depth of a tile of a warp.
const MMA_TILE: u64 = 8 * 16;
/// Shared memory of a block: three matrices, and what it takes to begin at a multiple of 1,024 bytes.
const WGMMA_SHARED: u64 = (2 * WGMMA_ROWS + WGMMA_COLUMNS) * WGMMA_DEPTH * 2 + 1024;

/// What the kernels call these numbers.
#[cfg(test)]
pub(super) const NAMES: [(&str, u64); 8] = [
    ("FACTOR", FACTOR as u64),
    ("F32_CHAINS", F32_CHAINS),
    ("F32_ROUNDS", F32_ROUNDS),
    ("MMA_TILES", MMA_TILES),
    ("MMA_ROUNDS", MMA_ROUNDS),
    ("WGMMA_COLUMNS", WGMMA_COLUMNS),
    ("WGMMA_DEPTH", WGMMA_DEPTH),
    ("WGMMA_ROUNDS", WGMMA_ROUNDS),
];

/// The instruction that multiplies bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrix {
    /// One that every GPU from compute capability 8.0 has.
    Mma,
    /// Hopper's own.
    Wgmma,
}

impl Matrix {
    /// The fastest that kernels here use on a GPU of this capability.
    pub(super) fn of(capability: (u32, u32)) -> Option<Self> {
        match capability {
            (9, 0) => Some(Self::Wgmma),
            capability if capability >= (8, 0) => Some(Self::Mma),
            _ => None,
        }
    }

    pub(super) const fn instruction(self) -> &'static str {
        match self {
            Self::Mma => "mma.sync",
            Self::Wgmma => "wgmma",
        }
    }
}

/// A kernel that computes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    /// Bytes of dynamic shared memory.
    pub(super) shared: u32,
    /// Numbers that it takes first.
    pub(super) factors: Option<[f32; 2]>,
    /// Operations of a lap of all blocks, two to a multiply-add.
    pub(super) lap_operations: u64,
    /// What a lap of all blocks adds to its sum.
    pub(super) lap_sum: i64,
}

impl Kernel {
    /// Multiply-adds in f32.
    pub(super) fn f32(multiprocessors: usize) -> Self {
        let (blocks, threads) = (2 * multiprocessors as u64, 512);
        // Chain j ends at j + F32_ROUNDS.
        let thread_sum = F32_CHAINS * F32_ROUNDS + F32_CHAINS * (F32_CHAINS - 1) / 2;
        Self {
            name: "ceiling_f32",
            blocks: blocks as u32,
            threads: threads as u32,
            shared: 0,
            factors: Some([1.0, 1.0]),
            lap_operations: blocks * threads * F32_CHAINS * F32_ROUNDS * 2,
            lap_sum: (blocks * threads * thread_sum).cast_signed(),
        }
    }

    /// Products of bf16.
    pub(super) fn bf16(matrix: Matrix, multiprocessors: usize) -> Self {
        let multiprocessors = multiprocessors as u64;
        // Each round multiplies twice, A and 1 - A with B, and adds every element of B once for each row.
        let (name, blocks, tiles, rows, elements, rounds, shared) = match matrix {
            Matrix::Mma => {
                let elements = MMA_TILES * MMA_TILE;
                ("ceiling_mma", 2 * multiprocessors, 8, MMA_ROWS, elements, MMA_ROUNDS, 0)
            }
            Matrix::Wgmma => {
                let elements = WGMMA_COLUMNS * WGMMA_DEPTH;
                ("ceiling_wgmma", multiprocessors, 2, WGMMA_ROWS, elements, WGMMA_ROUNDS, WGMMA_SHARED)
            }
        };
        let products = blocks * tiles * rows * rounds;
        let sum: i64 = (0..elements).map(|i| i64::from(number(i as u32))).sum();
        Self {
            name,
            blocks: blocks as u32,
            threads: 256,
            shared: shared as u32,
            factors: None,
            lap_operations: products * elements * 2 * 2,
            lap_sum: products.cast_signed() * sum,
        }
    }
}

/// Element `i` of the matrices: an odd number from -127 to 127.
pub(super) fn number(i: u32) -> i8 {
    ((i.wrapping_mul(FACTOR) >> 24 | 1) as u8).cast_signed()
}

/// What `laps` readings of so many pieces leave, modulo 2^32: word `i` is `i * FACTOR`.
pub(super) fn word_sums(pieces: u64, laps: i64) -> [u32; 4] {
    let of_pieces = u128::from(pieces) * u128::from(pieces.saturating_sub(1)) / 2;
    [0u64, 1, 2, 3].map(|word| {
        let words = 4 * of_pieces + u128::from(word) * u128::from(pieces);
        (words as u32).wrapping_mul(FACTOR).wrapping_mul(laps as u32)
    })
}
