//! `run --json`: ids, log-probabilities, counts.

use serde_json::Value;

use crate::harness::{ids, reference, tilewright, tilewright_reading};

#[test]
fn greedy_ids_are_those_of_the_float64_reference() {
    let reference = reference();
    for case in reference["greedy"].as_array().unwrap() {
        let prompt: Vec<String> = ids(&case["prompt_ids"]).iter().map(u64::to_string).collect();
        let line =
            ["run", "--ids", &prompt.join(","), "--temp", "0", "-n", "60", "--weights", "f32", "--json"];
        let outcome = tilewright(&line).expect_code(0);
        assert_eq!(ids(&outcome.json()["ids"]), ids(&case["ids"])[..60], "{}", case["prompt"]);
    }
}

#[test]
fn one_object_says_everything_and_stderr_nothing_of_it() {
    let outcome =
        tilewright(&["run", "-p", "Once upon a time", "-n", "8", "--seed", "7", "--json"]).expect_code(0);
    let object = outcome.json();
    let keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "text",
            "ids",
            "finish_reason",
            "stop",
            "usage",
            "timings",
            "peak_memory_bytes",
            "model",
            "plan",
            "device_reason",
            "stop_set",
            "sampling"
        ]
    );
    assert_eq!(object["ids"].as_array().unwrap().len(), 8);
    assert_eq!(object["finish_reason"], "length");
    assert_eq!(object["stop"], Value::Null);
    assert_eq!(object["usage"]["prompt_tokens"], 4);
    assert_eq!(object["usage"]["total_tokens"], 12);
    assert_eq!(object["sampling"]["seed"]["value"], 7);
    assert_eq!(object["sampling"]["seed"]["from"], "request");
    assert_eq!(object["sampling"]["temperature"]["value"], 0.7);
    assert_eq!(object["sampling"]["temperature"]["from"], "generation_config");
    assert_eq!(object["plan"]["device"], "cpu");
    assert!(object["plan"]["bytes_per_token"].as_u64().unwrap() > 0);
    assert!(object["timings"]["decode_tokens_per_second"].as_f64().unwrap() > 0.0);
    let text = tilewright(&["run", "-p", "Once upon a time", "-n", "8", "--seed", "7"]).stdout;
    assert_eq!(format!("{}\n", object["text"].as_str().unwrap()), text);
}

#[test]
fn log_probabilities_come_with_alternatives_most_likely_first() {
    let line = ["run", "-p", "Once upon a time", "-n", "4", "--temp", "0", "--logprobs", "3", "--json"];
    let object = tilewright(&line).expect_code(0).json();
    let logprobs = object["logprobs"].as_array().unwrap();
    assert_eq!(logprobs.len(), 4);
    for (entry, id) in logprobs.iter().zip(ids(&object["ids"])) {
        let top = entry["top"].as_array().unwrap();
        assert_eq!(entry["id"].as_u64(), Some(id));
        assert_eq!(top.len(), 3);
        assert_eq!(top[0]["id"].as_u64(), Some(id), "greedy takes the most likely");
        assert_eq!(top[0]["logprob"], entry["logprob"]);
        let values: Vec<f64> = top.iter().map(|t| t["logprob"].as_f64().unwrap()).collect();
        assert!(values.windows(2).all(|w| w[0] >= w[1]) && values[0] <= 0.0, "{values:?}");
    }
}

#[test]
fn a_stop_id_ends_the_reply_and_is_named() {
    // 13 is a full stop, and the reference reaches one soon.
    let line = ["run", "-p", "Once upon a time", "--temp", "0", "--stop-id", "13", "--json"];
    let object = tilewright(&line).expect_code(0).json();
    assert_eq!(object["finish_reason"], "stop");
    assert_eq!(object["stop"]["id"], 13);
    assert_eq!(ids(&object["ids"]).iter().filter(|id| **id == 13).count(), 1);
}

#[test]
fn messages_from_a_file_and_from_flags_render_the_same() {
    let messages =
        r#"[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Tell me a story."}]"#;
    let rest = ["--temp", "0", "-n", "6", "--json"];
    let file = tilewright_reading(&[&["run", "--messages", "-"][..], &rest].concat(), messages)
        .expect_code(0)
        .json();
    let flags = [&["run", "-p", "Tell me a story.", "--system", "Be kind."][..], &rest].concat();
    let flags = tilewright(&flags).expect_code(0).json();
    assert_eq!(file["ids"], flags["ids"]);
    assert_eq!(file["usage"]["prompt_tokens"], flags["usage"]["prompt_tokens"]);
}

#[test]
fn a_last_message_of_the_assistant_is_continued() {
    let messages =
        r#"[{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Once upon"}]"#;
    let rest = ["--temp", "0", "-n", "6", "--json"];
    let file = tilewright_reading(&[&["run", "--messages", "-"][..], &rest].concat(), messages)
        .expect_code(0)
        .json();
    let text = "<|im_start|>user\nGo on.<|im_end|>\n<|im_start|>assistant\nOnce upon";
    let raw = tilewright(&[&["run", "--raw", "-p", text][..], &rest].concat()).expect_code(0).json();
    assert_eq!(file["ids"], raw["ids"]);
    assert_eq!(file["usage"]["prompt_tokens"], raw["usage"]["prompt_tokens"]);
}

#[test]
fn the_reply_is_the_same_for_every_chunk_and_thread_count() {
    let line = ["run", "-p", "The little fox ran over the hill and", "--temp", "0", "-n", "16", "--json"];
    let expected = tilewright(&line).expect_code(0).json()["ids"].clone();
    for extra in [["--prefill-chunk", "1"], ["--prefill-chunk", "3"], ["-t", "1"], ["-t", "3"]] {
        let ids = tilewright(&[&line[..], &extra].concat()).expect_code(0).json()["ids"].clone();
        assert_eq!(ids, expected, "{extra:?}");
    }
}
