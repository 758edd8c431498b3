//! Rotary positions as `config.json` states them, in either layout.
//!
//! Flat: `rope_theta` and `rope_scaling`. Nested: `rope_parameters` with both inside. A file may use both when
//! they agree; a null says nothing. Each type of scaling has a closed set of keys.

use serde_json::Value as Json;

use super::Family;
use crate::json::{self, Object};
use crate::schema::reader::Reader;
use crate::{Rope, RopeScaling};

/// The types that are known, with their keys beside `rope_type`, `type` and (nested) `rope_theta`.
pub(crate) const TYPES: &[(&str, &[&str], &str)] = &[
    ("default", &[], "frequencies as they are"),
    ("linear", &["factor"], "every frequency divided by the factor"),
    (
        "llama3",
        &["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
        "low frequencies divided, high ones kept, a ramp between",
    ),
    (
        "yarn",
        &[
            "factor",
            "original_max_position_embeddings",
            "beta_fast",
            "beta_slow",
            "attention_factor",
            "truncate",
        ],
        "interpolation by parts and a softmax temperature",
    ),
];

/// Base that the Llama format had before it had a key for it.
const LLAMA_THETA: f64 = 10_000.0;

/// The rotary settings, or `None` with findings.
pub(super) fn read(r: &mut Reader<'_>) -> Option<Rope> {
    let flat = scaling(r, "rope_scaling");
    let nested = scaling(r, "rope_parameters");
    let scaling = match (flat, nested) {
        (Stated::Yes(a), Stated::Yes(b)) if a != b => {
            r.contradictory("rope_scaling", "the same as rope_parameters", "another scaling");
            None
        }
        (Stated::Wrong, _) | (_, Stated::Wrong) => None,
        (Stated::Yes(s), _) | (_, Stated::Yes(s)) => Some(s),
        (Stated::No, Stated::No) => Some(RopeScaling::None),
    };
    let theta = theta(r);
    Some(Rope { theta: theta?, scaling: scaling? })
}

/// The base, wherever it is stated.
fn theta(r: &mut Reader<'_>) -> Option<f64> {
    let inner = |key: &str| r.get(key)?.get("rope_theta").filter(|v| !v.is_null());
    let stated = [
        ("rope_theta", r.get("rope_theta")),
        ("rope_parameters.rope_theta", inner("rope_parameters")),
        ("rope_scaling.rope_theta", inner("rope_scaling")),
    ];
    let mut stated = stated.into_iter().filter_map(|(key, theta)| Some((key, theta?)));
    let Some((first_key, first)) = stated.next() else {
        if r.family == Some(Family::Llama) && is_older_than_theta(r) {
            return Some(LLAMA_THETA);
        }
        r.missing("rope_theta", "the base of the rotary frequencies, here or in rope_parameters");
        return None;
    };
    for (key, other) in stated {
        if other.as_f64() != first.as_f64() {
            r.contradictory(key, format!("{first}, as {first_key} says"), other);
        }
    }
    first.as_f64()
}

/// Whether the writer of the file predates the key `rope_theta` (transformers 4.33).
fn is_older_than_theta(r: &Reader<'_>) -> bool {
    let version = r.get("transformers_version").and_then(Json::as_str).unwrap_or_default();
    let mut parts = version.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (4, 33),
        _ => false,
    }
}

/// What one of the two objects says about scaling.
enum Stated {
    No,
    Yes(RopeScaling),
    Wrong,
}

fn scaling(r: &mut Reader<'_>, place: &'static str) -> Stated {
    let object = match r.get(place) {
        None => return Stated::No,
        Some(Json::Object(object)) => object,
        Some(other) => {
            r.invalid(place, "an object or null", json::show(other));
            return Stated::Wrong;
        }
    };
    let Some(kind) = rope_type(r, place, object) else { return Stated::Wrong };
    let Some((_, keys, _)) = TYPES.iter().find(|(name, _, _)| *name == kind) else {
        let names: Vec<_> = TYPES.iter().map(|(name, _, _)| *name).collect();
        r.unsupported(format!("{place}.rope_type"), format!("one of {}", names.join(", ")), kind);
        return Stated::Wrong;
    };
    let mut fields = Fields { r, place, object, wrong: false };
    fields.check_keys(kind, keys);
    let scaling = fields.scaling(kind);
    match scaling {
        Some(scaling) if !fields.wrong => Stated::Yes(scaling),
        _ => Stated::Wrong,
    }
}

