//! The device with what outlives a run: weights, compiled programs, and memory shared by all runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_backend::execution::ExecutionPlan;
use tilewright_kernels::{Formats, Shape, host};
use tilewright_model::{Code, Refusal, Rope};
use tilewright_tile::ResourceKind;
use tilewright_tile::ir::print;
use tilewright_tile::pipeline::Binding;

use super::program::{Key, Program, Trace};
use crate::device::within;
use crate::{Bound, Device, GoesOn, Launch};

/// A buffer that knows its length.
pub(crate) struct Buffer<D: Device> {
    inner: D::Buffer,
    bytes: u64,
}

/// See the module.
pub(super) struct Machine<D: Device> {
    /// Memory by the name its resource has in pipelines.
    named: BTreeMap<String, Buffer<D>>,
    /// Compiled kernels by what they say.
    kernels: BTreeMap<String, D::Kernel>,
    programs: BTreeMap<Key, Program<D>>,
    shape: Shape,
    formats: Formats,
    rope: Rope,
    /// Positions of the rotary table.
    turned: u32,
    plan: ExecutionPlan,
    /// Runs of programs that a change of plan has ended.
    past: Trace,
    last: usize,
    /// Last: what lies on the device goes before it.
    device: D,
}

impl<D: Device> Machine<D> {
    pub(super) fn new(device: D, shape: Shape, formats: Formats, rope: Rope) -> Self {
        Self {
            named: BTreeMap::new(),
            kernels: BTreeMap::new(),
            programs: BTreeMap::new(),
            shape,
            formats,
            rope,
            turned: 0,
            plan: ExecutionPlan::UNRESOLVED,
            past: Trace::default(),
            last: 0,
            device,
        }
    }

    pub(super) const fn device(&self) -> &D {
        &self.device
    }

    pub(super) fn into_device(self) -> D {
        self.device
    }

