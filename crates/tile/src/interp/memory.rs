//! Device memory of the interpreter.

use half::{bf16, f16};

use crate::types::{Literal, Scalar};

use super::access::lanes;
use super::fault::FaultKind;

/// Names a buffer of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BufferId(usize);

/// Buffers that live across dispatches. Bytes nobody wrote are poison: reading them is a fault.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    buffers: Vec<Bytes>,
}

/// Bytes and which of them hold a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes {
    pub(super) data: Vec<u8>,
    defined: Vec<u64>,
    /// Every byte holds a value.
    complete: bool,
}

/// A range of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The buffer.
    pub buffer: BufferId,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Slice {
    pub(super) const fn range(self) -> crate::bind::Range {
        crate::bind::Range { buffer: self.buffer.0 as u64, offset: self.offset, bytes: self.bytes }
    }

    /// `bytes` of this slice from `offset`.
    pub const fn part(self, offset: u64, bytes: u64) -> Self {
        Self { buffer: self.buffer, offset: self.offset + offset, bytes }
    }
}

/// What a parameter is bound to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A buffer parameter.
    Buffer(Slice),
    /// An i32, u32 or f32 parameter.
    Scalar(Literal),
}

impl Bytes {
    pub(super) fn poison(bytes: usize) -> Self {
        Self { data: vec![0; bytes], defined: vec![0; bytes.div_ceil(64)], complete: false }
    }

    fn defined(data: Vec<u8>) -> Self {
        let defined = vec![u64::MAX; data.len().div_ceil(64)];
        Self { data, defined, complete: true }
    }

    pub(super) fn forget(&mut self) {
        self.complete = false;
        self.defined.fill(0);
    }

    pub(super) fn forget_range(&mut self, start: usize, bytes: usize) {
        self.complete = false;
        for byte in start..start + bytes {
            self.defined[byte / 64] &= !(1 << (byte % 64));
        }
    }

    /// The bits of an element for each lane in `inside`; the elements are counted from byte `base` and there are
    /// `length` of them.
    pub(super) fn gather(
        &self,
        scalar: Scalar,
        base: usize,
        length: u64,
        elements: &[u64; 32],
        inside: u32,
        out: &mut [u32; 32],
    ) -> Result<(), (u32, FaultKind)> {
        let size = scalar.bytes() as usize;
        for l in lanes(inside) {
            if elements[l] >= length {
                return Err((l as u32, FaultKind::BeyondMemory { element: elements[l], length }));
            }
        }
        if !self.complete {
            for l in lanes(inside) {
                if !self.is_defined(base + elements[l] as usize * size, size) {
                    return Err((l as u32, FaultKind::Uninitialized { element: elements[l] }));
                }
            }
        }
        match scalar {
            Scalar::F32 | Scalar::I32 | Scalar::U32 => {
                self.gather_as(base, elements, inside, out, u32::from_le_bytes);
            }
            Scalar::F16 | Scalar::Bf16 => {
                self.gather_as(base, elements, inside, out, |b| u32::from(u16::from_le_bytes(b)));
            }
            Scalar::I8 => self.gather_as(base, elements, inside, out, |[b]| i32::from(b as i8) as u32),
            Scalar::U8 | Scalar::Bool => self.gather_as(base, elements, inside, out, |[b]| u32::from(b)),
        }
        Ok(())
    }

    fn gather_as<const N: usize>(
        &self,
        base: usize,
        elements: &[u64; 32],
        inside: u32,
        out: &mut [u32; 32],
        read: impl Fn([u8; N]) -> u32,
    ) {
        let data = self.data.get(base..).unwrap_or_default();
        let at = |element: u64| {
            let start = element as usize * N;
            data.get(start..start + N).and_then(|bytes| bytes.try_into().ok()).map_or(0, &read)
        };
        if inside == u32::MAX {
            *out = std::array::from_fn(|l| at(elements[l]));
        } else {
            lanes(inside).for_each(|l| out[l] = at(elements[l]));
        }
    }

    /// Whether the `bytes` at `start` hold values; `start` is a multiple of `bytes`, at most 4.
    pub(super) fn is_defined(&self, start: usize, bytes: usize) -> bool {
        let mask = ((1u64 << bytes) - 1) << (start % 64);
        self.defined[start / 64] & mask == mask
    }

    /// The bits of the element at byte `at`, in a lane's slot.
    pub(super) fn get(&self, at: usize, scalar: Scalar) -> u32 {
        let d = &self.data;
        match scalar {
            Scalar::F32 | Scalar::I32 | Scalar::U32 => {
                u32::from_le_bytes([d[at], d[at + 1], d[at + 2], d[at + 3]])
            }
            Scalar::F16 | Scalar::Bf16 => u32::from(u16::from_le_bytes([d[at], d[at + 1]])),
            Scalar::I8 => i32::from(d[at] as i8) as u32,
            Scalar::U8 | Scalar::Bool => u32::from(d[at]),
        }
    }

