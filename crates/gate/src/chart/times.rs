//! Every trial of every engine, on an axis that begins at nothing.

use super::svg::{Scale, Svg, colour, label};
use crate::report::{Metric, Passed, Report};
use crate::table;

const LEFT: f64 = 130.0;
const RIGHT: f64 = 730.0;
const WIDTH: f64 = 900.0;
const ROW: f64 = 20.0;

/// A panel for each workload and metric.
pub(super) fn draw(report: &Report, passed: &Passed) -> String {
    let mut drawings = String::new();
    for (measured, workload) in passed.measured.iter().zip(&report.workloads) {
        for &metric in Metric::of(workload) {
            let mut svg = Svg::default();
            let most =
                measured.summaries.iter().filter(|s| s.metric == metric).map(|s| s.most).fold(0.0, f64::max);
            let unit = if most < 1e6 {
                ("µs", 1e3)
            } else if most < 1e9 {
                ("ms", 1e6)
            } else {
                ("s", 1e9)
            };
            let scale = Scale::linear(0.0, most * 1.04 / unit.1, LEFT, RIGHT);
            let bottom = 26.0 + ROW * report.arms.len() as f64;
            svg.text("", "start", [4.0, 14.0], &format!("{}: {metric}", workload.name));
            for tick in scale.ticks(8) {
                svg.line("rule", [scale.at(tick), 22.0], [scale.at(tick), bottom]);
                svg.text("faint", "middle", [scale.at(tick), bottom + 14.0], &label(tick));
            }
            svg.text("faint", "start", [RIGHT + 8.0, bottom + 14.0], unit.0);
            for (index, arm) in report.arms.iter().enumerate() {
                let y = 26.0 + ROW * (index as f64 + 0.5);
                svg.text("", "end", [LEFT - 8.0, y + 4.0], &arm.name);
                let Some(summary) = measured.summary(&arm.name, metric) else { continue };
                let x = |ns: f64| scale.at(ns / unit.1);
                let tone = colour(index);
                svg.stroke(tone, 5.0, [x(summary.median.low), y], [x(summary.median.high), y]);
                svg.stroke(tone, 2.5, [x(summary.median.at), y - 8.0], [x(summary.median.at), y + 8.0]);
                for (round, time) in measured.times(&arm.name, metric).into_iter().enumerate() {
                    svg.dot(tone, 3.5, 0.55, [x(time), y], &format!("round {round}: {}", table::time(time)));
                }
                let right = format!("{} tok/s", table::rate(summary.rate));
                svg.text("", "start", [RIGHT + 30.0, y + 4.0], &right);
            }
            drawings.push_str(&svg.finish(
                WIDTH,
                bottom + 22.0,
                &format!("Times of {}, {metric}", workload.name),
            ));
        }
    }
    drawings
}