    pub(super) const fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) const fn formats(&self) -> &Formats {
        &self.formats
    }

    /// Takes another plan; compiled kernels are kept.
    pub(super) fn set_plan(&mut self, plan: ExecutionPlan) -> Result<(), Refusal> {
        plan.check().map_err(super::not_resolved)?;
        self.past = self.trace();
        self.programs.clear();
        self.plan = plan;
        Ok(())
    }

    pub(super) fn trace(&self) -> Trace {
        let mut trace = self.past.clone();
        self.programs.values().for_each(|program| program.add_to(&mut trace));
        trace
    }

    pub(super) const fn last_dispatches(&self) -> usize {
        self.last
    }

    /// Memory of its own.
    pub(super) fn allocate(&self, bytes: u64) -> Result<Buffer<D>, Refusal> {
        let largest = self.device.facts().largest_buffer;
        if bytes > largest {
            let expected = format!("at most {largest} bytes, the device's largest");
            return Err(Refusal::new(Code::BufferAllocFailed, "a buffer", expected, bytes));
        }
        Ok(Buffer { inner: self.device.allocate(bytes.max(16))?, bytes })
    }

    /// Writes `bytes` from `offset` on.
    pub(super) fn upload(&self, buffer: &mut Buffer<D>, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        within(offset, bytes.len(), buffer.bytes)?;
        self.device.upload(&mut buffer.inner, offset, bytes)
    }

    /// Reads bytes from `offset` on.
    pub(super) fn download(&self, buffer: &Buffer<D>, offset: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        within(offset, bytes.len(), buffer.bytes)?;
        self.device.download(&buffer.inner, offset, bytes)
    }

    /// Gives a name at least this much memory; what it held is lost when it grows.
    pub(super) fn reserve(&mut self, name: &str, bytes: u64) -> Result<(), Refusal> {
        if self.named.get(name).is_none_or(|buffer| buffer.bytes < bytes) {
            // The old memory goes first: both need not fit at once.
            self.named.remove(name);
            let buffer = self.allocate(bytes)?;
            self.named.insert(name.to_owned(), buffer);
        }
        Ok(())
    }

    /// Refuses a name that holds less than this: what was uploaded is of another length.
    fn must_hold(&self, name: &str, bytes: u64) -> Result<(), Refusal> {
        let there = self.named.get(name).map_or(0, |buffer| buffer.bytes);
        match there >= bytes {
            true => Ok(()),
            false => Err(Refusal::new(Code::UploadLength, name, format!("{bytes} bytes"), there)),
        }
    }

    /// Writes to the memory of a name, which becomes as long as this and is never written beyond.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Refusal> {
        self.reserve(name, bytes.len() as u64)?;
        match self.named.get_mut(name) {
            Some(buffer) => self.device.upload(&mut buffer.inner, 0, bytes),
            None => Ok(()),
        }
    }

    /// Reads floats from the start of what a name holds.
    pub(super) fn floats(&self, name: &str, out: &mut [f32]) -> Result<(), Refusal> {
        let mut bytes = vec![0; out.len() * 4];
        if let Some(buffer) = self.named.get(name) {
            self.download(buffer, 0, &mut bytes)?;
        }
        for (value, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
            *value = f32::from_le_bytes(*bytes);
        }
        Ok(())
    }

    /// Reads a word from what a name holds.
    pub(super) fn word(&self, name: &str, index: u64) -> Result<u32, Refusal> {
        let mut bytes = [0; 4];
        if let Some(buffer) = self.named.get(name) {
            self.download(buffer, index * 4, &mut bytes)?;
        }
        Ok(u32::from_le_bytes(bytes))
    }

    /// Lets the rotary table reach `positions`.
    fn turn(&mut self, positions: u32) -> Result<(), Refusal> {
        if positions > self.turned {
            let table = host::rotary(&self.rope, &self.shape.with_capacity(positions));
            let bytes: Vec<u8> = table.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.put("rotary", &bytes)?;
            self.turned = positions;
        }
        Ok(())
    }

    /// Builds and compiles a program, unless it is there.
    pub(super) fn prepare(&mut self, key: Key) -> Result<(), Refusal> {
        self.prepare_watched(key, &mut || Ok(()))
    }

    /// The same; `goes_on` is asked before every text that is compiled.
    pub(super) fn prepare_watched(&mut self, key: Key, goes_on: &mut GoesOn<'_>) -> Result<(), Refusal> {
        if self.programs.contains_key(&key) {
            return Ok(());
        }
        let pipeline = key.pipeline(&self.shape, &self.formats, &self.plan)?;
        let mut texts = Vec::new();
        let mut missing = BTreeMap::new();
        for stage in pipeline.stages() {
            let text = print(&stage.kernel);
            if !self.kernels.contains_key(&text) {
                missing.insert(text.clone(), Arc::clone(&stage.kernel));
            }
            texts.push(text);
        }
        let (names, missing): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
        if !missing.is_empty() {
            let compiled = self.device.compile(&missing, goes_on)?;
            self.kernels.extend(names.into_iter().zip(compiled));
        }
        let kernels = texts.iter().filter_map(|text| self.kernels.get(text).cloned()).collect();
        self.programs.insert(key, Program::new(pipeline, kernels));
        Ok(())
    }

    /// Runs a program in one command buffer: resources in `given` by name, all others in the memory of their names.
    ///
    /// # Errors
    /// Those of the device; `metaldispatch_dispatch_count_mismatch` when it ran another number of launches than the
    /// pipeline has.
    pub(super) fn run(&mut self, key: Key, given: &[(String, &Buffer<D>)]) -> Result<(), Refusal> {
        self.run_from(key, given, ("", 0))
    }

    /// The same with one resource that begins so many bytes into the memory of its name, which is long enough.
    pub(super) fn run_from(
        &mut self,
        key: Key,
        given: &[(String, &Buffer<D>)],
        (shifted, start): (&str, u64),
    ) -> Result<(), Refusal> {
        self.prepare(key)?;
        self.turn(key.capacity())?;
        let Some(program) = self.programs.get(&key) else { return Ok(()) };
        let pipeline = Arc::clone(program.pipeline());
        let mine = |name: &str| given.iter().find(|(of, _)| of == name).map(|(_, buffer)| *buffer);
        for (_, resource) in pipeline.resources().iter() {
            if mine(&resource.name).is_some() {
                continue;
            }
            match resource.kind {
                ResourceKind::Input => self.must_hold(&resource.name, resource.bytes)?,
                _ => self.reserve(&resource.name, resource.bytes)?,
            }
        }
        let found = |name: &str| mine(name).or_else(|| self.named.get(name));
        let start_of = |name: &str| if name == shifted { start } else { 0 };
        let buffers: Vec<(&Buffer<D>, u64)> = pipeline
            .resources()
            .iter()
            .filter_map(|(_, resource)| Some((found(&resource.name)?, start_of(&resource.name))))
            .collect();
        let Some(program) = self.programs.get(&key) else { return Ok(()) };
        let mut commands = self.device.begin()?;
        for (n, (stage, kernel)) in pipeline.stages().iter().zip(program.kernels()).enumerate() {
            let bound = stage.in_order().into_iter().map(|binding| match binding {
                Some(Binding::Region(region, _)) => {
                    let (buffer, start) = buffers[region.resource.index()];
                    let offset = start + region.offset;
                    within(offset, region.bytes as usize, buffer.bytes)?;
                    Ok(Bound::Bytes { buffer: &buffer.inner, offset, bytes: region.bytes })
                }
                Some(Binding::Fixed(number)) => Ok(Bound::Number(number)),
                _ => Err(super::not_resolved("a stage with a number of each run")),
            });
            let bound: Vec<_> = bound.collect::<Result<_, _>>()?;
            let waits = pipeline.fence_before(n);
            let threads = stage.kernel.launch().threads;
            self.device.encode(
                &mut commands,
                &Launch { kernel, groups: stage.groups, threads, bound: &bound, waits },
            )?;
        }
        self.device.commit(&mut commands)?;
        let ran = self.device.wait(commands)?;
        let budget = pipeline.dispatches();
        if ran != budget {
            let expected = format!("{budget} dispatches of {}", pipeline.name());
            return Err(Refusal::new(Code::DispatchCountMismatch, "a run", expected, ran));
        }
        self.last = ran;
        if let Some(program) = self.programs.get_mut(&key) {
            program.count();
        }
        Ok(())
    }
}
