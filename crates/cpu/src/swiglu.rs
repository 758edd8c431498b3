//! The gated activation of the MLP.

use crate::exp::exp;
use crate::simd::{Isa, Kernel, LANES, Simd};

/// `out = silu(gate) * up`, with `silu(x) = x / (1 + e⁻ˣ)`; one row.
pub(crate) fn swiglu(isa: Isa, gate: &[f32], up: &[f32], out: &mut [f32]) {
    isa.run(SwiGlu { gate, up, out });
}

struct SwiGlu<'a> {
    gate: &'a [f32],
    up: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for SwiGlu<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (gates, gate_tail) = self.gate.as_chunks::<LANES>();
        let (ups, up_tail) = self.up.as_chunks::<LANES>();
        let (outs, out_tail) = self.out.as_chunks_mut::<LANES>();
        for ((gate, up), out) in gates.iter().zip(ups).zip(outs) {
            vector(s, gate, up, out);
        }
        if !out_tail.is_empty() {
            let (mut gate, mut up, mut out) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            gate[..gate_tail.len()].copy_from_slice(gate_tail);
            up[..up_tail.len()].copy_from_slice(up_tail);
            vector(s, &gate, &up, &mut out);
            out_tail.copy_from_slice(&out[..out_tail.len()]);
        }
    }
}

#[inline(always)]
fn vector<S: Simd>(s: S, gate: &[f32; LANES], up: &[f32; LANES], out: &mut [f32; LANES]) {
    let (gate, up) = (s.load(gate), s.load(up));
    let silu = s.div(gate, s.add(s.splat(1.0), exp(s, s.sub(s.splat(0.0), gate))));
    s.store(s.mul(silu, up), out);
}

#[cfg(test)]
mod tests;
