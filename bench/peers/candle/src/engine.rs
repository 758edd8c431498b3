//! A model of candle-transformers with one sequence, on the processor.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{llama, qwen3};
use serde_json::Value;

/// The name and version of what is measured; `Cargo.toml` holds it to this one.
pub const VERSION: &str = "candle 0.11.1";

/// A model and its cache.
pub struct Engine {
    family: Family,
    position: usize,
}

enum Family {
    Qwen3(qwen3::ModelForCausalLM),
    Llama { model: llama::Llama, cache: llama::Cache, config: llama::Config, dtype: DType },
}

impl Engine {
    /// Opens the checkpoint in `folder` with weights as `weights` says.
    pub fn open(folder: &Path, weights: &str) -> Result<Self, Box<dyn Error>> {
        let dtype = match weights {
            "f32" => DType::F32,
            "f16" => DType::F16,
            "bf16" => DType::BF16,
            other => return Err(format!("{other} weights are not offered by this adapter").into()),
        };
        let mut config: Value = serde_json::from_slice(&fs::read(folder.join("config.json"))?)?;
        let vars = VarBuilder::from_tensors(tensors(folder)?, dtype, &Device::Cpu);
        let family = match config["model_type"].as_str() {
            Some("qwen3") => {
                let usual = [
                    ("attention_bias", false.into()),
                    ("use_sliding_window", false.into()),
                    ("max_window_layers", 0.into()),
                ];
                if let Some(config) = config.as_object_mut() {
                    usual
                        .into_iter()
                        .for_each(|(key, value): (&str, Value)| drop(config.entry(key).or_insert(value)));
                }
                Family::Qwen3(qwen3::ModelForCausalLM::new(&serde_json::from_value(config)?, vars)?)
            }
            Some("llama") => {
                let config = serde_json::from_value::<llama::LlamaConfig>(config)?.into_config(false);
                let cache = llama::Cache::new(true, dtype, &config, &Device::Cpu)?;
                Family::Llama { model: llama::Llama::load(vars, &config)?, cache, config, dtype }
            }
            other => return Err(format!("the family {other:?} is not offered by this adapter").into()),
        };
        Ok(Self { family, position: 0 })
    }

    /// Which of candle's models it is.
    pub fn family(&self) -> &'static str {
        match self.family {
            Family::Qwen3(_) => "candle_transformers::models::qwen3",
            Family::Llama { .. } => "candle_transformers::models::llama",
        }
    }

    /// Empties the sequence.
    pub fn clear(&mut self) -> candle_core::Result<()> {
        self.position = 0;
        match &mut self.family {
            Family::Qwen3(model) => model.clear_kv_cache(),
            Family::Llama { cache, config, dtype, .. } => {
                *cache = llama::Cache::new(true, *dtype, config, &Device::Cpu)?;
            }
        }
        Ok(())
    }

    fn last(&mut self, ids: &[u32]) -> candle_core::Result<Tensor> {
        let input = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
        let logits = match &mut self.family {
            Family::Qwen3(model) => model.forward(&input, self.position)?,
            Family::Llama { model, cache, .. } => model.forward(&input, self.position, cache)?,
        };
        self.position += ids.len();
        logits.flatten_all()?.to_dtype(DType::F32)
    }

    /// Appends `ids`; the logits after the last.
    pub fn forward(&mut self, ids: &[u32]) -> candle_core::Result<Vec<f32>> {
        self.last(ids)?.to_vec1()
    }

    /// Appends `ids`; the id of the greatest logit after the last.
    pub fn step(&mut self, ids: &[u32]) -> candle_core::Result<u32> {
        self.last(ids)?.argmax(0)?.to_scalar()
    }
}

/// What the files of weights hold.
fn tensors(folder: &Path) -> Result<HashMap<String, Tensor>, Box<dyn Error>> {
    let mut tensors = HashMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            tensors.extend(candle_core::safetensors::load(path, &Device::Cpu)?);
        }
    }
    Ok(tensors)
}
