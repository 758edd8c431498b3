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
    let choice = json!({"type": "function", "function": {"name": "weather"}});
    let more =
        json!({"tools": tools(), "tool_choice": choice, "parallel_tool_calls": false, "max_tokens": 80});
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
    for choice in [json!("some"), json!({"type": "function", "function": {"name": "unknown"}})] {
        assert_eq!(
            chat("Say", json!({"tools": tools(), "tool_choice": choice})).refused(400),
            "request_invalid"
        );
    }
    assert_eq!(chat("Say", json!({"tools": [{"name": "x"}]})).refused(400), "request_invalid");
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
