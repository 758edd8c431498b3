//! The Apple GPU.

mod raw;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tilewright_model::{Code, Refusal};
use tilewright_tile::{Verified, emit};

use super::{Bound, Device, GoesOn, Launch, failed, within};
use crate::Facts;

/// The system's default GPU.
pub struct AppleDevice {
    gpu: raw::Gpu,
    /// Compiled kernels by their text: kernels of other sizes may have the same.
    compiled: Mutex<BTreeMap<String, raw::Kernel>>,
    facts: Facts,
}

/// Launches on their way to the GPU.
pub struct AppleCommands {
    commands: raw::Commands,
    encoded: usize,
}

impl AppleDevice {
    /// Finds the GPU. Its name and sizes are read; nothing is put on it.
    ///
    /// # Errors
    /// `metaldispatch_no_device` without a GPU, or with a system or GPU older than the kernels need.
    pub fn new() -> Result<Self, Refusal> {
        let gpu = raw::Gpu::open()
            .map_err(|(expected, got)| Refusal::new(Code::NoDevice, "device metal", expected, got))?;
        let facts = gpu.facts();
        Ok(Self { gpu, compiled: Mutex::default(), facts })
    }
}

impl Device for AppleDevice {
    type Buffer = raw::Buffer;
    type Kernel = raw::Kernel;
    type Commands = AppleCommands;

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn compile(
        &self,
        kernels: &[Arc<Verified>],
        goes_on: &mut GoesOn<'_>,
    ) -> Result<Vec<raw::Kernel>, Refusal> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        kernels
            .iter()
            .map(|kernel| {
                let text = emit::msl(kernel);
                if let Some(known) = compiled.get(&text) {
                    return Ok(known.clone());
                }
                goes_on()?;
                let name = kernel.name();
                let library = self.gpu.library(&text, kernel.has_tiles());
                let library = library.map_err(|e| failed(Code::SessionOpenFailed, name, e))?;
                let function = library.function(name).ok_or_else(|| {
                    Refusal::new(Code::PipelineNotFound, name, "a function of that name", "none in its text")
                })?;
                let made =
                    self.gpu.kernel(&function).map_err(|e| failed(Code::SessionOpenFailed, name, e))?;
                let (most, threads) = (made.most_threads(), kernel.launch().threads as usize);
                if most < threads {
                    let expected = format!("{threads} threads of a threadgroup");
                    return Err(Refusal::new(Code::SessionOpenFailed, name, expected, most));
                }
                compiled.insert(text, made.clone());
                Ok(made)
            })
            .collect()
    }

    fn allocate(&self, bytes: u64) -> Result<raw::Buffer, Refusal> {
        let none = || {
            Refusal::new(Code::BufferAllocFailed, "a buffer", "memory of the GPU", format!("{bytes} bytes"))
        };
        usize::try_from(bytes).ok().and_then(|bytes| self.gpu.buffer(bytes)).ok_or_else(none)
    }

    fn upload(&self, buffer: &mut raw::Buffer, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        within(offset, bytes.len(), buffer.bytes() as u64)?;
        buffer.write(offset as usize, bytes);
        Ok(())
    }

    fn download(&self, buffer: &raw::Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        within(offset, bytes.len(), buffer.bytes() as u64)?;
        buffer.read(offset as usize, bytes);
        Ok(())
    }

    fn begin(&self) -> Result<AppleCommands, Refusal> {
        let none = || Refusal::new(Code::DispatchFailed, "a command buffer", "one", "none");
        Ok(AppleCommands { commands: self.gpu.commands().ok_or_else(none)?, encoded: 0 })
    }

    fn encode(&self, commands: &mut AppleCommands, launch: &Launch<'_, Self>) -> Result<(), Refusal> {
        let bound: Vec<_> = launch.bound.iter().map(argument).collect::<Result<_, _>>()?;
        commands.commands.launch(launch.kernel, launch.groups, launch.threads, &bound, launch.waits);
        commands.encoded += 1;
        Ok(())
    }

    fn commit(&self, commands: &mut AppleCommands) -> Result<(), Refusal> {
        commands.commands.commit();
        Ok(())
    }

    fn wait(&self, commands: AppleCommands) -> Result<usize, Refusal> {
        let result = commands.commands.wait();
        result
            .map(|()| commands.encoded)
            .map_err(|words| failed(Code::DispatchFailed, "a command buffer", words))
    }
}

/// What a parameter is bound to, within its buffer.
fn argument<'a>(bound: &Bound<'a, raw::Buffer>) -> Result<raw::Argument<'a>, Refusal> {
    match *bound {
        Bound::Bytes { buffer, offset, bytes } => {
            within(offset, bytes as usize, buffer.bytes() as u64)?;
            Ok(raw::Argument::Buffer(buffer, offset as usize))
        }
        Bound::Number(number) => {
            let none = || failed(Code::DispatchFailed, "a number", "of a type that is no parameter");
            number.word().map(raw::Argument::Number).ok_or_else(none)
        }
    }
}
