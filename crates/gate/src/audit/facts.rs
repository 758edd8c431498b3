//! Hashes, precision, arms, workloads, and that nothing tells where on a disk or by whom it was run.

use std::collections::BTreeSet;

use tilewright_backend::{KvFormat, Packing, Scopes};
use tilewright_model::tolerance::Tolerance;

use crate::bench::REBUILDING;
use crate::precision::{bits, tolerance};
use crate::programs::is_of_its_source;
use crate::report::{Part, Precision, Report};
use crate::stats::{RESAMPLES, SEED};

pub(super) fn audit(report: &Report, faults: &mut Vec<String>) {
    hashes(report, faults);
    precision(report, faults);
    packing(report, faults);
    arms(report, faults);
    workloads(report, faults);
    if tells_a_path(report) {
        faults.push("a path of the machine is in it".to_owned());
    }
    let method = &report.method;
    if (method.resamples, method.seed) != (RESAMPLES, SEED) {
        faults.push("intervals are of another number of draws or seed".to_owned());
    }
    if method.trials < 3 || method.warmups == 0 || method.includes.is_empty() || method.excludes.is_empty() {
        faults
            .push("three rounds, a warm-up, and what a time includes and excludes are the least".to_owned());
    }
}

/// Whether some text of it has a path on a disk.
pub(crate) fn tells_a_path(report: &Report) -> bool {
    let tells = ["\"/", "/home/", "/root/", "/Users/", ":\\\\"];
    report.json(false).is_ok_and(|text| tells.iter().any(|word| text.contains(word)))
}

fn hashes(report: &Report, faults: &mut Vec<String>) {
    let prints = &report.fingerprints;
    for (name, hash) in prints.before.iter().chain(&prints.after) {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hash.len() != 64 || !hash.bytes().all(digit) {
            faults.push(format!("hash of {name} is not 64 hexadecimal digits"));
        }
    }
    if prints.before != prints.after {
        faults.push("hashes before and after differ".to_owned());
    }
    if !prints.before.contains_key("binary") {
        faults.push("no hash of the program".to_owned());
    }
    let ends = [".safetensors", ".gguf", ".blob"];
    let weights =
        |name: &String| name.starts_with("checkpoint/") && ends.iter().any(|end| name.ends_with(end));
    if !prints.before.keys().any(weights) {
        faults.push("no hash of the weights".to_owned());
    }
}

fn precision(report: &Report, faults: &mut Vec<String>) {
    let p = &report.precision;
    if p.label != Precision::label_of(&p.weights, &p.activations, &p.kv, &p.sums) {
        faults.push("the precision's label is not that of its parts".to_owned());
    }
    let row = Tolerance::TABLE.iter().find(|row| row.name == p.tolerance);
    let stated = row.is_some_and(|row| (row.rtol, row.atol) == (p.rtol, p.atol));
    let due = tolerance(&p.weights, &p.activations, &p.kv);
    if !stated || due.is_none_or(|(due, scaled)| (due.name, scaled) != (p.tolerance.as_str(), p.scaled)) {
        faults.push("the tolerance is not that of the precision".to_owned());
    }
    // Groups at the ends of rows are padded, and vectors are kept too.
    let least = bits(&p.weights) * report.model.matrix_elements() as f64 / 8.0;
    let read = p.bytes_per_token as f64;
    let widest = if p.weights == "gguf" { 4.0 * report.model.matrix_elements() as f64 } else { least };
    let most = 1.3 * widest + 65_536.0;
    if !(read >= 0.999 * least && read <= most) || p.weight_bytes < p.bytes_per_token {
        faults.push(format!("{read} bytes a token are not those of {} weights", p.weights));
    }
    let heads = 2 * report.model.layers * report.model.kv_heads;
    let kv = p.kv.parse().map(|kv: KvFormat| (heads * kv.head_bytes(report.model.head_dim)) as u64);
    if kv != Ok(p.kv_bytes_per_position) {
        faults.push(format!("{} bytes a position are not those of {}", p.kv_bytes_per_position, p.kv));
    }
}

