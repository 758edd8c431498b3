//! What a GPU can do at most: memory read, multiply-adds in f32, products of bf16. Measurements are held against it.
//!
//! Every trial leaves a sum that is known beforehand, so that no part of the work can be missing from it, and every trial is
//! kept. Times are the GPU's own, between two events.

use std::sync::Arc;

use cudarc::driver::CudaModule;
use tilewright_backend::Watch;
use tilewright_model::{Code, Refusal};

use crate::compile::compile;
use crate::device::{Buffer, Device, function};
use crate::gpu::{Gpu, failed, find};
use crate::raw::launch::{Arg, Grid, allow_shared};
use crate::text;

mod work;

use work::{Kernel, Matrix};

/// Trials of each kind.
const TRIALS: usize = 9;
/// Trials before them, in which the clocks rise.
const WARMUPS: usize = 3;
/// Nanoseconds that a trial is to take: long beside a launch, and short enough for all of it to take less than a second.
const TRIAL_NS: f64 = 10e6;
/// The most memory that is read.
const MOST_READ: u64 = 4 << 30;
/// The memory read is so many times the cache in front of it.
const TIMES_CACHE: u64 = 8;
/// Bytes of a load.
const PIECE: u64 = 16;
/// The kernel that reads.
const READ: &str = "ceiling_read";

/// One thing measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// Bytes or operations of a trial; a multiply-add is two operations.
    pub work: u64,
    /// The time of every trial, in their order.
    pub times_ns: Vec<f64>,
}

/// What a GPU can do at most.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceilings {
    /// Which GPU.
    pub gpu: Gpu,
    /// Bytes of memory read.
    pub read: Ceiling,
    /// f32 operations.
    pub f32: Ceiling,
    /// Operations of products of bf16 with sums in f32, and by which instruction; none before compute capability 8.0.
    pub bf16: Option<(&'static str, Ceiling)>,
}

impl Ceilings {
    /// Measures GPU `ordinal`: less than a second of full load, and compiling the first time.
    ///
    /// # Errors
    /// Those of [`find`] and [`compile`](fn@crate::compile); `out_of_memory` when there is not memory enough to read;
    /// `device_failed`, also for a kernel that did not do the work that it was timed for.
    pub fn measure(ordinal: usize, progress: &mut Watch<'_>) -> Result<Self, Refusal> {
        let mut probe = CeilingsProbe::open(ordinal, progress)?;
        let read = probe.read()?;
        let f32 = probe.timed(&Kernel::f32(probe.gpu.multiprocessors))?;
        let bf16 = match Matrix::of(probe.gpu.capability) {
            Some(matrix) => {
                let kernel = Kernel::bf16(matrix, probe.gpu.multiprocessors);
                Some((matrix.instruction(), probe.timed(&kernel)?))
            }
            None => None,
        };
        Ok(Self { gpu: probe.gpu, read, f32, bf16 })
    }
}

/// A GPU with the kernels that measure it.
pub struct CeilingsProbe {
    gpu: Gpu,
    device: Device,
    module: Arc<CudaModule>,
    /// Four sums of 8 bytes.
    sums: Buffer,
}

impl CeilingsProbe {
    /// Takes GPU `ordinal` and compiles for it.
    ///
    /// # Errors
    /// As [`Ceilings::measure`].
    pub fn open(ordinal: usize, progress: &mut Watch<'_>) -> Result<Self, Refusal> {
        let gpu = find(ordinal)?;
        let text = text::ceilings(Matrix::of(gpu.capability) == Some(Matrix::Wgmma));
        let kernels = compile(&text, &gpu.arch(), Some(gpu.driver), progress)?;
        let device = Device::open(ordinal)?;
        let module = device.module(kernels.cubin)?;
        let sums = device.zeros(32)?;
        Ok(Self { gpu, device, module, sums })
    }

    /// What the kernel that reads makes of memory with these bytes, a whole number of pieces of 16: the sums of the first words
    /// of all pieces, the second, the third and the fourth, modulo 2^32.
    ///
    /// # Errors
    /// `device_failed`, `out_of_memory`.
    pub fn sums_of(&mut self, bytes: &[u8]) -> Result<[u32; 4], Refusal> {
        let memory = self.device.upload(bytes)?;
        let read = function(&self.module, READ)?;
        self.device.clear(&mut self.sums)?;
        let args = [memory.address, bytes.len() as u64 / PIECE].map(Arg::U64);
        let args = [&args[..], &[Arg::U32(1), Arg::U64(self.sums.address)]].concat();
        self.device.launch(&read, self.wide(), &args)?;
        Ok(self.sums()?.map(|sum| sum as u32))
    }

