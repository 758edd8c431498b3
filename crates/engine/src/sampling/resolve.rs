//! From what is asked to the settings in effect.
//!
//! Each value on its own: the request's, else the checkpoint's, else the engine's. Every value out of range is
//! listed in one `sampling_invalid` refusal.

use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};

use serde::Serialize;
use tilewright_model::{Code, Finding, GenerationConfig, Refusal};

use super::{Origin, Sampling, SamplingSet, Setting, Tokens};

/// The values a checkpoint's `generation_config.json` states.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "each field is documented by the field of `Sampling` of the same name")]
pub struct SamplingDefaults {
    /// `Some(false)` means greedy whatever `temperature` says; `Some(true)` without a temperature means 1.
    pub do_sample: Option<bool>,
    pub temperature: Option<f64>,
    pub top_k: Option<i64>,
    pub top_p: Option<f64>,
    pub min_p: Option<f64>,
    pub repetition_penalty: Option<f64>,
}

impl From<&GenerationConfig> for SamplingDefaults {
    fn from(stated: &GenerationConfig) -> Self {
        Self {
            do_sample: stated.do_sample,
            temperature: stated.temperature,
            top_k: stated.top_k.map(|k| i64::try_from(k).unwrap_or(i64::MAX)),
            top_p: stated.top_p,
            min_p: stated.min_p,
            repetition_penalty: stated.repetition_penalty,
        }
    }
}

impl SamplingDefaults {
    /// The settings for `asked`; `tokens` are the ids that a logit bias may name.
    ///
    /// # Errors
    /// `sampling_invalid` with every value outside its range, wherever it came from.
    pub fn resolve(&self, asked: &Sampling, tokens: &Tokens) -> Result<SamplingSet, Refusal> {
        let mut findings = Findings(Vec::new());
        let engine = SamplingSet::default();
        let temperature = match (self.do_sample, self.temperature) {
            (Some(false), _) => Some(0.0),
            (Some(true), None) => Some(1.0),
            (_, stated) => stated,
        };

        let set = SamplingSet {
            temperature: findings.number(
                "temperature",
                choose(asked.temperature, temperature, engine.temperature),
                "a finite number",
                |_| true,
            ),
            top_k: findings.count("top_k", choose(asked.top_k, self.top_k, wide(engine.top_k))),
            top_p: findings.number(
                "top_p",
                choose(asked.top_p, self.top_p, engine.top_p),
                "above 0 and at most 1",
                |x| x > 0.0 && x <= 1.0,
            ),
            min_p: findings.number(
                "min_p",
                choose(asked.min_p, self.min_p, engine.min_p),
                "at least 0 and below 1",
                |x| (0.0..1.0).contains(&x),
            ),
            repetition_penalty: findings.number(
                "repetition_penalty",
                choose(asked.repetition_penalty, self.repetition_penalty, engine.repetition_penalty),
                "from 0.1 to 10",
                |x| (0.1..=10.0).contains(&x),
            ),
            repeat_last_n: match asked.repeat_last_n {
                None => engine.repeat_last_n,
                Some(n) => findings.window(n),
            },
            presence_penalty: findings.symmetric("presence_penalty", asked.presence_penalty, 2.0),
            frequency_penalty: findings.symmetric("frequency_penalty", asked.frequency_penalty, 2.0),
            logit_bias: asked.logit_bias.clone(),
            seed: match asked.seed {
                Some(value) => Setting { value, origin: Origin::Request },
                None => Setting { value: fresh_seed(), origin: Origin::Engine },
            },
        };
        for (&id, &bias) in &asked.logit_bias {
            if !tokens.has(id) {
                findings.add("logit_bias", "ids that stand for a token", id);
            }
            let bias = Setting { value: bias, origin: Origin::Request };
            findings.number(&format!("logit_bias of id {id}"), bias, "from -100 to 100", |x| {
                (-100.0..=100.0).contains(&x)
            });
        }
        Refusal::check(Code::SamplingInvalid, findings.0)?;
        Ok(set)
    }
}

impl SamplingSet {
    /// The values of the request that change nothing, by name: front ends say so rather than ignore them silently.
    pub fn without_effect(&self) -> Vec<&'static str> {
        let asked = |origin: Origin| origin == Origin::Request;
        let greedy = self.is_greedy();
        let cold = self.temperature.value <= 0.0;
        [
            ("temperature", asked(self.temperature.origin) && greedy && !cold),
            ("top_k", asked(self.top_k.origin) && cold && self.top_k.value > 1),
            ("top_p", asked(self.top_p.origin) && greedy && self.top_p.value < 1.0),
            ("min_p", asked(self.min_p.origin) && greedy && self.min_p.value > 0.0),
            ("seed", asked(self.seed.origin) && greedy),
            ("repeat_last_n", asked(self.repeat_last_n.origin) && self.repetition_penalty.value == 1.0),
        ]
        .into_iter()
        .filter_map(|(name, idle)| idle.then_some(name))
        .collect()
    }
}

/// The findings so far. A value that is refused is replaced by a harmless one, because the set is then dropped.
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, what: &str, expected: impl Display, got: impl Display) {
        self.0.push(Finding::new(what, expected, got));
    }

    fn number(
        &mut self,
        what: &str,
        setting: Setting<f64>,
        expected: &str,
        accepts: impl Fn(f64) -> bool,
    ) -> Setting<f64> {
        if !(setting.value.is_finite() && accepts(setting.value)) {
            self.add(&named(what, setting.origin), expected, setting.value);
        }
        setting
    }

    fn count(&mut self, what: &str, setting: Setting<i64>) -> Setting<usize> {
        let value = usize::try_from(setting.value).unwrap_or_else(|_| {
            self.add(&named(what, setting.origin), "0 (off) or more", setting.value);
            0
        });
        Setting { value, origin: setting.origin }
    }

    fn window(&mut self, n: i64) -> Setting<Option<usize>> {
        let value = match n {
            -1 => None,
            n => Some(usize::try_from(n).unwrap_or_else(|_| {
                self.add("repeat_last_n", "-1 (all), 0 (off) or more", n);
                0
            })),
        };
        Setting { value, origin: Origin::Request }
    }

    fn symmetric(&mut self, what: &str, asked: Option<f64>, bound: f64) -> Setting<f64> {
        let setting = choose(asked, None, Setting::default_of(0.0));
        self.number(what, setting, &format!("from -{bound} to {bound}"), |x| (-bound..=bound).contains(&x))
    }
}

fn choose<T>(asked: Option<T>, stated: Option<T>, default: Setting<T>) -> Setting<T> {
    let from = |origin| move |value| Setting { value, origin };
    asked.map(from(Origin::Request)).or(stated.map(from(Origin::Checkpoint))).unwrap_or(default)
}

fn wide(setting: Setting<usize>) -> Setting<i64> {
    Setting { value: setting.value as i64, origin: setting.origin }
}

/// A bad value that the caller did not send is named with the file it came from.
fn named(what: &str, origin: Origin) -> String {
    match origin {
        Origin::Checkpoint => format!("{what} in generation_config.json"),
        Origin::Request | Origin::Engine => what.to_owned(),
    }
}

/// A seed nobody chose, from the entropy that the standard library's hasher is keyed with.
fn fresh_seed() -> u64 {
    RandomState::new().hash_one(0u8)
}

#[cfg(test)]
mod tests;
