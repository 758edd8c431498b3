//! Embeddings in both encodings.

use serde_json::{Value, json};

use crate::client::post;

fn vectors(body: Value) -> Vec<Vec<f64>> {
    let reply = post("/v1/embeddings", &body).good();
    let data = reply["data"].as_array().unwrap();
    assert!(reply["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
    data.iter()
        .map(|d| d["embedding"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect())
        .collect()
}

#[test]
fn texts_become_vectors_of_length_one_in_their_order() {
    let both =
        vectors(json!({"model": "stories", "input": ["The dog ran.", "It rained."], "pooling": "mean"}));
    let one = vectors(json!({"input": "It rained.", "pooling": "mean"}));
    assert_eq!((both.len(), &both[1]), (2, &one[0]));
    for vector in &both {
        let length: f64 = vector.iter().map(|v| v * v).sum();
        assert!((length - 1.0).abs() <= 1e-5, "{length}");
    }
    assert_ne!(vectors(json!({"input": "It rained."})), one, "the last state is not the mean");
}

#[test]
fn base64_holds_the_same_numbers() {
    use base64::Engine as _;
    let plain = vectors(json!({"input": "The dog ran."}));
    let reply = post("/v1/embeddings", &json!({"input": "The dog ran.", "encoding_format": "base64"})).good();
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(reply["data"][0]["embedding"].as_str().unwrap())
        .unwrap();
    let decoded: Vec<f64> =
        bytes.as_chunks::<4>().0.iter().map(|four| f64::from(f32::from_le_bytes(*four))).collect();
    assert!(decoded.iter().zip(&plain[0]).all(|(a, b)| (a - b).abs() <= 1e-7));
}

#[test]
fn what_cannot_be_embedded_is_refused() {
    for body in [
        json!({"input": []}),
        json!({"input": "x", "dimensions": 7}),
        json!({"input": "x", "encoding_format": "int8"}),
        json!({"input": "x", "pooling": "max"}),
        json!({"input": [[]]}),
    ] {
        assert_eq!(post("/v1/embeddings", &body).refused(400), "request_invalid", "{body}");
    }
}
