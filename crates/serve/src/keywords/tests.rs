//! Words that are taken, and those that are not.

use serde_json::json;

use super::{KNOWN, check};

#[test]
fn words_are_listed_once_and_in_order() {
    assert!(KNOWN.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn a_mistyped_keyword_is_found_wherever_a_schema_stands() {
    let bad = json!({
        "type": "object",
        "properties": {"typ": {"minimun": 1}, "b": {"items": {"anyOf": [{"type": "string", "maxlength": 3}]}}},
        "$defs": {"x": {"additionalProperties": {"requierd": []}}},
        "x-order": ["b"],
        "enum": [{"no": "schema"}],
    });
    let refusal = check("schema", &bad).unwrap_err();
    let found: Vec<&str> = refusal.findings().iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(
        found,
        [
            "schema.properties.typ.minimun",
            "schema.properties.b.items.anyOf[0].maxlength",
            "schema.$defs.x.additionalProperties.requierd",
        ]
    );
    let good = json!({"type": "object", "properties": {"typ": true}, "additionalProperties": false});
    check("schema", &good).unwrap();
}
