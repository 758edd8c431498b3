//! Schemas and tools, enforced on a model that knows nothing of either.

use serde_json::{Value, json};

use crate::client::chat;

fn content(reply: &Value) -> String {
    reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

fn schema(schema: Value) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": schema}})
}

#[test]
fn a_schema_holds_whatever_the_temperature_and_the_seed() {
    let wanted = schema(json!({
        "type": "object",
        "properties": {"mood": {"enum": ["glad", "sad"]}, "age": {"type": "integer", "minimum": 1, "maximum": 99}},
        "required": ["mood", "age"],
        "additionalProperties": false,
    }));
    for seed in 0..6 {
        let more = json!({"response_format": wanted, "temperature": 2.0, "seed": seed, "max_tokens": 60});
        let reply = chat("Say", more).good();
        let value: Value = serde_json::from_str(&content(&reply)).unwrap();
        assert!(["glad", "sad"].contains(&value["mood"].as_str().unwrap()), "{value}");
        assert!((1..=99).contains(&value["age"].as_i64().unwrap()), "{value}");
        assert_eq!(value.as_object().unwrap().len(), 2);
        assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    }
}

#[test]
fn json_object_gives_an_object() {
    let more =
        json!({"response_format": {"type": "json_object"}, "max_tokens": 40, "seed": 3, "temperature": 1.0});
    let reply = chat("Say", more).good();
    assert!(content(&reply).starts_with('{'));
    if reply["choices"][0]["finish_reason"] == "stop" {
        assert!(serde_json::from_str::<Value>(&content(&reply)).unwrap().is_object());
    }
}

#[test]
fn a_schema_that_cannot_be_enforced_is_refused() {
    for bad in [
        json!({"type": "object", "if": {}, "then": {}, "else": {"type": "string"}, "unevaluatedProperties": false}),
        json!({"type": "nothing"}),
        json!({"$ref": "#/$defs/missing"}),
    ] {
        let reply = chat("Say", json!({"response_format": schema(bad.clone())}));
        assert_eq!(reply.refused(400), "grammar_invalid", "{bad}");
    }
    let missing = json!({"response_format": {"type": "json_schema"}});
    assert_eq!(chat("Say", missing).refused(400), "request_invalid");
}

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "weather", "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 8}, "days": {"enum": [1, 2]}},
            "required": ["city", "days"],
            "additionalProperties": false,
        }}},
        {"type": "function", "function": {"name": "clock", "parameters": {
            "type": "object", "properties": {}, "additionalProperties": false,
        }}},
    ])
}

#[test]
fn a_tool_that_must_be_called_is_called_with_its_parameters() {
    // One that is named is called once, whether or not calls may be parallel.
    let choice = json!({"type": "function", "function": {"name": "weather"}});
    let more = json!({"tools": tools(), "tool_choice": choice, "max_tokens": 80});
    let reply = chat("Say", more.clone()).good();
    let choice = &reply["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &Value::Null),
        "{reply}"
    );
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!((&call["type"], &call["function"]["name"]), (&json!("function"), &json!("weather")));
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert!(arguments["city"].is_string() && [1, 2].contains(&arguments["days"].as_i64().unwrap()));

    let mut streamed = more;
    streamed["stream"] = json!(true);
    let chunks = chat("Say", streamed).chunks();
    let parts: Vec<&Value> =
        chunks.iter().map(|c| &c["choices"][0]["delta"]["tool_calls"][0]).filter(|p| !p.is_null()).collect();
    assert_eq!(parts.iter().filter(|p| p["id"].is_string() && p["function"]["name"] == "weather").count(), 1);
    let joined: String = parts.iter().map(|p| p["function"]["arguments"].as_str().unwrap()).collect();
    assert_eq!(joined, call["function"]["arguments"].as_str().unwrap());
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

#[test]
fn any_tool_will_do_where_one_is_required() {
    let more =
        json!({"tools": tools(), "tool_choice": "required", "parallel_tool_calls": false, "max_tokens": 80});
    let reply = chat("Say", more).good();
    let name = reply["choices"][0]["message"]["tool_calls"][0]["function"]["name"].clone();
    assert!(["weather", "clock"].contains(&name.as_str().unwrap()), "{reply}");
}

#[test]
fn references_within_the_parameters_of_a_tool_lead_where_its_author_meant() {
    let tool = |name: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let schema = json!({
        "$defs": {"City": {"enum": ["Oslo"]}},
        "type": "object",
        "properties": {"default": {"$ref": "#/$defs/City"}},
        "required": ["default"],
        "additionalProperties": false,
    });
    let choice = json!({"type": "function", "function": {"name": "go"}});
    for more in [
        json!({"tools": [tool("go", schema.clone())], "tool_choice": choice}),
        json!({"tools": [tool("go", schema.clone()), tool("run", schema.clone())], "tool_choice": "required"}),
    ] {
        let mut body = json!({"parallel_tool_calls": false, "max_tokens": 80});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let reply = chat("Say", body).good();
        let call = &reply["choices"][0]["message"]["tool_calls"][0]["function"];
        assert_eq!(call["arguments"], "{\"default\":\"Oslo\"}", "{reply}");
    }
    let array = json!({"tools": [tool("go", json!({"type": "array"}))], "tool_choice": "required"});
    assert_eq!(chat("Say", array).refused(400), "grammar_invalid");
}

#[test]
fn tools_that_are_offered_reach_the_template_and_none_hides_them() {
    let prompt = |more: Value| {
        let mut body = json!({"messages": [{"role": "user", "content": "Hi"}], "tools": tools()});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        crate::client::post("/apply-template", &body).good()["prompt"].as_str().unwrap().to_owned()
    };
    assert!(
        prompt(json!({})).contains("weather") && prompt(json!({"tool_choice": "auto"})).contains("clock")
    );
    assert!(!prompt(json!({"tool_choice": "none"})).contains("weather"));
    let few = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named("clock")]}});
    let few = prompt(json!({"tool_choice": few}));
    assert!(few.contains("clock") && !few.contains("weather"), "{few}");
}

