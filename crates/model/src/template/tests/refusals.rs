//! Templates that are refused, when loaded or when rendered.

use serde_json::json;

use super::{TURNS, assistant, render, template, user};
use crate::{Code, Refusal, RenderArgs};

fn assert_refused(refusal: &Refusal, code: Code, parts: &[&str]) {
    assert_eq!(refusal.code(), code, "{refusal}");
    let text = refusal.to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn constructs_that_cannot_work_are_named_with_their_lines() {
    let source =
        "{{ a | nofilter }}\n{{ a is notest }}\n{{ nofunction(1) }}\n{{ a.nomethod() }}\n{% include 'x' %}";
    let refusal = template(source).unwrap_err();
    assert_refused(&refusal, Code::TemplateInvalid, &["test"]);
    let found: Vec<(&str, &str)> =
        refusal.findings().iter().map(|finding| (finding.what.as_str(), finding.got.as_str())).collect();
    let expected = [
        ("line 1", "`nofilter`"),
        ("line 2", "`notest`"),
        ("line 4", "`nomethod`"),
        ("line 5", "`include`"),
        ("line 3", "`nofunction`"),
    ];
    assert_eq!(found, expected);
    for tag in ["{% extends 'x' %}", "{% import 'x' as y %}", "{% from 'x' import y %}"] {
        assert_refused(&template(tag).unwrap_err(), Code::TemplateInvalid, &["stands alone"]);
    }
}

#[test]
fn syntax_errors_are_named_with_their_lines() {
    for (source, line) in
        [("a\nb {% if x %}", "line 2"), ("\n\n{{ 1 + }}", "line 3"), ("{% frob %}", "line 1")]
    {
        assert_refused(&template(source).unwrap_err(), Code::TemplateInvalid, &[line]);
    }
}

#[test]
fn names_the_template_gives_can_be_called() {
    let source = "{% macro a(x, y=2) %}{{ x }}{{ y }}{{ caller() if caller }}{% endmacro %}{% set b = a %}{{ b(1) }}{% call a(3) %}4{% endcall %}";
    assert_eq!(super::rendered(source, ""), "12324");
}

#[test]
fn what_a_template_raises_is_said() {
    let source = "\n{{ raise_exception('roles must alternate: ' ~ messages[0].role) }}";
    let refusal = render(source, &[user("x")], &RenderArgs::default()).unwrap_err();
    assert_refused(&refusal, Code::TemplateInvalid, &["line 2", "roles must alternate: user"]);
    for failing in ["{{ nowhere.x }}", "{{ 1 / 0 }}", "{{ strftime_now('%Q') }}", "{{ nowhere | tojson }}"] {
        let refusal = render(failing, &[user("x")], &RenderArgs::default()).unwrap_err();
        assert_refused(&refusal, Code::TemplateInvalid, &["line 1"]);
    }
}

#[test]
fn work_and_memory_are_bounded() {
    let hostile = [
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='xxxxxxxxxxxxxxxx') %}{% for a in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'x' * 10000000000 }}",
        "{{ ('x' * 100000) | replace('x', 'y' * 100000) }}",
        "{{ messages[0].content | indent('x' * 100000) }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(64) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(64) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x | tojson }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}",
        "{% set ns = namespace(x=[]) %}{% for b in range(9) %}{% for a in range(90000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}{% endfor %}",
    ];
    for source in hostile {
        let refusal = render(source, &[user(&"a\n".repeat(10_000))], &RenderArgs::default()).unwrap_err();
        assert_refused(&refusal, Code::TemplateInvalid, &[]);
    }
}

#[test]
fn deep_expressions_are_compiled_or_refused() {
    const LEVELS: usize = 20_000;
    let chains =
        [("{{ 1", "+1", " }}"), ("{{ x", "|abs", " }}"), ("{{ x", ".a", " }}"), ("{{ ", "not ", "x }}")];
    for (start, level, end) in chains {
        template(&format!("{start}{}{end}", level.repeat(LEVELS))).unwrap();
    }
    template(&format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(LEVELS))).unwrap();
    for refused in [format!("{{{{ {} }}}}", "(".repeat(LEVELS)), "{% if x %}".repeat(LEVELS)] {
        assert_refused(&template(&refused).unwrap_err(), Code::TemplateInvalid, &["recursion"]);
    }
    let long = template(&"x".repeat(1 << 20)).unwrap_err();
    assert_refused(&long, Code::TemplateInvalid, &["at most 262144 bytes"]);
}

#[test]
fn content_that_cannot_be_followed_is_refused() {
    // Whether the variable holds what the literal says decides what is written.
    let source = "{% set tag = '<think>' %}{% if tag in messages[0].content %}yes{% else %}no{% endif %}";
    let refusal = render(source, &[user("a <think> b")], &RenderArgs::default()).unwrap_err();
    assert_refused(&refusal, Code::ContentUnprotected, &["test", "messages"]);
    assert_eq!(super::rendered(source, "a < b"), "no");
}

#[test]
fn arguments_that_contradict_each_other_are_refused() {
    let none = render(TURNS, &[], &RenderArgs::default()).unwrap_err();
    assert_refused(&none, Code::MessageInvalid, &["at least one message"]);

    let mut args = RenderArgs { continue_final_message: true, ..RenderArgs::default() };
    args.extra.insert("messages".to_owned(), json!([]));
    args.extra.insert("bos_token".to_owned(), json!("x"));
    let refusal = render(TURNS, &[user("x")], &args).unwrap_err();
    let parts = ["both", "a last message of the assistant", "argument messages", "argument bos_token"];
    assert_refused(&refusal, Code::MessageInvalid, &parts);
    assert_eq!(refusal.findings().len(), 4);

    let args =
        RenderArgs { continue_final_message: true, add_generation_prompt: false, ..RenderArgs::default() };
    let lost = render("nothing", &[assistant("x")], &args).unwrap_err();
    assert_refused(&lost, Code::MessageInvalid, &["continued"]);
}

/// Each value is made of the one before it, twice: to walk the last one takes 2^60 steps, which are not instructions.
#[test]
fn a_template_without_an_end_is_refused_and_not_begun_again() {
    let source = "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s | length }}";
    let mut template = template(source).unwrap();
    template.time = std::time::Duration::from_millis(100);
    for _ in 0..3 {
        let refusal = template.render(&[user("x")], &RenderArgs::default()).unwrap_err();
        assert_refused(&refusal, Code::TemplateInvalid, &["no end within"]);
    }
}

#[test]
fn a_width_of_a_billion_is_refused_before_it_is_made() {
    for source in [
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ 'a{0:.999999}'.format(1.5) }}",
        "{{ '%1000000000s' | format(1) }}",
    ] {
        let refusal = render(source, &[user("x")], &RenderArgs::default()).unwrap_err();
        assert_refused(&refusal, Code::TemplateInvalid, &["line 1"]);
    }
    assert_eq!(super::rendered("{{ '{:>8} 1234567'.format('ab') }}", ""), "      ab 1234567");
}
