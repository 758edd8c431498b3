//! NVRTC compiles CUDA texts; what the machine code uses is a committed table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tilewright_kernels::Shape;
use tilewright_shim::{ARCHITECTURES, Nvrtc};
use tilewright_tile::emit::{self, CUDA_OPTIONS};

use super::digest;
use super::table::{Row, Table};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/performance");

/// Texts known to the table that are compiled all the same, other ones for each tree.
const SAMPLE: usize = 24;

/// Whose numbers the table holds.
const VERSION: (u32, u32) = (13, 0);

/// A kernel and an architecture.
type Job = (String, String);

/// The CUDA text of every kernel, by name.
fn texts() -> BTreeMap<String, String> {
    let text = |kernel: &_| emit::cuda(kernel);
    super::kernels(&Shape::QWEN3_0_6B).iter().map(|k| (k.name().to_owned(), text(k))).collect()
}

/// A text as the table knows it.
fn known_as(text: &str) -> String {
    digest(&format!("{} {text}", CUDA_OPTIONS.join(" ")))
}

fn every_job(texts: &BTreeMap<String, String>) -> impl Iterator<Item = Job> {
    texts.keys().flat_map(|name| ARCHITECTURES.map(|a| (name.clone(), a.to_owned())))
}

/// Some of the jobs, which ones depends on the tree; without git, on the texts.
fn sample(texts: &BTreeMap<String, String>) -> Vec<Job> {
    let git = Command::new("git").args(["rev-parse", "HEAD^{tree}"]).output();
    let tree = match git {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        _ => texts.values().map(|text| known_as(text)).collect(),
    };
    let mut jobs: Vec<Job> = every_job(texts).collect();
    jobs.sort_by_cached_key(|(name, architecture)| digest(&format!("{tree} {name} {architecture}")));
    jobs.truncate(SAMPLE);
    jobs
}

/// Compiles, on all cores.
fn compile(nvrtc: &Nvrtc, texts: &BTreeMap<String, String>, jobs: &[Job]) -> Table {
    let (next, made) = (AtomicUsize::new(0), Mutex::new(Table::default()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (name, architecture) = job;
                    let text = &texts[name];
                    let usage = nvrtc
                        .compile(text, architecture)
                        .unwrap_or_else(|e| panic!("{name}, {architecture}: {e}\n{text}"));
                    assert!(usage.registers > 0, "{name}, {architecture}: {usage:?}");
                    made.lock().unwrap().0.insert(job.clone(), Row { text: known_as(text), usage });
                }
            });
        }
    });
    made.into_inner().unwrap()
}

/// Compiles what `jobs` names of the texts and holds it against the table; with `UPDATE=1`, writes table and page.
fn check(jobs: impl FnOnce(&BTreeMap<String, String>, &Table) -> BTreeSet<Job>) {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let nvrtc = match Nvrtc::find(&target.join("ci/nvrtc/nvidia/cu13/lib"), target.join("nvrtc")) {
        Ok(nvrtc) => nvrtc,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let (csv, page) = (Path::new(FOLDER).join("registers.csv"), Path::new(FOLDER).join("registers.md"));
    let mut table = Table::read(&std::fs::read_to_string(&csv).unwrap_or_default());
    let texts = texts();
    let jobs: Vec<Job> = jobs(&texts, &table).into_iter().collect();
    let made = compile(&nvrtc, &texts, &jobs);
    if nvrtc.version() != VERSION {
        return eprintln!("skipped: {} texts compile, but the table is of NVRTC {VERSION:?}", jobs.len());
    }
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        table.0.retain(|(name, _), _| texts.contains_key(name));
        table.0.extend(made.0.clone());
        std::fs::write(&csv, table.csv()).unwrap();
        std::fs::write(&page, table.page()).unwrap();
    }
    let known = |(job, row): &(&Job, &Row)| table.0.get(*job).is_some_and(|known| known.text == row.text);
    let differs = |(job, row): &(&Job, &Row)| table.0.get(*job) != Some(*row);
    let differing: Vec<_> = made.0.iter().filter(known).filter(differs).collect();
    assert!(differing.is_empty(), "not as in {}; UPDATE=1 rewrites it: {differing:#?}", csv.display());
    let spilling: Vec<_> = made.0.iter().chain(&table.0).filter(|(_, row)| row.usage.spilled > 0).collect();
    assert!(spilling.is_empty(), "registers spill: {spilling:#?}");
}

#[test]
fn cuda_texts_compile_for_every_architecture_and_use_what_the_table_says() {
    check(|texts, table| {
        let known = |job: &Job| table.0.get(job).is_some_and(|row| row.text == known_as(&texts[&job.0]));
        every_job(texts).filter(|job| !known(job)).chain(sample(texts)).collect()
    });
}

#[test]
#[ignore = "minutes: every text for every architecture, also those that the table knows"]
fn every_cuda_text_compiles_again_to_what_the_table_says() {
    check(|texts, _| every_job(texts).collect());
}
