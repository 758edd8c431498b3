//! Small kernels of the usual kinds.

use crate::ir::{Kernel, Launch};
use crate::kernel;
use crate::types::Scalar;

/// `sum = a + b`.
pub fn vector_add(n: u32) -> Kernel {
    kernel("vector_add", Launch::items(n), |k| {
        let a = k.read::<f32>("a", [n]).guarded();
        let b = k.read::<f32>("b", [n]).guarded();
        let sum = k.write::<f32>("sum", [n]).guarded();
        let i = k.item().named("i");
        sum.set([i], a.at([i]) + b.at([i]));
    })
}

/// `y = x / rms(x) · w`, one threadgroup a row.
pub fn rms_norm(rows: u32, width: u32, eps: f32) -> Kernel {
    kernel("rms_norm", Launch::rows(rows), |k| {
        let x = k.read::<f32>("x", [rows, width]);
        let w = k.read::<f32>("w", [width]);
        let y = k.write::<f32>("y", [rows, width]);
        let row = k.group_id();

        let squares = k.fold(k.thread_strided(width, 4), 0.0, |sum, i| {
            let v = x.at([row, i]);
            sum.fma(v, v)
        });
        let scale = (k.threadgroup_sum(squares) / width as f32 + eps).rsqrt();

        k.each(k.thread_strided(width, 4), |i| y.set([row, i], x.at([row, i]) * scale * w.at([i])));
    })
}

/// The largest element of each row and where it is first.
pub fn arg_max(rows: u32, width: u32) -> Kernel {
    kernel("arg_max", Launch::rows(rows).threads(128), |k| {
        let x = k.read::<f32>("x", [rows, width]);
        let value = k.write::<f32>("value", [rows]);
        let index = k.write::<i32>("index", [rows]);
        let row = k.group_id();

        let (best, at) =
            k.fold(k.thread_strided(width, 1), (f32::NEG_INFINITY, i32::MAX), |(best, at), i| {
                let v = x.at([row, i]);
                let better = v.gt(best);
                (better.select(v, best), better.select(i, at))
            });
        let most = k.threadgroup_max(best);
        let first = k.threadgroup_min(best.eq(most).select(at, i32::MAX));
        value.set_from_thread(0, [row], most);
        index.set_from_thread(0, [row], first);
    })
}

/// `y = W·x`, one SIMD group an output row, weights in `storage`.
pub fn gemv(outputs: u32, inputs: u32, storage: Scalar) -> Kernel {
    kernel("gemv", Launch::groups(outputs.div_ceil(8)), |k| {
        let weights = k.read::<f32>("weights", [outputs, inputs]).stored(storage).guarded_axes(&[0]);
        let x = k.read::<f32>("x", [inputs]);
        let y = k.write::<f32>("y", [outputs]).guarded();
        let row = (k.group_id() * k.simd_groups() + k.simd_group()).named("row");

        let sum = k.fold(k.range(k.lane() * 4, inputs).step(128), 0.0, |sum, i| {
            let (w, x) = (weights.at4([row, i]), x.at4([i]));
            (0..4).fold(sum, |sum, part| sum.fma(w.part(part), x.part(part)))
        });
        y.set_from_lane(0, [row], sum.simd_sum());
    })
}

/// `c = a·b` with 8×8 fragments: four SIMD groups a threadgroup, each a 16×16 part of a 32×32 tile.
pub fn gemm(m: u32, n: u32, inner: u32) -> Kernel {
    kernel("gemm", Launch::grid([n.div_ceil(32), m.div_ceil(32), 1]).threads(128), |k| {
        let a = k.read::<f32>("a", [m, inner]).guarded();
        let b = k.read::<f32>("b", [inner, n]).guarded();
        let c = k.write::<f32>("c", [m, n]).guarded();
        let tile_a = k.scratch::<f32>("tile_a", [32, 16]);
        let tile_b = k.scratch::<f32>("tile_b", [16, 32]);
        let edge = k.scratch::<f32>("edge", [4, 8, 8]);
        let (row, column) = (k.group_axis(1) * 32, k.group_axis(0) * 32);
        let (up, left) = (k.simd_group() / 2 * 16, k.simd_group() % 2 * 16);

        let zero = [[k.fragment(0.0); 2]; 2];
        let sums = k.fold(k.range(0, inner).step(16), zero, |sums, step| {
            k.each(k.thread_strided(512, 1), |i| {
                tile_a.set((i / 16, i % 16), a.at([row + i / 16, step + i % 16]));
                tile_b.set((i / 32, i % 32), b.at([step + i / 32, column + i % 32]));
            });
            k.barrier();
            let mut sums = sums;
            for inner in [0, 8] {
                for (r, sums) in sums.iter_mut().enumerate() {
                    let fa = tile_a.factor((up + r * 8, inner));
                    for (s, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.multiply_add(fa, tile_b.factor((inner, left + s * 8)));
                    }
                }
            }
            k.barrier();
            sums
        });
        for (r, sums) in sums.into_iter().enumerate() {
            for (s, sum) in sums.into_iter().enumerate() {
                c.through(edge).set_fragment((row + up + r * 8, column + left + s * 8), sum);
            }
        }
    })
}

/// Every kernel above, at shapes with whole and partial parts.
pub fn all() -> Vec<Kernel> {
    vec![
        vector_add(1000),
        rms_norm(4, 1024, 1e-6),
        arg_max(4, 700),
        gemv(37, 256, Scalar::Bf16),
        gemm(40, 64, 48),
    ]
}
