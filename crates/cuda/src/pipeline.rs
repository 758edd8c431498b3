//! Launches of a pipeline of the tile language: compiled once, recorded for the memory they are to work on.

use cudarc::driver::CudaFunction;
use tilewright_model::{Code, Refusal};
use tilewright_tile::pipeline::Binding;
use tilewright_tile::{Kernel, Literal, Pipeline, Verified};

use crate::device::Device;
use crate::raw::launch::Arg;
use crate::raw::overlap::Shape;

/// Compute capability from which on a launch may begin while the one before it still runs.
const OVERLAPS: u32 = 9;

/// The launches of a pipeline. Arguments of a run are not supported: a step reads what changes from memory, so that one
/// recording serves every step.
pub(crate) struct Launches(Vec<Launch>);

struct Launch {
    function: CudaFunction,
    shape: Shape,
    early: bool,
    parameters: Vec<Parameter>,
}

enum Parameter {
    Number(u32),
    /// Bytes into a resource.
    Region(String, u64),
}

impl Launches {
    /// Takes the function of each kernel from `function`; `capability` is the GPU's.
    ///
    /// # Errors
    /// `kernel_rejected` for a pipeline with arguments of a run; those of `function`.
    pub(crate) fn new(
        pipeline: &Verified<Pipeline>,
        capability: (u32, u32),
        mut function: impl FnMut(&Verified<Kernel>) -> Result<CudaFunction, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut launches = Vec::new();
        for stage in pipeline.stages() {
            let kernel = &stage.kernel;
            let mut parameters = Vec::new();
            for (&param, binding) in kernel.params().iter().zip(stage.in_order()) {
                parameters.push(match binding {
                    Some(Binding::Region(region, _)) => {
                        Parameter::Region(pipeline.resources()[region.resource].name.clone(), region.offset)
                    }
                    Some(Binding::Fixed(Literal::F32(bits) | Literal::U32(bits))) => Parameter::Number(bits),
                    Some(Binding::Fixed(Literal::I32(value))) => Parameter::Number(value.cast_unsigned()),
                    _ => {
                        let (name, expected) = (kernel.param_name(param), "the same in every run");
                        let refusal = Refusal::new(Code::KernelRejected, name, expected, "another");
                        return Err(refusal.at(pipeline.name()));
                    }
                });
            }
            let [x, y, z] = stage.groups;
            launches.push(Launch {
                function: function(kernel)?,
                shape: Shape::new((x, y, z), kernel.launch().threads, 0),
                // What a pipeline reads early is what nothing writes while it runs; what ran before it must have ended.
                early: !launches.is_empty() && kernel.facts().begins_early() && capability.0 >= OVERLAPS,
                parameters,
            });
        }
        Ok(Self(launches))
    }

    /// Starts every launch; `address` says where a byte of a resource lies.
    ///
    /// # Errors
    /// Those of `address`; `device_failed`.
    pub(crate) fn start(
        &self,
        device: &Device,
        address: impl Fn(&str, u64) -> Result<u64, Refusal>,
    ) -> Result<(), Refusal> {
        for launch in &self.0 {
            let arg = |parameter: &Parameter| {
                Ok(match parameter {
                    Parameter::Number(number) => Arg::U32(*number),
                    Parameter::Region(resource, offset) => Arg::U64(address(resource, *offset)?),
                })
            };
            let args = launch.parameters.iter().map(arg).collect::<Result<Vec<_>, Refusal>>()?;
            device.start(&launch.function, launch.shape, launch.early, &args)?;
        }
        Ok(())
    }
}
