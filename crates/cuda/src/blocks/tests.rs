//! Kernels with 8-bit codes can be made for every shape that codes fit.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

use super::*;
use tilewright_gate::seeded::{Preset, small};
use tilewright_model::{Config, Family};

#[test]
fn codes_of_every_shape_have_kernels() {
    let ragged = Config { hidden: 224, intermediate: 356, vocab: 301, ..small(Family::Qwen3) };
    let heads = Config { heads: 6, kv_heads: 3, head_dim: 48, hidden: 100, ..small(Family::Qwen2) };
    let untied = Config { tied: false, layers: 1, ..small(Family::Llama) };
    for config in [ragged, heads, untied, Config { layers: 1, ..Preset::Qwen3Large.config() }] {
        let shape = Shape::new(&config, 512);
        let formats = Formats::uniform_with(&shape, Format::INT8, Scalar::F32);
        for rows in [1, 13, 512] {
            let kernels = products(&shape, &ModelPack::new(&shape, &formats), rows);
            assert_eq!(kernels.len(), 4, "one a role");
            let kernels = kernels.into_iter().map(|(_, kernel)| kernel).chain(ends(&shape, &formats, rows));
            for kernel in kernels {
                let name = kernel.name().to_owned();
                verify(kernel).unwrap_or_else(|e| panic!("{name} with {rows} rows: {e}"));
            }
        }
    }
}
