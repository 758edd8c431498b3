//! Loads and stores of lanes.

use super::fault::FaultKind;
use super::lanes::Lanes;
use super::memory::{Bound, Bytes};
use super::program::{At, Axis, MemoryAt, Reg, ViewAt};
use super::run::{Machine, Simd};
use super::shadow::{WHOLE, Who};

/// A failing lane and what failed.
pub(super) type Failure = (u32, FaultKind);

/// Where each lane goes.
pub(super) struct Resolved {
    /// First element, from the start of the bound range or the allocation.
    pub(super) element: [u64; 32],
    /// Lanes that touch memory.
    pub(super) inside: u32,
}

/// The lanes of a mask.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |l| mask >> l & 1 == 1)
}

impl ViewAt {
    /// The run-time length of an axis, as a lane sees it.
    pub(super) fn length(&self, axis: usize, registers: &[Lanes], lane: usize) -> Result<u32, FaultKind> {
        let Some(limit) = self.axes[axis].limit else { return Ok(self.axes[axis].size) };
        let length = registers[limit as usize][lane] as i32;
        let most = self.axes[axis].size;
        match u32::try_from(length) {
            Ok(length) if length <= most => Ok(length),
            Ok(_) | Err(_) => Err(FaultKind::Limit { length: i64::from(length), most }),
        }
    }

    /// Whether `width` elements from `coordinate` are inside an axis of `length`, or legally outside.
    pub(super) fn judge(
        &self,
        axis: usize,
        coordinate: i64,
        length: u32,
        width: u32,
    ) -> Result<bool, FaultKind> {
        let (end, length_i) = (coordinate + i64::from(width), i64::from(length));
        if coordinate >= 0 && end <= length_i {
            return Ok(true);
        }
        let outside = end <= 0 || coordinate >= length_i;
        match (self.axes[axis].guarded, outside) {
            (true, true) => Ok(false),
            (true, false) => Err(FaultKind::Straddles { width, coordinate, length }),
            (false, _) => Err(FaultKind::OutOfBounds { axis, coordinate, length }),
        }
    }

    /// The usual case: no lane is anywhere near an edge.
    fn all_inside(&self, axis: usize, index: &Lanes, width: u32) -> bool {
        let Axis { size, limit, .. } = self.axes[axis];
        let last = index.iter().copied().fold(0, u32::max);
        limit.is_none() && u64::from(last) + u64::from(width) <= u64::from(size)
    }

    pub(super) fn resolve(
        &self,
        registers: &[Lanes],
        at: &At,
        active: u32,
        width: u32,
    ) -> Result<Resolved, Failure> {
        let mut inside = active;
        if let Some(mask) = at.mask {
            for l in lanes(active) {
                if registers[mask as usize][l] == 0 {
                    inside &= !(1 << l);
                }
            }
        }
        let mut element = [self.offset; 32];
        for (axis, &index) in at.index.iter().enumerate() {
            let width = if axis + 1 == at.index.len() { width } else { 1 };
            let index = &registers[index as usize];
            let stride = self.axes[axis].stride;
            if inside == u32::MAX && self.all_inside(axis, index, width) {
                for l in 0..32 {
                    element[l] += u64::from(index[l]) * stride;
                }
                continue;
            }
            for l in lanes(inside) {
                let coordinate = i64::from(index[l] as i32);
                let fail = |kind| (l as u32, kind);
                let length = self.length(axis, registers, l).map_err(fail)?;
                if self.judge(axis, coordinate, length, width).map_err(fail)? {
                    element[l] += coordinate as u64 * stride;
                } else {
                    inside &= !(1 << l);
                }
            }
        }
        if width > 1 {
            for l in lanes(inside) {
                if element[l] % u64::from(width) != 0 {
                    return Err((l as u32, FaultKind::Misaligned { element: element[l], width }));
                }
            }
        }
        Ok(Resolved { element, inside })
    }
}

