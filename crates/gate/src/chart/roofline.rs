//! What ours reaches of what the device can do.

use std::fmt::Write;

use super::svg::{Scale, Svg, colour, escape, label};
use crate::report::{Passed, Report, per_second};
use crate::roof::{Bound, Phase, Roof, phases};
use crate::table;

const PROCESSOR: &str = "Ours at the median. The lines are the read bandwidth and multiply-add rate measured before or after, the \
    higher of each; bytes are the weights once for each pass over them, and the keys and values read. Caches can carry \
    small models past the slope, and integer products past the level of f32.";
const GPU: &str = "Ours at the median. The lines are the read bandwidth of the GPU's memory and its rate of products in the precision of the \
    run, each the median of its trials, before or after, the higher; bytes are the weights once for each pass over them, and \
    the keys and values read. Which of the two takes longer is a phase's ceiling. The second-level cache can carry small models past \
    the slope; what the host does is in the times.";

/// What is said above the drawing, and the drawing; `None` where the device that ran was not measured.
pub(super) fn draw(report: &Report, passed: &Passed) -> Option<(&'static str, String)> {
    let roof = Roof::of(report, passed)?;
    let phases = phases(report, passed);
    if phases.is_empty() {
        return None;
    }
    let drawing = drawing(&roof, &phases);
    Some(match &roof.gpu {
        // Against the processor's nothing is said in figures: caches and integers pass both.
        None => (PROCESSOR, drawing),
        Some(_) => (GPU, format!("{drawing}{}", reached(&roof, &phases))),
    })
}

fn drawing(roof: &Roof, phases: &[Phase]) -> String {
    let (read, most) = (roof.read, roof.rate);
    let (unit, prefix) = if roof.gpu.is_some() { (1e12, "T") } else { (1e9, "G") };
    let intensity = |phase: &Phase| phase.operations / phase.bytes;
    let rate = |phase: &Phase| phase.operations / (phase.ns / 1e9);
    let ridge = most / read;
    let span = |of: &dyn Fn(&Phase) -> f64, also: [f64; 2]| {
        let all = || phases.iter().map(of).chain(also);
        (all().fold(f64::INFINITY, f64::min) / 2.0, all().fold(0.0, f64::max) * 2.0)
    };
    let (left, right) = span(&intensity, [ridge, ridge]);
    let (low, high) = span(&rate, [most, read * left * 2.0]);
    let (x, y) = (Scale::log(left, right, 80.0, 860.0), Scale::log(low, high, 360.0, 20.0));
    let mut svg = Svg::default();
    for tick in x.ticks(10) {
        svg.line("rule", [x.at(tick), 20.0], [x.at(tick), 360.0]);
        svg.text("faint", "middle", [x.at(tick), 376.0], &label(tick));
    }
    for tick in y.ticks(8) {
        svg.line("rule", [80.0, y.at(tick)], [860.0, y.at(tick)]);
        svg.text("faint", "end", [74.0, y.at(tick) + 4.0], &label(tick / unit));
    }
    svg.text("faint", "end", [860.0, 394.0], "operations for a byte");
    let of = roof.gpu.as_ref().map_or(String::new(), |gpu| format!(" of {gpu}"));
    svg.text("faint", "start", [6.0, 14.0], &format!("{prefix}FLOP/s{of}"));
    let slope = |at: f64| [x.at(at), y.at((read * at).min(most))];
    svg.stroke("currentColor", 1.5, slope((low / read).max(left)), slope(ridge));
    svg.stroke("currentColor", 1.5, slope(ridge), slope(right));
    let level = match &roof.gpu {
        Some(_) => per_second(most, "FLOP/s"),
        None => format!("{:.0} GFLOP/s", most / 1e9),
    };
    svg.text("faint", "end", [854.0, y.at(most) - 6.0], &format!("{}, {level}", roof.products));
    let middle = (left.max(low / read) * ridge).sqrt();
    let reading = match &roof.gpu {
        Some(_) => format!("read, {}", per_second(read, "B/s")),
        None => format!("read, {:.1} GB/s", read / 1e9),
    };
    let beside = [x.at(middle) - 8.0, y.at(read * middle) - 4.0];
    svg.text("faint", "end", beside, &reading);
    let mut taken: Vec<[f64; 2]> = Vec::new();
    for phase in phases {
        let at = [x.at(intensity(phase)), y.at(rate(phase))];
        let title = format!("{}: {:.1} {prefix}FLOP/s", phase.name, rate(phase) / unit);
        svg.dot(colour(0), 4.5, 0.9, at, &title);
        // Labels of close points move down until they are clear of one another.
        let mut place = [at[0] + 8.0, at[1] + 4.0];
        while taken.iter().any(|t| (t[0] - place[0]).abs() < 110.0 && (t[1] - place[1]).abs() < 13.0) {
            place[1] += 13.0;
        }
        taken.push(place);
        let flips = place[0] > 760.0;
        let (anchor, shift) = if flips { ("end", -16.0) } else { ("start", 0.0) };
        svg.text("", anchor, [place[0] + shift, place[1]], &phase.name);
    }
    svg.finish(900.0, 400.0, "Roofline")
}

/// The ceiling of each phase by name, and how much of it was reached.
fn reached(roof: &Roof, phases: &[Phase]) -> String {
    let mut table = String::from(
        "<table>\n<tr><th>phase</th><th>operations for a byte</th><th>ceiling</th><th>least time</th><th>median</th>\
         <th>reached</th></tr>\n",
    );
    for phase in phases {
        let (floor, bound) = roof.floor(phase);
        let ceiling = match bound {
            Bound::Read => format!("read, {}", per_second(roof.read, "B/s")),
            Bound::Products => format!("{}, {}", roof.products, per_second(roof.rate, "FLOP/s")),
        };
        let _ = writeln!(
            table,
            "<tr><th>{}</th><td>{:.1}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.0} %</td></tr>",
            escape(&phase.name),
            phase.operations / phase.bytes,
            escape(&ceiling),
            table::time(floor),
            table::time(phase.ns),
            100.0 * floor / phase.ns
        );
    }
    table.push_str("</table>\n");
    table
}
