//! Lanes talking to each other, and barriers.
//!
//! Every lane of the SIMD group must get here together; the verifier refuses these under a condition that differs
//! between lanes.

use crate::ir::{OpKind, Reduction, Scope, Shuffle};

use super::kind::{Element, Word};
use super::state::Builder;
use super::value::{Operand, Value};

impl Builder {
    /// Holds every thread of the threadgroup until all are here; orders their shared memory.
    #[track_caller]
    pub fn barrier(&self) {
        self.push(OpKind::Barrier(Scope::Group), &[]);
    }

    /// Lets the kernel begin while launches before it still run, and holds it here until they have ended.
    ///
    /// Before it a kernel reads what is given and never written, such as weights, so that this takes no time of its own;
    /// it writes nothing. At most one, outside loops and conditions. A device that cannot begin early runs launches one
    /// after the other; kernels without it are always run so.
    #[track_caller]
    pub fn launch_barrier(&self) {
        self.push(OpKind::Barrier(Scope::Launch), &[]);
    }

    /// Orders shared memory among the lanes of each SIMD group.
    #[track_caller]
    pub fn simd_barrier(&self) {
        self.push(OpKind::Barrier(Scope::Simd), &[]);
    }
}

impl<T: Word> Value<'_, T> {
    #[track_caller]
    fn simd(self, reduction: Reduction) -> Self {
        self.builder().emit(OpKind::SimdReduce(reduction, self.id()))
    }

    /// The sum over the SIMD group, in every lane: lanes 16 apart, then 8, 4, 2 and 1.
    #[track_caller]
    pub fn simd_sum(self) -> Self {
        self.simd(Reduction::Sum)
    }

    /// The maximum over the SIMD group, in every lane.
    #[track_caller]
    pub fn simd_max(self) -> Self {
        self.simd(Reduction::Max)
    }

    /// The minimum over the SIMD group, in every lane.
    #[track_caller]
    pub fn simd_min(self) -> Self {
        self.simd(Reduction::Min)
    }
}

impl<'k, T: Element> Value<'k, T> {
    #[track_caller]
    fn shuffle(self, shuffle: Shuffle) -> Self {
        self.builder().emit(OpKind::Shuffle(shuffle, self.id()))
    }

    /// The value of the lane whose number differs in `bits`.
    #[track_caller]
    pub fn shuffle_xor(self, bits: u32) -> Self {
        if bits > 31 {
            self.builder().mistake(format!("a SIMD group has 32 lanes; {bits} names none of their bits"));
        }
        self.shuffle(Shuffle::Xor(bits & 31))
    }

    /// The value of the lane numbered `by` higher; the last `by` lanes keep their own.
    #[track_caller]
    pub fn shuffle_down(self, by: u32) -> Self {
        if by > 31 {
            self.builder().mistake(format!("a SIMD group has 32 lanes; {by} reaches none of them"));
        }
        self.shuffle(Shuffle::Down(by & 31))
    }

    /// The value of the lane `lane`.
    #[track_caller]
    pub fn from_lane(self, lane: impl Operand<'k, i32>) -> Self {
        let lane = lane.value(self.builder());
        self.shuffle(Shuffle::Lane(lane.id()))
    }
}
