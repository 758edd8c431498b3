//! What the machine can do, and how much of it the products reach.
//!
//! `products [format] [threads] [isa] [layers]` packs random matrices of the Qwen3-0.6B shape and prints, as medians of
//! alternating trials: read bandwidth against one row of activations over every matrix (what decoding a token reads),
//! and the multiply-add peak against 512 rows over every layer. The format is one of this device's or a GGUF type of
//! blocks.
#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

use tilewright_cpu::matmul::{Inputs, Matrix, matmul};
use tilewright_cpu::pool::Pool;
use tilewright_cpu::simd::{Isa, Kernel, LANES, Simd};
use tilewright_model::{Refusal, StoredType, Tensor, WeightFormat};

/// Outputs and inputs of a layer's four products: queries with keys and values, output, gate with up, down.
const LAYER: [(usize, usize); 4] = [(4096, 1024), (1024, 2048), (6144, 1024), (1024, 3072)];
const HEAD: (usize, usize) = (151_936, 1024);
const ROWS: usize = 512;
const TRIALS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or("int8".into());
    let blocks = StoredType::all().find(|stored| stored.is_block() && stored.to_string() == name);
    let format = if blocks.is_some() { WeightFormat::Gguf } else { name.parse()? };
    let threads = args.next().map_or(Ok(2), |n| n.parse())?;
    let isa = args.next().map_or(Ok(Isa::detect()), |name| Isa::named(&name))?;
    let layers = args.next().map_or(Ok(28), |n| n.parse())?;
    let pool = Pool::new(threads);
    println!("{name} on {isa}, {threads} threads, {layers} layers");

    let shapes = || std::iter::repeat_n(LAYER, layers).flatten();
    let pack = |shape| match blocks {
        Some(stored) => random_blocks(&pool, stored, shape),
        None => random(&pool, isa, format, shape),
    };
    let matrices: Vec<_> = shapes().chain([HEAD]).map(pack).collect::<Result<_, _>>()?;
    let bytes: usize = matrices.iter().map(|m| m.bytes().len()).sum();
    println!("{:.1} MB of weights", bytes as f64 / 1e6);

    let (mut read, mut decode) = (Vec::new(), Vec::new());
    let mut one = Products::new(&pool, isa, &matrices, 1);
    for _ in 0..TRIALS {
        read.push(bytes as f64 / seconds(|| read_all(&pool, isa, &matrices)) / 1e9);
        decode.push(seconds(|| one.run()));
    }
    let (read, decode) = (median(read), median(decode));
    let rate = bytes as f64 / decode / 1e9;
    println!("read {read:.2} GB/s");
    println!("one row {:.2} ms, {rate:.2} GB/s, {:.0} % of read", decode * 1e3, 100.0 * rate / read);

    let (mut peak, mut prefill) = (Vec::new(), Vec::new());
    let layered = &matrices[..matrices.len() - 1];
    let operations: f64 = layered.iter().map(|m| 2.0 * (m.rows() * m.cols() * ROWS) as f64).sum();
    let mut many = Products::new(&pool, isa, layered, ROWS);
    for _ in 0..TRIALS {
        peak.push(multiply_adds(&pool, isa, format) / 1e9);
        prefill.push(seconds(|| many.run()));
    }
    let (peak, prefill) = (median(peak), median(prefill));
    let rate = operations / prefill / 1e9;
    println!("multiply-add peak {peak:.0} Gop/s");
    println!(
        "{ROWS} rows {:.0} ms, {:.0} rows/s, {rate:.0} Gop/s, {:.0} % of peak",
        prefill * 1e3,
        ROWS as f64 / prefill,
        100.0 * rate / peak
    );
    Ok(())
}

/// A matrix of small random weights.
fn random(pool: &Pool, isa: Isa, format: WeightFormat, shape: (usize, usize)) -> Result<Matrix, Refusal> {
    let read = |rows: Range<usize>, out: &mut [f32]| {
        let mut state = rows.start as u32 ^ shape.1 as u32;
        for w in out {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *w = (state >> 8) as f32 / (1 << 28) as f32 - 1.0 / 32.0;
        }
        Ok(())
    };
    Matrix::pack(pool, isa, format, shape, &read)
}

/// A matrix of random blocks. No byte is so large that a scale would be infinite.
fn random_blocks(pool: &Pool, stored: StoredType, (rows, cols): (usize, usize)) -> Result<Matrix, Refusal> {
    let mut state = cols as u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 & 0x3f
    };
    let bytes: Vec<u8> = (0..stored.bytes(rows * cols)).map(|_| byte()).collect();
    let shape = [rows, cols];
    let tensor =
        Tensor { name: "random", shape: &shape, stored, transposed: false, interleaved: None, bytes: &bytes };
    Matrix::pack_blocks(pool, &[&tensor])
}

