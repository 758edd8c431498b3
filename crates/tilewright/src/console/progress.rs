//! Progress bars, on a terminal only.

use std::borrow::Cow;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tilewright_engine::{Progress, Stage};

use super::Console;

/// How far a piece of work is. Cleared when dropped.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar on this console; hidden where nothing may be drawn.
    pub(super) fn new(console: &Console, what: impl Into<Cow<'static, str>>) -> Self {
        let target =
            if console.draws() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target).with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent} % {eta}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Draws that `done` of `total` is done.
    pub(crate) fn report(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How far loading a model is, stage by stage.
pub(crate) struct LoadingBar {
    bar: Bar,
    stage: Option<Stage>,
}

impl LoadingBar {
    /// A bar on this console; hidden where nothing may be drawn.
    pub(crate) fn new(console: &Console) -> Self {
        Self { bar: console.bar("loading"), stage: None }
    }

    /// Takes a report of the engine.
    pub(crate) fn report(&mut self, progress: Progress) {
        if self.stage.replace(progress.stage) != Some(progress.stage) {
            self.bar.0.set_message(progress.stage.to_string());
            self.bar.0.reset();
        }
        self.bar.report(progress.done, progress.total);
    }
}
