//! A report as a page: HTML with drawings in SVG, readable without scripts, with every trial in it.

mod cost;
mod ratios;
mod roofline;
mod svg;
#[cfg(test)]
mod tests;
mod times;

use std::fmt::Write;

use crate::report::{Arm, Clocks, Failure, Measured, Outcome, Passed, Report, greatest};
use crate::table;
use svg::escape;

/// The page of a report.
pub fn page(report: &Report) -> String {
    let title = format!("{}, {}, {}", report.program, report.model.name, report.machine.class);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <main>\n<h1>{0}</h1>\n",
        escape(&title)
    );
    facts(&mut page, report);
    match &report.outcome {
        Outcome::Passed(passed) => times(&mut page, report, passed),
        Outcome::Failed(failed) => failure(&mut page, failed),
    }
    checks(&mut page, report);
    let _ = writeln!(page, "<p class=\"seal\">seal {}</p>\n</main>\n</body>\n</html>", report.seal);
    page
}

fn facts(page: &mut String, report: &Report) {
    let machine = &report.machine;
    let memory = machine.memory.map(|bytes| format!(", {:.0} GiB", bytes as f64 / f64::from(1 << 30)));
    let mut rows = vec![
        ("measured", report.created.clone()),
        (
            "machine",
            format!(
                "{}, {} cores, {}{}, {}",
                machine.processor,
                machine.cores,
                machine.features,
                memory.unwrap_or_default(),
                machine.system
            ),
        ),
        (
            "model",
            format!("{}, {} layers, hidden {}", report.model.name, report.model.layers, report.model.hidden),
        ),
        ("precision", report.precision.label.clone()),
        (
            "device",
            format!("{}, {}, {} threads", report.method.device, report.method.kernels, report.method.threads),
        ),
        (
            "rounds",
            format!("{} after {} warm-ups, order changing", report.method.trials, report.method.warmups),
        ),
        ("a time includes", report.method.includes.join("; ")),
        ("and not", report.method.excludes.join("; ")),
        ("remarks", report.method.remarks.join(" ")),
    ];
    if let Some(packing) = &report.packing {
        rows.push(("held packed", packing.describe()));
    }
    if let Some(gpu) = &machine.gpu {
        rows.push(("GPU", format!("{}, driver {}", gpu.name, gpu.driver.as_deref().unwrap_or("not known"))));
    }
    for arm in report.arms.iter().skip(2) {
        rows.push(("beside", format!("{}, {}. {}", arm.version, arm.precision, arm.remarks.join("; "))));
    }
    for absent in &report.absent {
        rows.push(("absent", format!("{}: {}", absent.name, absent.reason)));
    }
    page.push_str("<table class=\"facts\">\n");
    for (name, text) in rows {
        let _ = writeln!(page, "<tr><th>{name}</th><td>{}</td></tr>", escape(&text));
    }
    page.push_str("</table>\n");
}

fn failure(page: &mut String, failure: &Failure) {
    let _ = writeln!(
        page,
        "<h2>Failed: no times</h2>\n<p>{}, at the stage {}.</p>\n<ul>",
        escape(&failure.workload),
        escape(&failure.stage)
    );
    for what in &failure.what {
        let _ = writeln!(page, "<li>{}</li>", escape(what));
    }
    page.push_str("</ul>\n");
}

fn times(page: &mut String, report: &Report, passed: &Passed) {
    if Passed::busy(passed.load, report.machine.cores) {
        page.push_str("<p><b>The machine was busy with other work: these times say little.</b></p>\n");
    }
    let comparisons = || passed.measured.iter().flat_map(|m| m.comparisons.iter().map(move |c| (m, c)));
    if comparisons().next().is_some() {
        page.push_str("<h2>What may be said</h2>\n<ul>\n");
        for (measured, comparison) in comparisons() {
            let (workload, headline) = (escape(&measured.workload), escape(&comparison.headline));
            let _ = writeln!(page, "<li><b>{workload}</b> {headline}</li>");
        }
        page.push_str("</ul>\n");
        section(page, "Ratios", RATIOS, &ratios::draw(passed));
    }
    section(page, "Times", TIMES, &times::draw(report, passed));
    if let Some((note, drawing)) = roofline::draw(report, passed) {
        section(page, "Roofline", note, &drawing);
    }
    for (title, note, drawing) in cost::draw(report, passed) {
        section(page, title, note, &drawing);
    }
    page.push_str("<h2>Every trial</h2>\n");
    for measured in &passed.measured {
        trials(page, &report.arms, measured);
    }
    ceilings(page, passed);
    for [before, after] in passed.load.iter() {
        let _ = writeln!(
            page,
            "<p>Load averages over 1, 5 and 15 minutes: {before:?} before, {after:?} after.</p>"
        );
    }
    if let Some([before, after]) = passed.clocks {
        let _ = writeln!(page, "<p>Clocks: {} before, {} after.</p>", clocks(before), clocks(after));
    }
}

/// Every trial of a GPU's ceilings.
fn ceilings(page: &mut String, passed: &Passed) {
    for (index, ceilings) in passed.device_ceilings.iter().enumerate() {
        let when = if index == 0 { "before" } else { "after" };
        let of = format!("ceilings of {}, {}, {when}", ceilings.device, ceilings.name);
        let _ = writeln!(
            page,
            "<details><summary>{}</summary>\n<table>\n<tr><th>what</th><th>median</th><th>every trial</th></tr>",
            escape(&of)
        );
        for (name, unit, rate) in ceilings.rates() {
            let times: Vec<String> = rate.times_ns.iter().map(|ns| table::time(*ns)).collect();
            let _ = writeln!(
                page,
                "<tr><th>{}</th><td>{}</td><td>{}</td></tr>",
                escape(&name),
                rate.describe(unit),
                times.join(", ")
            );
        }
        page.push_str("</table></details>\n");
    }
}