fn named(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name}})
}

#[test]
fn one_of_the_tools_that_are_allowed_is_called_where_one_must_be() {
    let choice =
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named("clock")]}});
    let more =
        json!({"tools": tools(), "tool_choice": choice, "parallel_tool_calls": false, "max_tokens": 80});
    let reply = chat("Say", more).good();
    assert_eq!(reply["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "clock", "{reply}");
}

/// What a finding of a refused request is about.
fn param(more: Value) -> String {
    let reply = chat("Say", more);
    assert_eq!(reply.refused(400), "request_invalid");
    reply.json()["error"]["param"].as_str().unwrap().to_owned()
}

#[test]
fn a_tool_that_is_not_described_as_it_has_to_be_is_refused_by_the_place_of_it() {
    let inner = "tools[0].function";
    for (tool, place) in [
        (json!("x"), "tools[0]".to_owned()),
        (json!({"name": "x"}), "tools[0].type".to_owned()),
        (json!({"type": "custom", "function": {"name": "f"}}), "tools[0].type".to_owned()),
        (json!({"type": "function"}), "tools[0].function".to_owned()),
        (json!({"type": "function", "function": {"name": "f"}, "colour": 1}), "tools[0].colour".to_owned()),
        (json!({"type": "function", "function": {}}), format!("{inner}.name")),
        (
            json!({"type": "function", "function": {"name": "f", "parameter": {}}}),
            format!("{inner}.parameter"),
        ),
        (
            json!({"type": "function", "function": {"name": "f", "parameters": []}}),
            format!("{inner}.parameters"),
        ),
        (
            json!({"type": "function", "function": {"name": "f", "description": {}}}),
            format!("{inner}.description"),
        ),
        (json!({"type": "function", "function": {"name": "f", "strict": "no"}}), format!("{inner}.strict")),
    ] {
        assert_eq!(param(json!({"tools": [tool.clone()]})), place, "{tool}");
    }
    for name in ["", "a b", "a.b", "größe", "<|im_end|>", "a\nb", &"x".repeat(65)] {
        assert_eq!(param(json!({"tools": [named(name)]})), "tools[0].function.name", "{name:?}");
    }
    chat("Say", json!({"tools": [named("get-Weather_2"), named(&"x".repeat(64))]})).good();
    assert_eq!(param(json!({"tools": [named("f"), named("f")]})), "tools");
    assert_eq!(param(json!({"tools": vec![named("f"); 129]})), "tools");
}

#[test]
fn a_choice_of_tools_that_means_nothing_is_refused_by_the_place_of_it() {
    let allowed = |mode: &str, tools: Value| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}});
    for (choice, place) in [
        (json!("some"), "tool_choice"),
        (json!(1), "tool_choice"),
        (json!({"function": {"name": "clock"}}), "tool_choice.type"),
        (json!({"type": "custom", "custom": {"name": "clock"}}), "tool_choice.type"),
        (json!({"type": "function", "name": "clock"}), "tool_choice.function"),
        (named("unknown"), "tool_choice.function.name"),
        (allowed("auto", json!([named("unknown")])), "tool_choice.allowed_tools.tools[0].function.name"),
        (allowed("any", json!([named("clock")])), "tool_choice.allowed_tools.mode"),
        (allowed("auto", json!([])), "tool_choice.allowed_tools.tools"),
    ] {
        assert_eq!(param(json!({"tools": tools(), "tool_choice": choice.clone()})), place, "{choice}");
    }
    assert_eq!(param(json!({"tool_choice": "required"})), "tool_choice");
}

