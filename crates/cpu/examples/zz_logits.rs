#![allow(clippy::unwrap_used, clippy::print_stdout)]
use tilewright_backend::*;
use tilewright_cpu::*;
use tilewright_model::Checkpoint;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let c = Checkpoint::open(std::path::Path::new(&a[1])).unwrap();
    let ids: Vec<u32> = a[2].split(',').map(|s| s.parse().unwrap()).collect();
    let numerics = a[4].parse().unwrap();
    let threads = a.get(5).map_or(1, |s| s.parse().unwrap());
    let isa = a.get(6).map(|n| simd::Isa::named(n).unwrap());
    let o = CpuOptions {
        numerics,
        threads: Some(threads),
        context: Some(1024),
        kv: Some(KvFormat::F32),
        isa,
        ..Default::default()
    };
    let mut m = match open(&c, &o, &mut |_| Ok(())) {
        Ok(m) => m,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    println!("{:?}", m.plan());
    let mut out = Vec::new();
    let s = m.create(1000).unwrap();
    let t = std::time::Instant::now();
    m.prefill(
        s,
        &ids,
        LogitSink::Each(&mut |_, l: &[f32]| out.extend(l.iter().flat_map(|v| v.to_le_bytes()))),
        &Cancel::default(),
    )
    .unwrap();
    println!("prefill {:?}", t.elapsed());
    std::fs::write(&a[3], &out).unwrap();
    let t = std::time::Instant::now();
    let mut l = vec![0.0; c.config().vocab];
    for _ in 0..32 {
        m.decode(&[Step { sequence: s, token: 5 }], &mut l).unwrap();
    }
    println!("decode {:?} a token", t.elapsed() / 32);
}