/// Which devices hold bf16 weights as pairs, and of how many elements, follows from the rest of the report.
fn packing(report: &Report, faults: &mut Vec<String>) {
    let model = &report.model;
    let head = model.vocab * model.hidden;
    let all = Scopes {
        vocabulary: if model.tied { head as u64 } else { 2 * head as u64 },
        layers: model.matrix_elements() - head as u64,
    };
    let is_staged = ["metal", "shim"].contains(&report.method.device.as_str());
    let fits = match (report.packing, report.precision.weights.as_str()) {
        (packing, "bf16") if is_staged => packing.is_some_and(|packing| packing.scopes == all),
        // Of a file's matrices those in bf16.
        (Some(Packing { scopes, .. }), "gguf") if is_staged => {
            scopes.vocabulary <= all.vocabulary && scopes.layers <= all.layers
        }
        (packing, _) => packing.is_none(),
    };
    if !fits {
        faults.push("what is said to be packed is not what this device packs of this model".to_owned());
    }
    if let Some(packing) = report.packing {
        if Packing::of(packing.scopes, packing.rounded) != Some(packing) {
            faults.push(
                "the packing's elements, bytes and comparisons do not follow from its scopes".to_owned(),
            );
        }
        if packing.rounded > packing.elements || packing.rounded > 0 && report.precision.weights == "gguf" {
            faults.push("more was rounded before packing than can have been".to_owned());
        }
        if packing.packed_bytes > report.precision.weight_bytes {
            faults.push("the packed bytes are more than those of the weights".to_owned());
        }
    }
    if report.packing.is_some() != report.method.includes.iter().any(|what| what == REBUILDING) {
        faults.push("a time includes rebuilding of what is packed, and of nothing else".to_owned());
    }
}

fn arms(report: &Report, faults: &mut Vec<String>) {
    let parts: Vec<Part> = report.arms.iter().map(|arm| arm.part).collect();
    let count = |part| parts.iter().filter(|p| **p == part).count();
    if parts.first() != Some(&Part::Candidate) || count(Part::Candidate) != 1 || count(Part::Control) != 1 {
        faults.push("one candidate comes first, and it has one control".to_owned());
    }
    let names: BTreeSet<&str> = report.arms.iter().map(|arm| arm.name.as_str()).collect();
    if names.len() != parts.len() {
        faults.push("two arms have one name".to_owned());
    }
    if let Some(candidate) = report.arms.first()
        && report.arms.iter().any(|arm| arm.part != Part::Peer && arm.precision != report.precision.label)
    {
        faults.push(format!("the precision of {} or its control is not the report's", candidate.name));
    }
}

fn workloads(report: &Report, faults: &mut Vec<String>) {
    let names: BTreeSet<&str> = report.workloads.iter().map(|workload| workload.name.as_str()).collect();
    if names.len() != report.workloads.len() || names.is_empty() {
        faults.push("workloads have no names of their own".to_owned());
    }
    for workload in &report.workloads {
        let whole = workload.ids.iter().all(|ids| ids.len() == workload.given_ids());
        let known = workload.ids.iter().flatten().all(|id| (*id as usize) < report.model.vocab);
        let shaped =
            if workload.given { workload.steps == 1 && workload.prompt == 0 } else { workload.start() > 0 };
        if !whole || !known || !shaped || workload.ids.is_empty() || workload.chunk == 0 {
            faults.push(format!("{}: ids and lengths do not fit", workload.name));
        } else if !is_of_its_source(workload, report.model.vocab) {
            faults.push(format!("{}: its ids are not those of {}", workload.name, workload.source));
        }
        if !workload.names().contains(&workload.name) {
            faults.push(format!("{}: not a name of its lengths", workload.name));
        }
    }
}
