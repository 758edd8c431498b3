//! Chat at once: shape, limits, choices, log-probabilities, reasoning.

use serde_json::{Value, json};

use crate::client::{chat, chat_body, post};

#[test]
fn a_reply_has_the_shape_of_openai_s() {
    let reply = chat("Tell me a story", json!({})).good();
    assert_eq!(reply["object"], "chat.completion");
    assert!(reply["id"].as_str().unwrap().starts_with("chatcmpl-") && reply["created"].is_u64());
    assert_eq!(reply["model"], "stories");
    let choice = &reply["choices"][0];
    assert_eq!((&choice["index"], &choice["logprobs"]), (&json!(0), &Value::Null));
    assert_eq!(choice["message"]["role"], "assistant");
    assert!(!choice["message"]["content"].as_str().unwrap().is_empty());
    assert!(choice["message"].get("reasoning_content").is_none());
    let usage = &reply["usage"];
    let number = |key: &str| usage[key].as_u64().unwrap();
    assert_eq!(number("prompt_tokens") + number("completion_tokens"), number("total_tokens"));
    assert!(usage["prompt_tokens_details"]["cached_tokens"].is_u64());
}

#[test]
fn a_cut_reply_says_length_by_either_name_of_the_limit() {
    for key in ["max_tokens", "max_completion_tokens"] {
        let mut body = chat_body("Once", json!({"ignore_eos": true}));
        body.as_object_mut().unwrap().remove("max_tokens");
        body[key] = json!(3);
        let reply = post("/v1/chat/completions", &body).good();
        assert_eq!(reply["choices"][0]["finish_reason"], "length");
        assert_eq!(reply["usage"]["completion_tokens"], 3);
    }
    let both = chat("Once", json!({"max_tokens": 3, "max_completion_tokens": 4}));
    assert_eq!(both.refused(400), "request_invalid");
}

#[test]
fn a_stop_string_ends_the_reply_and_is_not_in_it() {
    let whole = chat("Tell", json!({"max_tokens": 30})).good();
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    let word = text.split_whitespace().nth(3).unwrap();
    let reply = chat("Tell", json!({"max_tokens": 30, "stop": [word]})).good();
    let cut = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    assert_eq!(cut, &text[..text.find(word).unwrap()]);
}

