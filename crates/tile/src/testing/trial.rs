//! Data to run a kernel on, and the comparison of what two ways of running it made of the data.

use std::ops::RangeInclusive;

use half::{bf16, f16};

use crate::interp::{self, Bound, BufferId, Dispatch, Fault, Memory, Program, Stats};
use crate::ir::{Kernel, Param};
use crate::types::{Literal, Scalar};

/// A launch of a whole kernel, with its memory.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The memory.
    pub memory: Memory,
    /// What each parameter is bound to.
    pub bound: Vec<Bound>,
    buffers: Vec<(String, BufferId, Scalar)>,
}

impl Trial {
    /// Buffers that the kernel reads hold noise: floats in -1..1, bytes of all values, i32 in `integers`, u32 pairs of
    /// bf16 in -1..1. Arguments lie somewhere in their range. What it only writes is poison.
    pub fn new(kernel: &Kernel, seed: u32, integers: &RangeInclusive<i32>) -> Self {
        let mut noise = Noise::new(seed);
        let mut trial = Self { memory: Memory::new(), bound: Vec::new(), buffers: Vec::new() };
        for &param in kernel.params() {
            let scalar = kernel.scalar_of(param);
            let bound = match param {
                Param::Argument(argument) => {
                    Bound::Scalar(noise.literal(scalar, kernel.arguments()[argument].range))
                }
                Param::Buffer(buffer) => {
                    let buffer = &kernel.buffers()[buffer];
                    let elements = buffer.elements as usize;
                    let id = match buffer.access.reads() {
                        true => {
                            let data = (0..elements).flat_map(|_| noise.element(scalar, integers));
                            trial.memory.bytes(data.collect())
                        }
                        false => trial.memory.poison(elements * scalar.bytes() as usize),
                    };
                    trial.buffers.push((buffer.name.clone(), id, scalar));
                    Bound::Buffer(trial.memory.whole(id))
                }
            };
            trial.bound.push(bound);
        }
        trial
    }

    /// The buffer bound to a parameter.
    pub fn buffer(&self, name: &str) -> Option<BufferId> {
        self.buffers.iter().find(|(n, ..)| n == name).map(|&(_, id, _)| id)
    }

    /// Binds a parameter to other data.
    pub fn give(&mut self, kernel: &Kernel, name: &str, data: Vec<u8>) {
        let id = self.memory.bytes(data);
        let position = kernel.params().iter().position(|&p| kernel.param_name(p) == name);
        if let Some(bound) = position.and_then(|n| self.bound.get_mut(n)) {
            *bound = Bound::Buffer(self.memory.whole(id));
        }
        if let Some(entry) = self.buffers.iter_mut().find(|(n, ..)| n == name) {
            entry.1 = id;
        }
    }

    /// The whole launch.
    pub fn dispatch(&self, kernel: &Kernel) -> (Memory, Dispatch<'_>) {
        (self.memory.clone(), Dispatch { groups: kernel.launch().groups, bound: &self.bound })
    }

    /// Runs the whole launch in the interpreter; the memory afterwards.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(&self, kernel: &Kernel) -> Result<(Memory, Stats), Box<Fault>> {
        let (mut memory, dispatch) = self.dispatch(kernel);
        let stats = interp::run(&Program::new(kernel), &mut memory, &dispatch)?;
        Ok((memory, stats))
    }

    /// The first element that is not the same in two memories of this trial. Any NaN is any other, zero is minus zero.
    pub fn difference(&self, expected: &Memory, got: &Memory) -> Option<String> {
        self.difference_beyond(expected, got, |_, _| 0.0)
    }

    /// The first element that is farther from the expected one than `tolerance` says for its type and value. Any NaN is
    /// any other; integers must be equal.
    pub fn difference_beyond(
        &self,
        expected: &Memory,
        got: &Memory,
        tolerance: impl Fn(Scalar, f64) -> f64,
    ) -> Option<String> {
        self.buffers.iter().find_map(|(name, id, scalar)| {
            let size = scalar.bytes() as usize;
            let pairs = expected.data(*id).chunks(size).zip(got.data(*id).chunks(size));
            let near = |e: f64, g: f64| scalar.is_float() && (e - g).abs() <= tolerance(*scalar, e);
            let differs =
                |(e, g): &(&[u8], &[u8])| !same(*scalar, e, g) && !near(value(*scalar, e), value(*scalar, g));
            let (n, (e, g)) = pairs.enumerate().find(|(_, pair)| differs(pair))?;
            Some(format!("{name}[{n}] is {}, not {}", value(*scalar, g), value(*scalar, e)))
        })
    }
}

fn same(scalar: Scalar, a: &[u8], b: &[u8]) -> bool {
    let (x, y) = (value(scalar, a), value(scalar, b));
    a == b || x == y || (scalar.is_float() && x.is_nan() && y.is_nan())
}

/// An element as a number.
fn value(scalar: Scalar, bytes: &[u8]) -> f64 {
    let word = bytes.iter().rev().fold(0u32, |word, &byte| word << 8 | u32::from(byte));
    match scalar {
        Scalar::F32 => f64::from(f32::from_bits(word)),
        Scalar::F16 => f16::from_bits(word as u16).to_f64(),
        Scalar::Bf16 => bf16::from_bits(word as u16).to_f64(),
        Scalar::I32 => f64::from(word as i32),
        Scalar::I8 => f64::from(word as i8),
        Scalar::U32 | Scalar::U8 | Scalar::Bool => f64::from(word),
    }
}

/// Floats in -1..1 that look random.
pub fn noise(count: u32, seed: u32) -> Vec<f32> {
    let mut noise = Noise::new(seed);
    (0..count).map(|_| noise.float()).collect()
}

/// Numbers that look random.
pub(super) struct Noise(pub(super) u32);

impl Noise {
    fn new(seed: u32) -> Self {
        Self(seed.wrapping_mul(2_654_435_761).wrapping_add(12_345) | 1)
    }

    pub(super) fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// In -1..1.
    fn float(&mut self) -> f32 {
        (self.next() >> 8) as f32 / (1 << 23) as f32 - 1.0
    }

    fn integer(&mut self, low: i64, high: i64) -> i64 {
        low + i64::from(self.next()) % (high - low + 1)
    }

    fn element(&mut self, scalar: Scalar, integers: &RangeInclusive<i32>) -> Vec<u8> {
        match scalar {
            Scalar::F32 => self.float().to_le_bytes().to_vec(),
            Scalar::F16 => f16::from_f32(self.float()).to_le_bytes().to_vec(),
            Scalar::Bf16 => bf16::from_f32(self.float()).to_le_bytes().to_vec(),
            Scalar::I32 => {
                let value = self.integer(i64::from(*integers.start()), i64::from(*integers.end()));
                (value as i32).to_le_bytes().to_vec()
            }
            Scalar::U32 => {
                let [a, b] = [0; 2].map(|_: u8| bf16::from_f32(self.float()).to_le_bytes());
                [a, b].concat()
            }
            Scalar::I8 | Scalar::U8 | Scalar::Bool => vec![(self.next() >> 16) as u8],
        }
    }

    fn literal(&mut self, scalar: Scalar, (low, high): (i64, i64)) -> Literal {
        match scalar {
            Scalar::F32 => Literal::f32(self.float()),
            Scalar::U32 => Literal::U32(self.integer(low, high) as u32),
            _ => Literal::I32(self.integer(low, high) as i32),
        }
    }
}
