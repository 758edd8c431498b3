//! Running a dispatch.

use crate::ir::{Builtin, Names, Param, Scope, describe};
use crate::types::Scalar;

use super::access::{Failure, lanes};
use super::fault::{Fault, FaultKind};
use super::fragment::{agreed, multiply};
use super::lanes::{self as alu, Lanes};
use super::memory::{Bound, Bytes, Memory};
use super::program::{Copies, Instr, Pc, Program, Reg, slot};
use super::shadow;

/// A launch of a program.
#[derive(Clone, Debug)]
pub struct Dispatch<'a> {
    /// Threadgroups on each axis, at most those of the kernel's launch.
    pub groups: [u32; 3],
    /// What each parameter is bound to, in order of declaration.
    pub bound: &'a [Bound],
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions executed, counted once for each SIMD group.
    pub instructions: u64,
    /// Threadgroup barriers passed, counted once for each threadgroup.
    pub barriers: u64,
    /// Elements that lanes read one by one from buffers: masked lanes and what lies beyond a guard are none.
    pub reads: u64,
}

/// A SIMD group in flight.
#[derive(Default)]
pub(super) struct Simd {
    pub(super) index: u32,
    pub(super) registers: Vec<Lanes>,
    /// Lanes that are here.
    pub(super) mask: u32,
    /// Masks of the blocks around.
    outer: Vec<u32>,
    pc: Pc,
    pub(super) epoch: u32,
}

pub(super) struct SharedAt {
    pub(super) bytes: Bytes,
    pub(super) history: Vec<shadow::Element>,
}

pub(super) struct Machine<'a> {
    pub(super) program: &'a Program,
    pub(super) memory: &'a mut Memory,
    pub(super) bound: &'a [Bound],
    pub(super) shared: Vec<SharedAt>,
    pub(super) device: Vec<shadow::Device>,
    pub(super) epoch: u32,
    pub(super) group_number: u32,
    pub(super) stats: Stats,
}

enum Stop {
    Barrier,
    End,
}

/// Runs `dispatch`, threadgroups in order.
///
/// # Errors
/// The first [`Fault`], after which the contents of written buffers mean nothing.
pub fn run(program: &Program, memory: &mut Memory, dispatch: &Dispatch<'_>) -> Result<Stats, Box<Fault>> {
    super::bind::check(program, memory, dispatch)?;
    let shared = program.kernel.shared.iter().map(|(_, s)| SharedAt {
        bytes: Bytes::poison((s.elements * s.element.bytes()) as usize),
        history: vec![shadow::Element::default(); s.elements as usize],
    });
    let watch = |(param, bound): (&Param, &Bound)| match (param, bound) {
        (Param::Buffer(b), Bound::Buffer(slice)) => {
            let buffer = &program.kernel.buffers[*b];
            let elements = slice.bytes / u64::from(buffer.element.bytes());
            match buffer.access.writes() {
                true => shadow::Device::new(elements as usize, buffer.access.reads()),
                false => shadow::Device::default(),
            }
        }
        _ => shadow::Device::default(),
    };
    let mut machine = Machine {
        program,
        bound: dispatch.bound,
        shared: shared.collect(),
        device: program.kernel.params.iter().zip(dispatch.bound).map(watch).collect(),
        memory,
        epoch: 0,
        group_number: 0,
        stats: Stats::default(),
    };
    let mut simds: Vec<Simd> = (0..program.kernel.launch.simd_groups()).map(|n| machine.simd(n)).collect();
    let [x, y, z] = dispatch.groups;
    for gz in 0..z {
        for gy in 0..y {
            for gx in 0..x {
                machine.threadgroup(&mut simds, [gx, gy, gz])?;
                machine.group_number += 1;
            }
        }
    }
    Ok(machine.stats)
}

