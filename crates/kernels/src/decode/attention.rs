//! Attention of one token of each sequence over its cache, in three forms.
//!
//! All compute the same: scores `q·k / sqrt(head_dim)` of the keys up to the token's own, an online softmax, the
//! weighted mean of the values. They differ in how keys are spread: a SIMD group a head, a threadgroup a head, or
//! several threadgroups a head with a second launch that merges.

use tilewright_tile::{Builder, Kernel, Launch, Value, View, kernel};

use crate::parts::HeadLanes;
use crate::parts::softmax::{self, State, UNSEEN};
use crate::shape::Shape;

use super::control::Control;
use super::options::{Concerns, Options};

/// SIMD groups of a threadgroup.
const SIMD_GROUPS: u32 = 8;

const CONCERNS: Concerns = Concerns { cache: true, weights: false, arithmetic: false };

/// What every form reads.
struct Inputs<'k> {
    q: View<'k, f32>,
    keys: View<'k, f32>,
    values: View<'k, f32>,
    control: Control<'k>,
    lanes: HeadLanes<'k>,
    scale: f32,
    group: u32,
}

impl<'k> Inputs<'k> {
    fn read(k: &'k Builder, shape: &Shape, options: &Options) -> Self {
        let &Shape { heads, kv_heads, head_dim, capacity, .. } = shape;
        let sequences = options.sequences;
        let lanes = HeadLanes::new(k, head_dim);
        let q = k.read::<f32>("q", [sequences, heads, head_dim]).stored(options.activations);
        let cache =
            |name| k.read::<f32>(name, [sequences, kv_heads, capacity, head_dim]).stored(options.cache);
        Self {
            q: lanes.guard(q, 3),
            keys: lanes.guard(cache("keys"), 4),
            values: lanes.guard(cache("values"), 4),
            control: Control::read(k, shape, sequences),
            lanes,
            scale: shape.attention_scale(),
            group: shape.group(),
        }
    }

    /// The head's softmax over the keys of `range`, one after another, by this SIMD group alone.
    fn attend(
        &self,
        k: &'k Builder,
        (sequence, head): (Value<'k, i32>, Value<'k, i32>),
        range: tilewright_tile::build::Range<'k>,
    ) -> State<'k> {
        let of_head = |cache: View<'k, f32>| cache.slice(sequence).slice(head / self.group);
        let (keys, values) = (of_head(self.keys), of_head(self.values));
        let query = self.lanes.load(self.q.slice(sequence), head);
        let query: Vec<_> = query.into_iter().map(|q| q * self.scale).collect();
        k.fold(range, softmax::nothing(k, query.len()), |state, t| {
            let score = self.lanes.dot(&query, &self.lanes.load(keys, t));
            softmax::see(state, score, &self.lanes.load(values, t))
        })
    }
}

/// A SIMD group a head takes one key after another.
pub fn simd_per_head(shape: &Shape, options: &Options) -> Kernel {
    let name = options.kernel_name("decode_attention", CONCERNS);
    let groups = [shape.heads.div_ceil(SIMD_GROUPS), options.sequences, 1];
    kernel(name, Launch::grid(groups).threads(SIMD_GROUPS * 32), |k| {
        let inputs = Inputs::read(k, shape, options);
        let mixed = k.write::<f32>("mixed", [options.sequences, shape.heads, shape.head_dim]);
        let mixed = inputs.lanes.guard(mixed.stored(options.activations), 3);
        let sequence = k.group_axis(1);
        let head = (k.group_axis(0) * SIMD_GROUPS + k.simd_group()).named("head");

        k.when(head.lt(shape.heads), || {
            let seen = k.below(inputs.control.position(sequence) + 1);
            let state = inputs.attend(k, (sequence, head), seen);
            inputs.lanes.store(mixed.slice(sequence), head, &softmax::mean(state));
        });
    })
}

/// A threadgroup a head; its SIMD groups take keys in turn and merge at the end (D52).
pub fn key_parallel(shape: &Shape, options: &Options) -> Kernel {
    let name = options.kernel_name("decode_attention_key_parallel", CONCERNS);
    let launch = Launch::grid([shape.heads, options.sequences, 1]).threads(SIMD_GROUPS * 32);
    kernel(name, launch, |k| {
        let inputs = Inputs::read(k, shape, options);
        let mixed = k.write::<f32>("mixed", [options.sequences, shape.heads, shape.head_dim]);
        let mixed = mixed.stored(options.activations);
        let partial = Partial::scratch(k, shape.head_dim, &inputs.lanes);
        let (head, sequence) = (k.group_axis(0), k.group_axis(1));

        let seen = k.simd_strided(inputs.control.position(sequence) + 1);
        partial.keep(k.simd_group(), &inputs.lanes, inputs.attend(k, (sequence, head), seen));
        k.barrier();
        let (most, sum) = partial.most_and_sum(k, SIMD_GROUPS);
        k.each(k.thread_strided(shape.head_dim, 1), |d| {
            mixed.set((sequence, head, d), partial.mixture(k, SIMD_GROUPS, most, d) / sum);
        });
    })
}

