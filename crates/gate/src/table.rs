//! A report as a table: Markdown or CSV, a row for each workload and metric.

use std::fmt::Write;

use tilewright_model::{Code, Finding, Refusal};

use crate::report::{
    Comparison, Measured, Metric, Outcome, Part, Passed, Report, Summary, Verdict, greatest,
};
use crate::stats::Interval;

#[cfg(test)]
mod tests;

impl Report {
    /// Everything timed.
    ///
    /// # Errors
    /// `gate_failed` with everything that was wrong, of a report of a failure.
    pub fn times(&self) -> Result<&Passed, Refusal> {
        match &self.outcome {
            Outcome::Passed(passed) => Ok(passed),
            Outcome::Failed(failure) => {
                let finding =
                    |what: &String| Finding::new(&failure.stage, "agreement with the reference", what);
                Err(Refusal::with_findings(Code::GateFailed, failure.what.iter().map(finding).collect()))
            }
        }
    }
}

/// A row of the table.
struct Row<'a> {
    measured: &'a Measured,
    metric: Metric,
    ours: &'a Summary,
    peers: Vec<(&'a Summary, &'a Comparison)>,
}

impl Row<'_> {
    /// Whether it stands in the table of several reports.
    fn is_headline(&self) -> bool {
        let is_part = self.metric != Metric::Total
            && self.measured.summaries.iter().any(|summary| summary.metric == Metric::Total);
        !is_part && !self.measured.workload.starts_with("tuning")
    }
}

fn rows<'a>(report: &'a Report, passed: &'a Passed) -> Vec<Row<'a>> {
    let Some(candidate) = report.arms.first() else { return Vec::new() };
    let mut rows = Vec::new();
    for measured in &passed.measured {
        for ours in measured.summaries.iter().filter(|summary| summary.arm == candidate.name) {
            let of = |comparison: &'a Comparison| {
                let peer = measured.summary(&comparison.peer, comparison.metric)?;
                (comparison.metric == ours.metric).then_some((peer, comparison))
            };
            let peers = measured.comparisons.iter().filter_map(of).collect();
            rows.push(Row { measured, metric: ours.metric, ours, peers });
        }
    }
    rows
}

/// Tokens a second with three or four digits.
pub fn rate(rate: f64) -> String {
    match rate {
        rate if rate < 100.0 => format!("{rate:.2}"),
        rate if rate < 1000.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

/// Nanoseconds in a unit that suits them.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.3} s", ns / 1e9),
    }
}

/// An engine's times of a row.
fn spread(summary: &Summary) -> String {
    let Summary { arm, median, least, most, rate: tokens, .. } = summary;
    let [at, low, high, least, most] = [median.at, median.low, median.high, *least, *most].map(time);
    format!("{arm} | {} | {at} ({low} to {high}) | {least} to {most}", rate(*tokens))
}

/// A ratio with its interval.
fn interval(ratio: Interval) -> String {
    format!("{:.2} ({:.2} to {:.2})", ratio.at, ratio.low, ratio.high)
}

/// What was compared before anything was timed.
fn compared(report: &Report) -> String {
    let (p, [logits, keys, values]) = (&report.precision, greatest(&report.checks));
    let unit = if p.scaled { ", in units of the wanted values' root mean square" } else { "" };
    let replays = match report.replays.len() {
        0 => String::new(),
        count => format!(" and {count} prompts taken in by one call"),
    };
    format!(
        "Before timing {} places{replays} were compared with the float64 reference: greatest errors {logits} in logits, {keys} \
         in keys and {values} in values{unit}; allowed is {} + {} × |wanted|. Ratios are of times, above 1 for tilewright.\n",
        report.checks.len(),
        p.atol,
        p.rtol
    )
}

/// The table in Markdown, with what was measured above it and what may be said below.
///
/// # Errors
/// `gate_failed` of a report of a failure.
pub fn markdown(report: &Report) -> Result<String, Refusal> {
    let passed = report.times()?;
    let mut page = String::new();
    let arms: Vec<String> =
        report.arms.iter().map(|arm| format!("{} ({})", arm.version, arm.precision)).skip(2).collect();
    let _ = writeln!(
        page,
        "{}, {}, on {} ({}, {} threads), {} rounds; {}.",
        report.model.name,
        report.precision.label,
        report.method.device,
        report.method.kernels,
        report.method.threads,
        report.method.trials,
        if arms.is_empty() { "no peer".to_owned() } else { format!("beside {}", arms.join("; ")) },
    );
    for absent in &report.absent {
        let _ = writeln!(page, "Absent: {} ({}).", absent.name, absent.reason);
    }
    if let Some(packing) = &report.packing {
        let _ = writeln!(page, "Held packed: {}.", packing.describe());
    }
    let _ = writeln!(page, "{}", compared(report));
    page.push_str(
        "| test | what | engine | tok/s | median (95 %) | least to most | median of ratios (95 %) | ratio of medians (95 %) \
         | rounds won | noise |\n",
    );
    let _ = writeln!(page, "|{}", " --- |".repeat(10));
    for row in rows(report, passed) {
        let test = format!("| {} | {} |", row.measured.workload, row.metric);
        let _ = writeln!(page, "{test} {} | | | | |", spread(row.ours));
        let of = |name: &str| row.measured.summary(name, row.metric);
        for noise in row.measured.noise.iter().filter(|noise| noise.metric == row.metric) {
            let again =
                report.arms.iter().find(|arm| arm.part == Part::Control).and_then(|arm| of(&arm.name));
            if let Some(again) = again {
                let (ratio, noise) = (interval(noise.median_of_ratios), 100.0 * noise.noise);
                let _ = writeln!(page, "{test} {} | {ratio} | | | {noise:.1} % |", spread(again));
            }
        }
        for (peer, c) in &row.peers {
            let (paired, overall) = (interval(c.median_of_ratios), interval(c.ratio_of_medians));
            let won = format!("{} of {}", c.wins, c.ratios.len());
            let _ = writeln!(page, "{test} {} | {paired} | {overall} | {won} | |", spread(peer));
        }
    }
    let headlines: Vec<String> = passed
        .measured
        .iter()
        .flat_map(|measured| {
            measured.comparisons.iter().map(|c| format!("- {}, {}", measured.workload, c.headline))
        })
        .collect();
    if !headlines.is_empty() {
        let _ = write!(page, "\n{}\n", headlines.join("\n"));
    }
    if let Some(selection) = &passed.selection {
        let _ = write!(page, "\nChunk {}, chosen on the tuning document.\n", selection.chunk);
    }
    Ok(page)
}

