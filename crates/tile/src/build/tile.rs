//! Tiles: products of 64×64 matrices by a whole threadgroup.
//!
//! A tile belongs to the four SIMD groups of a threadgroup together. Its factors lie in shared memory, so whoever fills them
//! has said what stands beyond an edge. What takes a tile uses it up, as a device adds to it where it is.

use crate::ir::OpKind;

use super::kind::{Element, Tile};
use super::state::Builder;
use super::value::Value;
use super::view::View;

impl Builder {
    /// A tile whose elements are all `value`.
    #[track_caller]
    pub fn tile(&self, value: f32) -> Value<'_, Tile> {
        let one: Value<'_, f32> = super::value::Operand::value(value, self);
        let id = self.push(OpKind::Splat(one.id()), &[crate::types::Type::Tile])[0];
        Value::new(self, id)
    }
}

impl<'k> Value<'k, Tile> {
    /// `self + left·right`, of two views of 64×64 elements: 64 fused products for each element, added in order of the inner
    /// index.
    #[track_caller]
    pub fn multiply_tiles<T: Element>(self, left: View<'k, T>, right: View<'k, T>) -> Self {
        self.product(left, right, false)
    }

    /// The same, where `right` holds the transpose of the right factor.
    #[track_caller]
    pub fn multiply_tiles_transposed<T: Element>(self, left: View<'k, T>, right: View<'k, T>) -> Self {
        self.product(left, right, true)
    }

    #[track_caller]
    fn product<T: Element>(self, left: View<'k, T>, right: View<'k, T>, transposed: bool) -> Self {
        let (left, right, sum) = (left.id(), right.id(), self.id());
        self.builder().emit(OpKind::TileMultiply { left, right, transposed, sum })
    }
}

impl<'k> View<'k, f32> {
    /// Writes a tile to this view, of 64×64 f32 in shared memory.
    #[track_caller]
    pub fn set_tile(&self, value: Value<'k, Tile>) {
        self.builder().push(OpKind::TileStore { to: self.id(), value: value.id() }, &[]);
    }
}
