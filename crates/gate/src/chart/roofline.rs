//! What ours reaches of what the machine can do.

use super::svg::{Scale, Svg, colour, label};
use crate::report::{Metric, Passed, Report, Workload};

/// A phase of a workload.
struct Point {
    name: String,
    /// Operations for a byte.
    intensity: f64,
    /// Operations a second.
    rate: f64,
}

/// The drawing; `None` where no ceilings were measured, or only the processor's for a run on something else.
pub(super) fn draw(report: &Report, passed: &Passed) -> Option<String> {
    let read = passed.ceilings.iter().map(|c| c.read).reduce(f64::max)?;
    let fma = passed.ceilings.iter().map(|c| c.fma).reduce(f64::max)?;
    let points = points(report, passed);
    if report.method.device != "cpu" || points.is_empty() {
        return None;
    }
    let ridge = fma / read;
    let span = |of: fn(&Point) -> f64, also: [f64; 2]| {
        let all = || points.iter().map(of).chain(also);
        (all().fold(f64::INFINITY, f64::min) / 2.0, all().fold(0.0, f64::max) * 2.0)
    };
    let (left, right) = span(|p| p.intensity, [ridge, ridge]);
    let (low, high) = span(|p| p.rate, [fma, read * left * 2.0]);
    let (x, y) = (Scale::log(left, right, 80.0, 860.0), Scale::log(low, high, 360.0, 20.0));
    let mut svg = Svg::default();
    for tick in x.ticks(10) {
        svg.line("rule", [x.at(tick), 20.0], [x.at(tick), 360.0]);
        svg.text("faint", "middle", [x.at(tick), 376.0], &label(tick));
    }
    for tick in y.ticks(8) {
        svg.line("rule", [80.0, y.at(tick)], [860.0, y.at(tick)]);
        svg.text("faint", "end", [74.0, y.at(tick) + 4.0], &label(tick / 1e9));
    }
    svg.text("faint", "end", [860.0, 394.0], "operations for a byte");
    svg.text("faint", "start", [6.0, 14.0], "GFLOP/s");
    let slope = |at: f64| [x.at(at), y.at((read * at).min(fma))];
    svg.stroke("currentColor", 1.5, slope((low / read).max(left)), slope(ridge));
    svg.stroke("currentColor", 1.5, slope(ridge), slope(right));
    svg.text(
        "faint",
        "end",
        [854.0, y.at(fma) - 6.0],
        &format!("f32 multiply-add, {:.0} GFLOP/s", fma / 1e9),
    );
    let middle = (left.max(low / read) * ridge).sqrt();
    svg.text(
        "faint",
        "end",
        [x.at(middle) - 8.0, y.at(read * middle) - 4.0],
        &format!("read, {:.1} GB/s", read / 1e9),
    );
    let mut taken: Vec<[f64; 2]> = Vec::new();
    for point in &points {
        let at = [x.at(point.intensity), y.at(point.rate)];
        svg.dot(colour(0), 4.5, 0.9, at, &format!("{}: {:.1} GFLOP/s", point.name, point.rate / 1e9));
        // Labels of close points move down until they are clear of one another.
        let mut place = [at[0] + 8.0, at[1] + 4.0];
        while taken.iter().any(|t| (t[0] - place[0]).abs() < 110.0 && (t[1] - place[1]).abs() < 13.0) {
            place[1] += 13.0;
        }
        taken.push(place);
        let flips = place[0] > 760.0;
        let (anchor, shift) = if flips { ("end", -16.0) } else { ("start", 0.0) };
        svg.text("", anchor, [place[0] + shift, place[1]], &point.name);
    }
    Some(svg.finish(900.0, 400.0, "Roofline"))
}

fn points(report: &Report, passed: &Passed) -> Vec<Point> {
    let Some(ours) = report.arms.first() else { return Vec::new() };
    let mut points = Vec::new();
    for (measured, workload) in passed.measured.iter().zip(&report.workloads) {
        let [prompt, decode] = report.model.operations(workload);
        let [prompt_bytes, decode_bytes] = bytes(report, workload);
        for (metric, operations, bytes) in
            [(Metric::Prompt, prompt, prompt_bytes), (Metric::Decode, decode, decode_bytes)]
        {
            if let Some(summary) = measured.summary(&ours.name, metric) {
                points.push(Point {
                    name: format!("{} {metric}", workload.name),
                    intensity: operations / bytes,
                    rate: operations / (summary.median.at / 1e9),
                });
            }
        }
    }
    points
}

/// Bytes of prompt and steps: the weights for each pass over them (a chunk, or a step of all sequences), and the keys and
/// values that attention reads.
fn bytes(report: &Report, workload: &Workload) -> [f64; 2] {
    let p = &report.precision;
    let (weights, position) = (p.bytes_per_token as f64, p.kv_bytes_per_position as f64);
    let sequences = workload.ids.len() as f64;
    let chunks = workload.prompt.div_ceil(workload.chunk) as f64;
    let read: usize = (0..workload.steps).map(|step| workload.start() + step).sum();
    let prompt = sequences * (chunks * weights + workload.start() as f64 * position);
    [prompt, workload.steps as f64 * weights + sequences * read as f64 * position]
}
