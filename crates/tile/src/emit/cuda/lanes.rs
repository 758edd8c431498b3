//! Lanes of a warp.

use crate::emit::dialect::{Lanes, Types};
use crate::ir::{Reduction, Scope, Shuffle};
use crate::types::{Scalar, Type};

use super::Cuda;

/// The name of a reduction, without its prefix.
pub(super) const fn reducer(reduction: Reduction, scalar: Scalar) -> &'static str {
    match (reduction, scalar) {
        (Reduction::Sum, Scalar::F32) => "simd_sum_f32",
        (Reduction::Sum, Scalar::U32) => "simd_sum_u32",
        (Reduction::Sum, _) => "simd_sum_i32",
        (Reduction::Max, Scalar::F32) => "simd_max_f32",
        (Reduction::Max, Scalar::U32) => "simd_max_u32",
        (Reduction::Max, _) => "simd_max_i32",
        (Reduction::Min, Scalar::F32) => "simd_min_f32",
        (Reduction::Min, Scalar::U32) => "simd_min_u32",
        (Reduction::Min, _) => "simd_min_i32",
    }
}

impl Lanes for Cuda {
    fn shuffle(&self, shuffle: &Shuffle, ty: Type, value: &str, lane: &str) -> String {
        let go = |value: &str| match shuffle {
            Shuffle::Xor(bits) => format!("__shfl_xor_sync(0xffffffffu, {value}, {bits})"),
            Shuffle::Down(by) => format!("__shfl_down_sync(0xffffffffu, {value}, {by})"),
            Shuffle::Lane(_) => format!("__shfl_sync(0xffffffffu, {value}, {lane})"),
        };
        // Shuffles move words.
        match ty.scalar() {
            Scalar::F32 | Scalar::I32 | Scalar::U32 => go(value),
            Scalar::Bool => format!("{} != 0", go(&format!("(int){value}"))),
            narrow => format!("({}){}", self.scalar(narrow), go(&format!("(int){value}"))),
        }
    }

    fn reduce(&self, reduction: Reduction, scalar: Scalar, value: &str) -> String {
        format!("tile_{}({value})", reducer(reduction, scalar))
    }

    fn barrier(&self, scope: Scope) -> &'static str {
        match scope {
            Scope::Group => "__syncthreads();",
            Scope::Simd => "__syncwarp();",
            Scope::Launch => "tile_launch_barrier();",
        }
    }
}
