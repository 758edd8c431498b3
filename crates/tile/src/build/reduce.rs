//! Reductions over the threadgroup, written in the language itself.
//!
//! Each SIMD group combines its lanes, lane 0 leaves the partial result in shared memory, and after a barrier every
//! SIMD group combines the partials: the result is the same everywhere. Lanes beyond the last partial read the
//! identity, which is what the view's fill is: minus zero for a sum, the end of the range for the others. Inside a
//! loop a second barrier keeps the next pass from overwriting partials that are still being read.

use crate::ir::Reduction;
use crate::types::{Literal, Scalar};

use super::kind::Word;
use super::state::Builder;
use super::value::Value;

/// What changes nothing when combined.
fn identity(reduction: Reduction, scalar: Scalar) -> Literal {
    match (reduction, scalar) {
        (Reduction::Sum, Scalar::F32) => Literal::f32(-0.0),
        (Reduction::Max, Scalar::F32) => Literal::f32(f32::NEG_INFINITY),
        (Reduction::Min, Scalar::F32) => Literal::f32(f32::INFINITY),
        (Reduction::Max, Scalar::I32) => Literal::I32(i32::MIN),
        (Reduction::Min, Scalar::I32) => Literal::I32(i32::MAX),
        (Reduction::Min, Scalar::U32) => Literal::U32(u32::MAX),
        (Reduction::Sum | Reduction::Max | Reduction::Min, _) => Literal::zero(scalar),
    }
}

impl Builder {
    #[track_caller]
    fn reduce<'k, T: Word>(&'k self, reduction: Reduction, value: Value<'k, T>) -> Value<'k, T> {
        let simd = |v: Value<'k, T>| match reduction {
            Reduction::Sum => v.simd_sum(),
            Reduction::Max => v.simd_max(),
            Reduction::Min => v.simd_min(),
        };
        let of_simd_group = simd(value);
        let groups = self.simd_groups();
        if groups <= 1 {
            return of_simd_group;
        }
        let name = format!("partial{}", self.edit(|kernel| kernel.shared.len()));
        let partial = self.scratch::<T>(&name, [groups]);
        let partial = match groups {
            32 => partial,
            _ => partial.fill_literal(identity(reduction, T::SCALAR)),
        };
        partial.set_from_lane(0, [self.simd_group()], of_simd_group);
        self.barrier();
        let result = simd(partial.at([self.lane()]));
        if self.in_loop() {
            self.barrier();
        }
        result
    }

    /// The sum over the threadgroup, in every thread. Every thread must take part.
    #[track_caller]
    pub fn threadgroup_sum<'k, T: Word>(&'k self, value: Value<'k, T>) -> Value<'k, T> {
        self.reduce(Reduction::Sum, value)
    }

    /// The maximum over the threadgroup, in every thread. Every thread must take part.
    #[track_caller]
    pub fn threadgroup_max<'k, T: Word>(&'k self, value: Value<'k, T>) -> Value<'k, T> {
        self.reduce(Reduction::Max, value)
    }

    /// The minimum over the threadgroup, in every thread. Every thread must take part.
    #[track_caller]
    pub fn threadgroup_min<'k, T: Word>(&'k self, value: Value<'k, T>) -> Value<'k, T> {
        self.reduce(Reduction::Min, value)
    }
}
