//! The little of SVG that the drawings need.

use std::fmt::Write;

/// Colours of the engines in their order: ours, ours again, then the peers.
const COLOURS: [&str; 6] = ["#1f77b4", "#7fb3d8", "#d1495b", "#d98b0b", "#4b9b6e", "#8a5fb0"];

/// The colour of the engine at `index`.
pub(super) fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Text that is safe in HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// From values to places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    /// `from..to` on `start..end`, by differences.
    pub(super) fn linear(from: f64, to: f64, start: f64, end: f64) -> Self {
        Self { from, to, start, end, log: false }
    }

    /// The same by ratios; both values are above 0.
    pub(super) fn log(from: f64, to: f64, start: f64, end: f64) -> Self {
        Self { from, to, start, end, log: true }
    }

    /// The place of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.start + share * (self.end - self.start)
    }

    /// Round values within the scale: 1, 2 and 5 with zeros.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        if self.log {
            let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
            let all: Vec<f64> =
                powers.flat_map(|p| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(p))).collect();
            let inside = |steps: usize| -> Vec<f64> {
                let chosen = all.iter().enumerate().filter(|(i, _)| i % steps == 0);
                chosen.map(|(_, v)| *v).filter(|v| *v >= self.from && *v <= self.to).collect()
            };
            return [1, 3, 6, 12].into_iter().map(inside).find(|t| t.len() <= most).unwrap_or_default();
        }
        let rough = (self.to - self.from) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|d| d * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

/// A number on an axis.
pub(super) fn label(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A drawing under way.
#[derive(Debug, Default)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    /// A line of a class.
    pub(super) fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        let _ = writeln!(
            self.body,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    /// A line of a colour and width.
    pub(super) fn stroke(&mut self, colour: &str, width: f64, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        let _ = writeln!(
            self.body,
            "<line stroke=\"{colour}\" stroke-width=\"{width}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    /// A dot with what it stands for.
    pub(super) fn dot(&mut self, colour: &str, radius: f64, opacity: f64, [x, y]: [f64; 2], title: &str) {
        let _ = writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\" fill-opacity=\"{opacity}\"><title>{}</title></circle>",
            escape(title)
        );
    }

    /// A band from the top to the bottom.
    pub(super) fn band(&mut self, left: f64, right: f64, top: f64, bottom: f64) {
        let (width, height) = (right - left, bottom - top);
        let _ = writeln!(
            self.body,
            "<rect class=\"band\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        );
    }

    /// Text; `anchor` is `start`, `middle` or `end`.
    pub(super) fn text(&mut self, class: &str, anchor: &str, [x, y]: [f64; 2], text: &str) {
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text)
        );
    }

    /// The drawing, with a title for those who do not see it.
    pub(super) fn finish(self, width: f64, height: f64, title: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">\n<title>{}</title>\n{}</svg>\n",
            escape(title),
            self.body
        )
    }
}
