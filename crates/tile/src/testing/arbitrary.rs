//! Random kernels.
//!
//! A kernel is grown from a list of bytes, each of which settles one choice, so that a test framework that shortens
//! the list also simplifies the kernel. Every kernel is meant to be accepted by the verifier, and computes with
//! operations that every target performs exactly: no transcendental function, no quotient by a zero, no bits of a
//! float looked at. Results can be compared for equality, taking any NaN for any other and zero for minus zero.

use proptest::prelude::Strategy;

use crate::build::{Builder, Value, Vec4, View};
use crate::ir::{Kernel, Launch};
use crate::kernel;
use crate::types::Scalar;

/// Elements of each input.
const INPUT: u32 = 256;

/// A kernel with data to run it on.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The kernel: inputs `floats`, `narrow`, `ints`; outputs `out_floats`, `out_ints`; argument `n`.
    pub kernel: Kernel,
    /// 256 floats.
    pub floats: Vec<f32>,
    /// 256 floats to be stored in `narrow_type`.
    pub narrow: Vec<f32>,
    /// Type of `narrow` in memory.
    pub narrow_type: Scalar,
    /// 256 integers.
    pub ints: Vec<i32>,
    /// The argument `n`.
    pub n: i32,
    /// Elements of each output.
    pub outputs: usize,
}

/// Lists of choices.
pub fn recipes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::num::u8::ANY, 8..160)
}

/// The kernel of a list of choices.
pub fn sample(recipe: &[u8]) -> Sample {
    let mut choices = Choices { bytes: recipe, at: 0 };
    let threads = [32, 64, 96, 128][choices.of(4)];
    let groups = [[1, 1, 1], [3, 1, 1], [2, 2, 1], [1, 2, 2]][choices.of(4)];
    let narrow_type = [Scalar::F16, Scalar::Bf16, Scalar::F32][choices.of(3)];
    let n = choices.of(6) as i32;
    let total = groups.iter().product::<u32>() * threads;
    let kernel = kernel("sample", Launch::grid(groups).threads(threads), |k| {
        let narrow = k.read::<f32>("narrow", [INPUT]).stored(narrow_type);
        let mut grower = Grower {
            k,
            choices: &mut choices,
            inputs: k.read::<f32>("floats", [INPUT / 8, 8]).guarded(),
            narrow: narrow.fill(0.5),
            ints: k.read::<i32>("ints", [INPUT]),
            shared: k.scratch::<f32>("shared", [threads]),
            tile: k.scratch::<f32>("tile", [threads / 32, 8, 8]),
            edge: k.scratch::<f32>("edge", [threads / 32, 8, 8]),
            n: k.argument("n", 0..=5),
            pool: Pool::default(),
            level: Level::Together,
        };
        grower.start();
        grower.steps(3);
        let group = (k.group_axis(2) * groups[1] + k.group_axis(1)) * groups[0] + k.group_axis(0);
        let at = group * threads + k.thread();
        let pool = &grower.pool;
        let float = pool.floats.iter().rev().take(6).fold(k.f32(0.0), |sum, &v| sum + v.clamp(-1e6, 1e6));
        let int = pool.ints.iter().rev().take(6).fold(k.i32(0), |sum, &v| sum ^ v);
        k.write::<f32>("out_floats", [total]).set([at], float);
        k.write::<i32>("out_ints", [total]).set([at], int);
    });
    let seed = recipe.iter().fold(17u32, |s, &b| s.wrapping_mul(31).wrapping_add(u32::from(b)));
    let mut noise = Noise(seed | 1);
    Sample {
        kernel,
        floats: (0..INPUT).map(|_| noise.float()).collect(),
        narrow: (0..INPUT).map(|_| noise.float()).collect(),
        narrow_type,
        ints: (0..INPUT).map(|_| noise.next() as i32 >> (noise.next() % 32)).collect(),
        n,
        outputs: total as usize,
    }
}

struct Noise(u32);

impl Noise {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn float(&mut self) -> f32 {
        (self.next() >> 8) as f32 / (1 << 22) as f32 - 2.0
    }
}

/// The bytes, one choice after another; zero when they are used up.
struct Choices<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Choices<'_> {
    fn of(&mut self, n: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % n.max(1)
    }

    fn are_used_up(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

/// Values made so far, by type.
#[derive(Default, Clone)]
struct Pool<'k> {
    floats: Vec<Value<'k, f32>>,
    ints: Vec<Value<'k, i32>>,
    conditions: Vec<Value<'k, bool>>,
}

