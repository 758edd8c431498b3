//! Schedules: how a kernel is to be carried out, as requirements.
//!
//! A schedule is checked against a finished kernel. What it asks for and the kernel does not do is an error; nothing is
//! a hint.

use std::collections::BTreeSet;
use std::fmt;

use crate::ir::{OpKind, Scope, Space};
use crate::verify::Verified;

/// Which machinery does the products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// No requirement.
    #[default]
    Auto,
    /// 8×8 fragments of a SIMD group, operands staged or not.
    Simdgroup,
    /// 8×8 fragments inside an ordinary program with scalar arithmetic.
    SimdgroupInline,
    /// No fragments.
    Elementwise,
    /// 64×64 tiles of a threadgroup, which are the tensor operations of Metal 4 in MSL.
    TensorOps,
    /// The neural accelerators of the M5. Not emitted.
    Nax,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Simdgroup => "simdgroup",
            Self::SimdgroupInline => "simdgroup_inline",
            Self::Elementwise => "elementwise",
            Self::TensorOps => "tensor_ops",
            Self::Nax => "nax",
        })
    }
}

/// Where the operands of products come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// No requirement.
    #[default]
    Auto,
    /// Straight from device memory.
    Device,
    /// Through shared memory.
    Threadgroup,
}

/// Requirements on a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The machinery.
    pub backend: Backend,
    /// SIMD groups of a threadgroup.
    pub simd_groups: Option<u32>,
    /// Elements of the widest access to device memory: 1, 2 or 4.
    pub vector_width: Option<u32>,
    /// Where operands come from.
    pub staging: Staging,
    /// Whether operands of the next step are brought in while those of this one are used.
    pub double_buffer: Option<bool>,
}

/// A requirement that is not met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A backend that has no emitter.
    #[error("backend {backend} is not emitted")]
    NotEmitted {
        /// The backend.
        backend: Backend,
    },
    /// The kernel has products of another kind than it must.
    #[error(
        "backend {backend} is asked for, and the kernel has {products} products of fragments and {tiles} of tiles"
    )]
    Backend {
        /// The backend.
        backend: Backend,
        /// Products of fragments.
        products: usize,
        /// Products of tiles.
        tiles: usize,
    },
    /// Another number of SIMD groups.
    #[error("{expected} SIMD groups are asked for, and the kernel has {got}")]
    SimdGroups {
        /// Asked for.
        expected: u32,
        /// There are.
        got: u32,
    },
    /// Another width.
    #[error("accesses of {expected} elements are asked for, and the widest is {got}")]
    VectorWidth {
        /// Asked for.
        expected: u32,
        /// The widest.
        got: u32,
    },
    /// Operands from elsewhere.
    #[error("operands come from {got}, and not as asked for from {expected}")]
    Staging {
        /// Asked for.
        expected: &'static str,
        /// Found.
        got: &'static str,
    },
    /// Buffered otherwise.
    #[error("double buffering is asked to be {expected}, and the kernel's is {got}")]
    DoubleBuffer {
        /// Asked for.
        expected: bool,
        /// Found.
        got: bool,
    },
}

impl Schedule {
    /// Checks `kernel` against the requirements.
    ///
    /// # Errors
    /// Every requirement that is not met.
    pub fn check(&self, kernel: &Verified) -> Result<(), Vec<ScheduleError>> {
        let found = Found::new(kernel);
        let mut errors = Vec::new();
        let backend = self.backend;
        match backend {
            Backend::Auto => {}
            Backend::Nax => errors.push(ScheduleError::NotEmitted { backend }),
            Backend::TensorOps if found.tiles > 0 && found.products == 0 => {}
            Backend::Simdgroup | Backend::SimdgroupInline if found.products > 0 && found.tiles == 0 => {}
            Backend::Elementwise if found.products + found.tiles == 0 => {}
            Backend::Simdgroup | Backend::SimdgroupInline | Backend::Elementwise | Backend::TensorOps => {
                let Found { products, tiles, .. } = found;
                errors.push(ScheduleError::Backend { backend, products, tiles });
            }
        }
        let got = kernel.launch().simd_groups();
        if let Some(expected) = self.simd_groups.filter(|&n| n != got) {
            errors.push(ScheduleError::SimdGroups { expected, got });
        }
        if let Some(expected) = self.vector_width.filter(|&n| n != found.width) {
            errors.push(ScheduleError::VectorWidth { expected, got: found.width });
        }
        let (device, shared) = ("device memory", "shared memory");
        match self.staging {
            Staging::Device if found.shared_factors => {
                errors.push(ScheduleError::Staging { expected: device, got: shared });
            }
            Staging::Threadgroup if found.device_factors => {
                errors.push(ScheduleError::Staging { expected: shared, got: device });
            }
            Staging::Auto | Staging::Device | Staging::Threadgroup => {}
        }
        if let Some(expected) = self.double_buffer.filter(|&d| d != found.double_buffered) {
            errors.push(ScheduleError::DoubleBuffer { expected, got: found.double_buffered });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

/// What a kernel does.
#[derive(Default)]
struct Found {
    products: usize,
    tiles: usize,
    width: u32,
    device_factors: bool,
    shared_factors: bool,
    double_buffered: bool,
}

impl Found {
    fn new(kernel: &Verified) -> Self {
        let mut found = Self { width: 1, ..Self::default() };
        let (mut factors, mut barriers) = (BTreeSet::new(), 0usize);
        let mut multiplied = BTreeSet::new();
        kernel.walk(|id, _| {
            if let OpKind::MatrixMultiply(a, b, _) = &kernel.ops()[id].kind {
                found.products += 1;
                multiplied.extend([*a, *b]);
            }
            if let OpKind::TileMultiply { left, right, .. } = &kernel.ops()[id].kind {
                found.tiles += 1;
                found.shared_factors = true;
                factors.extend([*left, *right]);
            }
        });
        kernel.walk(|id, depth| {
            let op = &kernel.ops()[id];
            let space = op.kind.place().map(|place| kernel.views()[place.view].space);
            match (&op.kind, space) {
                (OpKind::Load(_), Some(Space::Device(_))) => {
                    let width = op.results.first().map_or(1, |&r| kernel.ty(r).elements());
                    found.width = found.width.max(width);
                }
                (OpKind::Store(_, value), Some(Space::Device(_))) => {
                    found.width = found.width.max(kernel.ty(*value).elements());
                }
                (OpKind::MatrixLoad { from, .. }, Some(space)) if multiplied.contains(&op.results[0]) => {
                    match space {
                        Space::Device(_) => found.device_factors = true,
                        Space::Shared(_) => {
                            found.shared_factors = true;
                            factors.insert(from.view);
                        }
                    }
                }
                (OpKind::Barrier(Scope::Group), _) if depth > 0 => barriers += 1,
                _ => {}
            }
        });
        // With one buffer each stage needs a barrier before and after its use; with two, one barrier serves both.
        found.double_buffered = !factors.is_empty() && factors.len() >= 2 * barriers;
        found
    }
}
