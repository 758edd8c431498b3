//! What a session needs of a device.

#[cfg(any(target_os = "macos", metal_typecheck))]
mod apple;
mod shim;

use std::sync::Arc;

use tilewright_model::{Code, Refusal};
use tilewright_tile::{Literal, Verified};

use crate::Facts;

#[cfg(any(target_os = "macos", metal_typecheck))]
pub use apple::AppleDevice;
pub use shim::ShimDevice;

/// Refuses when nobody waits for what is being done any more.
pub type GoesOn<'a> = dyn FnMut() -> Result<(), Refusal> + 'a;

/// A device that runs kernels printed as Metal Shading Language.
///
/// Errors carry the device's own words.
pub trait Device: Send {
    /// Memory of the device; freed when dropped.
    type Buffer: Send;
    /// A compiled kernel.
    type Kernel: Clone + Send;
    /// Launches on their way to the device.
    type Commands;

    /// What planning needs to know.
    fn facts(&self) -> &Facts;

    /// Compiles the text of each kernel, with strict arithmetic. Before every piece that is compiled by itself it asks whether
    /// to go on.
    ///
    /// # Errors
    /// `metaldispatch_session_open_failed` with the compiler's message, `metaldispatch_pipeline_not_found`; that of `goes_on`.
    fn compile(
        &self,
        kernels: &[Arc<Verified>],
        goes_on: &mut GoesOn<'_>,
    ) -> Result<Vec<Self::Kernel>, Refusal>;

    /// Memory of this many bytes, whose contents mean nothing.
    ///
    /// # Errors
    /// `metaldispatch_buffer_alloc_failed`.
    fn allocate(&self, bytes: u64) -> Result<Self::Buffer, Refusal>;

    /// Writes bytes that lie within the buffer. No launch is on its way.
    ///
    /// # Errors
    /// `metaldispatch_upload_length`.
    fn upload(&self, buffer: &mut Self::Buffer, offset: u64, bytes: &[u8]) -> Result<(), Refusal>;

    /// Reads bytes that lie within the buffer. No launch is on its way.
    ///
    /// # Errors
    /// `metaldispatch_upload_length`.
    fn download(&self, buffer: &Self::Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), Refusal>;

    /// An empty command buffer.
    ///
    /// # Errors
    /// `metaldispatch_dispatch_failed`.
    fn begin(&self) -> Result<Self::Commands, Refusal>;

    /// Adds a launch.
    ///
    /// # Errors
    /// `metaldispatch_dispatch_failed`.
    fn encode(&self, commands: &mut Self::Commands, launch: &Launch<'_, Self>) -> Result<(), Refusal>;

    /// Sends the launches to the device; nothing is added afterwards.
    ///
    /// # Errors
    /// `metaldispatch_dispatch_failed`.
    fn commit(&self, commands: &mut Self::Commands) -> Result<(), Refusal>;

    /// Waits until all have run; how many that were.
    ///
    /// # Errors
    /// `metaldispatch_dispatch_failed` with the device's message.
    fn wait(&self, commands: Self::Commands) -> Result<usize, Refusal>;
}

/// One launch.
pub struct Launch<'a, D: Device + ?Sized> {
    /// The kernel.
    pub kernel: &'a D::Kernel,
    /// Threadgroups.
    pub groups: [u32; 3],
    /// Threads of each.
    pub threads: u32,
    /// What its parameters are bound to, in order.
    pub bound: &'a [Bound<'a, D::Buffer>],
    /// Whether all launches before must have ended.
    pub waits: bool,
}

/// What a parameter is bound to.
pub enum Bound<'a, B> {
    /// Some bytes of a buffer.
    Bytes {
        /// The buffer.
        buffer: &'a B,
        /// First byte.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// A number.
    Number(Literal),
}

/// A refusal with the device's own words.
pub(crate) fn failed(code: Code, what: impl Into<String>, words: impl std::fmt::Display) -> Refusal {
    Refusal::new(code, what, "no error", words)
}

/// Refuses bytes beyond a buffer.
pub(crate) fn within(offset: u64, bytes: usize, of: u64) -> Result<(), Refusal> {
    let end = offset.saturating_add(bytes as u64);
    match end <= of {
        true => Ok(()),
        false => Err(Refusal::new(Code::UploadLength, "a buffer", format!("at most {of} bytes"), end)),
    }
}
