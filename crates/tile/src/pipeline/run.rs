//! Running a pipeline in the interpreter.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::interp::{self, Bound, BufferId, Dispatch, Fault, Memory, Program, Stats};
use crate::types::{Literal, Scalar};
use crate::verify::Verified;

use super::stage::Binding;
use super::{Pipeline, ResourceKind};

/// A pipeline with its programs and its memory.
#[derive(Debug)]
pub struct Runner {
    pipeline: Arc<Verified<Pipeline>>,
    /// By the address of the kernel, which the pipeline keeps alive.
    programs: BTreeMap<usize, Arc<Program>>,
    buffers: Vec<BufferId>,
}

impl Runner {
    /// Gives every resource a buffer in `memory`: the one `given` for it, or unwritten bytes.
    pub fn new(
        pipeline: &Arc<Verified<Pipeline>>,
        memory: &mut Memory,
        mut given: impl FnMut(&str) -> Option<BufferId>,
    ) -> Self {
        let buffers = pipeline
            .resources()
            .iter()
            .map(|(_, r)| given(&r.name).unwrap_or_else(|| memory.poison(r.bytes as usize)))
            .collect();
        Self { pipeline: Arc::clone(pipeline), programs: BTreeMap::new(), buffers }
    }

    /// The buffer of a resource.
    pub fn buffer(&self, name: &str) -> Option<BufferId> {
        let is = |(_, r): &(_, &super::Resource)| r.name == name;
        self.pipeline.resources().iter().find(is).map(|(id, _)| self.buffers[id.index()])
    }

    /// Runs every stage once in the interpreter; `arguments` gives the numbers of this run by name. Scratch is
    /// forgotten first.
    ///
    /// # Errors
    /// The first fault, or a missing argument.
    pub fn run(&mut self, memory: &mut Memory, arguments: &[(&str, Literal)]) -> Result<Stats, Box<Fault>> {
        let mut programs = std::mem::take(&mut self.programs);
        let mut total = Stats::default();
        let result = self.run_by(memory, arguments, |kernel, memory, dispatch| {
            let key = Arc::as_ptr(kernel) as usize;
            let program = programs.entry(key).or_insert_with(|| Arc::new(Program::new(kernel)));
            let stats = interp::run(program, memory, dispatch)?;
            total.instructions += stats.instructions;
            total.barriers += stats.barriers;
            Ok(())
        });
        self.programs = programs;
        result.map(|()| total)
    }

    /// Runs every stage once, each by `launch`, whatever that runs it on.
    ///
    /// # Errors
    /// The first of `launch`'s.
    pub fn run_by<E>(
        &self,
        memory: &mut Memory,
        arguments: &[(&str, Literal)],
        mut launch: impl FnMut(&Arc<Verified>, &mut Memory, &Dispatch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let pipeline = &self.pipeline;
        for (id, resource) in pipeline.resources().iter() {
            if resource.kind == ResourceKind::Scratch {
                memory.forget(self.buffers[id.index()]);
            }
        }
        for stage in pipeline.stages() {
            let bound: Vec<Bound> = stage
                .in_order()
                .into_iter()
                .map(|binding| match binding {
                    Some(Binding::Region(region, _)) => {
                        let whole = memory.whole(self.buffers[region.resource.index()]);
                        Bound::Buffer(whole.part(region.offset, region.bytes))
                    }
                    Some(Binding::Fixed(literal)) => Bound::Scalar(literal),
                    Some(Binding::Argument(argument)) => {
                        let name = &pipeline.arguments()[argument].name;
                        let given = arguments.iter().find(|(n, _)| n == name).map(|&(_, literal)| literal);
                        let fits = given.filter(|&literal| pipeline.literal_fits(argument, literal));
                        Bound::Scalar(fits.unwrap_or(Literal::zero(Scalar::Bool)))
                    }
                    None => Bound::Scalar(Literal::zero(Scalar::Bool)),
                })
                .collect();
            launch(&stage.kernel, memory, &Dispatch { groups: stage.groups, bound: &bound })?;
        }
        Ok(())
    }
}
