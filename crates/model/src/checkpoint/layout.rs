//! Which tensors a configuration calls for, by name and shape, and whether the files hold exactly those.
//!
//! There is one name mapping, that of the published checkpoints; a file with other names is refused with the
//! names that are missing and those that are unknown.

use std::collections::BTreeMap;

use super::weights::Entry;
use crate::{Code, Config, Finding, LayerParameters, Parameters, Refusal};

/// A tensor the configuration calls for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
}

/// The name of the untied head.
pub(crate) const HEAD: &str = "lm_head.weight";

/// Every tensor of a decoder, by role.
pub(crate) fn wanted(config: &Config) -> Parameters<Wanted> {
    let c = config;
    let (q, kv) = (c.q_width(), c.kv_width());
    let top = |name: &str, shape: &[usize]| Wanted { name: name.to_owned(), shape: shape.to_vec() };
    let layer = |i: usize| {
        let tensor = |part: &str, shape: &[usize]| Wanted {
            name: format!("model.layers.{i}.{part}"),
            shape: shape.to_vec(),
        };
        let bias = |part: &str, n: usize| c.qkv_bias.then(|| tensor(part, &[n]));
        let norm = |part: &str| c.qk_norm.then(|| tensor(part, &[c.head_dim]));
        LayerParameters {
            input_norm: tensor("input_layernorm.weight", &[c.hidden]),
            q: tensor("self_attn.q_proj.weight", &[q, c.hidden]),
            k: tensor("self_attn.k_proj.weight", &[kv, c.hidden]),
            v: tensor("self_attn.v_proj.weight", &[kv, c.hidden]),
            q_bias: bias("self_attn.q_proj.bias", q),
            k_bias: bias("self_attn.k_proj.bias", kv),
            v_bias: bias("self_attn.v_proj.bias", kv),
            q_norm: norm("self_attn.q_norm.weight"),
            k_norm: norm("self_attn.k_norm.weight"),
            o: tensor("self_attn.o_proj.weight", &[c.hidden, q]),
            post_norm: tensor("post_attention_layernorm.weight", &[c.hidden]),
            gate: tensor("mlp.gate_proj.weight", &[c.intermediate, c.hidden]),
            up: tensor("mlp.up_proj.weight", &[c.intermediate, c.hidden]),
            down: tensor("mlp.down_proj.weight", &[c.hidden, c.intermediate]),
        }
    };
    Parameters {
        embedding: top("model.embed_tokens.weight", &[c.vocab, c.hidden]),
        layers: (0..c.layers).map(layer).collect(),
        final_norm: top("model.norm.weight", &[c.hidden]),
        head: (!c.tied).then(|| top(HEAD, &[c.vocab, c.hidden])),
    }
}

/// Where each parameter lies in `entries` (sorted by name), and the head of a tied checkpoint that stores one.
///
/// # Errors
/// `tensor_mismatch` listing every missing, unknown, repeated and misshaped tensor; the same mismatch in several
/// layers is one finding.
pub(crate) fn place(
    config: &Config,
    entries: &[Entry],
) -> Result<(Parameters<usize>, Option<usize>), Refusal> {
    let mut mismatches = Mismatches::default();
    let mut used = vec![false; entries.len()];
    let mut find = |wanted: &Wanted| {
        let found = entries.binary_search_by(|e| e.name.as_str().cmp(&wanted.name));
        match found {
            Ok(i) => {
                used[i] = true;
                if entries[i].shape != wanted.shape {
                    mismatches.add(
                        &wanted.name,
                        format!("{:?}", wanted.shape),
                        format!("{:?}", entries[i].shape),
                    );
                }
                i
            }
            Err(_) => {
                mismatches.add(&wanted.name, format!("a tensor {:?}", wanted.shape), "none".to_owned());
                usize::MAX
            }
        }
    };
    let wanted = wanted(config);
    let placed = wanted.map(|_, w| find(w));
    let stored_head =
        config.tied.then(|| Wanted { name: HEAD.to_owned(), shape: wanted.embedding.shape.clone() });
    let stored_head = stored_head.filter(|w| entries.iter().any(|e| e.name == w.name)).map(|w| find(&w));
    for (entry, used) in entries.iter().zip(&used) {
        if !used && !is_known_buffer(&entry.name) {
            let got = format!("{} {:?}", entry.stored, entry.shape);
            mismatches.add(&entry.name, "no such tensor".to_owned(), got);
        }
    }
    Refusal::check(Code::TensorMismatch, mismatches.findings())?;
    Ok((placed, stored_head))
}

/// Buffers that old exports store although they follow from the configuration.
fn is_known_buffer(name: &str) -> bool {
    name.ends_with(".self_attn.rotary_emb.inv_freq")
}

/// Mismatches grouped over layers, so that a wrong prefix is a dozen findings instead of hundreds.
#[derive(Default)]
struct Mismatches {
    /// Name with `*` for the layer, expected, got → layers, in order of first appearance.
    groups: Vec<((String, String, String), Vec<usize>)>,
    places: BTreeMap<(String, String, String), usize>,
}

impl Mismatches {
    fn add(&mut self, name: &str, expected: String, got: String) {
        let (pattern, layer) = layer_of(name);
        let key = (pattern, expected, got);
        let place = *self.places.entry(key.clone()).or_insert_with(|| {
            self.groups.push((key, Vec::new()));
            self.groups.len() - 1
        });
        self.groups[place].1.extend(layer);
    }

    fn findings(self) -> Vec<Finding> {
        let finding = |((pattern, expected, got), layers): ((String, String, String), Vec<usize>)| {
            let what = match layers[..] {
                [] => pattern,
                [only] => pattern.replacen('*', &only.to_string(), 1),
                _ => format!("{pattern} in layers {}", ranges(&layers)),
            };
            Finding { what, expected, got }
        };
        self.groups.into_iter().map(finding).collect()
    }
}

/// A name with its layer number replaced by `*`, and the number.
fn layer_of(name: &str) -> (String, Option<usize>) {
    let parts: Vec<&str> = name.split('.').collect();
    for i in 1..parts.len() {
        if let (true, Ok(layer)) = (parts[i - 1] == "layers", parts[i].parse::<usize>())
            && layer.to_string() == parts[i]
        {
            return ([&parts[..i], &["*"], &parts[i + 1..]].concat().join("."), Some(layer));
        }
    }
    (name.to_owned(), None)
}

/// `0-3, 5` for 0, 1, 2, 3, 5, in any order.
fn ranges(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(usize::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(", ")
}