/// The reports that no newer one of the same file name and kind of machine follows, in their order.
fn newest<'a, 'b>(reports: &'b [(&'a str, &'a Report)]) -> impl Iterator<Item = (&'a str, &'a Report)> + 'b {
    let experiment = |(path, report): (&'a str, &'a Report)| (path.rsplit('/').next(), &report.machine.class);
    reports.iter().copied().filter(move |one| {
        !reports.iter().any(|other| experiment(*one) == experiment(*other) && one.1.created < other.1.created)
    })
}

/// One table of several reports, by their paths: of an experiment and a kind of machine the newest. A ratio stands where a
/// difference was shown, else what may be said. Left to the reports are the parts of what has a total, and runs that only chose a
/// parameter.
pub fn overview(reports: &[(&str, &Report)]) -> String {
    let mut page = String::from(
        "| model, weights, KV | machine | test | tilewright, tok/s | beside | tok/s | ratio (95 %) | noise |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (path, report) in newest(reports) {
        let link = path.trim_end_matches("json");
        let precision = &report.precision;
        let model = format!("{}, {}, {}", report.model.name, precision.weights, precision.kv);
        let machine = &report.machine.class;
        let Some(passed) = report.passed() else {
            let _ = writeln!(
                page,
                "| [{model}]({link}json) | {machine} | {} failed the gate: no times | | | | | |",
                report.program
            );
            continue;
        };
        let busy = Passed::busy(passed.load, report.machine.cores);
        let machine = if busy { &format!("{machine}, busy with other work") } else { machine };
        for row in rows(report, passed).into_iter().filter(Row::is_headline) {
            let noise = row.measured.noise.iter().find(|noise| noise.metric == row.metric);
            let noise = noise.map_or(String::new(), |n| format!("{:.1} %", 100.0 * n.noise));
            let test = format!("{} {}", row.measured.workload, row.metric);
            let ours = rate(row.ours.rate);
            for (peer, comparison) in &row.peers {
                let said = match comparison.verdict {
                    Verdict::Faster | Verdict::Slower => interval(comparison.median_of_ratios),
                    Verdict::NotShown => "no difference shown".to_owned(),
                    Verdict::Refused => "nothing is said".to_owned(),
                };
                let (name, theirs) = (&comparison.peer, rate(peer.rate));
                let _ = writeln!(
                    page,
                    "| [{model}]({link}md) | {machine} | {test} | {ours} | {name} | {theirs} | {said} | {noise} |"
                );
            }
            if row.peers.is_empty() {
                let _ =
                    writeln!(page, "| [{model}]({link}md) | {machine} | {test} | {ours} | – | | | {noise} |");
            }
        }
    }
    page
}

/// The table as CSV, one line for each arm, workload and metric; times in nanoseconds.
///
/// # Errors
/// `gate_failed` of a report of a failure.
pub fn csv(report: &Report) -> Result<String, Refusal> {
    let passed = report.times()?;
    let mut page = String::from(
        "model,weights,device,threads,test,what,arm,trials,median_ns,low_ns,high_ns,least_ns,most_ns,tokens_per_second\n",
    );
    for measured in &passed.measured {
        for summary in &measured.summaries {
            let cells = [
                report.model.name.clone(),
                report.precision.weights.clone(),
                report.method.device.clone(),
                report.method.threads.to_string(),
                measured.workload.clone(),
                summary.metric.to_string(),
                summary.arm.clone(),
                summary.trials.to_string(),
                summary.median.at.to_string(),
                summary.median.low.to_string(),
                summary.median.high.to_string(),
                summary.least.to_string(),
                summary.most.to_string(),
                summary.rate.to_string(),
            ];
            let _ = writeln!(page, "{}", cells.map(|cell| quoted(&cell)).join(","));
        }
    }
    Ok(page)
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
