//! GGUF's blocks, computed on as they are stored: the numbers of float64 on what they stand for.

use tilewright_backend::{KvFormat, Resident, Step};
use tilewright_cuda::CudaOptions;
use tilewright_gate::seeded::small;
use tilewright_model::convert::{Quant, write_gguf};
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Config, Family, WeightFormat};

use super::common::{ids, prefill_all, present, resident, seeded};

/// A model of random weights whose rows are long enough for K-blocks, in a mixture; what it takes.
fn check(family: Family, quant: Quant, overlap: bool) {
    let config = Config { hidden: 256, intermediate: 512, vocab: 300, layers: 4, ..small(family) };
    let (folder, checkpoint) = seeded(&config, 9);
    let path = folder.path().join("blocks.gguf");
    write_gguf(&checkpoint, &path, Some(quant), false, &mut |_, _| ()).unwrap();
    let file = Checkpoint::open(&path).unwrap();
    let options = CudaOptions {
        weights: Some(WeightFormat::Gguf),
        kv: Some(KvFormat::F32),
        prefill_chunk: Some(37),
        overlap: Some(overlap),
        ..CudaOptions::default()
    };
    let what = format!("{family:?} {}", quant.name());
    let mut model = resident(&file, &options);
    assert_eq!(model.plan().weights, WeightFormat::Gguf, "{what}");
    let mut stored = 0;
    let _ = file.parameters().map(|_, tensor| stored += tensor.bytes.len() as u64);
    let held = model.plan().weight_bytes;
    assert!(held >= stored && held * 100 < stored * 104, "{what}: {held} bytes for the file's {stored}");

    // Chunks with tails, then steps of one sequence, then of two.
    let ids = ids(100, config.vocab);
    let run = Reference::new(&file).unwrap().forward(&ids);
    let row = |at: usize| &run.logits[at * config.vocab..][..config.vocab];
    let near = |got: &[f32], want: &[f64], part: &str| {
        compare(got, want, Tolerance::F32_STATE).unwrap_or_else(|m| panic!("{what}, {part}: {m}"))
    };
    let (one, logits) = prefill_all(&mut model, &ids[..80], 120);
    let seen = near(&logits, &run.logits[..80 * config.vocab], "prompt");
    let (two, _) = prefill_all(&mut model, &ids[..80], 120);
    let mut logits = vec![0.0; config.vocab];
    for (at, &token) in ids.iter().enumerate().take(90).skip(80) {
        model.decode(&[Step { sequence: one, token }], &mut logits).unwrap();
        near(&logits, row(at), "a step");
    }
    let mut both = vec![0.0; 2 * config.vocab];
    for (at, &token) in ids.iter().enumerate().skip(90) {
        let steps = [Step { sequence: one, token }, Step { sequence: two, token: ids[at - 10] }];
        model.decode(&steps, &mut both).unwrap();
        near(&both[..config.vocab], row(at), "the first of two");
        near(&both[config.vocab..], row(at - 10), "the second of two");
    }
    for layer in 0..config.layers {
        let (keys, values) = model.copy_kv(one, layer);
        near(&keys, &run.k[layer], "keys");
        near(&values, &run.v[layer], "values");
    }
    eprintln!("{what}: {held} bytes, logits within {:.2e}; {:?}", seen.max_abs, model.plan().notes);
}

#[test]
fn blocks_are_computed_on_as_they_are_stored() {
    if !present() {
        return;
    }
    for (family, quant) in
        [(Family::Qwen3, Quant::Q8_0), (Family::Qwen2, Quant::Q4_0), (Family::Llama, Quant::Q4KM)]
    {
        for overlap in [true, false] {
            check(family, quant, overlap);
        }
    }
}
