//! Cost against depth, against the length of a prompt and against the number of sequences.

use super::svg::{Scale, Svg, colour, label};
use crate::report::{Measured, Metric, Passed, Report, Workload};

const DEPTH: &str =
    "Milliseconds a token (median and its interval) against the tokens before it, for each engine.";
const PROMPT: &str =
    "Milliseconds a token of the prompt (median and its interval) against its length, for each engine.";
const BATCH: &str = "Milliseconds a step of all sequences (median and its interval), and tokens a second in all, written beside.";

/// The drawings there is something for: title, note, SVG.
pub(super) fn draw(report: &Report, passed: &Passed) -> Vec<(&'static str, &'static str, String)> {
    let pairs: Vec<_> = passed.measured.iter().zip(&report.workloads).collect();
    let of = |keep: &dyn Fn(&Workload) -> bool| -> Vec<(&Measured, &Workload)> {
        pairs.iter().copied().filter(|(_, workload)| keep(workload)).collect()
    };
    let mut drawings = Vec::new();
    let single = of(&|w| w.ids.len() == 1 && w.prompt == 0 && w.steps > 0);
    if several(&single, |w| w.depth) {
        let drawing = lines(report, &single, (Metric::Decode, |w| w.depth), "tokens before");
        drawings.push(("Cost of context", DEPTH, drawing));
    }
    let prompts = of(&|w| w.ids.len() == 1 && w.depth == 0 && w.prompt > 0 && w.steps == 0);
    if several(&prompts, |w| w.prompt) {
        let drawing = lines(report, &prompts, (Metric::Prompt, |w| w.prompt), "tokens of the prompt");
        drawings.push(("Cost of a prompt", PROMPT, drawing));
    }
    let batch = of(&|w| w.prompt == 0 && w.steps > 0 && !w.given);
    if several(&batch, |w| w.ids.len()) {
        let drawing = lines(report, &batch, (Metric::Decode, |w| w.ids.len()), "sequences");
        drawings.push(("Cost of a batch", BATCH, drawing));
    }
    drawings
}

/// Where the drawing ends; names and rates stand beside it.
const RIGHT: f64 = 690.0;

fn several(rows: &[(&Measured, &Workload)], key: fn(&Workload) -> usize) -> bool {
    rows.iter().any(|(_, w)| key(w) != key(rows[0].1))
}

fn lines(
    report: &Report,
    rows: &[(&Measured, &Workload)],
    (metric, key): (Metric, fn(&Workload) -> usize),
    axis: &str,
) -> String {
    // A step of several sequences is one.
    let ms = |ns: f64, workload: &Workload| {
        ns / 1e6 / if metric == Metric::Prompt { workload.prompt } else { workload.steps } as f64
    };
    let highs = rows.iter().flat_map(|(measured, workload)| {
        measured.summaries.iter().filter(|s| s.metric == metric).map(|s| ms(s.median.high, workload))
    });
    let most = highs.fold(0.0, f64::max) * 1.1;
    let far = rows.iter().map(|(_, w)| key(w)).max().unwrap_or(1) as f64;
    let (x, y) = (Scale::linear(0.0, far * 1.02, 70.0, RIGHT), Scale::linear(0.0, most, 300.0, 20.0));
    let mut svg = Svg::default();
    for tick in x.ticks(9) {
        svg.line("rule", [x.at(tick), 20.0], [x.at(tick), 300.0]);
        svg.text("faint", "middle", [x.at(tick), 316.0], &label(tick));
    }
    for tick in y.ticks(6) {
        svg.line("rule", [70.0, y.at(tick)], [RIGHT, y.at(tick)]);
        svg.text("faint", "end", [64.0, y.at(tick) + 4.0], &label(tick));
    }
    svg.text("faint", "end", [RIGHT, 332.0], axis);
    svg.text("faint", "start", [6.0, 14.0], "ms");
    let mut ends: Vec<f64> = Vec::new();
    for (index, arm) in report.arms.iter().enumerate() {
        let mut points: Vec<_> = rows
            .iter()
            .filter_map(|(m, w)| Some((key(w) as f64, *w, m.summary(&arm.name, metric)?)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let tone = colour(index);
        for pair in points.windows(2) {
            let at = |i: usize| [x.at(pair[i].0), y.at(ms(pair[i].2.median.at, pair[i].1))];
            svg.stroke(tone, 1.5, at(0), at(1));
        }
        for (place, workload, summary) in &points {
            let of = |ns: f64| [x.at(*place), y.at(ms(ns, workload))];
            svg.stroke(tone, 3.0, of(summary.median.low), of(summary.median.high));
            let title = format!("{}, {}: {:.0} tok/s", arm.name, workload.name, summary.rate);
            svg.dot(tone, 4.0, 1.0, of(summary.median.at), &title);
        }
        if let Some((_, workload, summary)) = points.last() {
            let mut end = y.at(ms(summary.median.at, workload)) + 4.0;
            while ends.iter().any(|other| (other - end).abs() < 14.0) {
                end += 14.0;
            }
            ends.push(end);
            let text = format!("{}, {:.0} tok/s", arm.name, summary.rate);
            svg.text("", "start", [RIGHT + 8.0, end], &text);
        }
    }
    svg.finish(900.0, 340.0, &format!("Cost against {axis}"))
}