    fn read(&mut self) -> Result<Ceiling, Refusal> {
        let cache = self.device.cache_bytes()?;
        // A whole number of sweeps of all threads, so that all have as much to read.
        let sweep = self.gpu.multiprocessors as u64 * 1024 * 8 * PIECE;
        let bytes = read_bytes(self.device.free()?, cache, sweep)?;
        let memory = self.device.uninitialised(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let of = [memory.address, bytes / PIECE].map(Arg::U64);
        self.device.launch(&function(&self.module, "ceiling_fill")?, self.wide(), &of)?;
        // A thread's sums are modulo 2^32, and theirs together more.
        let sound = |sums: [u64; 4], laps| sums.map(|sum| sum as u32) == work::word_sums(bytes / PIECE, laps);
        self.trials(READ, self.wide(), bytes, &of, &sound)
    }

    fn timed(&mut self, kernel: &Kernel) -> Result<Ceiling, Refusal> {
        let Kernel { name, threads, shared, .. } = *kernel;
        let grid = Grid { blocks: (kernel.blocks, 1), threads, shared, cooperative: false };
        let factors: Vec<Arg> = kernel.factors.iter().flatten().map(|f| Arg::U32(f.to_bits())).collect();
        let sound = |sums: [u64; 4], laps: i64| sums[0].cast_signed() == kernel.lap_sum.wrapping_mul(laps);
        self.trials(name, grid, kernel.lap_operations, &factors, &sound)
    }

    /// Warm-ups and trials of as many laps as make a trial long enough. After `args` the kernel takes laps and sums.
    fn trials(
        &mut self,
        name: &str,
        grid: Grid,
        lap_work: u64,
        args: &[Arg],
        sound: &dyn Fn([u64; 4], i64) -> bool,
    ) -> Result<Ceiling, Refusal> {
        let function = function(&self.module, name)?;
        allow_shared(&function, grid.shared).map_err(|e| failed("shared memory", e))?;
        let mut trial = |laps: u32| {
            self.device.clear(&mut self.sums)?;
            let args = [args, &[Arg::U32(laps), Arg::U64(self.sums.address)]].concat();
            let ns = self.device.timed(|| self.device.launch(&function, grid, &args))?;
            let sums = self.sums()?;
            if sound(sums, i64::from(laps)) {
                return Ok(ns);
            }
            let expected = "the sum of all the work that is timed";
            Err(Refusal::new(Code::DeviceFailed, name, expected, format!("{sums:?} after {laps} laps")))
        };
        // The first launch loads code.
        trial(1)?;
        let laps = laps(trial(1)?);
        for _ in 0..WARMUPS {
            trial(laps)?;
        }
        let times_ns = (0..TRIALS).map(|_| trial(laps)).collect::<Result<_, _>>()?;
        Ok(Ceiling { work: lap_work * u64::from(laps), times_ns })
    }

    /// A block of as many threads as there can be for each multiprocessor.
    fn wide(&self) -> Grid {
        let blocks = (self.gpu.multiprocessors as u32, 1);
        Grid { blocks, threads: 1024, shared: 0, cooperative: false }
    }

    fn sums(&self) -> Result<[u64; 4], Refusal> {
        let mut bytes = [0u8; 32];
        self.device.read(&self.sums, 0, &mut bytes)?;
        let (words, _) = bytes.as_chunks::<8>();
        Ok([0, 1, 2, 3].map(|i| u64::from_le_bytes(words[i])))
    }
}

/// Laps of a trial whose one lap took so long.
fn laps(lap_ns: f64) -> u32 {
    (TRIAL_NS / lap_ns.max(1.0)).ceil().clamp(1.0, 10_000.0) as u32
}

/// Bytes to read where so many are free behind a cache of so many: half of what is free at most, in whole sweeps.
fn read_bytes(free: u64, cache: u64, sweep: u64) -> Result<u64, Refusal> {
    let least = (TIMES_CACHE * cache).max(sweep);
    let bytes = MOST_READ.min(free / 2) / sweep.max(1) * sweep;
    if bytes >= least {
        return Ok(bytes);
    }
    let expected =
        format!("{} bytes free, to read more than the cache holds", 2 * least.next_multiple_of(sweep));
    Err(Refusal::new(Code::OutOfMemory, "memory of the GPU", expected, format!("{free} bytes")))
}

#[cfg(test)]
mod tests;