/// Several threadgroups a head: each leaves the largest score, the sum of weights and the weighted sum of values of
/// its stretch of keys.
pub fn split_keys(shape: &Shape, options: &Options, parts: u32) -> Kernel {
    let name = format!("{}_parts{parts}", options.kernel_name("decode_attention_split", CONCERNS));
    let launch = Launch::grid([shape.heads, options.sequences, parts]).threads(SIMD_GROUPS * 32);
    kernel(name, launch, |k| {
        let inputs = Inputs::read(k, shape, options);
        let heads = [options.sequences, shape.heads, parts];
        let maxima = k.write::<f32>("maxima", heads);
        let sums = k.write::<f32>("sums", heads);
        let mixtures = k.write::<f32>("mixtures", [heads[0], heads[1], parts, shape.head_dim]);
        let partial = Partial::scratch(k, shape.head_dim, &inputs.lanes);
        let (head, sequence, part) = (k.group_axis(0), k.group_axis(1), k.group_axis(2));

        let count = inputs.control.position(sequence) + 1;
        let stretch = (count + (parts - 1)) / parts;
        let seen =
            k.range(part * stretch + k.simd_group(), ((part + 1) * stretch).min(count)).step(SIMD_GROUPS);
        partial.keep(k.simd_group(), &inputs.lanes, inputs.attend(k, (sequence, head), seen));
        k.barrier();
        let (most, sum) = partial.most_and_sum(k, SIMD_GROUPS);
        maxima.set_from_thread(0, (sequence, head, part), most);
        sums.set_from_thread(0, (sequence, head, part), sum);
        k.each(k.thread_strided(shape.head_dim, 1), |d| {
            mixtures.set((sequence, head, part, d), partial.mixture(k, SIMD_GROUPS, most, d));
        });
    })
}

/// Merges what the threadgroups of [`split_keys`] left, one threadgroup a head.
pub fn merge_parts(shape: &Shape, options: &Options, parts: u32) -> Kernel {
    let concerns = Concerns::default();
    let name = format!("{}_parts{parts}", options.kernel_name("decode_attention_merge", concerns));
    kernel(name, Launch::grid([shape.heads, options.sequences, 1]).threads(128), |k| {
        let heads = [options.sequences, shape.heads, parts];
        let maxima = k.read::<f32>("maxima", heads);
        let sums = k.read::<f32>("sums", heads);
        let mixtures = k.read::<f32>("mixtures", [heads[0], heads[1], parts, shape.head_dim]);
        let mixed = k.write::<f32>("mixed", [heads[0], heads[1], shape.head_dim]);
        let mixed = mixed.stored(options.activations);
        let (head, sequence) = (k.group_axis(0), k.group_axis(1));

        let of_head = [maxima, sums].map(|view| view.slice(sequence).slice(head));
        let mixtures = mixtures.slice(sequence).slice(head);
        let partial = Partial { maxima: of_head[0], sums: of_head[1], mixtures };
        let (most, sum) = partial.most_and_sum(k, parts);
        k.each(k.thread_strided(shape.head_dim, 1), |d| {
            mixed.set((sequence, head, d), partial.mixture(k, parts, most, d) / sum);
        });
    })
}

/// Softmax states of several takers of one head: `[takers]`, `[takers]`, `[takers, head_dim]`.
pub(crate) struct Partial<'k> {
    pub(crate) maxima: View<'k, f32>,
    pub(crate) sums: View<'k, f32>,
    pub(crate) mixtures: View<'k, f32>,
}

impl<'k> Partial<'k> {
    fn scratch(k: &'k Builder, head_dim: u32, lanes: &HeadLanes<'k>) -> Self {
        Self {
            maxima: k.scratch("maxima_of", [SIMD_GROUPS]),
            sums: k.scratch("sums_of", [SIMD_GROUPS]),
            mixtures: lanes.guard(k.scratch("mixtures_of", [SIMD_GROUPS, head_dim]), 2),
        }
    }

    /// Keeps the state of a SIMD group.
    pub(crate) fn keep(&self, taker: Value<'k, i32>, lanes: &HeadLanes<'k>, (most, sum, mixed): State<'k>) {
        self.maxima.set_from_lane(0, [taker], most);
        self.sums.set_from_lane(0, [taker], sum);
        lanes.store(self.mixtures, taker, &mixed);
    }

    /// The largest score of all takers, and the sum of weights relative to it. A taker without keys weighs nothing.
    pub(crate) fn most_and_sum(&self, k: &'k Builder, takers: u32) -> (Value<'k, f32>, Value<'k, f32>) {
        let most = k.fold(0..takers, UNSEEN, |most, taker| most.max(self.maxima.at([taker])));
        let weigh = |sum: Value<'k, f32>, taker| sum.fma(self.weight(taker, most), self.sums.at([taker]));
        (most, k.fold(0..takers, 0.0, weigh))
    }

    /// Element `d` of the weighted sum of values, relative to the score `most`.
    pub(crate) fn mixture(
        &self,
        k: &'k Builder,
        takers: u32,
        most: Value<'k, f32>,
        d: Value<'k, i32>,
    ) -> Value<'k, f32> {
        let mix =
            |sum: Value<'k, f32>, taker| sum.fma(self.weight(taker, most), self.mixtures.at((taker, d)));
        k.fold(0..takers, 0.0, mix)
    }

    fn weight(&self, taker: Value<'k, i32>, most: Value<'k, f32>) -> Value<'k, f32> {
        (self.maxima.at([taker]) - most).exp()
    }
}
