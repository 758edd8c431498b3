//! Ratios with their intervals, beside the noise.

use super::svg::{Scale, Svg, colour, label};
use crate::report::Passed;

const LEFT: f64 = 250.0;
const RIGHT: f64 = 720.0;
const ROW: f64 = 24.0;

/// One row for each workload, metric and peer.
pub(super) fn draw(passed: &Passed) -> String {
    let rows: Vec<_> =
        passed.measured.iter().flat_map(|m| m.comparisons.iter().map(move |c| (m, c))).collect();
    let all = || rows.iter().flat_map(|(_, c)| c.ratios.iter().copied().chain([1.0]));
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let scale = Scale::log(least / 1.15, most * 1.15, LEFT, RIGHT);
    let (top, bottom) = (10.0, 10.0 + ROW * rows.len() as f64);
    let mut svg = Svg::default();
    for tick in scale.ticks(9) {
        svg.line("rule", [scale.at(tick), top], [scale.at(tick), bottom]);
        svg.text("faint", "middle", [scale.at(tick), bottom + 14.0], &format!("{} ×", label(tick)));
    }
    let mut peers: Vec<&str> = Vec::new();
    for (index, (measured, comparison)) in rows.iter().enumerate() {
        let row = top + ROW * index as f64;
        let y = row + ROW / 2.0;
        let noise =
            measured.noise.iter().find(|noise| noise.metric == comparison.metric).map_or(0.0, |n| n.noise);
        // Noise beyond the drawing ends at its edge.
        let edge = |ratio: f64| scale.at(ratio).clamp(LEFT, RIGHT);
        svg.band(edge(1.0 / (1.0 + noise)), edge(1.0 + noise), row + 2.0, row + ROW - 2.0);
        let place = peers.iter().position(|peer| *peer == comparison.peer).unwrap_or_else(|| {
            peers.push(&comparison.peer);
            peers.len() - 1
        });
        let tone = colour(2 + place);
        let ratio = comparison.median_of_ratios;
        let name = format!("{}, {}, {}", measured.workload, comparison.metric, comparison.peer);
        svg.text("", "end", [LEFT - 10.0, y + 4.0], &name);
        svg.stroke(tone, 3.0, [scale.at(ratio.low), y], [scale.at(ratio.high), y]);
        for ratio in &comparison.ratios {
            svg.dot(tone, 2.5, 0.5, [scale.at(*ratio), y + 6.0], &format!("{ratio:.3}"));
        }
        svg.dot(tone, 5.0, 1.0, [scale.at(ratio.at), y], &format!("{:.3}", ratio.at));
        let overall = comparison.ratio_of_medians;
        svg.stroke(tone, 1.0, [edge(overall.low), y - 6.0], [edge(overall.high), y - 6.0]);
        let title = format!("ratio of medians {:.3} ({:.3} to {:.3})", overall.at, overall.low, overall.high);
        svg.dot(tone, 3.0, 0.8, [edge(overall.at), y - 6.0], &title);
        let text = format!("{:.2} ({:.2} to {:.2})", ratio.at, ratio.low, ratio.high);
        svg.text("", "start", [RIGHT + 10.0, y + 4.0], &text);
    }
    svg.line("axis", [scale.at(1.0), top], [scale.at(1.0), bottom]);
    svg.finish(900.0, bottom + 22.0, "Ratios of times with intervals")
}
