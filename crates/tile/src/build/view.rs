//! Views: declaring their form, then reading and writing through them.

use std::marker::PhantomData;

use crate::arena::Handle;
use crate::ir::{OpKind, Place, Space, ValueId, View as Record};
use crate::types::{Literal, Scalar, Type};

use super::kind::{Element, Kind, Vec2, Vec4};
use super::state::Builder;
use super::value::{Operand, Value};

/// A tensor in device or shared memory.
///
/// `T` is the type of the values; [`View::stored`] lets memory hold a narrower one, converted on the way.
pub struct View<'k, T> {
    k: &'k Builder,
    id: Handle<Record>,
    fixed: [Option<ValueId>; 6],
    scratch: Option<Handle<Record>>,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

/// Coordinates of an element: an array or a tuple of index values and constants.
pub trait Coordinates<'k> {
    /// The values, outermost axis first.
    #[track_caller]
    fn coordinates(self, k: &'k Builder) -> Vec<ValueId>;
}

impl<'k, A: Operand<'k, i32>, const R: usize> Coordinates<'k> for [A; R] {
    #[track_caller]
    fn coordinates(self, k: &'k Builder) -> Vec<ValueId> {
        self.into_iter().map(|a| a.value(k).id()).collect()
    }
}

macro_rules! tuple {
    ($($name:ident)*) => {
        impl<'k, $($name: Operand<'k, i32>),*> Coordinates<'k> for ($($name,)*) {
            #[track_caller]
            fn coordinates(self, k: &'k Builder) -> Vec<ValueId> {
                #[expect(non_snake_case, reason = "a variable for each type parameter")]
                let ($($name,)*) = self;
                vec![$($name.value(k).id()),*]
            }
        }
    };
}

tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);

impl<'k, T: Element> View<'k, T> {
    /// The most axes a view may have.
    pub const MAX_RANK: usize = 6;

    pub(super) fn new(k: &'k Builder, id: Handle<Record>) -> Self {
        Self { k, id, fixed: [None; 6], scratch: None, kind: PhantomData }
    }

