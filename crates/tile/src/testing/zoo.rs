//! Kernels that between them use everything the language has.

use crate::build::{Matrix, Value, Vec2, Vec4};
use crate::ir::{Access, Kernel, Launch};
use crate::kernel;
use crate::types::Scalar;
use half::{bf16, f16};

const N: u32 = 128;

/// Every function of one float.
pub fn functions() -> Kernel {
    type Function = for<'k> fn(Value<'k, f32>) -> Value<'k, f32>;
    let functions: [Function; 17] = [
        |v| -v,
        |v| v.abs(),
        |v| v.floor(),
        |v| v.abs().sqrt(),
        |v| (v.abs() + 0.5).rsqrt(),
        |v| v.exp(),
        |v| v.exp2(),
        |v| (v.abs() + 0.5).log(),
        |v| v.sin(),
        |v| v.cos(),
        |v| v.tanh(),
        |v| v.fast_exp(),
        |v| v.fast_exp2(),
        |v| v.fast_sin(),
        |v| v.fast_cos(),
        |v| v.fma(v, 0.5),
        |v| v.max(-0.5).min(0.5),
    ];
    kernel("functions", Launch::groups(1).threads(N), move |k| {
        let x = k.read::<f32>("x", [N]);
        let scale = k.argument_f32("scale");
        let y = k.write::<f32>("y", [functions.len() as u32, N]);
        let v = x.at([k.thread()]) * scale;
        for (row, function) in functions.iter().enumerate() {
            y.set((row, k.thread()), function(v));
        }
    })
}

/// Every operation on integers and truth values.
pub fn integers() -> Kernel {
    kernel("integers", Launch::groups(1).threads(N), |k| {
        let x = k.read::<i32>("x", [N, 2]);
        let signed = k.write::<i32>("signed", [17, N]);
        let unsigned = k.write::<u32>("unsigned", [9, N]);
        let n = k.argument("n", -5..=5);
        let t = k.thread();
        let (a, b) = (x.at((t, 0)), x.at((t, 1)));
        let divisor = (b & 1023).max(1);
        let values = [
            a + b,
            a - b,
            a * b,
            a / divisor,
            a % divisor,
            a.min(b),
            a.max(b),
            a & b,
            a | b,
            a ^ b,
            !a,
            a << (b & 31),
            a >> (b & 31),
            -a,
            a.abs(),
            (a.lt(b) & !a.eq(n) | a.ge(0) ^ b.le(n)).to::<i32>(),
            a.gt(b).select(a, b).clamp(n, 100),
        ];
        for (row, value) in values.into_iter().enumerate() {
            signed.set((row, t), value);
        }
        let (a, b) = (a.u32(), b.bitcast::<u32>());
        let values = [
            a + b,
            a - b,
            a * b,
            a / (b & 1023u32).max(1u32),
            a % (b & 1023u32).max(1u32),
            a.min(b),
            a.max(b),
            a >> (b & 31u32),
            a.ne(b).to::<u32>(),
        ];
        for (row, value) in values.into_iter().enumerate() {
            unsigned.set((row, t), value);
        }
    })
}

