//! What devices offer.

/// Sizes a kernel must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads of a threadgroup.
    pub threads: u32,
    /// Bytes of shared memory of a threadgroup.
    pub shared_bytes: u64,
    /// Threadgroups on each axis.
    pub groups: [u32; 3],
    /// Parameters of a launch.
    pub parameters: usize,
    /// Elements a view of a buffer may reach.
    pub elements: u64,
}

impl Limits {
    /// What every Apple GPU since the M1 and every NVIDIA GPU since sm_75 offers.
    pub const COMMON: Self = Self {
        threads: 1024,
        shared_bytes: 32 * 1024,
        groups: [i32::MAX as u32, 65_535, 65_535],
        parameters: 31,
        elements: 1 << 40,
    };
}
