//! Walking a kernel in program order.

use super::kernel::{Kernel, ValueId};
use super::op::{Block, OpId, OpKind, Place, Shuffle};

impl Kernel {
    /// Calls `visit` with every operation in program order and the number of blocks around it.
    pub fn walk(&self, mut visit: impl FnMut(OpId, usize)) {
        self.walk_block(&self.body, 0, &mut visit);
    }

    fn walk_block(&self, block: &Block, depth: usize, visit: &mut impl FnMut(OpId, usize)) {
        for &id in block {
            visit(id, depth);
            if let Some(inner) = self.ops[id].kind.block() {
                self.walk_block(inner, depth + 1, visit);
            }
        }
    }
}

impl OpKind {
    /// Whether the result depends on nothing but the operands: no memory, no other lane, no effect.
    pub const fn is_pure(&self) -> bool {
        match self {
            Self::Math(..)
            | Self::Arithmetic(..)
            | Self::Compare(..)
            | Self::Fma(..)
            | Self::Select(..)
            | Self::Cast(_)
            | Self::Bitcast(_)
            | Self::Splat(_)
            | Self::Compose(_)
            | Self::Extract(..)
            | Self::Dot4(..) => true,
            Self::Shuffle(..)
            | Self::SimdReduce(..)
            | Self::Load(_)
            | Self::Store(..)
            | Self::MatrixLoad { .. }
            | Self::MatrixStore { .. }
            | Self::MatrixMultiply(..)
            | Self::TileMultiply { .. }
            | Self::TileStore { .. }
            | Self::Barrier(_)
            | Self::Loop(_)
            | Self::When(..) => false,
        }
    }

    /// The block inside a loop or a `when`.
    pub fn block(&self) -> Option<&Block> {
        match self {
            Self::Loop(l) => Some(&l.body),
            Self::When(_, body) => Some(body),
            Self::Math(..)
            | Self::Arithmetic(..)
            | Self::Compare(..)
            | Self::Fma(..)
            | Self::Select(..)
            | Self::Cast(_)
            | Self::Bitcast(_)
            | Self::Splat(_)
            | Self::Compose(_)
            | Self::Extract(..)
            | Self::Dot4(..)
            | Self::Shuffle(..)
            | Self::SimdReduce(..)
            | Self::Load(_)
            | Self::Store(..)
            | Self::MatrixLoad { .. }
            | Self::MatrixStore { .. }
            | Self::MatrixMultiply(..)
            | Self::TileMultiply { .. }
            | Self::TileStore { .. }
            | Self::Barrier(_) => None,
        }
    }

    /// The memory a load or store touches.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Load(place) | Self::Store(place, _) => Some(place),
            Self::MatrixLoad { from: place, .. } | Self::MatrixStore { to: place, .. } => Some(place),
            Self::Math(..)
            | Self::Arithmetic(..)
            | Self::Compare(..)
            | Self::Fma(..)
            | Self::Select(..)
            | Self::Cast(_)
            | Self::Bitcast(_)
            | Self::Splat(_)
            | Self::Compose(_)
            | Self::Extract(..)
            | Self::Dot4(..)
            | Self::Shuffle(..)
            | Self::SimdReduce(..)
            | Self::MatrixMultiply(..)
            | Self::TileMultiply { .. }
            | Self::TileStore { .. }
            | Self::Barrier(_)
            | Self::Loop(_)
            | Self::When(..) => None,
        }
    }

    /// The values an operation reads when it is reached: of a loop its bounds and initial values, not its body's.
    pub fn operands(&self) -> Vec<ValueId> {
        let at = |place: &Place| place.index.iter().copied().chain(place.mask).collect::<Vec<_>>();
        match self {
            Self::Math(_, a) | Self::Cast(a) | Self::Bitcast(a) | Self::Splat(a) | Self::Extract(a, _) => {
                vec![*a]
            }
            Self::SimdReduce(_, a) => vec![*a],
            Self::Arithmetic(_, a, b) | Self::Compare(_, a, b) => vec![*a, *b],
            Self::Fma(a, b, c)
            | Self::Select(a, b, c)
            | Self::Dot4(a, b, c)
            | Self::MatrixMultiply(a, b, c) => {
                vec![*a, *b, *c]
            }
            Self::Compose(parts) => parts.clone(),
            Self::Shuffle(Shuffle::Lane(lane), a) => vec![*a, *lane],
            Self::Shuffle(Shuffle::Xor(_) | Shuffle::Down(_), a) => vec![*a],
            Self::Load(place) => at(place),
            Self::MatrixLoad { from, .. } => at(from),
            Self::Store(place, value) => at(place).into_iter().chain([*value]).collect(),
            Self::MatrixStore { to, value, .. } => at(to).into_iter().chain([*value]).collect(),
            Self::TileMultiply { sum, .. } => vec![*sum],
            Self::TileStore { value, .. } => vec![*value],
            Self::Barrier(_) => Vec::new(),
            Self::Loop(l) => [l.start, l.end].into_iter().chain(l.init.iter().copied()).collect(),
            Self::When(cond, _) => vec![*cond],
        }
    }
}