/// Conversions between all types, by value and by bits.
pub fn conversions() -> Kernel {
    kernel("conversions", Launch::groups(1).threads(N), |k| {
        let floats = k.read::<f32>("floats", [N]);
        let halves = k.read::<f16>("halves", [N]);
        let brains = k.read::<bf16>("brains", [N * 2]);
        let bytes = k.read::<i8>("bytes", [N * 4]);
        let words = k.read::<u32>("words", [N]);
        let t = k.thread();
        let out_f32 = k.write::<f32>("out_f32", [6, N]);
        let out_f16 = k.write::<f16>("out_f16", [4, N]);
        let out_bf16 = k.write::<bf16>("out_bf16", [3, N * 2]);
        let out_i8 = k.write::<i8>("out_i8", [3, N]);
        let out_u8 = k.write::<u8>("out_u8", [2, N * 4]);
        let out_i32 = k.write::<i32>("out_i32", [5, N]);

        let (v, w) = (floats.at([t]), words.at([t]));
        let four = bytes.at4([t * 4]);
        let two: Value<'_, Vec2<bf16>> = brains.at2([t * 2]);
        let wide = two.to::<Vec2<f32>>();
        out_f32.set((0, t), halves.at([t]).f32());
        out_f32.set((1, t), wide.part(0) + wide.part(1));
        out_f32.set((2, t), four.to::<Vec4<f32>>().sum_pairs());
        out_f32.set((3, t), (w >> 1u32).bitcast::<f32>().abs().min(1e30));
        out_f32.set((4, t), w.f32());
        out_f32.set((5, t), (w >> 4u32).i32().f32());
        out_f16.set((0, t), v.to::<f16>());
        out_f16.set((1, t), (v * 1000.0).to::<f16>());
        out_f16.set((2, t), four.part(1).to::<f16>());
        out_f16.set((3, t), two.part(0).to::<f16>());
        out_bf16.set2((0, t * 2), wide.to::<Vec2<bf16>>());
        out_bf16.set((1, t * 2), v.to::<bf16>());
        out_bf16.set((1, t * 2 + 1), halves.at([t]).to::<bf16>());
        out_bf16.set2((2, t * 2), w.bitcast::<Vec2<bf16>>());
        out_i8.set((0, t), (v * 200.0).to::<i8>());
        out_i8.set((1, t), w.to::<i8>());
        out_i8.set((2, t), four.part(3));
        out_u8.set4((0, t * 4), w.bitcast::<Vec4<u8>>());
        out_u8.set4((1, t * 4), (four.to::<Vec4<f32>>() * 3.0).to::<Vec4<u8>>());
        out_i32.set((0, t), (v * 3e9).i32());
        out_i32.set((1, t), (v * 3e9).u32().i32());
        out_i32.set((2, t), four.dot4(w.bitcast::<Vec4<i8>>(), 7));
        out_i32.set((3, t), k.value::<Vec4<i32>>(3).part(2) * four.to::<Vec4<i32>>().part(2));
        out_i32.set((4, t), v.bitcast::<i32>() >> 3);
    })
}

/// Lanes exchanging values of every type, and all reductions.
pub fn lanes() -> Kernel {
    kernel("lanes", Launch::groups(2).threads(N), |k| {
        let x = k.read::<f32>("x", [2, N]);
        let (t, g) = (k.thread(), k.group_id());
        let floats = k.write::<f32>("floats", [2, 9, N]);
        let ints = k.write::<i32>("ints", [2, 9, N]);
        let v = x.at((g, t));
        let i = (v * 1000.0).i32();
        let (floats, ints) = (floats.slice(g), ints.slice(g));
        let values = [
            v.simd_sum(),
            v.simd_max(),
            v.simd_min(),
            v.shuffle_xor(5),
            v.shuffle_down(3),
            v.from_lane(i & 31),
            k.threadgroup_sum(v),
            k.threadgroup_max(v),
            k.threadgroup_min(v),
        ];
        for (row, value) in values.into_iter().enumerate() {
            floats.set((row, t), value);
        }
        let bits = i.bitcast::<u32>();
        let values = [
            i.simd_sum(),
            i.simd_max(),
            i.simd_min(),
            bits.simd_max().i32(),
            (bits.simd_min() + bits.simd_sum()).i32(),
            v.gt(0.0).shuffle_xor(1).to::<i32>(),
            k.threadgroup_max(i),
            k.threadgroup_min(bits).i32(),
            (v.to::<bf16>().shuffle_down(1).f32() * 8.0
                + v.to::<f16>().shuffle_xor(2).f32() * 8.0
                + i.to::<i8>().from_lane(3).f32())
            .i32(),
        ];
        for (row, value) in values.into_iter().enumerate() {
            ints.set((row, t), value);
        }
        k.when(k.simd_group().eq(1), || floats.set((0, t), v.simd_sum() * 2.0));
    })
}

