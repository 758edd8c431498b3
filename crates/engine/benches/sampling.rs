//! The cost of a pick over a vocabulary of 151,936, which is to stay a small part of a token.

use criterion::{Criterion, criterion_group, criterion_main};
use tilewright_engine::sampling::{Sampler, Sampling, SamplingDefaults, Tokens};

const VOCAB: usize = 151_936;

/// Logits of the usual shape: most of them around zero, few far above.
fn logits() -> Vec<f32> {
    (0..VOCAB as u32)
        .map(|i| {
            let noise = (i.wrapping_mul(0x9E37_79B9) >> 8) as f32 / (1 << 24) as f32;
            12.0 * noise.powi(12) + 3.0 * (noise - 0.5)
        })
        .collect()
}

fn pick(criterion: &mut Criterion) {
    let logits = logits();
    let cases = [
        ("greedy", Sampling::default()),
        ("temperature", Sampling { temperature: Some(0.8), ..Sampling::default() }),
        ("top-p", Sampling { temperature: Some(0.8), top_p: Some(0.95), ..Sampling::default() }),
        (
            "top-k, top-p",
            Sampling { temperature: Some(0.6), top_k: Some(20), top_p: Some(0.95), ..Sampling::default() },
        ),
        ("min-p", Sampling { temperature: Some(0.8), min_p: Some(0.05), ..Sampling::default() }),
    ];
    let mut group = criterion.benchmark_group("pick of 151936");
    group.sample_size(20);
    for (name, asked) in cases {
        let asked = Sampling { seed: Some(1), ..asked };
        let Ok(set) = SamplingDefaults::default().resolve(&asked, &Tokens::all(VOCAB)) else { continue };
        let mut sampler = Sampler::new(set, &[], Tokens::all(VOCAB));
        group.bench_function(name, |bencher| bencher.iter(|| sampler.pick(&logits, &[])));
    }
    group.finish();
}

criterion_group!(benches, pick);
criterion_main!(benches);
