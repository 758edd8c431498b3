//! Matrix fragments: loading, multiplying, storing.
//!
//! A fragment belongs to a SIMD group as a whole. Nothing here tells which lane holds which element; a row factor is
//! applied by storing it eight times in a shared row and loading that as a fragment.

use crate::ir::{OpKind, Place, Scratch, Space, ValueId};
use crate::types::{Scalar, Type};

use super::kind::{Element, Matrix};
use super::state::Builder;
use super::value::Value;
use super::view::{Coordinates, View};

/// An operand of a matrix product in the type in which memory holds it: f32, f16 or bf16.
#[derive(Clone, Copy)]
pub struct Factor<'k> {
    k: &'k Builder,
    id: ValueId,
}

impl<'k> Factor<'k> {
    pub(super) const fn new(k: &'k Builder, id: ValueId) -> Self {
        Self { k, id }
    }

    pub(super) const fn id(self) -> ValueId {
        self.id
    }

    /// Its element type.
    pub fn scalar(self) -> Scalar {
        self.k.edit(|kernel| kernel.ty(self.id).scalar())
    }

    /// The same numbers as f32.
    #[track_caller]
    pub fn f32(self) -> Value<'k, Matrix> {
        match self.scalar() {
            Scalar::F32 => Value::new(self.k, self.id),
            _ => self.k.emit(OpKind::Cast(self.id)),
        }
    }
}

/// What can be an operand of a matrix product.
pub trait IntoFactor<'k> {
    /// The operand.
    fn factor(self) -> Factor<'k>;
}

impl<'k> IntoFactor<'k> for Factor<'k> {
    fn factor(self) -> Factor<'k> {
        self
    }
}

impl<'k> IntoFactor<'k> for Value<'k, Matrix> {
    fn factor(self) -> Factor<'k> {
        Factor::new(self.builder(), self.id())
    }
}

impl Builder {
    /// A fragment whose elements are all `value`.
    #[track_caller]
    pub fn fragment(&self, value: f32) -> Value<'_, Matrix> {
        super::value::Operand::value(value, self)
    }
}

impl<'k> Value<'k, Matrix> {
    /// `self + a·b`: eight fused products for each element, added in order of the inner index.
    #[track_caller]
    pub fn multiply_add(self, a: impl IntoFactor<'k>, b: impl IntoFactor<'k>) -> Self {
        let (a, b) = (a.factor(), b.factor());
        self.builder().emit(OpKind::MatrixMultiply(a.id, b.id, self.id()))
    }

    /// The numbers rounded to `scalar`, to be an operand of a product.
    #[track_caller]
    pub fn rounded(self, scalar: Scalar) -> Factor<'k> {
        let k = self.builder();
        let id = match scalar {
            Scalar::F32 => self.id(),
            _ => k.compute(OpKind::Cast(self.id()), Type::Matrix(scalar)),
        };
        Factor::new(k, id)
    }
}

impl<'k, T: Element> View<'k, T> {
    /// Lets fragments that cross the edge of this view pass through `scratch`, a shared view
    /// `[SIMD groups, 8, 8]` of the same storage that nothing else uses meanwhile.
    #[track_caller]
    pub fn through(self, scratch: View<'k, T>) -> Self {
        let shared =
            self.builder().edit(|kernel| matches!(kernel.views[scratch.id()].space, Space::Shared(_)));
        if !shared {
            self.builder().mistake("the scratch of a fragment must be shared memory");
        }
        self.with_scratch(scratch.id())
    }

    #[track_caller]
    fn load_fragment(&self, from: Place, transposed: bool) -> Factor<'k> {
        let scratch = self.scratch().map(|view| Scratch { view });
        let load = OpKind::MatrixLoad { from, transposed, scratch };
        let id = self.builder().push(load, &[Type::Matrix(self.storage())])[0];
        Factor::new(self.builder(), id)
    }

    /// The fragment whose first row and column are `at`, in the type of memory.
    #[track_caller]
    pub fn factor(&self, at: impl Coordinates<'k>) -> Factor<'k> {
        self.load_fragment(self.place(at, None), false)
    }

    /// The transpose of the fragment at `at`, in the type of memory.
    #[track_caller]
    pub fn factor_transposed(&self, at: impl Coordinates<'k>) -> Factor<'k> {
        self.load_fragment(self.place(at, None), true)
    }

    /// The fragment whose first row and column are `at`, as f32.
    #[track_caller]
    pub fn fragment(&self, at: impl Coordinates<'k>) -> Value<'k, Matrix> {
        self.factor(at).f32()
    }

    /// Writes a fragment whose first row and column are `at`, rounded to the type of memory.
    #[track_caller]
    pub fn set_fragment(&self, at: impl Coordinates<'k>, value: Value<'k, Matrix>) {
        let value = value.rounded(self.storage()).id();
        let scratch = self.scratch().map(|view| Scratch { view });
        let to = self.place(at, None);
        self.builder().push(OpKind::MatrixStore { to, value, scratch }, &[]);
    }
}