impl Machine<'_> {
    /// A SIMD group with its constants in place.
    fn simd(&self, index: u32) -> Simd {
        let mut registers = vec![[0; 32]; self.program.registers as usize];
        for &(reg, literal) in &self.program.literals {
            registers[reg as usize] = [slot(literal); 32];
        }
        for &(reg, param) in &self.program.arguments {
            if let Some(Bound::Scalar(literal)) = self.bound.get(param) {
                registers[reg as usize] = [slot(*literal); 32];
            }
        }
        Simd { index, registers, ..Simd::default() }
    }

    fn threadgroup(&mut self, simds: &mut [Simd], group: [u32; 3]) -> Result<(), Box<Fault>> {
        self.epoch += 1;
        self.shared.iter_mut().for_each(|s| s.bytes.forget());
        for simd in simds.iter_mut() {
            (simd.pc, simd.mask) = (0, u32::MAX);
            simd.outer.clear();
            for &(reg, builtin) in &self.program.builtins {
                simd.registers[reg as usize] = match builtin {
                    Builtin::Group(axis) => [group[usize::from(axis)]; 32],
                    Builtin::SimdGroup => [simd.index; 32],
                    Builtin::Lane => std::array::from_fn(|l| l as u32),
                    Builtin::Thread => std::array::from_fn(|l| simd.index * 32 + l as u32),
                };
            }
        }
        loop {
            let mut first: Option<(Stop, Pc)> = None;
            for simd in simds.iter_mut() {
                let stop = self.advance(simd).map_err(|failure| self.fault(simd, group, failure))?;
                match (&first, &stop) {
                    (None, _) => first = Some((stop, simd.pc)),
                    (Some((Stop::Barrier, pc)), Stop::Barrier) if *pc == simd.pc => {}
                    (Some((Stop::End, _)), Stop::End) => {}
                    _ => {
                        let at_barrier = matches!(stop, Stop::Barrier);
                        let other = if at_barrier { 0 } else { simd.index };
                        let kind = FaultKind::BarrierMismatch { other };
                        return Err(self.fault(simd, group, (0, kind)));
                    }
                }
            }
            if !matches!(first, Some((Stop::Barrier, _))) {
                return Ok(());
            }
            self.epoch += 1;
            self.stats.barriers += 1;
        }
    }

    fn fault(&self, simd: &Simd, group: [u32; 3], (lane, kind): Failure) -> Box<Fault> {
        let kernel = &self.program.kernel;
        let pc = (simd.pc as usize).saturating_sub(1).min(self.program.origin.len().saturating_sub(1));
        let op = self.program.origin.get(pc).copied();
        Box::new(Fault {
            kernel: kernel.name.clone(),
            op: op.map_or(String::new(), |op| describe(kernel, &Names::new(kernel), op)),
            at: op.map_or(std::panic::Location::caller(), |op| kernel.ops[op].at),
            group,
            thread: simd.index * 32 + lane,
            kind,
        })
    }

    /// Runs a SIMD group to its next threadgroup barrier or to its end; `pc` is then one past the instruction.
    fn advance(&mut self, simd: &mut Simd) -> Result<Stop, Failure> {
        let program = self.program;
        while let Some(instr) = program.code.get(simd.pc as usize) {
            simd.pc += 1;
            self.stats.instructions += 1;
            match instr {
                Instr::Load { at, dst, width } => self.load(simd, at, *dst, *width)?,
                Instr::Store { at, src, width } => self.store(simd, at, *src, *width)?,
                Instr::MatrixLoad { at, dst, transposed, scratch } => {
                    simd.together()?;
                    self.matrix_load(simd, at, *dst, *transposed, *scratch)?;
                }
                Instr::MatrixStore { at, src, scratch } => {
                    simd.together()?;
                    self.matrix_store(simd, at, *src, *scratch)?;
                }
                Instr::TileMultiply { dst, left, right, transposed, sum } => {
                    simd.together()?;
                    self.tile_multiply(simd, *dst, [*left, *right], *transposed, *sum)?;
                }
                Instr::TileStore { to, src } => {
                    simd.together()?;
                    self.tile_store(simd, *to, *src)?;
                }
                Instr::Barrier(Scope::Group) => {
                    simd.together()?;
                    return Ok(Stop::Barrier);
                }
                // Launches run one after the other here.
                Instr::Barrier(Scope::Launch) => {}
                Instr::Barrier(Scope::Simd) => {
                    simd.together()?;
                    simd.epoch += 1;
                }
                other => simd.step(other)?,
            }
        }
        Ok(Stop::End)
    }
}

impl Simd {
    fn together(&self) -> Result<(), Failure> {
        match self.mask {
            u32::MAX => Ok(()),
            lanes => Err((lanes.trailing_zeros() & 31, FaultKind::Divergent { lanes })),
        }
    }

    fn get(&self, reg: Reg) -> &Lanes {
        &self.registers[reg as usize]
    }

    fn set(&mut self, reg: Reg, value: Lanes) {
        self.registers[reg as usize] = value;
    }

    /// Copies in the lanes that are here, as if all sources were read before any destination is written.
    fn copy(&mut self, copies: &Copies) {
        if copies.crossing {
            let values: Vec<Lanes> = copies.pairs.iter().map(|&(_, from)| *self.get(from)).collect();
            copies.pairs.iter().zip(values).for_each(|(&(to, _), value)| self.merge(to, &value));
        } else {
            for &(to, from) in &copies.pairs {
                let value = *self.get(from);
                self.merge(to, &value);
            }
        }
    }

    /// Sets a register in the lanes that are here.
    fn merge(&mut self, reg: Reg, value: &Lanes) {
        let to = &mut self.registers[reg as usize];
        match self.mask {
            u32::MAX => *to = *value,
            mask => lanes(mask).for_each(|l| to[l] = value[l]),
        }
    }

