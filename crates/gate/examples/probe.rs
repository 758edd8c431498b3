//! Prints what this machine can do at most: `cargo run --release -p tilewright-gate --example probe`.

#![expect(clippy::print_stdout, reason = "its answer goes to standard output")]

use tilewright_cpu::simd::Isa;
use tilewright_gate::probe::Limits;

fn main() -> anyhow::Result<()> {
    let isa = Isa::detect();
    let all = std::thread::available_parallelism()?.get();
    for threads in [1, all] {
        let Limits { read, fma } = Limits::measure(isa, threads);
        println!("{}, {threads} threads: {:.1} GB/s read, {:.0} GFLOP/s", isa.name(), read / 1e9, fma / 1e9);
    }
    Ok(())
}