/// The type under its new or its old name. Nested, absence means `default`, as that layout defines it.
fn rope_type<'a>(r: &mut Reader<'_>, place: &str, object: &'a Object) -> Option<&'a str> {
    let name = |key: &str| object.get(key).filter(|v| !v.is_null());
    match (name("rope_type"), name("type")) {
        (Some(new), Some(old)) if new != old => {
            r.contradictory(
                format!("{place}.type"),
                format!("{}, as rope_type says", json::show(new)),
                json::show(old),
            );
            None
        }
        (Some(kind), _) | (None, Some(kind)) => {
            if !kind.is_string() {
                r.invalid(format!("{place}.rope_type"), "a name", json::show(kind));
            }
            kind.as_str()
        }
        (None, None) if place == "rope_parameters" => Some("default"),
        (None, None) => {
            r.missing(&format!("{place}.rope_type"), "the type of scaling");
            None
        }
    }
}

/// The keys of one object.
struct Fields<'r, 'a, 'o> {
    r: &'r mut Reader<'a>,
    place: &'static str,
    object: &'o Object,
    wrong: bool,
}

impl Fields<'_, '_, '_> {
    /// Every key must belong to the type.
    fn check_keys(&mut self, kind: &str, keys: &[&str]) {
        for (key, value) in self.object {
            let common =
                matches!(key.as_str(), "rope_type" | "type" | "rope_theta" | "partial_rotary_factor");
            if !common && !keys.contains(&key.as_str()) && !value.is_null() {
                let what = format!("{}.{key}", self.place);
                self.r.unsupported(what, format!("no such key in type {kind}"), json::show(value));
                self.wrong = true;
            }
        }
        self.domain("rope_theta", "at least 1", |n| n >= 1.0);
        self.domain("partial_rotary_factor", "1", |n| n == 1.0);
        let truncate = self.object.get("truncate").filter(|v| !v.is_null());
        if let Some(value) = truncate.filter(|v| *v != &Json::Bool(true)) {
            self.r.unsupported(format!("{}.truncate", self.place), "true", json::show(value));
            self.wrong = true;
        }
    }

    fn scaling(&mut self, kind: &str) -> Option<RopeScaling> {
        const AT_LEAST_ONE: &str = "at least 1";
        let at_least_one = |n: f64| n >= 1.0;
        let positive = |n: f64| n > 0.0;
        match kind {
            "linear" => {
                Some(RopeScaling::Linear { factor: self.required("factor", AT_LEAST_ONE, at_least_one)? })
            }
            "llama3" => {
                let factor = self.required("factor", AT_LEAST_ONE, at_least_one);
                let low = self.required("low_freq_factor", "above 0", positive);
                let high =
                    self.required("high_freq_factor", "above low_freq_factor", |n| low.is_none_or(|l| n > l));
                let original = self.original();
                Some(RopeScaling::Llama3 {
                    factor: factor?,
                    low_freq_factor: low?,
                    high_freq_factor: high?,
                    original_max_positions: original?,
                })
            }
            "yarn" => {
                let factor = self.required("factor", AT_LEAST_ONE, at_least_one);
                let original = self.original();
                // The paper's values, which the format defines as what absence means.
                let slow = self.domain("beta_slow", "above 0", positive).unwrap_or(1.0);
                let fast = self.domain("beta_fast", "above beta_slow", |n| n > slow).unwrap_or(32.0);
                let attention_factor = self.domain("attention_factor", "above 0", positive);
                Some(RopeScaling::Yarn {
                    factor: factor?,
                    original_max_positions: original?,
                    beta_fast: fast,
                    beta_slow: slow,
                    attention_factor,
                })
            }
            _ => Some(RopeScaling::None),
        }
    }

    /// Positions of the original training: a whole number.
    fn original(&mut self) -> Option<usize> {
        let whole = |n: f64| n >= 1.0 && n <= f64::from(1 << 30) && n.fract() == 0.0;
        self.required("original_max_position_embeddings", "a whole number of at least 1", whole)
            .map(|n| n as usize)
    }

    /// A number of the type that must be there.
    fn required(&mut self, key: &str, expected: &str, accept: impl Fn(f64) -> bool) -> Option<f64> {
        if self.object.get(key).is_none_or(Json::is_null) {
            self.r.missing(&format!("{}.{key}", self.place), format!("a number, {expected}"));
            self.wrong = true;
            return None;
        }
        self.domain(key, expected, accept)
    }

    /// A number in its domain, if stated.
    fn domain(&mut self, key: &str, expected: &str, accept: impl Fn(f64) -> bool) -> Option<f64> {
        let value = self.object.get(key).filter(|v| !v.is_null())?;
        let number = value.as_f64().filter(|&n| n.is_finite() && accept(n));
        if number.is_none() {
            let what = format!("{}.{key}", self.place);
            self.r.invalid(what, format!("a number, {expected}"), json::show(value));
            self.wrong = true;
        }
        number
    }
}