fn clocks(at: Clocks) -> String {
    let parts =
        [("processor", at.processor_mhz, "MHz"), ("GPU", at.gpu_mhz, "MHz"), ("GPU", at.gpu_celsius, "°C")];
    let known: Vec<String> = parts
        .into_iter()
        .filter_map(|(what, value, unit)| Some(format!("{what} {:.0} {unit}", value?)))
        .collect();
    if known.is_empty() { "not known".to_owned() } else { known.join(", ") }
}

const RATIOS: &str = "The other engine's time over ours, pair by pair (small dots), their median and its 95 % interval; above it, \
    thin, the ratio of the two medians with its own. Right of 1 we are faster. The band is the noise: how far two runs of the same engine lie apart.";
const TIMES: &str =
    "Each dot is a trial; none is left out. The tall mark is the median, the bar its 95 % interval.";
fn section(page: &mut String, title: &str, note: &str, drawing: &str) {
    let _ = writeln!(page, "<h2>{title}</h2>\n<p>{note}</p>\n{drawing}");
}

fn trials(page: &mut String, arms: &[Arm], measured: &Measured) {
    let _ = writeln!(
        page,
        "<details><summary>{}</summary>\n<table>\n<tr><th>round</th><th>place</th><th>engine</th><th>prompt</th>\
         <th>steps</th><th>ids</th></tr>",
        escape(&measured.workload)
    );
    let rows =
        measured.warmups.iter().map(|t| ("warm-up ", t)).chain(measured.trials.iter().map(|t| ("", t)));
    for (kind, trial) in rows {
        let time = |ns: Option<u64>| ns.map_or(String::new(), |ns| table::time(ns as f64));
        let known = arms.iter().any(|arm| arm.name == trial.arm);
        let ids = if known { trial.ids.first().map_or(0, Vec::len) * trial.ids.len() } else { 0 };
        let _ = writeln!(
            page,
            "<tr><td>{kind}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{ids}</td></tr>",
            trial.round,
            trial.slot,
            escape(&trial.arm),
            time(trial.prompt_ns),
            time(trial.decode_ns)
        );
    }
    page.push_str("</table></details>\n");
}

fn checks(page: &mut String, report: &Report) {
    let most = |error: Option<f64>| error.map_or("not a number".to_owned(), |most| format!("{most:.2e}"));
    let [logits, keys, values] = greatest(&report.checks);
    let p = &report.precision;
    let unit = if p.scaled { " in units of the wanted values' root mean square" } else { "" };
    let _ = writeln!(
        page,
        "<h2>Compared with the reference</h2>\n<p>{} places, before anything was timed: every logit, keys and values of \
         every layer, and the choice. Greatest errors: logits {logits}, keys {keys}, values {values}{unit}; allowed is \
         {} + {} × |wanted| ({}).</p>",
        report.checks.len(),
        p.atol,
        p.rtol,
        escape(&p.tolerance)
    );
    if !report.replays.is_empty() {
        let [logits, keys, values] = greatest(&report.replays);
        let _ = writeln!(
            page,
            "<p>{} prompts were then taken in as they are timed, by one call, and compared once more: logits {logits}, keys \
             {keys}, values {values}.</p>",
            report.replays.len()
        );
    }
    if let Some(other) = &report.reference {
        let _ = writeln!(
            page,
            "<p>The reference is a forward in float64 by {} on {}. After {} tokens its logits were within {} of those of \
             our own, its keys within {} and its values within {}.</p>",
            escape(&other.version),
            escape(&other.place),
            other.tokens,
            most(other.logits.max_abs),
            most(other.keys.max_abs),
            most(other.values.max_abs)
        );
    }
    for check in &report.peer_checks {
        let _ = writeln!(
            page,
            "<p>{}: logits after {} tokens off by {:.2e} of their size.</p>",
            escape(&check.arm),
            check.prompt,
            check.relative_rms
        );
    }
    page.push_str("<details><summary>SHA-256</summary>\n<table>\n");
    for (name, hash) in &report.fingerprints.before {
        let _ = writeln!(page, "<tr><td>{}</td><td><code>{}</code></td></tr>", escape(name), escape(hash));
    }
    page.push_str("</table></details>\n");
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--faint:#777;--rule:#ddd;--band:#8883}\
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#16181b;--faint:#999;--rule:#383c42;--band:#fff2}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0}\
main{max-width:60rem;margin:0 auto;padding:1rem}h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}\
table{border-collapse:collapse;font-size:.85rem}th,td{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top;\
border-bottom:1px solid var(--rule)}.facts th{white-space:nowrap;color:var(--faint);font-weight:400}\
svg{width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--ink)}svg .faint{fill:var(--faint)}\
svg .rule{stroke:var(--rule)}svg .axis{stroke:var(--faint)}svg .band{fill:var(--band)}code{font-size:.75rem;word-break:break-all}\
.seal{color:var(--faint);font-size:.75rem;word-break:break-all}details{margin:.4rem 0}";