    pub(super) fn builder(&self) -> &'k Builder {
        self.k
    }

    pub(super) fn id(&self) -> Handle<Record> {
        self.id
    }

    pub(super) fn scratch(&self) -> Option<Handle<Record>> {
        self.scratch
    }

    pub(super) fn with_scratch(self, scratch: Handle<Record>) -> Self {
        Self { scratch: Some(scratch), ..self }
    }

    fn change(self, f: impl FnOnce(&mut Record)) -> Self {
        self.k.edit(|kernel| f(&mut kernel.views[self.id]));
        self
    }

    /// The type in memory.
    pub fn storage(&self) -> Scalar {
        self.k.edit(|kernel| kernel.views[self.id].element)
    }

    /// Length of axis `axis` of those not yet fixed by [`View::slice`].
    #[track_caller]
    pub fn size(&self, axis: usize) -> u32 {
        let axis = axis + self.fixed_axes();
        let size = self.k.edit(|kernel| kernel.views[self.id].shape.get(axis).map(|e| e.size));
        size.unwrap_or_else(|| {
            self.k.mistake(format!("view {} has no axis {axis}", self.name()));
            1
        })
    }

    fn fixed_axes(&self) -> usize {
        self.fixed.iter().flatten().count()
    }

    fn name(&self) -> String {
        self.k.edit(|kernel| kernel.views[self.id].name.clone())
    }

    /// Keeps the elements in memory as `storage`: loads widen, stores round.
    pub fn stored(self, storage: Scalar) -> Self {
        self.k.edit(|kernel| {
            let view = &mut kernel.views[self.id];
            view.element = storage;
            view.fill = convert(view.fill, storage);
            match view.space {
                Space::Device(b) => kernel.buffers[b].element = storage,
                Space::Shared(s) => kernel.shared[s].element = storage,
            }
        });
        self
    }

    /// Starts at this element of the buffer or allocation.
    pub fn offset(self, elements: impl TryInto<u64>) -> Self {
        let elements = elements.try_into().unwrap_or(u64::MAX);
        self.change(|view| view.offset = elements)
    }

    /// Sets the distance between neighbours along each axis, in elements.
    #[track_caller]
    pub fn strides<N: TryInto<u64> + Copy, const R: usize>(self, strides: [N; R]) -> Self {
        let rank = self.k.edit(|kernel| kernel.views[self.id].shape.len());
        if rank != R {
            self.k.mistake(format!("view {} has {rank} axes and {R} strides", self.name()));
            return self;
        }
        let strides = strides.iter().map(|&s| s.try_into().unwrap_or(u64::MAX)).collect();
        self.change(|view| view.strides = strides)
    }

    /// Guards every axis: coordinates outside read as `fill` and are not written.
    pub fn fill(self, fill: T) -> Self {
        self.fill_literal(fill.literal())
    }

    pub(super) fn fill_literal(self, fill: Literal) -> Self {
        self.change(|view| {
            view.guarded.fill(true);
            view.fill = convert(fill, view.element);
        })
    }

    /// Guards every axis; coordinates outside read as zero and are not written.
    pub fn guarded(self) -> Self {
        self.change(|view| view.guarded.fill(true))
    }

    /// Guards these axes only.
    #[track_caller]
    pub fn guarded_axes(self, axes: &[usize]) -> Self {
        let rank = self.k.edit(|kernel| kernel.views[self.id].shape.len());
        if axes.iter().any(|&a| a >= rank) {
            self.k.mistake(format!("view {} has {rank} axes; cannot guard {axes:?}", self.name()));
            return self;
        }
        self.change(|view| {
            for axis in 0..rank {
                view.guarded[axis] = axes.contains(&axis);
            }
        })
    }

    /// The same memory with axis `axis` ending at the run-time length `end`, which guards it.
    ///
    /// The value must be the same in every thread of the threadgroup.
    #[track_caller]
    pub fn limit(self, axis: usize, end: impl Operand<'k, i32>) -> Self {
        let end = end.value(self.k).id();
        let axis = axis + self.fixed_axes();
        let id = self.k.edit(|kernel| {
            let mut view = kernel.views[self.id].clone();
            view.shape.get_mut(axis)?.limit = Some(end);
            view.guarded[axis] = true;
            view.name.push_str("_limited");
            Some(kernel.views.push(view))
        });
        if id.is_none() {
            self.k.mistake(format!("view {} has no axis {axis} to limit", self.name()));
        }
        Self { id: id.unwrap_or(self.id), ..self }
    }

    /// Fixes the outermost free coordinate, leaving a view of one axis less.
    #[track_caller]
    pub fn slice(self, index: impl Operand<'k, i32>) -> Self {
        let index = index.value(self.k).id();
        let mut fixed = self.fixed;
        match fixed.iter_mut().find(|f| f.is_none()) {
            Some(free) => *free = Some(index),
            None => self.k.mistake(format!("view {} has no axis left to slice", self.name())),
        }
        Self { fixed, ..self }
    }

    #[track_caller]
    pub(super) fn place(&self, at: impl Coordinates<'k>, mask: Option<ValueId>) -> Place {
        let mut index: Vec<ValueId> = self.fixed.iter().flatten().copied().collect();
        index.extend(at.coordinates(self.k));
        let rank = self.k.edit(|kernel| kernel.views[self.id].shape.len());
        if index.len() != rank {
            self.k.mistake(format!("view {} has {rank} axes, not {}", self.name(), index.len()));
            index.resize(rank, self.k.literal_id(Literal::I32(0)));
        }
        Place { view: self.id, index, mask }
    }

    #[track_caller]
    fn load<V: Kind>(&self, place: Place) -> Value<'k, V> {
        let stored: Type = V::TYPE.with_scalar(self.storage());
        let id = self.k.push(OpKind::Load(place), &[stored])[0];
        if stored == V::TYPE { Value::new(self.k, id) } else { self.k.emit(OpKind::Cast(id)) }
    }

    #[track_caller]
    fn store<V: Kind>(&self, place: Place, value: Value<'k, V>) {
        let stored = V::TYPE.with_scalar(self.storage());
        let id =
            if stored == V::TYPE { value.id() } else { self.k.compute(OpKind::Cast(value.id()), stored) };
        self.k.push(OpKind::Store(place, id), &[]);
    }

    /// The element at `at`.
    #[track_caller]
    pub fn at(&self, at: impl Coordinates<'k>) -> Value<'k, T> {
        self.load(self.place(at, None))
    }

    /// The element at `at` where `mask` holds, else the view's fill.
    #[track_caller]
    pub fn at_if(&self, mask: Value<'k, bool>, at: impl Coordinates<'k>) -> Value<'k, T> {
        self.load(self.place(at, Some(mask.id())))
    }

    /// The two elements from `at` along the last axis.
    #[track_caller]
    pub fn at2(&self, at: impl Coordinates<'k>) -> Value<'k, Vec2<T>> {
        self.load(self.place(at, None))
    }

    /// The four elements from `at` along the last axis.
    #[track_caller]
    pub fn at4(&self, at: impl Coordinates<'k>) -> Value<'k, Vec4<T>> {
        self.load(self.place(at, None))
    }

    /// The four elements from `at` along the last axis where `mask` holds, else the view's fill.
    #[track_caller]
    pub fn at4_if(&self, mask: Value<'k, bool>, at: impl Coordinates<'k>) -> Value<'k, Vec4<T>> {
        self.load(self.place(at, Some(mask.id())))
    }

    /// Writes the element at `at`.
    #[track_caller]
    pub fn set(&self, at: impl Coordinates<'k>, value: impl Operand<'k, T>) {
        let value = value.value(self.k);
        self.store(self.place(at, None), value);
    }

    /// Writes the element at `at` where `mask` holds.
    #[track_caller]
    pub fn set_if(&self, mask: Value<'k, bool>, at: impl Coordinates<'k>, value: impl Operand<'k, T>) {
        let value = value.value(self.k);
        self.store(self.place(at, Some(mask.id())), value);
    }

    /// Lane `lane` of each SIMD group writes the element at `at`; the other lanes do nothing.
    #[track_caller]
    pub fn set_from_lane(&self, lane: u32, at: impl Coordinates<'k>, value: impl Operand<'k, T>) {
        self.set_if(self.k.lane().eq(lane), at, value);
    }

    /// Thread `thread` of the threadgroup writes the element at `at`; the other threads do nothing.
    #[track_caller]
    pub fn set_from_thread(&self, thread: u32, at: impl Coordinates<'k>, value: impl Operand<'k, T>) {
        self.set_if(self.k.thread().eq(thread), at, value);
    }

    /// Writes two elements from `at` along the last axis.
    #[track_caller]
    pub fn set2(&self, at: impl Coordinates<'k>, value: Value<'k, Vec2<T>>) {
        self.store(self.place(at, None), value);
    }

    /// Writes four elements from `at` along the last axis.
    #[track_caller]
    pub fn set4(&self, at: impl Coordinates<'k>, value: Value<'k, Vec4<T>>) {
        self.store(self.place(at, None), value);
    }

    /// Writes four elements from `at` along the last axis where `mask` holds.
    #[track_caller]
    pub fn set4_if(&self, mask: Value<'k, bool>, at: impl Coordinates<'k>, value: Value<'k, Vec4<T>>) {
        self.store(self.place(at, Some(mask.id())), value);
    }
}

/// A fill in another element type; zero where the value has no counterpart, which only integers can lack.
fn convert(fill: Literal, to: Scalar) -> Literal {
    let zero = Literal::zero(to);
    if let Some(value) = fill.as_f32() {
        return Literal::round_f32(value, to).unwrap_or(zero);
    }
    let Some(value) = fill.as_i64() else { return zero };
    let converted = match to {
        Scalar::I32 => i32::try_from(value).ok().map(Literal::I32),
        Scalar::U32 => u32::try_from(value).ok().map(Literal::U32),
        Scalar::I8 => i8::try_from(value).ok().map(Literal::I8),
        Scalar::U8 => u8::try_from(value).ok().map(Literal::U8),
        Scalar::F32 | Scalar::F16 | Scalar::Bf16 | Scalar::Bool => None,
    };
    converted.unwrap_or(zero)
}