#[test]
fn the_same_seed_gives_the_same_choices_and_the_choices_differ() {
    let ask = || {
        let more = json!({"n": 4, "seed": 7, "temperature": 1.2, "max_tokens": 16, "ignore_eos": true});
        let reply = chat("Say", more).good();
        let choices = reply["choices"].as_array().unwrap().clone();
        assert_eq!(choices.iter().map(|c| c["index"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(reply["usage"]["completion_tokens"], 64);
        choices.iter().map(|c| c["message"]["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (cold, warm) = (ask(), ask());
    assert_eq!(cold, warm);
    assert!(cold.windows(2).any(|pair| pair[0] != pair[1]), "{cold:?}");
}

#[test]
fn logprobs_name_every_token_and_their_bytes_are_the_content() {
    let more = json!({"logprobs": true, "top_logprobs": 2, "max_tokens": 5, "ignore_eos": true});
    let reply = chat("One day", more).good();
    let choice = &reply["choices"][0];
    let entries = choice["logprobs"]["content"].as_array().unwrap();
    assert_eq!(entries.len(), 5);
    let mut bytes = Vec::new();
    for entry in entries {
        assert_eq!(entry["top_logprobs"].as_array().unwrap().len(), 2);
        // Greedy: the token is the most likely one.
        assert_eq!(entry["top_logprobs"][0]["token"], entry["token"]);
        assert!(entry["logprob"].as_f64().unwrap() <= 0.0);
        bytes.extend(entry["bytes"].as_array().unwrap().iter().map(|b| b.as_u64().unwrap() as u8));
    }
    assert_eq!(String::from_utf8(bytes).unwrap(), choice["message"]["content"].as_str().unwrap());
    assert_eq!(chat("x", json!({"top_logprobs": 2})).refused(400), "request_invalid");
    assert_eq!(chat("x", json!({"logprobs": true, "top_logprobs": 21})).refused(400), "request_invalid");
}

/// The bytes of every token that a list of entries names, one after another.
fn spelled(entries: &Value) -> Vec<Vec<u8>> {
    let bytes = |entry: &Value| -> Vec<u8> {
        entry["bytes"].as_array().unwrap().iter().map(|b| b.as_u64().unwrap() as u8).collect()
    };
    entries.as_array().unwrap().iter().map(bytes).collect()
}

#[test]
fn tokens_that_a_stop_string_took_have_no_logprobs() {
    let base = json!({"logprobs": true, "max_tokens": 30});
    let whole = chat("Tell", base.clone()).good();
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    for from in [5, 9, 10, 11, 20] {
        let stop: String = text.chars().skip(from).take(7).collect();
        let mut more = base.clone();
        more["stop"] = json!([stop]);
        let choice = chat("Tell", more.clone()).good()["choices"][0].clone();
        let content = choice["message"]["content"].as_str().unwrap();
        assert_eq!(content, &text[..text.find(&stop).unwrap()]);
        let tokens = spelled(&choice["logprobs"]["content"]);
        assert!(tokens.concat().starts_with(content.as_bytes()), "{stop:?}: {choice}");
        let (_, before) = tokens.split_last().unwrap();
        assert!(before.concat().len() < content.len(), "{stop:?}: a token that has no part in {choice}");
        // The same in a stream, and no chunk tells of a token before its text begins.
        more["stream"] = json!(true);
        let (mut said, mut told) = (0, Vec::<Vec<u8>>::new());
        for chunk in chat("Tell", more.clone()).chunks() {
            let choice = &chunk["choices"][0];
            said += choice["delta"]["content"].as_str().unwrap_or_default().len();
            for token in choice["logprobs"].get("content").map(spelled).unwrap_or_default() {
                assert!(told.concat().len() < said, "{chunk}");
                told.push(token);
            }
        }
        assert_eq!(told, tokens, "{stop:?}");
        // Where the stop string is kept, so are its tokens.
        more["stream"] = json!(false);
        more["include_stop_str_in_output"] = json!(true);
        let choice = chat("Tell", more).good()["choices"][0].clone();
        let content = choice["message"]["content"].as_str().unwrap();
        assert!(spelled(&choice["logprobs"]["content"]).concat().starts_with(content.as_bytes()), "{choice}");
    }
}

#[test]
fn a_block_that_the_prompt_opened_is_reasoning_whether_or_not_it_is_closed() {
    let reply = chat("Think", json!({"enable_thinking": true, "max_tokens": 6, "ignore_eos": true})).good();
    let message = &reply["choices"][0]["message"];
    assert!(!message["reasoning_content"].as_str().unwrap().is_empty(), "{message}");
    assert_eq!(message["content"], "");
    for more in [
        json!({"chat_template_kwargs": {"enable_thinking": false}}),
        json!({"enable_thinking": false}),
        json!({"reasoning_effort": "none"}),
    ] {
        let reply = chat("Think", more).good();
        let message = &reply["choices"][0]["message"];
        assert!(
            message.get("reasoning_content").is_none() && !message["content"].as_str().unwrap().is_empty()
        );
    }
    let both = json!({"enable_thinking": true, "reasoning_effort": "none"});
    assert_eq!(chat("Think", both).refused(400), "request_invalid");
}

#[test]
fn content_may_come_in_parts_and_a_last_message_of_the_assistant_is_continued() {
    let parts = json!([{"type": "text", "text": "Tell me "}, {"type": "text", "text": "a story"}]);
    let one = chat("", json!({"messages": [{"role": "user", "content": parts}]})).good();
    let other = chat("Tell me a story", json!({})).good();
    assert_eq!(one["choices"][0]["message"], other["choices"][0]["message"]);
    let image = json!([{"type": "image_url", "image_url": {"url": "x"}}]);
    let refused = chat("", json!({"messages": [{"role": "user", "content": image}]}));
    assert_eq!(refused.refused(400), "content_unsupported");
    let begun = json!([
        {"role": "user", "content": "Tell me a story"},
        {"role": "assistant", "content": "The dog", "refusal": null, "annotations": [], "tool_calls": null},
    ]);
    let prompt = post("/apply-template", &json!({"messages": begun})).good();
    assert!(prompt["prompt"].as_str().unwrap().ends_with("The dog"), "{prompt}");
    chat("", json!({"messages": begun})).good();
}

#[test]
fn replies_at_once_are_the_same_as_one_by_one() {
    let texts = ["A dog", "A cat", "The sun", "Rain", "My mother", "Two birds", "A red ball", "Night"];
    let content = |text: &str| {
        let reply = chat(text, json!({"max_tokens": 24})).good();
        reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    };
    let alone: Vec<String> = texts.iter().map(|text| content(text)).collect();
    let together: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = texts.iter().map(|text| scope.spawn(move || content(text))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

/// The reasoning of earlier turns is not part of the next prompt, so what is alike ends where the reply began.
#[test]
fn a_turn_after_reasoning_reuses_what_came_before_it() {
    let thinking = json!({"enable_thinking": true, "max_tokens": 8, "ignore_eos": true});
    let question = "Which of these two very small horses is the older one?";
    let first = chat(question, thinking).good();
    assert!(first["choices"][0]["message"]["reasoning_content"].is_string(), "{first}");
    let messages = json!([
        {"role": "user", "content": question},
        {"role": "assistant", "content": "The brown one."},
        {"role": "user", "content": "Why?"},
    ]);
    let second = chat("", json!({"messages": messages, "enable_thinking": true})).good();
    let cached = second["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    let prompt = first["usage"]["prompt_tokens"].as_u64().unwrap();
    assert!(cached > prompt / 2 && cached <= prompt, "{cached} of {prompt}");
}

#[test]
fn a_second_turn_reuses_the_first() {
    let first = chat("Tell me about a very small horse", json!({})).good();
    let content = first["choices"][0]["message"]["content"].clone();
    let messages = json!([
        {"role": "user", "content": "Tell me about a very small horse"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "Go on"},
    ]);
    let second = chat("", json!({"messages": messages})).good();
    let cached = second["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
    assert!(cached >= first["usage"]["prompt_tokens"].as_u64().unwrap(), "{second}");
}