impl Machine<'_> {
    /// First byte and number of elements of what a view lies in.
    fn range(&self, view: &ViewAt) -> (usize, u64) {
        let size = u64::from(view.element.bytes());
        match view.memory {
            MemoryAt::Device(param) => match self.bound[param] {
                Bound::Buffer(slice) => (slice.offset as usize, slice.bytes / size),
                Bound::Scalar(_) => (0, 0),
            },
            MemoryAt::Shared(n) => (0, self.shared[n].bytes.data.len() as u64 / size),
        }
    }

    /// Byte position of an element in its buffer, checked against the end of the range.
    pub(super) fn byte(&self, view: &ViewAt, element: u64) -> Result<usize, FaultKind> {
        let (base, length) = self.range(view);
        if element >= length {
            return Err(FaultKind::BeyondMemory { element, length });
        }
        Ok(base + element as usize * view.element.bytes() as usize)
    }

    fn bytes(&self, memory: MemoryAt) -> Option<&Bytes> {
        match memory {
            MemoryAt::Device(param) => match self.bound[param] {
                Bound::Buffer(slice) => self.memory.get(slice.buffer),
                Bound::Scalar(_) => None,
            },
            MemoryAt::Shared(n) => Some(&self.shared[n].bytes),
        }
    }

    /// Notes a touch by a lane (or [`WHOLE`]) and fails on a race.
    pub(super) fn touch(
        &mut self,
        simd: &Simd,
        view: &ViewAt,
        element: u64,
        lane: u32,
        write: bool,
    ) -> Result<(), FaultKind> {
        let at = element as usize;
        match view.memory {
            MemoryAt::Shared(n) => {
                let who = Who { simd: simd.index, lane, epoch: self.epoch, simd_epoch: simd.epoch };
                let history = &mut self.shared[n].history[at];
                let other = if write { history.write(who) } else { history.read(who) };
                other.map_or(Ok(()), |other| Err(FaultKind::Race { element, other }))
            }
            MemoryAt::Device(param) => {
                let lane = if lane == WHOLE { 0 } else { lane };
                let thread =
                    self.group_number * self.program.kernel.launch.threads + simd.index * 32 + lane + 1;
                let history = &mut self.device[param];
                let race = if write { history.write(at, thread) } else { history.read(at, thread) };
                let other = || "in this dispatch".to_owned();
                if race { Err(FaultKind::Race { element, other: other() }) } else { Ok(()) }
            }
        }
    }

    /// The bits of one element, checked to have been written.
    pub(super) fn peek(&self, view: &ViewAt, element: u64) -> Result<u32, FaultKind> {
        let byte = self.byte(view, element)?;
        let size = view.element.bytes() as usize;
        let bytes = self.bytes(view.memory).filter(|bytes| bytes.is_defined(byte, size));
        bytes.map(|bytes| bytes.get(byte, view.element)).ok_or(FaultKind::Uninitialized { element })
    }

    /// Writes the bits of one element.
    pub(super) fn poke(&mut self, view: &ViewAt, element: u64, slot: u32) -> Result<(), FaultKind> {
        let byte = self.byte(view, element)?;
        match view.memory {
            MemoryAt::Device(param) => {
                if let Bound::Buffer(slice) = self.bound[param] {
                    self.memory.get_mut(slice.buffer).set(byte, view.element, slot);
                }
            }
            MemoryAt::Shared(n) => self.shared[n].bytes.set(byte, view.element, slot),
        }
        Ok(())
    }

    fn watched(&self, memory: MemoryAt) -> bool {
        match memory {
            MemoryAt::Device(param) => self.device[param].is_watched(),
            MemoryAt::Shared(_) => true,
        }
    }

    pub(super) fn load(&mut self, simd: &mut Simd, at: &At, dst: Reg, width: u32) -> Result<(), Failure> {
        let program = self.program;
        let view = &program.views[at.view];
        let resolved = view.resolve(&simd.registers, at, simd.mask, width)?;
        let watched = self.watched(view.memory);
        let (base, length) = self.range(view);
        for part in 0..width {
            let mut result = [view.fill; 32];
            let elements = resolved.element.map(|e| e + u64::from(part));
            let Some(bytes) = self.bytes(view.memory) else { continue };
            bytes.gather(view.element, base, length, &elements, resolved.inside, &mut result)?;
            if let MemoryAt::Device(_) = view.memory {
                self.stats.reads += u64::from(resolved.inside.count_ones());
            }
            if watched {
                for l in lanes(resolved.inside) {
                    self.touch(simd, view, elements[l], l as u32, false).map_err(|kind| (l as u32, kind))?;
                }
            }
            simd.registers[(dst + part) as usize] = result;
        }
        Ok(())
    }

    pub(super) fn store(&mut self, simd: &mut Simd, at: &At, src: Reg, width: u32) -> Result<(), Failure> {
        let program = self.program;
        let view = &program.views[at.view];
        let resolved = view.resolve(&simd.registers, at, simd.mask, width)?;
        for part in 0..width {
            let value = simd.registers[(src + part) as usize];
            for l in lanes(resolved.inside) {
                let element = resolved.element[l] + u64::from(part);
                let fail = |kind| (l as u32, kind);
                self.poke(view, element, value[l]).map_err(fail)?;
                self.touch(simd, view, element, l as u32, true).map_err(fail)?;
            }
        }
        Ok(())
    }
}