    /// An instruction that touches no memory.
    fn step(&mut self, instr: &Instr) -> Result<(), Failure> {
        match *instr {
            Instr::Math { op, scalar, dst, a } => self.set(dst, alu::math(op, scalar, self.get(a))),
            Instr::Arithmetic { op, scalar, dst, a, b } => {
                let value = alu::arithmetic(op, scalar, self.get(a), self.get(b), self.mask)?;
                self.set(dst, value);
            }
            Instr::Compare { op, scalar, dst, a, b } => {
                self.set(dst, alu::compare(op, scalar, self.get(a), self.get(b)));
            }
            Instr::Fma { dst, a, b, c } => self.set(dst, alu::fma(self.get(a), self.get(b), self.get(c))),
            Instr::Select { dst, cond, a, b } => {
                let (cond, a, b) = (self.get(cond), self.get(a), self.get(b));
                let value = std::array::from_fn(|l| if cond[l] != 0 { a[l] } else { b[l] });
                self.set(dst, value);
            }
            Instr::Cast { from, to, dst, a } => self.set(dst, alu::cast(from, to, self.get(a))),
            Instr::Bitcast { from, to, dst, a, count } => self.bitcast(from, to, dst, a, count),
            Instr::Copy { dst, a } => self.set(dst, *self.get(a)),
            Instr::Spread { dst, a } => {
                agreed(self.get(a))?;
                self.set(dst, *self.get(a));
            }
            Instr::Dot4 { dst, a, b, c } => {
                let four = |r: Reg| std::array::from_fn(|n| self.get(r + n as Reg));
                let value = alu::dot4(four(a), four(b), self.get(c));
                self.set(dst, value);
            }
            Instr::ShuffleXor { dst, a, bits } => {
                self.together()?;
                let a = *self.get(a);
                self.set(dst, std::array::from_fn(|l| a[l ^ bits as usize]));
            }
            Instr::ShuffleDown { dst, a, by } => {
                self.together()?;
                let a = *self.get(a);
                self.set(dst, std::array::from_fn(|l| *a.get(l + by as usize).unwrap_or(&a[l])));
            }
            Instr::ShuffleLane { dst, a, lane } => {
                self.together()?;
                let (a, lane) = (*self.get(a), *self.get(lane));
                if let Some(l) = (0..32).find(|&l| lane[l] > 31) {
                    let amount = i64::from(lane[l] as i32);
                    return Err((l as u32, FaultKind::Amount { amount }));
                }
                self.set(dst, std::array::from_fn(|l| a[lane[l] as usize]));
            }
            Instr::Reduce { op, scalar, dst, a } => {
                self.together()?;
                self.set(dst, alu::reduce(op, scalar, self.get(a)));
            }
            Instr::Multiply { dst, a, b, c, factor } => {
                self.together()?;
                multiply(&mut self.registers, dst, a, b, c, factor);
            }
            Instr::LoopEnter { index, start, ref copies } => {
                self.copy(copies);
                self.set(index, *self.get(start));
                self.outer.push(self.mask);
            }
            Instr::LoopTest { index, end, step, whole, exit } => {
                let more = if whole { i64::from(step) } else { 1 };
                let (index, end) = (self.get(index), self.get(end));
                let goes_on = |l: usize| i64::from(index[l] as i32) + more <= i64::from(end[l] as i32);
                self.mask &= (0..32).fold(0, |mask, l| mask | u32::from(goes_on(l)) << l);
                self.leave_if_empty(exit);
            }
            Instr::LoopNext { index, step, ref copies, test } => {
                self.copy(copies);
                let at = *self.get(index);
                let next = |l: usize| (at[l] as i32).checked_add_unsigned(step);
                if let Some(l) = lanes(self.mask).find(|&l| next(l).is_none()) {
                    let index = i64::from(at[l] as i32) + i64::from(step);
                    return Err((l as u32, FaultKind::IndexOverflow { index }));
                }
                self.merge(index, &at.map(|v| v.wrapping_add(step)));
                self.pc = test;
            }
            Instr::WhenEnter { cond, exit } => {
                self.outer.push(self.mask);
                for l in lanes(self.mask) {
                    if self.get(cond)[l] == 0 {
                        self.mask &= !(1 << l);
                    }
                }
                self.leave_if_empty(exit);
            }
            Instr::WhenExit => self.mask = self.outer.pop().unwrap_or(u32::MAX),
            Instr::Load { .. }
            | Instr::Store { .. }
            | Instr::MatrixLoad { .. }
            | Instr::MatrixStore { .. }
            | Instr::TileMultiply { .. }
            | Instr::TileStore { .. }
            | Instr::Barrier(_) => {}
        }
        Ok(())
    }

    fn leave_if_empty(&mut self, exit: Pc) {
        if self.mask == 0 {
            self.mask = self.outer.pop().unwrap_or(u32::MAX);
            self.pc = exit;
        }
    }

    fn bitcast(&mut self, from: Scalar, to: Scalar, dst: Reg, a: Reg, count: u32) {
        let signed = |v: u32| if to == Scalar::I8 { i32::from(v as u8 as i8) as u32 } else { v };
        let (from, to) = (from.bytes(), to.bytes());
        for n in 0..count {
            let mut value = [0; 32];
            for byte in 0..to {
                let at = n * to + byte;
                let source = self.get(a + at / from);
                for l in 0..32 {
                    value[l] |= (source[l] >> (8 * (at % from)) & 0xff) << (8 * byte);
                }
            }
            self.set(dst + n, value.map(signed));
        }
    }
}