/// Who is certain to be here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// Perhaps only some lanes.
    Apart,
    /// All lanes of the SIMD group.
    Simd,
    /// All threads.
    Together,
}

struct Grower<'k, 'c, 'b> {
    k: &'k Builder,
    choices: &'c mut Choices<'b>,
    inputs: View<'k, f32>,
    narrow: View<'k, f32>,
    ints: View<'k, i32>,
    shared: View<'k, f32>,
    tile: View<'k, f32>,
    edge: View<'k, f32>,
    n: Value<'k, i32>,
    pool: Pool<'k>,
    level: Level,
}

impl<'k> Grower<'k, '_, '_> {
    fn start(&mut self) {
        let k = self.k;
        self.pool.ints.extend([k.thread(), k.lane(), k.simd_group(), k.group_id(), self.n]);
        self.pool.floats.push(self.inputs.at((k.simd_group(), k.lane() % 8)));
        self.pool.conditions.push(k.lane().lt(self.n));
    }

    fn float(&mut self) -> Value<'k, f32> {
        let n = self.choices.of(self.pool.floats.len());
        self.pool.floats[n]
    }

    fn int(&mut self) -> Value<'k, i32> {
        let n = self.choices.of(self.pool.ints.len());
        self.pool.ints[n]
    }

    fn condition(&mut self) -> Value<'k, bool> {
        let n = self.choices.of(self.pool.conditions.len());
        self.pool.conditions[n]
    }

    fn steps(&mut self, depth: usize) {
        for _ in 0..2 + self.choices.of(8) {
            if self.choices.are_used_up() {
                return;
            }
            match self.choices.of(12) {
                0..=2 => self.float_step(),
                3..=4 => self.int_step(),
                5 => self.condition_step(),
                6 => self.load_step(),
                7 if self.level >= Level::Simd => self.lane_step(),
                8 if self.level == Level::Together => self.exchange_step(),
                9 if depth > 0 => self.loop_step(depth),
                10 if depth > 0 => self.when_step(depth),
                11 if self.level == Level::Together => self.matrix_step(),
                _ => self.vector_step(),
            }
        }
    }

    fn float_step(&mut self) {
        let (a, b, c) = (self.float(), self.float(), self.float());
        let value = match self.choices.of(12) {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 => a / (b.abs() + 1.0),
            4 => c.fma(a, b),
            5 => a.min(b),
            6 => a.max(b),
            7 => a.abs().sqrt(),
            8 => (-a).floor(),
            9 => self.condition().select(a, b),
            10 => self.int().f32(),
            _ => a.clamp(-100.0, 100.0) * 0.5,
        };
        self.pool.floats.push(value);
    }

    fn int_step(&mut self) {
        let (a, b) = (self.int(), self.int());
        let value = match self.choices.of(14) {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 => a / (b & 7).max(1),
            4 => a % (b & 15).max(3),
            5 => a.min(b),
            6 => a.max(b),
            7 => a & b,
            8 => a | b,
            9 => a ^ b,
            10 => a << (b & 31),
            11 => a >> (b & 31),
            12 => self.float().clamp(-1e9, 1e9).i32(),
            _ => (a.u32() >> (b.u32() & 31u32)).i32(),
        };
        self.pool.ints.push(value);
    }

    fn condition_step(&mut self) {
        let (a, b, i, j) = (self.float(), self.float(), self.int(), self.int());
        let (c, d) = (self.condition(), self.condition());
        let value = match self.choices.of(6) {
            0 => a.lt(b),
            1 => i.ge(j),
            2 => i.eq(j),
            3 => c & d,
            4 => c ^ d,
            _ => !c,
        };
        self.pool.conditions.push(value);
    }

    fn load_step(&mut self) {
        let at = self.int();
        match self.choices.of(4) {
            0 => {
                let (row, column) = (at & 63, self.int() & 15);
                self.pool.floats.push(self.inputs.at((row - 8, column)));
            }
            1 => self.pool.floats.push(self.narrow.at([at & 511])),
            2 => {
                let mask = self.condition();
                self.pool.floats.push(self.narrow.at_if(mask, [at & 255]));
            }
            _ => self.pool.ints.push(self.ints.at([at & 255])),
        }
    }

    fn vector_step(&mut self) {
        let at = (self.int() & 63) * 4;
        let four: Value<'k, Vec4<f32>> = self.narrow.at4([at]);
        let other: Value<'k, Vec4<f32>> = self.k.value(self.float());
        let four = match self.choices.of(4) {
            0 => four + other,
            1 => four * other,
            2 => other.fma(four, four),
            _ => four.max(other).min(1.5),
        };
        let part = self.choices.of(4);
        self.pool.floats.extend([four.part(part), four.clamp(-1e3, 1e3).sum_pairs()]);
    }

    fn lane_step(&mut self) {
        let (float, int) = (self.float().clamp(-1e3, 1e3), self.int());
        match self.choices.of(7) {
            0 => self.pool.floats.push(float.simd_max()),
            1 => self.pool.floats.push(float.simd_min()),
            2 => self.pool.ints.push(int.simd_sum()),
            3 => self.pool.floats.push(float.shuffle_xor(self.choices.of(32) as u32)),
            4 => self.pool.floats.push(float.shuffle_down(self.choices.of(32) as u32)),
            5 => self.pool.floats.push(float.from_lane(int & 31)),
            _ => self.pool.floats.push(float.simd_sum()),
        }
    }

    /// Every thread writes its element of shared memory and reads another's.
    fn exchange_step(&mut self) {
        let (k, threads) = (self.k, self.k.threads());
        let mine = self.float();
        self.shared.set([k.thread()], mine);
        k.barrier();
        let other = match self.choices.of(3) {
            0 => k.i32(threads as i32 - 1) - k.thread(),
            1 => (k.thread() + 33) % threads,
            _ => (self.int() & i32::MAX) % threads,
        };
        let value = self.shared.at([other]);
        k.barrier();
        self.pool.floats.push(value);
    }

    fn loop_step(&mut self, depth: usize) {
        let (float, int) = (self.float(), self.int());
        let uniform = self.choices.of(2) == 0;
        let end = if uniform { self.n } else { self.int() & 3 };
        let step = 1 + self.choices.of(2) as u32;
        let saved = (self.pool.clone(), self.level);
        if !uniform {
            self.level = Level::Apart;
        }
        let k = self.k;
        let range = k.below(end).step(step);
        let (float, int) = k.fold(range, (float.clamp(-1e3, 1e3), int), |(float, int), index| {
            self.pool.floats.push(float);
            self.pool.ints.extend([int, index]);
            self.steps(depth - 1);
            let next = (self.float().clamp(-1e3, 1e3), self.int());
            self.pool = saved.0.clone();
            next
        });
        self.level = saved.1;
        self.pool.floats.push(float);
        self.pool.ints.push(int);
    }

    /// A condition guards nothing that lasts: results leave a block through memory only.
    fn when_step(&mut self, depth: usize) {
        let k = self.k;
        let uniform = self.choices.of(2) == 0;
        let condition = if uniform { self.n.gt(2) } else { self.condition() };
        let saved = (self.pool.clone(), self.level);
        if !uniform {
            self.level = Level::Apart;
        }
        let together = saved.1 == Level::Together;
        if together {
            self.shared.set([k.thread()], 1.0);
        }
        k.when(condition, || {
            self.steps(depth - 1);
            if together {
                let value = self.float();
                self.shared.set([k.thread()], value);
            }
        });
        (self.pool, self.level) = saved;
        if together {
            let value = self.shared.at([k.thread()]);
            k.barrier();
            self.pool.floats.push(value);
        }
    }

    /// A fragment from device memory, perhaps across the edge, times one from shared memory, back to the lanes.
    fn matrix_step(&mut self) {
        let k = self.k;
        let (simd, lane) = (k.simd_group(), k.lane());
        let own = (simd, lane / 4, lane % 4 * 2);
        for part in 0..2 {
            let value = self.float().clamp(-10.0, 10.0);
            self.tile.set((own.0, own.1, own.2 + part), value);
        }
        k.barrier();
        let row = self.n * self.choices.of(8) as u32;
        let device = self.inputs.through(self.edge);
        let left = match self.choices.of(2) {
            0 => device.factor((row, 0)),
            _ => device.factor_transposed((row, 0)),
        };
        let right = self.tile.factor((simd, 0, 0));
        let mut sum = k.fragment(0.25).multiply_add(left, right);
        if self.choices.of(2) == 0 {
            sum = sum.max(left.f32()) * right.f32();
        }
        k.barrier();
        self.tile.set_fragment((simd, 0, 0), sum);
        k.barrier();
        let value = self.tile.at(own);
        k.barrier();
        self.pool.floats.push(value);
    }
}