#[test]
fn an_answer_keeps_its_schema_and_a_tool_can_still_be_called() {
    let answer = schema(json!({"type": "object", "properties": {"a": {"enum": ["yes"]}}, "required": ["a"],
        "additionalProperties": false}));
    let more = json!({"tools": tools(), "response_format": answer, "max_tokens": 80});
    let message = chat("Say", more).good()["choices"][0]["message"].clone();
    match message.get("tool_calls") {
        None => assert_eq!(message["content"], "{\"a\": \"yes\"}"),
        Some(calls) => {
            assert!(["weather", "clock"].contains(&calls[0]["function"]["name"].as_str().unwrap()))
        }
    }
    // A bias for the first token of a call makes the model make one.
    let open = crate::client::engine().encode("<tool_call>").unwrap()[0];
    let bias = json!({open.to_string(): 100});
    let more = json!({"tools": tools(), "response_format": answer, "max_tokens": 80, "logit_bias": bias,
        "parallel_tool_calls": false});
    let choice = chat("Say", more).good()["choices"][0].clone();
    assert_eq!(choice["finish_reason"], "tool_calls", "{choice}");
}

#[test]
fn arguments_with_quotes_and_braces_arrive_whole_in_pieces() {
    let text = "a \"b\" {c} </tool_call> \\ é";
    let parameters = json!({"type": "object", "properties": {"text": {"const": text}}, "required": ["text"],
        "additionalProperties": false});
    let tool = json!({"type": "function", "function": {"name": "say", "parameters": parameters}});
    let more = json!({"tools": [tool], "tool_choice": named("say"), "max_tokens": 200, "stream": true});
    let chunks = chat("Say", more).chunks();
    let parts: Vec<&Value> =
        chunks.iter().map(|c| &c["choices"][0]["delta"]["tool_calls"][0]).filter(|p| !p.is_null()).collect();
    let first = |part: &&Value| part["id"].is_string() && part["function"]["name"] == "say";
    assert_eq!(parts.iter().filter(|part| part["index"] == 0).filter(|part| first(part)).count(), 1);
    let joined: String = parts
        .iter()
        .filter(|part| part["index"] == 0)
        .map(|part| part["function"]["arguments"].as_str().unwrap())
        .collect();
    assert_eq!(serde_json::from_str::<Value>(&joined).unwrap(), json!({"text": text}), "{joined}");
}

#[test]
fn a_stop_string_that_is_kept_is_not_said_again_after_a_call() {
    let more = json!({"tools": tools(), "tool_choice": named("clock"), "parallel_tool_calls": false,
        "include_stop_str_in_output": true, "ignore_eos": true, "max_tokens": 80});
    let choice = chat("Say", more).good()["choices"][0].clone();
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &Value::Null)
    );
}

#[test]
fn a_keyword_that_nobody_knows_is_refused_in_the_parameters_of_a_tool_too() {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {
        "type": "object", "properties": {"n": {"type": "integer", "minimun": 1}}}}});
    let reply = chat("Say", json!({"tools": [tool], "tool_choice": "required"}));
    assert_eq!(reply.refused(400), "grammar_invalid");
    assert_eq!(reply.json()["error"]["param"], "parameters of f.properties.n.minimun");
}

#[test]
fn a_template_without_a_place_for_tools_refuses_them() {
    let server =
        crate::client::start(tilewright_serve::ServeOptions { template: None, ..crate::client::options() });
    let body = crate::client::chat_body("Say", json!({"tools": tools()})).to_string();
    let reply = crate::client::ask(server.address(), "POST", "/v1/chat/completions", &body);
    assert_eq!(reply.refused(400), "request_invalid");
    assert_eq!(reply.json()["error"]["param"], "tools");
}
