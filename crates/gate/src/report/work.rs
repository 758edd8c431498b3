//! What is run, where it is checked, and in which order the arms take turns.

use serde::{Deserialize, Serialize};

use crate::programs::{DOCUMENT, LONG, TUNING_NAME as TUNING};

/// Up to this many tokens in all, logits of every position and the whole cache at every step are compared.
const SHORT: usize = 256;
/// In longer runs the whole cache is compared at every so many outputs, else the new position.
const EVERY: usize = 64;
/// Steps that are checked where a step is timed again and again at one position.
const FIXED_STEPS: usize = 3;

/// One thing to run.
///
/// Each sequence takes in `depth` tokens untimed, then `prompt` tokens timed, and chooses a token; then it takes `steps`
/// timed steps of one token, each the greatest logit of the one before. With `given`, the one step takes the last of its
/// `ids` instead, always at the same position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its name, unique in a report: `pp512`, `tg128 @ d512`, `8/16`, ...
    pub name: String,
    /// Tokens taken in before the clock starts.
    pub depth: usize,
    /// Tokens of the prompt on the clock.
    pub prompt: usize,
    /// Steps of one token on the clock.
    pub steps: usize,
    /// Whether the step's token is given.
    pub given: bool,
    /// Rows of a prefill chunk.
    pub chunk: usize,
    /// Where the ids come from.
    pub source: String,
    /// Ids of each sequence: depth, prompt, and the given token if there is one.
    pub ids: Vec<Vec<u32>>,
}

/// Where a sequence is compared with the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Tokens the sequence holds.
    pub position: usize,
    /// Whether logits after the last of them are compared.
    pub logits: bool,
    /// From which position on keys and values of every layer are compared, if they are.
    pub cache: Option<usize>,
}

impl Workload {
    /// Tokens a sequence holds before the first step.
    pub fn start(&self) -> usize {
        self.depth + self.prompt
    }

    /// Ids a sequence is given.
    pub fn given_ids(&self) -> usize {
        self.start() + usize::from(self.given)
    }

    /// Ids a sequence chooses in a run.
    pub fn outputs(&self) -> usize {
        if self.given { 1 } else { 1 + self.steps }
    }

    /// Steps that are checked.
    pub fn checked_steps(&self) -> usize {
        if self.given { FIXED_STEPS } else { self.steps }
    }

    /// Positions a sequence needs room for.
    pub fn room(&self) -> usize {
        self.start() + self.steps.max(self.checked_steps())
    }

    /// Where each sequence is compared with the reference, in order.
    pub fn points(&self) -> Vec<Point> {
        let (start, steps) = (self.start(), self.checked_steps());
        let short = start + steps <= SHORT;
        let mut points = Vec::new();
        for position in 1..=start {
            let last = position == start;
            let boundary = last || position == self.depth || self.ends_chunk(position);
            // A given token makes the logits before it no output.
            let logits = short || (last && !self.given);
            if logits || boundary {
                points.push(Point { position, logits, cache: boundary.then_some(0) });
            }
        }
        for step in 1..=steps {
            let whole = short || step % EVERY == 0 || step == steps;
            let position = start + step;
            let from = if whole { 0 } else { position - 1 };
            points.push(Point { position, logits: true, cache: Some(from) });
        }
        points
    }

    /// Whether its tokens before the first step are taken in once more, as they are timed: at first the gate takes them in
    /// by pieces, with logits on the way.
    pub fn is_replayed(&self) -> bool {
        self.start() > 1
    }

    /// The names that its lengths allow.
    pub fn names(&self) -> Vec<String> {
        let (depth, prompt, steps, count) = (self.depth, self.prompt, self.steps, self.ids.len());
        let after = if depth == 0 { String::new() } else { format!(" @ d{depth}") };
        let mut names = Vec::new();
        let mut allow = |when: bool, name: String| names.extend(when.then_some(name));
        let (alone, both) = (count == 1 && !self.given, prompt > 0 && steps > 0);
        allow(self.given && count == 1, format!("context {depth}"));
        allow(alone && steps == 0, format!("pp{prompt}{after}"));
        allow(alone && prompt == 0, format!("tg{steps}{after}"));
        // A run of single tokens after nothing begins after one token.
        allow(alone && prompt == 0 && depth == 1, format!("tg{steps}"));
        allow(!self.given && prompt == 0, format!("batch {count}"));
        allow(alone && both && depth == 0, format!("{prompt}/{}", self.outputs()));
        allow(alone && both && depth == 0, format!("{TUNING}{}", self.chunk));
        allow(alone && depth == 0 && [prompt, self.outputs()] == DOCUMENT, LONG.to_owned());
        names
    }

    fn ends_chunk(&self, position: usize) -> bool {
        let within = |from: usize| (position - from).is_multiple_of(self.chunk);
        if position <= self.depth { within(0) } else { within(self.depth) }
    }
}

/// The order in which `arms` run in a round: turned by one place each round, and backwards every other one, so that none
/// is always first or always after the same other.
pub fn round_order(round: usize, arms: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    order.rotate_left((round / 2) % arms.max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
}
