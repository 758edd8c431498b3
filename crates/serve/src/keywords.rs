//! Keywords of JSON schemas: a word that nobody knows is a typing error, and would leave a reply free where it should be bound.

use serde_json::{Map, Value};
use tilewright_engine::{Code, Finding, Refusal};

/// What a keyword holds.
enum Holds {
    /// Nothing that is a schema.
    Plain,
    /// A schema.
    One,
    /// A list of schemas.
    List,
    /// Schemas by name.
    Named,
}

use Holds::{List, Named, One, Plain};

/// Every keyword of the drafts, and the two words that API descriptions add. Whether one can be enforced the grammar says.
const KNOWN: [(&str, Holds); 64] = [
    ("$anchor", Plain),
    ("$comment", Plain),
    ("$defs", Named),
    ("$dynamicAnchor", Plain),
    ("$dynamicRef", Plain),
    ("$id", Plain),
    ("$recursiveAnchor", Plain),
    ("$recursiveRef", Plain),
    ("$ref", Plain),
    ("$schema", Plain),
    ("$vocabulary", Plain),
    ("additionalItems", One),
    ("additionalProperties", One),
    ("allOf", List),
    ("anyOf", List),
    ("const", Plain),
    ("contains", One),
    ("contentEncoding", Plain),
    ("contentMediaType", Plain),
    ("contentSchema", One),
    ("default", Plain),
    ("definitions", Named),
    ("dependencies", Plain),
    ("dependentRequired", Plain),
    ("dependentSchemas", Named),
    ("deprecated", Plain),
    ("description", Plain),
    ("discriminator", Plain),
    ("else", One),
    ("enum", Plain),
    ("example", Plain),
    ("examples", Plain),
    ("exclusiveMaximum", Plain),
    ("exclusiveMinimum", Plain),
    ("format", Plain),
    ("id", Plain),
    ("if", One),
    ("items", One),
    ("maxContains", Plain),
    ("maxItems", Plain),
    ("maxLength", Plain),
    ("maxProperties", Plain),
    ("maximum", Plain),
    ("minContains", Plain),
    ("minItems", Plain),
    ("minLength", Plain),
    ("minProperties", Plain),
    ("minimum", Plain),
    ("multipleOf", Plain),
    ("not", One),
    ("oneOf", List),
    ("pattern", Plain),
    ("patternProperties", Named),
    ("prefixItems", List),
    ("properties", Named),
    ("propertyNames", One),
    ("readOnly", Plain),
    ("required", Plain),
    ("then", One),
    ("title", Plain),
    ("type", Plain),
    ("unevaluatedItems", One),
    ("unevaluatedProperties", One),
    ("writeOnly", Plain),
];

/// Checks the words of a schema, which findings call `what`, and of all schemas within. Words that begin with `x-` are anybody's own.
///
/// # Errors
/// `grammar_invalid` with every word that is not one.
pub(crate) fn check(what: &str, schema: &Value) -> Result<(), Refusal> {
    let mut findings = Vec::new();
    walk(what, schema, &mut findings);
    findings.truncate(16);
    Refusal::check(Code::GrammarInvalid, findings)
}

/// Schemas nest no deeper than the parser of requests lets them.
fn walk(path: &str, schema: &Value, findings: &mut Vec<Finding>) {
    let Value::Object(words) = schema else { return };
    for (word, value) in words {
        let at = format!("{path}.{word}");
        let known = KNOWN.iter().find(|(name, _)| name == word);
        match (known.map(|(_, holds)| holds), value) {
            (None, _) if word.starts_with("x-") => {}
            (None, _) => findings.push(Finding::new(at, "a keyword of JSON Schema", "another word")),
            (Some(Plain), _) => {}
            (Some(One | List), Value::Array(list)) => each(&at, list, findings),
            (Some(Named), Value::Object(named)) => by_name(&at, named, findings),
            (Some(_), value) => walk(&at, value, findings),
        }
    }
}

fn each(path: &str, list: &[Value], findings: &mut Vec<Finding>) {
    for (index, schema) in list.iter().enumerate() {
        walk(&format!("{path}[{index}]"), schema, findings);
    }
}

fn by_name(path: &str, named: &Map<String, Value>, findings: &mut Vec<Finding>) {
    for (name, schema) in named {
        walk(&format!("{path}.{name}"), schema, findings);
    }
}

#[cfg(test)]
mod tests;
