//! Loops and conditions that exist at run time.

use crate::ir::{Loop, OpKind, Origin, ValueId};
use crate::types::{Scalar, Type};

use super::carried::{Carried, IntoCarried};
use super::state::Builder;
use super::value::{Operand, Value};

/// The indices a loop visits: `start, start + step, …` below `end`.
#[derive(Clone, Copy)]
pub struct Range<'k> {
    k: &'k Builder,
    start: Value<'k, i32>,
    end: Value<'k, i32>,
    step: u32,
    contiguous: u32,
    whole: bool,
}

impl Range<'_> {
    /// Visits every `step`-th index.
    #[track_caller]
    pub fn step(self, step: u32) -> Self {
        if step == 0 {
            self.k.mistake("a loop needs a step of at least 1");
        }
        Self { step: step.max(1), ..self }
    }

    /// Stops before a step that does not fit: every index `i` visited has `i + step <= end`.
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }
}

/// What can be looped over: a [`Range`], or `a..b`.
pub trait IntoRange<'k> {
    /// The range.
    fn range(self, k: &'k Builder) -> Range<'k>;
}

impl<'k> IntoRange<'k> for Range<'k> {
    fn range(self, _: &'k Builder) -> Self {
        self
    }
}

impl<'k, A: Operand<'k, i32>> IntoRange<'k> for std::ops::Range<A> {
    fn range(self, k: &'k Builder) -> Range<'k> {
        k.range(self.start, self.end)
    }
}

impl Builder {
    /// The indices `start..end`.
    #[track_caller]
    pub fn range<'k>(&'k self, start: impl Operand<'k, i32>, end: impl Operand<'k, i32>) -> Range<'k> {
        let (start, end) = (start.value(self), end.value(self));
        Range { k: self, start, end, step: 1, contiguous: 1, whole: false }
    }

    /// The indices `0..end`.
    #[track_caller]
    pub fn below<'k>(&'k self, end: impl Operand<'k, i32>) -> Range<'k> {
        self.range(0, end)
    }

    #[track_caller]
    fn strided<'k>(
        &'k self,
        who: Value<'k, i32>,
        count: u32,
        end: impl Operand<'k, i32>,
        contiguous: u32,
    ) -> Range<'k> {
        if contiguous == 0 {
            self.mistake("a thread visits at least one index at a time");
        }
        let contiguous = contiguous.max(1);
        let range = self.range(who * contiguous, end).step(count.max(1).saturating_mul(contiguous));
        Range { contiguous, ..range }
    }

    /// The indices below `end` dealt out to the threads of the threadgroup, `contiguous` neighbours at a time.
    ///
    /// A thread's neighbours are visited one after another without looking at `end` again, so `end` must be a
    /// multiple of `contiguous` or the views touched must be guarded.
    #[track_caller]
    pub fn thread_strided<'k>(&'k self, end: impl Operand<'k, i32>, contiguous: u32) -> Range<'k> {
        self.strided(self.thread(), self.threads(), end, contiguous)
    }

    /// The indices below `end` dealt out to the lanes of each SIMD group, `contiguous` neighbours at a time.
    #[track_caller]
    pub fn lane_strided<'k>(&'k self, end: impl Operand<'k, i32>, contiguous: u32) -> Range<'k> {
        self.strided(self.lane(), 32, end, contiguous)
    }

    /// The indices below `end` dealt out to the SIMD groups of the threadgroup.
    #[track_caller]
    pub fn simd_strided<'k>(&'k self, end: impl Operand<'k, i32>) -> Range<'k> {
        self.strided(self.simd_group(), self.simd_groups(), end, 1)
    }

    /// Carries `init` through the passes of a loop: each pass turns the state and its index into the next state.
    #[track_caller]
    pub fn fold<'k, I, N>(
        &'k self,
        range: impl IntoRange<'k>,
        init: I,
        mut pass: impl FnMut(I::State, Value<'k, i32>) -> N,
    ) -> I::State
    where
        I: IntoCarried<'k>,
        N: IntoCarried<'k, State = I::State>,
    {
        let range = range.range(self);
        let init = init.into_carried(self);
        let mut first = Vec::new();
        init.values(&mut first);

        let op = self.reserve();
        let index = self.define(Type::Scalar(Scalar::I32), Origin::Index(op));
        let types: Vec<Type> = self.edit(|kernel| first.iter().map(|&v| kernel.ty(v)).collect());
        let define = |make: fn(_, u32) -> Origin| -> Vec<ValueId> {
            types.iter().enumerate().map(|(n, &ty)| self.define(ty, make(op, n as u32))).collect()
        };
        let carried = define(Origin::Carried);
        let results = define(Origin::Result);

        let (body, last) = self.block(true, || {
            let mut state = init.renew(self, &mut carried.iter().copied());
            let index = Value::new(self, index);
            for offset in 0..range.contiguous {
                state = pass(state, index + offset).into_carried(self);
            }
            state
        });
        let mut yields = Vec::new();
        last.values(&mut yields);
        if yields.len() != carried.len() {
            self.mistake(format!(
                "a loop carries {} values but a pass gives {}",
                carried.len(),
                yields.len()
            ));
            yields.clone_from(&carried);
        }
        let (start, end) = (range.start.id(), range.end.id());
        let Range { step, whole, .. } = range;
        let kind = Loop { index, start, end, step, whole, carried, init: first, body, yields };
        self.complete(op, OpKind::Loop(Box::new(kind)), results.clone());
        init.renew(self, &mut results.into_iter())
    }

    /// Does the same for each index.
    #[track_caller]
    pub fn each<'k>(&'k self, range: impl IntoRange<'k>, mut pass: impl FnMut(Value<'k, i32>)) {
        let none: [Value<'k, i32>; 0] = [];
        self.fold(range, none, |state, index| {
            pass(index);
            state
        });
    }

    /// Does `body` only where `condition` holds.
    #[track_caller]
    pub fn when<'k>(&'k self, condition: Value<'k, bool>, body: impl FnOnce()) {
        let op = self.reserve();
        let (block, ()) = self.block(false, body);
        self.complete(op, OpKind::When(condition.id(), block), Vec::new());
    }

    /// [`Builder::fold`] over `0..end` in tiles of `step`, written twice: whole tiles first, then the rest.
    ///
    /// `pass` gets the state, the first index of the tile, and whether the tile is known to be whole.
    #[track_caller]
    pub fn fold_tiles<'k, I, N>(
        &'k self,
        end: impl Operand<'k, i32>,
        step: u32,
        init: I,
        mut pass: impl FnMut(I::State, Value<'k, i32>, bool) -> N,
    ) -> I::State
    where
        I: IntoCarried<'k>,
        I::State: IntoCarried<'k, State = I::State>,
        N: IntoCarried<'k, State = I::State>,
    {
        let end = end.value(self);
        let whole = self.range(0, end).step(step).whole();
        let state = self.fold(whole, init, |state, tile| pass(state, tile, true));
        let rest = self.range(end / step * step, end).step(step);
        self.fold(rest, state, |state, tile| pass(state, tile, false))
    }
}