    pub(super) fn set(&mut self, at: usize, scalar: Scalar, slot: u32) {
        let bytes = scalar.bytes() as usize;
        self.data[at..at + bytes].copy_from_slice(&slot.to_le_bytes()[..bytes]);
        self.defined[at / 64] |= ((1u64 << bytes) - 1) << (at % 64);
    }
}

impl Memory {
    /// No buffers yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, bytes: Bytes) -> BufferId {
        self.buffers.push(bytes);
        BufferId(self.buffers.len() - 1)
    }

    /// A buffer of unwritten bytes.
    pub fn poison(&mut self, bytes: usize) -> BufferId {
        self.add(Bytes::poison(bytes))
    }

    /// A buffer holding these bytes.
    pub fn bytes(&mut self, data: Vec<u8>) -> BufferId {
        self.add(Bytes::defined(data))
    }

    /// A buffer holding these numbers.
    pub fn f32(&mut self, data: &[f32]) -> BufferId {
        self.bytes(data.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// A buffer holding these numbers rounded to `scalar`: f32, f16 or bf16; other types get zeros.
    pub fn floats(&mut self, data: &[f32], scalar: Scalar) -> BufferId {
        let narrow = |v: &f32| match scalar {
            Scalar::F16 => f16::from_f32(*v).to_bits().to_le_bytes(),
            Scalar::Bf16 => bf16::from_f32(*v).to_bits().to_le_bytes(),
            _ => [0; 2],
        };
        match scalar {
            Scalar::F32 => self.f32(data),
            _ => self.bytes(data.iter().flat_map(narrow).collect()),
        }
    }

    /// A buffer holding these numbers.
    pub fn i32(&mut self, data: &[i32]) -> BufferId {
        self.bytes(data.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// A buffer holding these numbers.
    pub fn u32(&mut self, data: &[u32]) -> BufferId {
        self.bytes(data.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// The whole of a buffer.
    pub fn whole(&self, buffer: BufferId) -> Slice {
        Slice { buffer, offset: 0, bytes: self.buffers[buffer.0].data.len() as u64 }
    }

    /// The bytes of a buffer, unwritten ones as zero.
    pub fn data(&self, buffer: BufferId) -> &[u8] {
        &self.buffers[buffer.0].data
    }

    /// The bytes of a buffer for the host to change; all count as written afterwards.
    pub fn data_mut(&mut self, buffer: BufferId) -> &mut [u8] {
        let bytes = &mut self.buffers[buffer.0];
        bytes.defined.fill(u64::MAX);
        bytes.complete = true;
        &mut bytes.data
    }

    /// Makes every byte of a buffer unwritten again.
    pub fn forget(&mut self, buffer: BufferId) {
        self.buffers[buffer.0].forget();
    }

    /// Makes a part of a buffer unwritten again.
    pub fn forget_part(&mut self, part: Slice) {
        self.buffers[part.buffer.0].forget_range(part.offset as usize, part.bytes as usize);
    }

    /// Gives the bytes of a buffer back; it is empty then.
    pub fn release(&mut self, buffer: BufferId) {
        self.buffers[buffer.0] = Bytes::default();
    }

    /// The elements of a buffer as f32, NaN where nothing was written.
    pub fn read_f32(&self, buffer: BufferId, scalar: Scalar) -> Vec<f32> {
        let bytes = &self.buffers[buffer.0];
        let size = scalar.bytes() as usize;
        let value = |at: usize| {
            if !bytes.is_defined(at, size) {
                return f32::NAN;
            }
            let slot = bytes.get(at, scalar);
            match scalar {
                Scalar::F32 => f32::from_bits(slot),
                Scalar::F16 => f16::from_bits(slot as u16).to_f32(),
                Scalar::Bf16 => bf16::from_bits(slot as u16).to_f32(),
                Scalar::I32 | Scalar::I8 => slot as i32 as f32,
                Scalar::U32 | Scalar::U8 | Scalar::Bool => slot as f32,
            }
        };
        (0..bytes.data.len() / size).map(|i| value(i * size)).collect()
    }

    /// The elements of a buffer as i32; `None` where nothing was written.
    pub fn read_i32(&self, buffer: BufferId) -> Vec<Option<i32>> {
        let bytes = &self.buffers[buffer.0];
        let value = |at: usize| bytes.is_defined(at, 4).then(|| bytes.get(at, Scalar::I32) as i32);
        (0..bytes.data.len() / 4).map(|i| value(i * 4)).collect()
    }

    pub(super) fn get(&self, buffer: BufferId) -> Option<&Bytes> {
        self.buffers.get(buffer.0)
    }

    pub(super) fn get_mut(&mut self, buffer: BufferId) -> &mut Bytes {
        &mut self.buffers[buffer.0]
    }
}
