//! The builder's state: the kernel so far and the open blocks.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;

use crate::ir::{
    Argument, Block, Builtin, Def, Kernel, Launch, Mistake, Op, OpId, OpKind, Origin, Param, Space, ValueId,
};
use crate::types::{Literal, Scalar, Type};

use super::fold;
use super::kind::{Element, Kind};
use super::value::{Operand, Value};

/// Writes one kernel. See the [module](crate::build) for how it is used.
pub struct Builder {
    state: RefCell<State>,
}

struct State {
    kernel: Kernel,
    open: Vec<Open>,
    loops: u32,
    literals: BTreeMap<Literal, ValueId>,
    builtins: BTreeMap<Builtin, ValueId>,
}

/// A block being filled, and the pure operations in it by what they compute.
#[derive(Default)]
struct Open {
    block: Block,
    known: HashMap<(OpKind, Type), ValueId>,
}

/// Builds the kernel `name` for `launch` by running `body` once.
///
/// ```
/// use tilewright_tile::{Launch, kernel};
///
/// let add = kernel("add", Launch::items(1000), |k| {
///     let a = k.read::<f32>("a", [1000]).fill(0.0);
///     let b = k.read::<f32>("b", [1000]).fill(0.0);
///     let sum = k.write::<f32>("sum", [1000]).guarded();
///     let i = k.item();
///     sum.set([i], a.at([i]) + b.at([i]));
/// });
/// assert_eq!(add.name(), "add");
/// ```
pub fn kernel(name: impl Into<String>, launch: Launch, body: impl for<'k> FnOnce(&'k Builder)) -> Kernel {
    let builder = Builder {
        state: RefCell::new(State {
            kernel: Kernel::new(name.into(), launch),
            open: vec![Open::default()],
            loops: 0,
            literals: BTreeMap::new(),
            builtins: BTreeMap::new(),
        }),
    };
    body(&builder);
    let mut state = builder.state.into_inner();
    state.kernel.body = state.open.pop().unwrap_or_default().block;
    measure_buffers(&mut state.kernel);
    state.kernel
}

/// A buffer must hold what its views reach, and is used as they are.
fn measure_buffers(kernel: &mut Kernel) {
    for (_, view) in kernel.views.iter() {
        if let Space::Device(buffer) = view.space {
            let buffer = &mut kernel.buffers[buffer];
            buffer.elements = buffer.elements.max(view.reach());
            buffer.access = buffer.access.union(view.access);
        }
    }
}

impl Builder {
    /// Gives `f` the kernel under construction.
    pub(super) fn edit<R>(&self, f: impl FnOnce(&mut Kernel) -> R) -> R {
        f(&mut self.state.borrow_mut().kernel)
    }

    /// Remembers a meaningless use for the verifier.
    #[track_caller]
    pub(super) fn mistake(&self, message: impl Into<String>) {
        let at = Location::caller();
        self.edit(|kernel| kernel.mistakes.push(Mistake { message: message.into(), at }));
    }

    /// Refuses the kernel, for what it cannot be written for: the verifier gives `reason` with the builder line.
    #[track_caller]
    pub fn refuse(&self, reason: impl Into<String>) {
        self.mistake(reason);
    }

    pub(super) fn literal_id(&self, literal: Literal) -> ValueId {
        let State { kernel, literals, .. } = &mut *self.state.borrow_mut();
        let ty = Type::Scalar(literal.scalar());
        let def = Def { ty, origin: Origin::Literal(literal), name: None };
        *literals.entry(literal).or_insert_with(|| kernel.defs.push(def))
    }

