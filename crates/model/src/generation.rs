//! `generation_config.json`: how the publisher means the model to be sampled.
//!
//! A closed schema like the configuration's. What asks for a way of generating that is not offered (beams, a
//! grammar of forced ids) is refused rather than dropped, for its texts would be others than the publisher's.

mod keys;

#[cfg(test)]
pub(crate) use keys::KEYS;

use serde::Serialize;
use serde_json::Value as Json;

use crate::schema::reader::Reader;
use crate::{Code, Refusal, json};

/// What the file states; a field it does not state is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GenerationConfig {
    /// Whether there is a file at all.
    pub present: bool,
    /// `false` asks for the most likely token, whatever the other fields say.
    pub do_sample: Option<bool>,
    /// Divisor of the logits, at least 0.
    pub temperature: Option<f64>,
    /// How many of the most likely tokens are kept; 0 for all.
    pub top_k: Option<usize>,
    /// Probability mass of the most likely tokens that are kept, in (0, 1].
    pub top_p: Option<f64>,
    /// Least probability kept, as a share of the highest, in [0, 1].
    pub min_p: Option<f64>,
    /// Divisor of the logits of tokens already seen, above 0.
    pub repetition_penalty: Option<f64>,
    /// Tokens generated at most.
    pub max_new_tokens: Option<usize>,
    /// Tokens generated at least.
    pub min_new_tokens: Option<usize>,
    /// Texts that end the reply.
    pub stop_strings: Vec<String>,
    /// Ids that end the reply.
    pub eos: Vec<u32>,
}

impl GenerationConfig {
    /// Reads the text of a `generation_config.json` of a model with `vocab` ids.
    ///
    /// # Errors
    /// `generation_config_invalid` with every mismatch.
    pub(crate) fn read(text: &[u8], vocab: Option<usize>) -> Result<Self, Refusal> {
        let invalid = Code::GenerationConfigInvalid;
        let object = json::object(text).map_err(|e| Refusal::new(invalid, "file", "a JSON object", e))?;
        let mut r = Reader::new(&object, keys::KEYS, invalid);
        r.unsupported = invalid;
        r.apply_table();
        let eos = r.ids("eos_token_id", vocab, 64);
        let read = Self {
            present: true,
            do_sample: r.flag("do_sample"),
            temperature: r.number("temperature"),
            top_k: r.size("top_k"),
            top_p: r.number("top_p"),
            min_p: r.number("min_p"),
            repetition_penalty: r.number("repetition_penalty"),
            max_new_tokens: r.size("max_new_tokens"),
            min_new_tokens: r.size("min_new_tokens"),
            stop_strings: stop_strings(&mut r),
            eos,
        };
        r.finish(Some(read))
    }
}

/// A text or a list of texts, none of them empty.
fn stop_strings(r: &mut Reader<'_>) -> Vec<String> {
    let Some(value) = r.get("stop_strings") else { return Vec::new() };
    let list = match value {
        Json::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    let text = |value: &Json| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    list.iter().map(text).collect::<Option<_>>().unwrap_or_else(|| {
        r.invalid("stop_strings", "a text or a list of texts, none of them empty", json::show(value));
        Vec::new()
    })
}
