//! Python's way of writing values.

use super::rendered;

#[test]
fn floats_are_written_as_python_writes_them() {
    let cases = [
        ("1.0", "1.0"),
        ("0.1", "0.1"),
        ("1e15", "1000000000000000.0"),
        ("1e16", "1e+16"),
        ("1.5e300", "1.5e+300"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("-2.5", "-2.5"),
        ("123456789.125", "123456789.125"),
    ];
    for (number, expected) in cases {
        assert_eq!(rendered(&format!("{{{{ {number} }}}}"), ""), expected);
        assert_eq!(rendered(&format!("{{{{ [{number}] | tojson }}}}"), ""), format!("[{expected}]"));
    }
}

#[test]
fn json_is_written_as_hugging_face_writes_it() {
    let value = r#"{'b': [1, 'é<&>', none, true], 'a': {}, 'c': []}"#;
    let cases = [
        ("tojson", r#"{"b": [1, "é<&>", null, true], "a": {}, "c": []}"#),
        ("tojson(ensure_ascii=true)", r#"{"b": [1, "\u00e9<&>", null, true], "a": {}, "c": []}"#),
        ("tojson(sort_keys=true, separators=(',', ':'))", r#"{"a":{},"b":[1,"é<&>",null,true],"c":[]}"#),
        (
            "tojson(indent=1)",
            "{\n \"b\": [\n  1,\n  \"é<&>\",\n  null,\n  true\n ],\n \"a\": {},\n \"c\": []\n}",
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(rendered(&format!("{{{{ {value} | {filter} }}}}"), ""), expected, "{filter}");
    }
    assert_eq!(
        rendered("{{ messages[0].content | tojson }}", "\u{1}\t\"\\\u{7f}/"),
        "\"\\u0001\\t\\\"\\\\\u{7f}/\""
    );
}

#[test]
fn containers_are_printed_as_python_prints_them() {
    assert_eq!(rendered("{{ [messages[0].content, (1,), {}] }}", "it's\n"), "[\"it's\\n\", (1,), {}]");
    assert_eq!(rendered("{{ [messages[0].content] }}", "'\"\u{200b}\u{1}"), "['\\'\"\\u200b\\x01']");
}
