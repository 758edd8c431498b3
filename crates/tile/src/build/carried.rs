//! What a loop carries from pass to pass: a value, or a tuple, array or list of such.

use crate::ir::ValueId;

use super::kind::{Element, Kind};
use super::matrix::Factor;
use super::state::Builder;
use super::value::{Operand, Value};

/// Values a loop carries.
pub trait Carried<'k>: Sized {
    /// Appends the values in a fixed order.
    fn values(&self, into: &mut Vec<ValueId>);

    /// The same structure with other values, taken in the same order.
    fn renew(&self, k: &'k Builder, from: &mut impl Iterator<Item = ValueId>) -> Self;
}

/// What can be carried once constants have become values.
pub trait IntoCarried<'k> {
    /// The carried form.
    type State: Carried<'k>;

    /// Turns constants into values.
    fn into_carried(self, k: &'k Builder) -> Self::State;
}

impl<'k, T: Kind> Carried<'k> for Value<'k, T> {
    fn values(&self, into: &mut Vec<ValueId>) {
        into.push(self.id());
    }

    fn renew(&self, k: &'k Builder, from: &mut impl Iterator<Item = ValueId>) -> Self {
        Value::new(k, from.next().unwrap_or(self.id()))
    }
}

impl<'k, T: Kind> IntoCarried<'k> for Value<'k, T> {
    type State = Self;

    fn into_carried(self, _: &'k Builder) -> Self {
        self
    }
}

impl<'k> Carried<'k> for Factor<'k> {
    fn values(&self, into: &mut Vec<ValueId>) {
        into.push(self.id());
    }

    fn renew(&self, k: &'k Builder, from: &mut impl Iterator<Item = ValueId>) -> Self {
        Factor::new(k, from.next().unwrap_or(self.id()))
    }
}

impl<'k> IntoCarried<'k> for Factor<'k> {
    type State = Self;

    fn into_carried(self, _: &'k Builder) -> Self {
        self
    }
}

macro_rules! constant {
    ($($rust:ty),*) => {$(
        impl<'k> IntoCarried<'k> for $rust {
            type State = Value<'k, $rust>;

            fn into_carried(self, k: &'k Builder) -> Self::State {
                debug_assert_eq!(self.literal().scalar(), <$rust>::SCALAR);
                self.value(k)
            }
        }
    )*};
}

// One integer type and one float type, so that a plain `0` or `0.0` has a type.
constant!(f32, i32, bool);

impl<'k, S: Carried<'k>, const N: usize> Carried<'k> for [S; N] {
    fn values(&self, into: &mut Vec<ValueId>) {
        self.iter().for_each(|s| s.values(into));
    }

    fn renew(&self, k: &'k Builder, from: &mut impl Iterator<Item = ValueId>) -> Self {
        std::array::from_fn(|i| self[i].renew(k, from))
    }
}

impl<'k, S: IntoCarried<'k>, const N: usize> IntoCarried<'k> for [S; N] {
    type State = [S::State; N];

    fn into_carried(self, k: &'k Builder) -> Self::State {
        self.map(|s| s.into_carried(k))
    }
}

impl<'k, S: Carried<'k>> Carried<'k> for Vec<S> {
    fn values(&self, into: &mut Vec<ValueId>) {
        self.iter().for_each(|s| s.values(into));
    }

    fn renew(&self, k: &'k Builder, from: &mut impl Iterator<Item = ValueId>) -> Self {
        self.iter().map(|s| s.renew(k, from)).collect()
    }
}

impl<'k, S: IntoCarried<'k>> IntoCarried<'k> for Vec<S> {
    type State = Vec<S::State>;

    fn into_carried(self, k: &'k Builder) -> Self::State {
        self.into_iter().map(|s| s.into_carried(k)).collect()
    }
}

macro_rules! tuple {
    ($($name:ident $n:tt)*) => {
        impl<'k, $($name: Carried<'k>),*> Carried<'k> for ($($name,)*) {
            fn values(&self, into: &mut Vec<ValueId>) {
                $(self.$n.values(into);)*
            }

            fn renew(&self, k: &'k Builder, from: &mut impl Iterator<Item = ValueId>) -> Self {
                ($(self.$n.renew(k, from),)*)
            }
        }

        impl<'k, $($name: IntoCarried<'k>),*> IntoCarried<'k> for ($($name,)*) {
            type State = ($($name::State,)*);

            fn into_carried(self, k: &'k Builder) -> Self::State {
                ($(self.$n.into_carried(k),)*)
            }
        }
    };
}

tuple!(A 0 B 1);
tuple!(A 0 B 1 C 2);
tuple!(A 0 B 1 C 2 D 3);
tuple!(A 0 B 1 C 2 D 3 E 4);
