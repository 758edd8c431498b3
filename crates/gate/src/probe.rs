//! What this machine can do at most: the read bandwidth and multiply-add rate that measurements are held against.
//!
//! Both are measured with the instructions that the CPU device uses, by as many threads, so that a share of them says
//! how much of the machine a kernel reaches.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use tilewright_cpu::simd::{Isa, Kernel, LANES, Simd};

#[cfg(test)]
mod tests;

/// Limits of the machine, each the median of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes read from memory in a second.
    pub read: f64,
    /// f32 operations in a second, two to a fused multiply-add.
    pub fma: f64,
}

/// Memory to read: far more than a cache holds.
const BUFFER: usize = 1 << 30;
const RUNS: usize = 7;

impl Limits {
    /// Measures `threads` threads on `isa`: a second or two of full load.
    pub fn measure(isa: Isa, threads: usize) -> Self {
        let memory = vec![1f32; BUFFER / size_of::<f32>()];
        let (memory, _) = memory.as_chunks::<LANES>();
        let share = memory.len() / threads;
        let read = median(|| together(threads, |i| isa.run(Read(&memory[i * share..][..share]))));
        let bytes = (share * threads * size_of::<[f32; LANES]>()) as f64;
        // Six sums of sixteen lanes fill sixteen registers of eight lanes; wider registers need more to hide latency.
        let fma = fma_rate::<6>(isa, threads).max(fma_rate::<12>(isa, threads));
        Self { read: bytes / read.as_secs_f64(), fma }
    }
}

fn fma_rate<const CHAINS: usize>(isa: Isa, threads: usize) -> f64 {
    let rounds = (64 << 20) / CHAINS;
    let time = median(|| together(threads, |_| isa.run(MultiplyAdd::<CHAINS> { rounds })));
    (threads * rounds * CHAINS * LANES * 2) as f64 / time.as_secs_f64()
}

/// Multiply-adds that depend on nothing but registers, in `CHAINS` independent sums.
struct MultiplyAdd<const CHAINS: usize> {
    rounds: usize,
}

impl<const CHAINS: usize> Kernel for MultiplyAdd<CHAINS> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let (a, b) = (simd.splat(black_box(0.5)), simd.splat(black_box(1.0)));
        let mut sums = [b; CHAINS];
        for _ in 0..self.rounds {
            for sum in &mut sums {
                *sum = simd.fma(*sum, a, b);
            }
        }
        sums.map(|sum| simd.reduce_add(sum)).iter().sum()
    }
}

/// Reads memory once, in order.
struct Read<'a>(&'a [[f32; LANES]]);

impl Kernel for Read<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat(0.0); 4];
        let (groups, _) = self.0.as_chunks::<4>();
        for lines in groups {
            for (sum, line) in sums.iter_mut().zip(lines) {
                simd.prefetch(line, 4096);
                *sum = simd.add(*sum, simd.load(line));
            }
        }
        sums.map(|sum| simd.reduce_add(sum)).iter().sum()
    }
}

/// Time from the start of the first to the end of the last of `threads` threads running `work`.
fn together(threads: usize, work: impl Fn(usize) -> f32 + Sync) -> Duration {
    let barrier = Barrier::new(threads);
    let run = |i| {
        barrier.wait();
        let start = Instant::now();
        black_box(work(i));
        (start, Instant::now())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|i| scope.spawn(move || run(i))).collect();
        let (mut first, mut last) = run(0);
        for (start, end) in others.into_iter().filter_map(|thread| thread.join().ok()) {
            (first, last) = (first.min(start), last.max(end));
        }
        last - first
    })
}

fn median(mut run: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS).map(|_| run()).collect();
    times.sort_unstable();
    times[RUNS / 2]
}
