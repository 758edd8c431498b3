//! A pipeline of the tile language on a GPU: recorded once, started again and again.

use std::collections::BTreeMap;
use std::sync::Arc;

use cudarc::driver::CudaFunction;
use tilewright_model::{Code, Refusal};
use tilewright_tile::pipeline::Binding;
use tilewright_tile::{Literal, Pipeline, Verified};

use crate::device::Buffer;
use crate::language::LanguageGpu;
use crate::raw::launch::Arg;
use crate::raw::overlap::{Graph, Shape};

/// Compute capability from which on a launch may begin while the one before it still runs.
const OVERLAPS: u32 = 9;

/// The launches of a pipeline with their memory. Arguments of a run are not supported: a step reads what changes from
/// memory, so that one recording serves every step.
pub struct ResidentPipeline<'g> {
    gpu: &'g LanguageGpu,
    buffers: BTreeMap<String, Buffer>,
    graph: Graph,
    /// Holds the code that the graph starts.
    _functions: Vec<CudaFunction>,
}

impl LanguageGpu {
    /// Compiles every kernel of `pipeline`, gives each resource zeroed memory, and records the launches.
    ///
    /// # Errors
    /// `kernel_rejected` for a pipeline with arguments of a run; `kernel_uncompilable`, `out_of_memory`,
    /// `device_failed`.
    pub fn pipeline(&self, pipeline: &Verified<Pipeline>) -> Result<ResidentPipeline<'_>, Refusal> {
        let device = &self.device;
        let mut buffers = BTreeMap::new();
        for (_, resource) in pipeline.resources().iter() {
            let bytes = usize::try_from(resource.bytes).unwrap_or(usize::MAX);
            buffers.insert(resource.name.clone(), device.zeros(bytes)?);
        }
        let mut functions: BTreeMap<usize, CudaFunction> = BTreeMap::new();
        let mut launches = Vec::new();
        for stage in pipeline.stages() {
            let kernel = &stage.kernel;
            let known = Arc::as_ptr(kernel) as usize;
            let function = match functions.get(&known) {
                Some(function) => function.clone(),
                None => functions.entry(known).or_insert(self.compile(kernel)?.function).clone(),
            };
            let mut args = Vec::new();
            for &param in kernel.params() {
                let name = kernel.param_name(param);
                args.push(match stage.bindings.iter().find(|(parameter, _)| parameter == name) {
                    Some((_, Binding::Region(region, _))) => {
                        let resource = &pipeline.resources()[region.resource].name;
                        Arg::U64(buffers[resource].address + region.offset)
                    }
                    Some((_, Binding::Fixed(Literal::F32(bits) | Literal::U32(bits)))) => Arg::U32(*bits),
                    Some((_, Binding::Fixed(Literal::I32(value)))) => Arg::U32(value.cast_unsigned()),
                    _ => {
                        let expected = "parameters that are the same in every run";
                        return Err(
                            Refusal::new(Code::KernelRejected, name, expected, "another").at(pipeline.name())
                        );
                    }
                });
            }
            let [x, y, z] = stage.groups;
            let shape = Shape::new((x, y, z), kernel.launch().threads, 0);
            let early = kernel.facts().begins_early() && self.capability.0 >= OVERLAPS;
            launches.push((function, shape, early, args));
        }
        let graph = device.record(|| {
            let mut each = launches.iter();
            each.try_for_each(|(function, shape, early, args)| device.start(function, *shape, *early, args))
        })?;
        Ok(ResidentPipeline { gpu: self, buffers, graph, _functions: functions.into_values().collect() })
    }
}

impl ResidentPipeline<'_> {
    /// Copies `bytes` to a resource from byte `at` on.
    ///
    /// # Errors
    /// `kernel_unknown` without such a resource or beyond its end; `device_failed`.
    pub fn write(&mut self, resource: &str, at: usize, bytes: &[u8]) -> Result<(), Refusal> {
        let buffer = self.buffers.get_mut(resource).filter(|buffer| at + bytes.len() <= buffer.len());
        let buffer = buffer.ok_or_else(|| unknown(resource, at + bytes.len()))?;
        self.gpu.device.write(buffer, at, bytes)
    }

    /// Copies from a resource, once every step started has ended.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn read(&self, resource: &str, at: usize, bytes: &mut [u8]) -> Result<(), Refusal> {
        let buffer = self.buffers.get(resource).filter(|buffer| at + bytes.len() <= buffer.len());
        self.gpu.device.read(buffer.ok_or_else(|| unknown(resource, at + bytes.len()))?, at, bytes)
    }

    /// Starts all launches `times` times; they run on after this returns.
    ///
    /// # Errors
    /// `device_failed`.
    pub fn start(&mut self, times: usize) -> Result<(), Refusal> {
        (0..times).try_for_each(|_| self.gpu.device.replay(&mut self.graph))
    }

    /// Waits until everything started has ended.
    ///
    /// # Errors
    /// `device_failed`.
    pub fn wait(&self) -> Result<(), Refusal> {
        self.gpu.device.wait()
    }
}

fn unknown(resource: &str, end: usize) -> Refusal {
    Refusal::new(Code::KernelUnknown, "resource", format!("{resource} of {end} bytes at least"), "none")
}
