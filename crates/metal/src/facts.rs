//! What planning needs to know of a device.

use tilewright_backend::DeviceKind;

/// Facts about a device, found once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Which device it is.
    pub kind: DeviceKind,
    /// Its name.
    pub name: String,
    /// Bytes that weights and caches may take together; `None` where nothing sets a bound.
    pub memory: Option<u64>,
    /// Bytes of the largest buffer.
    pub largest_buffer: u64,
    /// Bytes of shared memory of a threadgroup.
    pub threadgroup_memory: u64,
    /// Whether it has the tensor operations of Metal 4.
    pub tensor_operations: bool,
}
