//! Text to ids and back.

use std::path::Path;

use pyo3::prelude::*;
use serde_json::Value;
use tilewright_engine::{Code, Refusal, Specials};
use tilewright_model::Checkpoint;

use crate::refusal::ok;

/// A tokenizer.
#[pyclass(frozen, module = "tilewright._native")]
pub(crate) struct Tokenizer(pub(crate) tilewright_engine::Tokenizer);

/// Reads the tokenizer's files of a folder, whose weights may be absent; or the tokenizer in a GGUF file.
fn open(folder: &Path) -> Result<tilewright_engine::Tokenizer, Refusal> {
    if folder.is_file() {
        return tilewright_engine::Tokenizer::from_checkpoint(&Checkpoint::open(folder)?);
    }
    let read = |name: &str| {
        std::fs::read(folder.join(name)).map_err(|error| {
            Refusal::new(Code::CheckpointNotFound, name, "a readable file", error).at(folder.display())
        })
    };
    let json = read("tokenizer.json")?;
    let config: Option<Value> = match folder.join("tokenizer_config.json").exists() {
        true => {
            let name = "tokenizer_config.json";
            let invalid = |error| {
                Refusal::new(Code::TokenizerInvalid, name, "a JSON object", error).at(folder.display())
            };
            Some(serde_json::from_slice(&read(name)?).map_err(invalid)?)
        }
        false => None,
    };
    tilewright_engine::Tokenizer::from_bytes(&json, config.as_ref())
}

fn specials(parse: bool) -> Specials {
    if parse { Specials::Parse } else { Specials::Plain }
}

#[pymethods]
impl Tokenizer {
    /// The tokenizer of a folder.
    #[staticmethod]
    fn open(py: Python<'_>, folder: std::path::PathBuf) -> PyResult<Self> {
        ok(py, py.detach(|| open(&folder))).map(Self)
    }

    /// The ids of a text; with `prefix`, what a prompt begins with too.
    fn encode(&self, py: Python<'_>, text: &str, prefix: bool, parse: bool) -> PyResult<Vec<u32>> {
        let encode = || match prefix {
            true => self.0.encode_prompt(text, specials(parse)),
            false => self.0.encode(text, specials(parse)),
        };
        ok(py, py.detach(encode))
    }

    /// The text of ids.
    fn decode(&self, py: Python<'_>, ids: Vec<u32>, skip_special: bool) -> PyResult<String> {
        ok(py, py.detach(|| self.0.decode(&ids, skip_special)))
    }

    /// The bytes of an id.
    fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.0.token_bytes(id)
    }

    /// The id of a token by its name.
    fn id_of(&self, token: &str) -> Option<u32> {
        self.0.id_of(token)
    }

    /// Whether the file calls an id special.
    fn is_special(&self, id: u32) -> bool {
        self.0.is_special(id)
    }

    /// One more than the highest id.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.vocab_size()
    }

    /// What a prompt begins with.
    #[getter]
    fn prefix(&self) -> Vec<u32> {
        self.0.prefix().to_vec()
    }

    /// The tokens with a role: beginning, end, padding, unknown.
    fn named(&self) -> (Option<String>, Option<String>, Option<String>, Option<String>) {
        let named = self.0.named().clone();
        (named.bos, named.eos, named.pad, named.unk)
    }
}
