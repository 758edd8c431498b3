//! Fragments: 64 elements in two registers, element `8·row + column` in register `/ 32`, lane `mod 32`.
//!
//! That arrangement is the interpreter's own; no kernel can see it.

use half::{bf16, f16};

use crate::types::Scalar;

use super::access::Failure;
use super::fault::FaultKind;
use super::lanes::Lanes;
use super::program::{At, Reg, ViewAt};
use super::run::{Machine, Simd};
use super::shadow::WHOLE;

/// What a whole SIMD group must agree on.
pub(super) fn agreed(value: &Lanes) -> Result<u32, Failure> {
    match (1..32).find(|&l| value[l] != value[0]) {
        None => Ok(value[0]),
        Some(l) => Err((l as u32, FaultKind::NotUniform)),
    }
}

fn get(registers: &[Lanes], reg: Reg, element: usize) -> u32 {
    registers[reg as usize + element / 32][element % 32]
}

impl Machine<'_> {
    /// The element in memory for each element of the fragment at `at`; `None` outside a guarded axis.
    fn tile(&self, simd: &Simd, view: &ViewAt, at: &At) -> Result<Vec<Option<u64>>, Failure> {
        let fail = |kind| (0, kind);
        let rank = view.axes.len();
        if rank < 2 {
            let reason = "a fragment needs a view of at least two axes".to_owned();
            return Err(fail(FaultKind::Launch { reason }));
        }
        let mut base = view.offset;
        let mut first = [0i64; 2];
        let mut inside = true;
        for (axis, &index) in at.index.iter().enumerate() {
            let coordinate = i64::from(agreed(&simd.registers[index as usize])? as i32);
            if axis + 2 < rank {
                let length = view.length(axis, &simd.registers, 0).map_err(fail)?;
                inside &= view.judge(axis, coordinate, length, 1).map_err(fail)?;
                base = base.wrapping_add((coordinate as u64).wrapping_mul(view.axes[axis].stride));
            } else {
                first[axis + 2 - rank] = coordinate;
            }
        }
        let mut elements = Vec::with_capacity(64);
        for row in 0..8 {
            for column in 0..8 {
                let mut element = Some(base).filter(|_| inside);
                for (n, step) in [row, column].into_iter().enumerate() {
                    let axis = rank - 2 + n;
                    let coordinate = first[n] + step;
                    let length = view.length(axis, &simd.registers, 0).map_err(fail)?;
                    let here = view.judge(axis, coordinate, length, 1).map_err(fail)?;
                    let offset = (coordinate as u64).wrapping_mul(view.axes[axis].stride);
                    element = element.filter(|_| here).map(|e| e.wrapping_add(offset));
                }
                elements.push(element);
            }
        }
        Ok(elements)
    }

    /// A fragment that crosses the edge passes through its SIMD group's part of the scratch, whose contents are
    /// lost.
    fn spill(&mut self, simd: &mut Simd, scratch: Option<usize>) -> Result<(), Failure> {
        let program = self.program;
        let Some(view) = scratch.map(|s| &program.views[s]) else { return Ok(()) };
        simd.epoch += 1;
        for n in 0..64 {
            let element = view.offset + u64::from(simd.index) * 64 + n;
            let fail = |kind| (0, kind);
            let byte = self.byte(view, element).map_err(fail)?;
            self.touch(simd, view, element, WHOLE, true).map_err(fail)?;
            if let super::program::MemoryAt::Shared(shared) = view.memory {
                self.shared[shared].bytes.forget_range(byte, view.element.bytes() as usize);
            }
        }
        simd.epoch += 1;
        Ok(())
    }

    pub(super) fn matrix_load(
        &mut self,
        simd: &mut Simd,
        at: &At,
        dst: Reg,
        transposed: bool,
        scratch: Option<usize>,
    ) -> Result<(), Failure> {
        let program = self.program;
        let view = &program.views[at.view];
        let elements = self.tile(simd, view, at)?;
        if elements.contains(&None) {
            self.spill(simd, scratch)?;
        }
        for (n, element) in elements.into_iter().enumerate() {
            let mut value = view.fill;
            if let Some(element) = element {
                let fail = |kind| (0, kind);
                value = self.peek(view, element).map_err(fail)?;
                self.touch(simd, view, element, WHOLE, false).map_err(fail)?;
            }
            let n = if transposed { n % 8 * 8 + n / 8 } else { n };
            simd.registers[dst as usize + n / 32][n % 32] = value;
        }
        Ok(())
    }

    pub(super) fn matrix_store(
        &mut self,
        simd: &mut Simd,
        at: &At,
        src: Reg,
        scratch: Option<usize>,
    ) -> Result<(), Failure> {
        let program = self.program;
        let view = &program.views[at.view];
        let elements = self.tile(simd, view, at)?;
        if elements.contains(&None) {
            self.spill(simd, scratch)?;
        }
        for (n, element) in elements.into_iter().enumerate() {
            let Some(element) = element else { continue };
            let fail = |kind| (0, kind);
            self.poke(view, element, get(&simd.registers, src, n)).map_err(fail)?;
            self.touch(simd, view, element, WHOLE, true).map_err(fail)?;
        }
        Ok(())
    }
}

/// The number that bits of a float type stand for.
pub(super) fn wide(bits: u32, scalar: Scalar) -> f32 {
    match scalar {
        Scalar::F16 => f16::from_bits(bits as u16).to_f32(),
        Scalar::Bf16 => bf16::from_bits(bits as u16).to_f32(),
        _ => f32::from_bits(bits),
    }
}

/// `c + a·b`, the inner index ascending, each product fused.
pub(super) fn multiply(registers: &mut [Lanes], dst: Reg, a: Reg, b: Reg, c: Reg, factor: Scalar) {
    let fetch = |reg| -> [f32; 64] { std::array::from_fn(|n| wide(get(registers, reg, n), factor)) };
    let (a, b) = (fetch(a), fetch(b));
    let mut sum: [f32; 64] = std::array::from_fn(|n| f32::from_bits(get(registers, c, n)));
    for inner in 0..8 {
        for row in 0..8 {
            for column in 0..8 {
                let sum = &mut sum[row * 8 + column];
                *sum = a[row * 8 + inner].mul_add(b[inner * 8 + column], *sum);
            }
        }
    }
    for (n, value) in sum.into_iter().enumerate() {
        registers[dst as usize + n / 32][n % 32] = value.to_bits();
    }
}