/// Products of `rows` activations with every one of some matrices.
struct Products<'a> {
    pool: &'a Pool,
    isa: Isa,
    matrices: &'a [Matrix],
    rows: usize,
    inputs: Inputs,
    out: Vec<f32>,
}

impl<'a> Products<'a> {
    fn new(pool: &'a Pool, isa: Isa, matrices: &'a [Matrix], rows: usize) -> Self {
        let most = matrices.iter().map(Matrix::rows).max().unwrap_or(0);
        Self { pool, isa, matrices, rows, inputs: Inputs::default(), out: vec![0.0; rows * most] }
    }

    fn run(&mut self) {
        for matrix in self.matrices {
            self.inputs.fill(self.pool, self.isa, matrix, self.rows, |row, out| {
                out.iter_mut().enumerate().for_each(|(i, x)| *x = (row + i) as f32 * 1e-3);
            });
            let out = &mut self.out[..self.rows * matrix.rows()];
            matmul(self.pool, self.isa, matrix, &self.inputs, out);
            black_box(out);
        }
    }
}

/// Reads every byte once, each thread in long streams.
fn read_all(pool: &Pool, isa: Isa, matrices: &[Matrix]) {
    for matrix in matrices {
        let lines = matrix.bytes().as_chunks::<64>().0;
        let parts = lines.chunks(lines.len().div_ceil(8 * pool.threads())).collect::<Vec<_>>();
        pool.run(parts.len(), |part| {
            black_box(isa.run(Read(parts[part])));
        });
    }
}

struct Read<'a>(&'a [[u8; 64]]);

impl Kernel for Read<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat(0.0); 4];
        for lines in self.0.as_chunks::<4>().0 {
            for (sum, line) in sums.iter_mut().zip(lines) {
                simd.prefetch(line, 4096);
                *sum = simd.max(simd.load_bytes(line), *sum);
            }
        }
        simd.reduce_max(simd.max(simd.max(sums[0], sums[1]), simd.max(sums[2], sums[3])))
    }
}

/// Operations a second of the format's multiply-add with everything in registers. Too few independent sums wait for
/// one another, too many do not fit the registers: the better of two numbers counts.
fn multiply_adds(pool: &Pool, isa: Isa, format: WeightFormat) -> f64 {
    chains::<6>(pool, isa, format).max(chains::<12>(pool, isa, format))
}

fn chains<const CHAINS: usize>(pool: &Pool, isa: Isa, format: WeightFormat) -> f64 {
    let (rounds, tasks) = (400_000, 4 * pool.threads());
    let spent = seconds(|| {
        pool.run(tasks, |_| {
            black_box(isa.run(Peak::<CHAINS> { format, rounds }));
        });
    });
    let each = match format {
        WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16 => 2 * LANES,
        WeightFormat::Int8 | WeightFormat::Int4 | WeightFormat::Gguf => 8 * LANES,
    };
    (tasks * rounds * CHAINS * each) as f64 / spent
}

/// `CHAINS` independent sums.
struct Peak<const CHAINS: usize> {
    format: WeightFormat,
    rounds: usize,
}

impl<const CHAINS: usize> Kernel for Peak<CHAINS> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let line = black_box([1; 64]);
        match self.format {
            WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16 => {
                let (w, x) = (simd.load_bytes(&line), simd.splat(black_box(1e-3)));
                let mut sums = [simd.splat(0.0); CHAINS];
                for _ in 0..self.rounds {
                    for sum in &mut sums {
                        *sum = simd.fma(w, x, *sum);
                    }
                }
                sums.into_iter().fold(0.0, |all, sum| all + simd.reduce_add(sum))
            }
            WeightFormat::Int8 => {
                let w = simd.split8(simd.load_u8(&line));
                let mut sums = [simd.splat_i32(0); CHAINS];
                for _ in 0..self.rounds {
                    for sum in &mut sums {
                        // Hidden each time: else one product is made and added often.
                        *sum = simd.dot8(*sum, w, black_box(0x0102_0304));
                    }
                }
                sums.into_iter().fold(0.0, |all, sum| all + simd.reduce_add(simd.to_f32(sum)))
            }
            WeightFormat::Int4 | WeightFormat::Gguf => {
                let w = simd.load_u8(&line);
                let mut sums = [simd.begin4(simd.splat_i32(0)); CHAINS];
                for _ in 0..self.rounds / 8 {
                    for _ in 0..8 {
                        for sum in &mut sums {
                            *sum = simd.dot4(*sum, w, black_box(0x0102_0304));
                        }
                    }
                    for sum in &mut sums {
                        *sum = simd.begin4(simd.end4(*sum));
                    }
                }
                sums.into_iter().fold(0.0, |all, sum| all + simd.reduce_add(simd.to_f32(simd.end4(sum))))
            }
        }
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
