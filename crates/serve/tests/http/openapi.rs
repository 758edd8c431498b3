//! The published description: every field it names is one that the endpoint knows.

use serde_json::{Value, json};

use crate::client::{get, post};

/// The fields of a body that a reply calls unknown.
fn unknown(reply: &Value) -> Vec<&str> {
    let findings = reply["error"]["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named = findings.iter().filter(|f| f["got"] == "an unknown one");
    // What lies within a field has dots.
    named.map(|finding| finding["what"].as_str().unwrap()).filter(|what| !what.contains('.')).collect()
}

#[test]
fn every_field_described_is_known_and_no_other() {
    let document = get("/openapi.json").good();
    let mut fields = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(body) = item["post"].get("requestBody") else { continue };
        let name = body["content"]["application/json"]["schema"]["$ref"].as_str().unwrap();
        let schema = document.pointer(name.trim_start_matches('#')).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{name}");
        for field in schema["properties"].as_object().unwrap().keys() {
            // No field takes a list of such objects.
            let reply = post(path, &json!({field: [{"no": []}]})).json();
            assert_eq!(unknown(&reply), Vec::<&str>::new(), "{path}: {reply}");
            fields += 1;
        }
        let mut least = json!({"colour": 1});
        for needed in schema["required"].as_array().into_iter().flatten() {
            let value =
                if needed == "messages" { json!([{"role": "user", "content": "x"}]) } else { json!("x") };
            least[needed.as_str().unwrap()] = value;
        }
        let reply = post(path, &least).json();
        assert_eq!(unknown(&reply), ["colour"], "{path}: {reply}");
    }
    assert!(fields > 80, "{fields}");
}
