//! What is computed of single rows between the products, in the order of sums asked for.

use tilewright_backend::Numerics;

use crate::llama;
use crate::norm;
use crate::simd::Isa;
use crate::swiglu::swiglu;

/// How rows are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) isa: Isa,
    pub(crate) numerics: Numerics,
}

impl Rows {
    /// `out = x / rms(x) * weight` with `rms(x) = √(mean(x²) + eps)`; one row.
    pub(crate) fn rms_norm(self, x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
        let scale = self.inverse_rms(x, eps);
        out.iter_mut().zip(x).zip(weight).for_each(|((o, v), w)| *o = v * scale * w);
    }

    /// [`rms_norm`](Self::rms_norm) in place.
    pub(crate) fn rms_norm_in_place(self, x: &mut [f32], weight: &[f32], eps: f32) {
        let scale = self.inverse_rms(x, eps);
        x.iter_mut().zip(weight).for_each(|(v, w)| *v = *v * scale * w);
    }

    fn inverse_rms(self, x: &[f32], eps: f32) -> f32 {
        match self.numerics {
            Numerics::Native => norm::inverse_rms(self.isa, x, eps),
            Numerics::LlamaCpp | Numerics::LlamaCppFlash => llama::norm::inverse_rms(x, eps),
        }
    }

    /// `out = silu(gate) * up`, with `silu(x) = x / (1 + e⁻ˣ)`; one row.
    pub(crate) fn swiglu(self, gate: &[f32], up: &[f32], out: &mut [f32]) {
        match self.numerics {
            Numerics::Native => swiglu(self.isa, gate, up, out),
            Numerics::LlamaCpp | Numerics::LlamaCppFlash => {
                self.isa.run(llama::swiglu::SwiGlu { gate, up, out })
            }
        }
    }
}
