//! What `kernels` prints beyond the texts of the kernels themselves.

use std::fmt::Write;

use serde_json::{Value, json};
use tilewright_kernels::Shape;
use tilewright_kernels::catalogue::{self, Entry, PipelineEntry};
use tilewright_tile::Pipeline;

fn entries(shape: &Shape) -> impl Iterator<Item = &'static Entry> {
    catalogue::entries().filter(|entry| (entry.fits)(shape))
}

fn pipelines(shape: &Shape) -> impl Iterator<Item = (&'static PipelineEntry, Option<usize>)> {
    let fitting = catalogue::pipelines().filter(|entry| (entry.fits)(shape));
    fitting.map(|entry| (entry, (entry.build)(shape).ok().map(|pipeline| pipeline.dispatches())))
}

/// Every kernel with its variants, every pipeline with its dispatch budget.
pub(super) fn list(shape: &Shape) -> String {
    let mut page = String::new();
    for entry in entries(shape) {
        let _ = writeln!(page, "{}\n    {}", entry.name, entry.summary);
        let names: Vec<String> = entry.variants.iter().map(|variant| entry.full_name(variant)).collect();
        let _ = writeln!(page, "    {}", names.join("\n    "));
    }
    let _ = writeln!(page, "\npipelines");
    for (entry, dispatches) in pipelines(shape) {
        let count = dispatches.map_or("rejected".to_owned(), |n| format!("{n} dispatches"));
        let _ = writeln!(page, "    {}: {count}\n        {}", entry.name, entry.summary);
    }
    page
}

/// The same as one object.
pub(super) fn list_json(shape: &Shape) -> Value {
    let kernel = |entry: &Entry| {
        let names: Vec<String> = entry.variants.iter().map(|variant| entry.full_name(variant)).collect();
        json!({"name": entry.name, "summary": entry.summary, "kernels": names})
    };
    let pipeline = |(entry, dispatches): (&PipelineEntry, Option<usize>)| json!({"name": entry.name, "summary": entry.summary, "dispatches": dispatches});
    json!({
        "entries": entries(shape).map(kernel).collect::<Vec<_>>(),
        "pipelines": pipelines(shape).map(pipeline).collect::<Vec<_>>(),
    })
}

/// The launches of a pipeline in order.
pub(super) fn pipeline(pipeline: &Pipeline) -> String {
    let mut page = format!("pipeline {}, {} dispatches\n", pipeline.name(), pipeline.dispatches());
    for (n, stage) in pipeline.stages().iter().enumerate() {
        let [x, y, z] = stage.groups;
        let kernel = &stage.kernel;
        let threads = kernel.launch().threads;
        let _ = writeln!(page, "{n:>5}  {:<28} {x}x{y}x{z} of {threads}  {}", stage.name, kernel.name());
    }
    page
}

/// Which launches of a pipeline must not overlap, and whether order keeps them apart.
pub(super) fn hazards(pipeline: &Pipeline) -> String {
    let (name, stages) = (pipeline.name().to_owned(), pipeline.stages());
    let mut page = format!("pipeline {name}, {} dispatches\n", pipeline.dispatches());
    let stage = |n: usize| stages.get(n).map_or("", |stage| stage.name.as_str());
    match pipeline.clone().verify() {
        Ok(verified) => {
            for hazard in &verified.facts().covered {
                let (earlier, later) = (stage(hazard.earlier), stage(hazard.later));
                let _ =
                    writeln!(page, "  {later} waits for {earlier}: {} of {}", hazard.kind, hazard.resource);
            }
        }
        Err(error) => {
            let _ = writeln!(page, "{error}");
        }
    }
    page
}