/// Loops of every kind: strided, whole, nested, with values that change places, with conditions inside.
pub fn control() -> Kernel {
    kernel("control", Launch::grid([2, 1, 2]).threads(64), |k| {
        let x = k.read::<f32>("x", [100]).fill(1.0);
        let y = k.write::<f32>("y", [2, 2, 4, 64]);
        let y = y.slice(k.group_axis(2)).slice(k.group_axis(0));
        let n = k.argument("n", 0..=100);
        let t = k.thread();
        let (a, b) = k.fold(k.below(n), (1.0, 2.0), |(a, b), i| (b, a + x.at([i])));
        y.set((0, t), a * 16.0 + b);
        let sum = k.fold_tiles(n, 8, 0.0, |sum, tile, whole| {
            let limited = x.limit(0, n);
            (0..8).fold(sum, |sum, j| match whole {
                true => sum + limited.at([tile + j]),
                false => sum + limited.at([tile + j]) * 0.5,
            })
        });
        y.set((1, t), sum);
        let count = k.fold(k.lane_strided(n, 2), (0, 0), |(even, odd), i| {
            let is_even = (i & 1).eq(0);
            (is_even.select(even + 1, even), is_even.select(odd, odd + 1))
        });
        y.set((2, t), (count.0 * 100 + count.1).f32());
        y.set((3, t), 0.0);
        k.when(t.ge(32) & n.gt(10), || {
            k.each(k.range(t, n).step(7), |i| k.when((i % 3).eq(0), || y.set((3, t), i.f32())));
        });
    })
}

/// Fragments of every storage, straight and transposed, across edges, in pointwise arithmetic.
pub fn fragments(storage: Scalar) -> Kernel {
    kernel("fragments", Launch::groups(2).threads(64), move |k| {
        let a = k.read::<f32>("a", [2, 20, 24]).stored(storage).guarded_axes(&[1, 2]);
        let b = k.read::<f32>("b", [24, 16]).stored(storage);
        let c = k.write::<f32>("c", [2, 20, 16]).stored(storage).guarded();
        let d = k.write::<f32>("d", [2, 16, 8]);
        let edge = k.scratch::<f32>("edge", [2, 8, 8]).stored(storage);
        let square = k.scratch::<f32>("square", [2, 8, 8]);
        let n = k.argument("n", 0..=24);
        let (g, simd, lane) = (k.group_id(), k.simd_group(), k.lane());
        let (a, c) = (a.limit(2, n).through(edge), c.through(edge));
        let zero = k.fragment(0.0);
        let column = simd * 8;
        for row in [0, 8, 16] {
            let sum = k.fold(k.below(24).step(8), zero, |sum, inner| {
                sum.multiply_add(a.factor((g, row, inner)), b.factor((inner, column)))
            });
            let half: Value<'_, Matrix> = (sum - sum.max(0.0)) * 0.5;
            let scaled = n.gt(12).select(half, sum).scale(n.f32());
            c.set_fragment((g, row, column), scaled + sum / (sum.abs() + 1.0));
        }
        let turned = zero.multiply_add(b.factor_transposed((8, column)), b.factor((8, column)));
        let rounded = turned.rounded(storage).f32().fma(turned, 2.0).exp2().min(1e3);
        square.set_fragment((simd, 0, 0), rounded);
        k.simd_barrier();
        for part in 0..2 {
            let at = (lane / 4, lane % 4 * 2 + part);
            d.set((g, simd * 8 + at.0, at.1), square.at((simd, at.0, at.1)));
        }
    })
}

