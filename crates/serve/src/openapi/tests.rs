//! The document against the routes and against the fields that handlers take.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::body::{Fields, asked};
use crate::params::HARMLESS;
use crate::router::PATHS;

fn document() -> Value {
    serde_json::from_str(super::TEXT).unwrap()
}

/// The keys of an object of the document.
fn keys(pointer: &str) -> BTreeSet<String> {
    document().pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect()
}

/// Words in backticks.
fn words(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn harmless_fields_are_those_of_the_page_and_of_the_document() {
    let harmless: BTreeSet<&str> = HARMLESS.iter().copied().collect();
    let page = include_str!("../../../../docs/server.md");
    let (_, list) = page.split_once("Accepted and without effect: ").unwrap();
    assert_eq!(words(list.split_once('.').unwrap().0), harmless);
    let document = document();
    for schema in ["ChatRequest", "CompletionRequest"] {
        let properties = &document["components"]["schemas"][schema]["properties"];
        let described = properties.as_object().unwrap().iter();
        let described = described.filter(|(_, field)| field["description"] == "Accepted; has no effect.");
        assert_eq!(described.map(|(name, _)| name.as_str()).collect::<BTreeSet<_>>(), harmless, "{schema}");
    }
}

#[test]
fn every_route_is_described_and_no_other() {
    assert_eq!(keys("/paths"), PATHS.iter().map(|path| (*path).to_owned()).collect());
    assert_eq!(document()["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_fields_described_are_those_that_are_taken() {
    for (schema, take) in [
        ("ChatRequest", (|fields| crate::chat::take(fields).is_err()) as fn(Fields) -> bool),
        ("CompletionRequest", |fields| crate::completions::take(fields).is_err()),
    ] {
        let taken = asked(|| assert!(take(Fields::open("", json!({})).unwrap()), "nothing is needed"));
        let mut described = keys(&format!("/components/schemas/{schema}/properties"));
        // Looked at before all others.
        described.remove("model");
        assert_eq!(
            taken.into_iter().filter(|key| !key.contains('.')).collect::<BTreeSet<_>>(),
            described,
            "{schema}"
        );
    }
}
