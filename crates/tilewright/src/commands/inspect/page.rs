//! What `inspect` shows to a person.

use std::fmt::{Display, Write};

use tilewright_model::{Inspection, Shown};

use super::facts::{Facts, total_bytes};
use crate::commands::describe;
use crate::console::bytes;

/// Renders the page: one labelled line a fact, then memory and tensors as tables.
pub(crate) fn render(facts: &Facts) -> String {
    let mut page = Page(String::new());
    let inspection = &facts.inspection;
    page.line("model", &facts.source);
    shape(&mut page, inspection);
    if let Some(plan) = &facts.plan {
        page.line("plan", describe::plan(plan));
        for note in &plan.notes {
            page.line("", note);
        }
    }
    page.line("stop", describe::stop_set(&inspection.stop_set, facts.tokenizer.as_ref()));
    page.line("template", inspection.template.map_or("none".to_owned(), |t| t.to_string()));
    page.line("sampling", describe::generation(&inspection.generation));
    if let Some(tokens) = inspection.prompt_tokens {
        page.line("prompt", format!("{tokens} tokens, folded into the manifest"));
    }
    memory(&mut page, facts);
    tensors(&mut page, inspection);
    page.0
}

struct Page(String);

impl Page {
    fn line(&mut self, label: &str, text: impl Display) {
        let _ = writeln!(self.0, "{label:<10} {}", Shown(&text.to_string()));
    }

    fn raw(&mut self, line: &str) {
        let _ = writeln!(self.0, "{}", Shown(line.trim_end()));
    }
}

fn shape(page: &mut Page, inspection: &Inspection) {
    let Some(config) = &inspection.config else { return };
    page.line("config", describe::config(config));
    let facts = [
        (config.qk_norm, "norm on q and k"),
        (config.qkv_bias, "bias on q, k and v"),
        (config.tied, "tied head"),
    ];
    let facts: Vec<&str> = facts.into_iter().filter_map(|(is, text)| is.then_some(text)).collect();
    page.line("", format!("SwiGLU {}, epsilon {:e}{}", config.intermediate, config.norm_eps, list(&facts)));
    page.line("rope", format!("base {}, {}", config.rope.theta, config.rope.scaling));
    let origin = match inspection.prompt_tokens {
        Some(_) => ": the most of this format, which does not state the model's own",
        None => "",
    };
    page.line("positions", format!("{}{origin}", config.max_positions));
    if let Some(parameters) = inspection.parameters {
        page.line("parameters", parameters);
    }
}

fn list(facts: &[&str]) -> String {
    facts.iter().map(|fact| format!(", {fact}")).collect()
}

fn memory(page: &mut Page, facts: &Facts) {
    if facts.formats.is_empty() {
        return;
    }
    page.raw("\nmemory     weights      read a token  KV a position  KV in all    total");
    for plan in &facts.formats {
        let kv = plan.kv_bytes_per_position * plan.context as u64;
        page.raw(&format!(
            "{:<10} {:<12} {:<13} {:<14} {:<12} {}",
            plan.weights.name(),
            bytes(plan.weight_bytes),
            bytes(plan.bytes_per_token),
            format!("{} {}", bytes(plan.kv_bytes_per_position), plan.kv),
            bytes(kv),
            bytes(total_bytes(plan)),
        ));
    }
}

fn tensors(page: &mut Page, inspection: &Inspection) {
    let count = inspection.tensors.len();
    if count == 0 {
        return;
    }
    page.raw(&format!("\n{count} tensors, {}", bytes(inspection.weight_bytes())));
    let width = inspection.tensors.iter().map(|t| t.name.len()).max().unwrap_or(0);
    for tensor in &inspection.tensors {
        let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        let shape = format!("[{}]", shape.join(", "));
        page.raw(&format!(
            "{:<width$}  {:<5} {shape:<16} {}",
            tensor.name,
            tensor.stored.to_string(),
            tensor.file
        ));
    }
}