    fn builtin(&self, builtin: Builtin) -> Value<'_, i32> {
        let State { kernel, builtins, .. } = &mut *self.state.borrow_mut();
        let def = Def { ty: Type::Scalar(Scalar::I32), origin: Origin::Builtin(builtin), name: None };
        let id = *builtins.entry(builtin).or_insert_with(|| kernel.defs.push(def));
        Value::new(self, id)
    }

    /// Appends an operation to the innermost open block and defines a value of each of `types`.
    #[track_caller]
    pub(super) fn push(&self, kind: OpKind, types: &[Type]) -> Vec<ValueId> {
        let at = Location::caller();
        let State { kernel, open, .. } = &mut *self.state.borrow_mut();
        let op: OpId = kernel.ops.push(Op { kind, results: Vec::new(), at });
        let define = |(n, ty): (usize, &Type)| {
            kernel.defs.push(Def { ty: *ty, origin: Origin::Result(op, n as u32), name: None })
        };
        let results: Vec<ValueId> = types.iter().enumerate().map(define).collect();
        kernel.ops[op].results.clone_from(&results);
        if let Some(open) = open.last_mut() {
            open.block.push(op);
        }
        results
    }

    /// Appends an operation with one result, or finds the constant it amounts to, or the same pure operation done
    /// before in this block or one around it.
    #[track_caller]
    pub(super) fn emit<T: Kind>(&self, kind: OpKind) -> Value<'_, T> {
        let id = match self.edit(|kernel| fold::simplify(kernel, &kind)) {
            Some(fold::Known::Value(id)) => id,
            Some(fold::Known::Literal(literal)) => self.literal_id(literal),
            None => self.compute(kind, T::TYPE),
        };
        Value::new(self, id)
    }

    /// [`Builder::push`] for one result of a type known only while building.
    #[track_caller]
    pub(super) fn compute(&self, kind: OpKind, ty: Type) -> ValueId {
        if !kind.is_pure() {
            return self.push(kind, &[ty])[0];
        }
        let key = (kind, ty);
        let known = self.state.borrow().open.iter().rev().find_map(|open| open.known.get(&key).copied());
        known.unwrap_or_else(|| {
            let id = self.push(key.0.clone(), &[ty])[0];
            if let Some(open) = self.state.borrow_mut().open.last_mut() {
                open.known.insert(key, id);
            }
            id
        })
    }

    /// Reserves an operation whose block is built next, so that its index and carried values can name it.
    #[track_caller]
    pub(super) fn reserve(&self) -> OpId {
        let at = Location::caller();
        let kind = OpKind::Barrier(crate::ir::Scope::Group);
        self.edit(|kernel| kernel.ops.push(Op { kind, results: Vec::new(), at }))
    }

    pub(super) fn define(&self, ty: Type, origin: Origin) -> ValueId {
        self.edit(|kernel| kernel.defs.push(Def { ty, origin, name: None }))
    }

    /// Runs `body` with a fresh innermost block and returns the block it filled.
    pub(super) fn block<R>(&self, is_loop: bool, body: impl FnOnce() -> R) -> (Block, R) {
        {
            let mut state = self.state.borrow_mut();
            state.open.push(Open::default());
            state.loops += u32::from(is_loop);
        }
        let result = body();
        let mut state = self.state.borrow_mut();
        state.loops -= u32::from(is_loop);
        (state.open.pop().unwrap_or_default().block, result)
    }

    /// Completes a reserved operation and appends it.
    pub(super) fn complete(&self, op: OpId, kind: OpKind, results: Vec<ValueId>) {
        let State { kernel, open, .. } = &mut *self.state.borrow_mut();
        kernel.ops[op].kind = kind;
        kernel.ops[op].results = results;
        if let Some(open) = open.last_mut() {
            open.block.push(op);
        }
    }

    pub(super) fn in_loop(&self) -> bool {
        self.state.borrow().loops > 0
    }

    /// The launch being written for.
    pub fn launch(&self) -> Launch {
        self.edit(|kernel| kernel.launch)
    }

    /// SIMD groups in a threadgroup.
    pub fn simd_groups(&self) -> u32 {
        self.launch().simd_groups()
    }

    /// Threads in a threadgroup.
    pub fn threads(&self) -> u32 {
        self.launch().threads
    }

    /// Index of the threadgroup along x.
    pub fn group_id(&self) -> Value<'_, i32> {
        self.builtin(Builtin::Group(0))
    }

    /// Index of the threadgroup along axis 0, 1 or 2.
    #[track_caller]
    pub fn group_axis(&self, axis: u8) -> Value<'_, i32> {
        if axis > 2 {
            self.mistake(format!("a grid has axes 0, 1 and 2, not {axis}"));
        }
        self.builtin(Builtin::Group(axis.min(2)))
    }

    /// Index of the thread in its threadgroup.
    pub fn thread(&self) -> Value<'_, i32> {
        self.builtin(Builtin::Thread)
    }

    /// Index of the SIMD group in its threadgroup.
    pub fn simd_group(&self) -> Value<'_, i32> {
        self.builtin(Builtin::SimdGroup)
    }

    /// Index of the lane in its SIMD group.
    pub fn lane(&self) -> Value<'_, i32> {
        self.builtin(Builtin::Lane)
    }

    /// Index of the thread in the whole launch along x: one thread an item.
    #[track_caller]
    pub fn item(&self) -> Value<'_, i32> {
        self.group_id() * self.threads() + self.thread()
    }

    /// A constant, or a value as it is.
    #[track_caller]
    pub fn value<'k, T: Kind>(&'k self, value: impl Operand<'k, T>) -> Value<'k, T> {
        value.value(self)
    }

    /// An i32 constant.
    pub fn i32(&self, value: i32) -> Value<'_, i32> {
        value.value(self)
    }

    /// An f32 constant.
    pub fn f32(&self, value: f32) -> Value<'_, f32> {
        value.value(self)
    }

    /// An integer passed at launch, within `range`.
    #[track_caller]
    pub fn argument(&self, name: &str, range: std::ops::RangeInclusive<i32>) -> Value<'_, i32> {
        if range.is_empty() {
            self.mistake(format!("argument {name} has the empty range {range:?}"));
        }
        let range = (i64::from(*range.start()), i64::from(*range.end()));
        self.add_argument(name, range)
    }

    /// An f32 passed at launch.
    pub fn argument_f32(&self, name: &str) -> Value<'_, f32> {
        self.add_argument(name, (0, 0))
    }

    fn add_argument<T: Element>(&self, name: &str, range: (i64, i64)) -> Value<'_, T> {
        let id = self.edit(|kernel| {
            let argument = Argument { name: name.to_owned(), scalar: T::SCALAR, range };
            let argument = kernel.arguments.push(argument);
            kernel.params.push(Param::Argument(argument));
            kernel.defs.push(Def { ty: T::TYPE, origin: Origin::Argument(argument), name: None })
        });
        Value::new(self, id)
    }
}
