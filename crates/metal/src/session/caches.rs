//! One sequence: its caches and how far they are filled.

use half::f16;
use tilewright_backend::Sequence;
use tilewright_backend::execution::KvContract;
use tilewright_kernels::Shape;
use tilewright_model::{Code, Refusal};

use super::Session;
use super::machine::{Buffer, Machine};
use crate::Device;
use crate::plan::capacity;

/// Keys and values of a sequence, each `[layers, kv_heads, capacity, head_dim]`.
pub(crate) struct Caches<D: Device> {
    contract: KvContract,
    natural: Option<[Buffer<D>; 2]>,
    packed: Option<[Buffer<D>; 2]>,
    pub(super) capacity: u32,
    /// Positions held.
    pub(super) len: usize,
    /// Positions of the packed copy beside a natural cache; decoding fills the natural one alone.
    mirrored: usize,
    /// Positions it may come to hold.
    pub(super) room: usize,
}

impl<D: Device> Caches<D> {
    fn new(machine: &Machine<D>, contract: KvContract, room: usize) -> Result<Self, Refusal> {
        let capacity = capacity(room) as u32;
        let shape = machine.shape();
        let elements = u64::from(shape.layers) * u64::from(shape.kv_width()) * u64::from(capacity);
        let pair = |there: bool, size: u64| match there {
            true => Ok(Some([machine.allocate(elements * size)?, machine.allocate(elements * size)?])),
            false => Ok(None),
        };
        Ok(Self {
            contract,
            natural: pair(contract != KvContract::PackedF16, 4)?,
            packed: pair(contract != KvContract::NaturalF32, 2)?,
            capacity,
            len: 0,
            mirrored: 0,
            room,
        })
    }

    /// Resources of a tile of a prompt.
    pub(super) fn for_prefill(&self) -> Vec<(String, &Buffer<D>)> {
        fn pair<'a, D: Device>(
            names: [&str; 2],
            buffers: &'a Option<[Buffer<D>; 2]>,
        ) -> impl Iterator<Item = (String, &'a Buffer<D>)> {
            names.map(str::to_owned).into_iter().zip(buffers.iter().flatten())
        }
        let packed = match &self.natural {
            Some(_) => pair(["packed_keys", "packed_values"], &self.packed),
            None => pair(["keys", "values"], &self.packed),
        };
        packed.chain(pair(["keys", "values"], &self.natural)).collect()
    }

    /// Keys and values that decoding reads and writes.
    fn for_decode(&self) -> Option<&[Buffer<D>; 2]> {
        self.natural.as_ref().or(self.packed.as_ref())
    }

    /// Resources of a step: the names of a cache alone, or of cache `n` of several.
    pub(super) fn for_step(&self, n: Option<usize>) -> Vec<(String, &Buffer<D>)> {
        let name = |what: &str| n.map_or(what.to_owned(), |n| format!("{what}.{n}"));
        let pair = self.for_decode().into_iter();
        pair.flat_map(|[k, v]| [(name("keys"), k), (name("values"), v)]).collect()
    }

    /// `count` positions more, of a prompt, which fills every cache.
    pub(super) const fn filled(&mut self, count: usize) {
        self.len += count;
        self.mirrored = self.len;
    }

    /// One position more, which the step has put where decoding reads.
    pub(super) const fn stepped(&mut self) {
        self.len += 1;
    }

    /// Forgets positions from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.mirrored = self.mirrored.min(self.len);
    }

    /// Packs what decoding has left in the natural cache alone, so that a prompt may go on from there.
    pub(super) fn mirror(&mut self, machine: &Machine<D>) -> Result<(), Refusal> {
        let (from, count) = (self.mirrored, self.len - self.mirrored);
        if let (Some(natural), Some(packed), true) = (&self.natural, &mut self.packed, count > 0) {
            let shape = machine.shape();
            let width = shape.head_dim as usize;
            let mut numbers = vec![0; count * width * 4];
            for (natural, packed) in natural.iter().zip(packed) {
                for head in 0..u64::from(shape.layers) * u64::from(shape.kv_heads) {
                    let first = (head * u64::from(self.capacity) + from as u64) * width as u64;
                    machine.download(natural, first * 4, &mut numbers)?;
                    let halves: Vec<u8> = numbers
                        .as_chunks()
                        .0
                        .iter()
                        .flat_map(|bytes| f16::from_f32(f32::from_le_bytes(*bytes)).to_le_bytes())
                        .collect();
                    machine.upload(packed, first * 2, &halves)?;
                }
            }
        }
        self.mirrored = self.len;
        Ok(())
    }

    /// Keys and values of a layer that decoding reads, `[kv_heads, len, head_dim]`.
    fn copy(&self, machine: &Machine<D>, layer: usize) -> Result<(Vec<f32>, Vec<f32>), Refusal> {
        let shape = machine.shape();
        let Some([keys, values]) = self.for_decode() else { return Ok((Vec::new(), Vec::new())) };
        let size = if self.natural.is_some() { 4 } else { 2 };
        let read = |buffer| self.layer(machine, &shape, buffer, layer, size);
        Ok((read(keys)?, read(values)?))
    }

    fn layer(
        &self,
        machine: &Machine<D>,
        shape: &Shape,
        buffer: &Buffer<D>,
        layer: usize,
        size: usize,
    ) -> Result<Vec<f32>, Refusal> {
        let (heads, width) = (shape.kv_heads as usize, shape.head_dim as usize);
        let mut out = Vec::with_capacity(heads * self.len * width);
        let mut bytes = vec![0; self.len * width * size];
        for head in 0..heads {
            let first = (layer * heads + head) * self.capacity as usize * width * size;
            machine.download(buffer, first as u64, &mut bytes)?;
            match size {
                4 => out.extend(bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b))),
                _ => out.extend(bytes.as_chunks().0.iter().map(|b| f16::from_le_bytes(*b).to_f32())),
            }
        }
        Ok(out)
    }
}

impl<D: Device> Session<D> {
    /// Starts an empty sequence of `room` positions.
    pub(crate) fn create_caches(&mut self, room: usize) -> Result<Sequence, Refusal> {
        self.checked()?;
        let caches = Caches::new(&self.machine, self.execution.kv_contract(), room)?;
        let name = Sequence(self.next);
        self.next += 1;
        self.sequences.insert(name, caches);
        Ok(name)
    }

    /// Whether the plan fills the caches that a sequence has.
    pub(crate) fn fits_plan(&self, sequence: Sequence) -> Result<(), Refusal> {
        let contract = self.execution.kv_contract();
        match self.sequences.get(&sequence).map(|caches| caches.contract) {
            Some(has) if has != contract => Err(Refusal::new(
                Code::RequestInvalid,
                format!("sequence {}", sequence.0),
                format!("one with caches {contract}, which the plan fills"),
                has,
            )),
            _ => Ok(()),
        }
    }

    /// As [`Resident::copy_kv`](tilewright_backend::Resident::copy_kv).
    pub(crate) fn copy_caches(
        &self,
        sequence: Sequence,
        layer: usize,
    ) -> Result<(Vec<f32>, Vec<f32>), Refusal> {
        match self.sequences.get(&sequence) {
            Some(caches) if layer < self.config.layers => caches.copy(&self.machine, layer),
            _ => Ok((Vec::new(), Vec::new())),
        }
    }
}
