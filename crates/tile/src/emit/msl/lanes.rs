//! Lanes of a SIMD group.

use crate::emit::dialect::Lanes;
use crate::ir::{Reduction, Scope, Shuffle};
use crate::types::{Scalar, Type};

use super::Msl;

impl Lanes for Msl {
    fn shuffle(&self, shuffle: &Shuffle, ty: Type, value: &str, lane: &str) -> String {
        let go = |value: &str| match shuffle {
            Shuffle::Xor(bits) => format!("simd_shuffle_xor({value}, ushort({bits}))"),
            // Lanes with no such neighbour keep their own value, which simd_shuffle_down does not promise.
            Shuffle::Down(by) => {
                format!("simd_shuffle({value}, ushort({lane} + {by} < 32 ? {lane} + {by} : {lane}))")
            }
            Shuffle::Lane(_) => format!("simd_shuffle({value}, ushort({lane}))"),
        };
        // Shuffles are not defined for all types.
        match ty.scalar() {
            Scalar::Bool => format!("{} != 0", go(&format!("int({value})"))),
            Scalar::Bf16 => format!("as_type<bfloat>({})", go(&format!("as_type<ushort>({value})"))),
            Scalar::F32 | Scalar::F16 | Scalar::I32 | Scalar::U32 | Scalar::I8 | Scalar::U8 => go(value),
        }
    }

    fn reduce(&self, reduction: Reduction, _: Scalar, value: &str) -> String {
        let function = match reduction {
            Reduction::Sum => "simd_sum",
            Reduction::Max => "simd_max",
            Reduction::Min => "simd_min",
        };
        format!("{function}({value})")
    }

    fn barrier(&self, scope: Scope) -> &'static str {
        match scope {
            Scope::Group => "threadgroup_barrier(mem_flags::mem_threadgroup);",
            Scope::Simd => "simdgroup_barrier(mem_flags::mem_threadgroup);",
            // A command encoder runs launches one after the other.
            Scope::Launch => "",
        }
    }
}
