//! The shim as a device: the same text, compiled for the processor.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tilewright_backend::DeviceKind;
use tilewright_model::{Code, Refusal};
use tilewright_shim::{Compiler, Language, Library, Order};
use tilewright_tile::Verified;
use tilewright_tile::interp::{Bound as Argument, BufferId, Dispatch, Memory, Slice};

use super::{Device, GoesOn, Launch, failed, within};
use crate::Facts;

/// What unwritten memory holds: a NaN in every float type, so that whoever reads it is noticed.
const UNWRITTEN: u8 = 0xff;

/// Runs Metal Shading Language on the processor. Slow, exact, and the same everywhere.
pub struct ShimDevice {
    compiler: Compiler,
    memory: Arc<Mutex<Memory>>,
    facts: Facts,
}

/// Memory of a [`ShimDevice`].
pub struct ShimBuffer {
    memory: Arc<Mutex<Memory>>,
    id: BufferId,
    bytes: u64,
}

/// A kernel compiled for the processor.
#[derive(Clone)]
pub struct ShimKernel {
    library: Arc<Library>,
    number: usize,
}

/// Launches in groups that may overlap.
#[derive(Default)]
pub struct ShimCommands {
    groups: Vec<Vec<Encoded>>,
    ran: usize,
}

struct Encoded {
    kernel: ShimKernel,
    groups: [u32; 3],
    bound: Vec<Argument>,
}

impl ShimDevice {
    /// A device that keeps compiled texts in `cache`.
    ///
    /// # Errors
    /// `metaldispatch_shader_toolchain_absent` without a C++ compiler or on another system.
    pub fn new(cache: impl Into<PathBuf>) -> Result<Self, Refusal> {
        let compiler = Compiler::find(cache)
            .map_err(|error| failed(Code::ShaderToolchainAbsent, "the shim's compiler", error))?;
        let facts = Facts {
            tensor_operations: true,
            kind: DeviceKind::Shim,
            name: "Metal Shading Language on the processor, for developers".to_owned(),
            memory: None,
            largest_buffer: u64::MAX,
            threadgroup_memory: 32 * 1024,
        };
        Ok(Self { compiler, memory: Arc::default(), facts })
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for ShimBuffer {
    fn drop(&mut self) {
        lock(&self.memory).release(self.id);
    }
}

impl Device for ShimDevice {
    type Buffer = ShimBuffer;
    type Kernel = ShimKernel;
    type Commands = ShimCommands;

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn compile(
        &self,
        kernels: &[Arc<Verified>],
        goes_on: &mut GoesOn<'_>,
    ) -> Result<Vec<ShimKernel>, Refusal> {
        goes_on()?;
        let owned = kernels.iter().map(|kernel| Verified::clone(kernel)).collect();
        let library = Library::compile(&self.compiler, Language::Msl, owned)
            .map_err(|error| failed(Code::SessionOpenFailed, "kernel text", error))?;
        let library = Arc::new(library);
        Ok((0..kernels.len()).map(|number| ShimKernel { library: Arc::clone(&library), number }).collect())
    }

    fn allocate(&self, bytes: u64) -> Result<ShimBuffer, Refusal> {
        let room = usize::try_from(bytes).ok().and_then(|count| {
            let mut data = Vec::new();
            data.try_reserve_exact(count).ok()?;
            data.resize(count, UNWRITTEN);
            Some(data)
        });
        let data = room.ok_or_else(|| {
            Refusal::new(Code::BufferAllocFailed, "a buffer", "memory that is free", format!("{bytes} bytes"))
        })?;
        let id = self.memory().bytes(data);
        Ok(ShimBuffer { memory: Arc::clone(&self.memory), id, bytes })
    }

    fn upload(&self, buffer: &mut ShimBuffer, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        within(offset, bytes.len(), buffer.bytes)?;
        self.memory().data_mut(buffer.id)[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn download(&self, buffer: &ShimBuffer, offset: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        within(offset, bytes.len(), buffer.bytes)?;
        bytes.copy_from_slice(&self.memory().data(buffer.id)[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn begin(&self) -> Result<ShimCommands, Refusal> {
        Ok(ShimCommands::default())
    }

    fn encode(&self, commands: &mut ShimCommands, launch: &Launch<'_, Self>) -> Result<(), Refusal> {
        let argument = |bound: &super::Bound<'_, ShimBuffer>| match *bound {
            super::Bound::Bytes { buffer, offset, bytes } => {
                Argument::Buffer(Slice { buffer: buffer.id, offset, bytes })
            }
            super::Bound::Number(number) => Argument::Scalar(number),
        };
        let encoded = Encoded {
            kernel: launch.kernel.clone(),
            groups: launch.groups,
            bound: launch.bound.iter().map(argument).collect(),
        };
        match commands.groups.last_mut().filter(|_| !launch.waits) {
            Some(group) => group.push(encoded),
            None => commands.groups.push(vec![encoded]),
        }
        Ok(())
    }

    fn commit(&self, commands: &mut ShimCommands) -> Result<(), Refusal> {
        let mut memory = self.memory();
        for group in std::mem::take(&mut commands.groups) {
            // What may overlap must not mind its order: the last goes first, and every other launch runs backwards.
            for Encoded { kernel, groups, bound } in group.into_iter().rev() {
                let dispatch = Dispatch { groups, bound: &bound };
                let order = Order::ALL[commands.ran % 2];
                kernel
                    .library
                    .run(kernel.number, &mut memory, &dispatch, order)
                    .map_err(|error| failed(Code::DispatchFailed, "a launch", error))?;
                commands.ran += 1;
            }
        }
        Ok(())
    }

    fn wait(&self, commands: ShimCommands) -> Result<usize, Refusal> {
        Ok(commands.ran)
    }
}
