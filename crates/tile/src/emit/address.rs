//! Where an access goes and under which condition.

use crate::ir::{OpId, Place, Space, View};
use crate::types::{Literal, Scalar};

use super::dialect::Dialect;
use super::writer::Writer;

impl<D: Dialect> Writer<'_, D> {
    /// The name of the memory of a view, and whether it is shared.
    pub(super) fn memory(&self, view: &View) -> (String, bool) {
        match view.space {
            Space::Device(buffer) => {
                let is = |p: &crate::ir::Param| *p == crate::ir::Param::Buffer(buffer);
                let position = self.kernel.params.iter().position(is).unwrap_or(0);
                (self.idents.param(position).to_owned(), false)
            }
            Space::Shared(shared) => (self.idents.shared(shared).to_owned(), true),
        }
    }

    /// The coordinates of a place as expressions; a constant as itself.
    pub(super) fn coordinates(&self, place: &Place) -> Vec<Coordinate> {
        let coordinate = |&value| match self.said.constant(value).and_then(|l| l.as_i64()) {
            Some(constant) => Coordinate::Constant(constant),
            None => Coordinate::Value(self.value(value)),
        };
        place.index.iter().map(coordinate).collect()
    }

    /// The position of an element from the start of the memory.
    pub(super) fn element(&self, view: &View, coordinates: &[Coordinate]) -> String {
        let wide = view.reach() > i32::MAX as u64;
        let mut constant = view.offset;
        let mut terms = Vec::new();
        for (coordinate, &stride) in coordinates.iter().zip(&view.strides) {
            match coordinate {
                Coordinate::Constant(c) => {
                    constant = constant.wrapping_add((*c as u64).wrapping_mul(stride));
                }
                Coordinate::Value(value) => {
                    let value = if wide { self.dialect.wide(value) } else { value.clone() };
                    let value = if value.contains(' ') { format!("({value})") } else { value };
                    match stride {
                        1 => terms.push(value),
                        _ if wide => terms.push(format!("{value} * {}", self.dialect.wide_literal(stride))),
                        _ => terms.push(format!("{value} * {stride}")),
                    }
                }
            }
        }
        if constant != 0 || terms.is_empty() {
            terms.push(if wide { self.dialect.wide_literal(constant) } else { constant.to_string() });
        }
        terms.join(" + ")
    }

    /// The condition for touching memory, if there is one.
    pub(super) fn condition(&self, op: OpId, place: &Place, coordinates: &[Coordinate]) -> Option<String> {
        let view = &self.kernel.views[place.view];
        let mut parts: Vec<String> = place
            .mask
            .iter()
            .filter(|&&m| self.said.constant(m) != Some(Literal::Bool(true)))
            .map(|&m| self.value(m))
            .collect();
        for (axis, guard) in self.facts.guards(op).iter().enumerate() {
            let at = coordinates[axis].text();
            parts.extend(self.inside(view, axis, guard.low, guard.high, &at, 1));
        }
        (!parts.is_empty()).then(|| parts.join(" && "))
    }

    /// The comparisons that keep `width` elements from `at` inside an axis.
    pub(super) fn inside(
        &self,
        view: &View,
        axis: usize,
        low: bool,
        high: bool,
        at: &str,
        width: u32,
    ) -> Option<String> {
        let extent = &view.shape[axis];
        let simple = !at.contains(' ');
        let at = if simple { at.to_owned() } else { format!("({at})") };
        match (low, high, extent.limit) {
            (false, false, _) => None,
            (true, false, _) => Some(format!("{at} >= 0")),
            (true, true, None) if width == 1 => {
                Some(format!("{} < {}u", self.dialect.word(Scalar::U32, &at), extent.size))
            }
            (low, true, limit) => {
                let end = match limit {
                    Some(limit) if width == 1 => self.value(limit),
                    Some(limit) => format!("{} - {}", self.value(limit), width - 1),
                    None => (i64::from(extent.size) - i64::from(width) + 1).to_string(),
                };
                let upper = format!("{at} < {end}");
                Some(if low { format!("{at} >= 0 && {upper}") } else { upper })
            }
        }
    }
}

/// A coordinate in text.
#[derive(Clone, Debug)]
pub(super) enum Coordinate {
    Constant(i64),
    Value(String),
}

impl Coordinate {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Constant(c) => c.to_string(),
            Self::Value(v) => v.clone(),
        }
    }

    /// The coordinate `by` further on.
    pub(super) fn plus(&self, by: &str) -> Self {
        match self {
            Self::Constant(0) => Self::Value(by.to_owned()),
            Self::Constant(c) => Self::Value(format!("{c} + {by}")),
            Self::Value(v) => Self::Value(format!("{v} + {by}")),
        }
    }
}