/// A product in tiles of 64×64 with edges on every axis; the right factor transposed where storage is narrow.
pub fn tiles(storage: Scalar) -> Kernel {
    const ROWS: u32 = 70;
    const INNER: u32 = 72;
    const COLUMNS: u32 = 68;
    let transposed = storage != Scalar::F32;
    kernel("tiles", Launch::grid([COLUMNS.div_ceil(64), ROWS.div_ceil(64), 1]).threads(128), move |k| {
        let a = k.read::<f32>("a", [ROWS, INNER]).stored(storage).guarded();
        let extents = if transposed { [COLUMNS, INNER] } else { [INNER, COLUMNS] };
        let b = k.read::<f32>("b", extents).stored(storage).guarded();
        let c = k.write::<f32>("c", [ROWS, COLUMNS]).guarded();
        let factors = k.shared::<f32>("factors", 2 * 4096);
        let left = factors.view("left", [64, 64]).stored(storage);
        let right = factors.view("right", [64, 64]).offset(4096u32).stored(storage);
        // What is no longer needed has room for the result, where it has its type.
        let sums = match transposed {
            false => factors.view("sums", [64, 64]),
            true => k.scratch::<f32>("sums", [64, 64]),
        };
        let (row, column) = (k.group_axis(1) * 64, k.group_axis(0) * 64);

        let total = k.fold(k.below(INNER).step(64), k.tile(0.0), |total, at| {
            k.each(k.thread_strided(4096, 1), |i| {
                let (r, s) = (i / 64, i % 64);
                left.set((r, s), a.at((row + r, at + s)));
                right.set(
                    (r, s),
                    if transposed { b.at((column + r, at + s)) } else { b.at((at + r, column + s)) },
                );
            });
            k.barrier();
            let total = match transposed {
                false => total.multiply_tiles(left, right),
                true => total.multiply_tiles_transposed(left, right),
            };
            k.barrier();
            total
        });
        sums.set_tile(total);
        k.barrier();
        k.each(k.thread_strided(4096, 1), |i| {
            c.set((row + i / 64, column + i % 64), sums.at((i / 64, i % 64)))
        });
    })
}

/// A tile that is filled and stored, and no product.
pub fn filled_tile() -> Kernel {
    kernel("filled_tile", Launch::groups(1).threads(128), |k| {
        let tile = k.scratch::<f32>("tile", [64, 64]);
        let y = k.write::<f32>("y", [64, 64]);
        tile.set_tile(k.tile(2.5));
        k.barrier();
        k.each(k.thread_strided(4096, 1), |i| y.set((i / 64, i % 64), tile.at((i / 64, i % 64))));
    })
}

/// Views of every shape on one buffer and one allocation; positions beyond 32 bits.
pub fn views() -> Kernel {
    kernel("views", Launch::groups(2).threads(64), |k| {
        let weights = k.packed::<f32>("weights", Access::Read);
        let first = weights.view("first", [3, 16]).offset(8u32).strides([40, 1]);
        let second = weights.view("second", [2, 4, 8]).strides([40, 8, 1]).fill(-1.0);
        let huge = k.read::<f32>("huge", [3, 1 << 30]).guarded();
        let all = k.shared::<f32>("all", 256);
        let rows = all.view("rows", [2, 64]).strides([128, 1]);
        let columns = all.view("columns", [64, 4]).strides([4, 1]);
        let y = k.write::<f32>("y", [2, 3, 64]);
        let (g, t) = (k.group_id(), k.thread());
        rows.set((0, t), first.at((t % 3, t % 16)));
        rows.set((1, t), second.at((t % 3 - 1, t / 16, t % 16)));
        k.barrier();
        let out = y.slice(g);
        let four = t.lt(32).select(columns.at4((t % 16, 0)), columns.at4((t % 16 + 32, 0)));
        out.set((0, t), four.sum_pairs());
        out.set((1, t), huge.at_if(g.gt(5), (2, t * 1000)));
        let layered = second.slice(1).slice(g);
        out.set((2, t), layered.at([t % 8]));
    })
}

/// All of them.
pub fn all() -> Vec<Kernel> {
    vec![
        functions(),
        integers(),
        conversions(),
        lanes(),
        control(),
        fragments(Scalar::F16),
        tiles(Scalar::F32),
        filled_tile(),
        views(),
    ]
}
