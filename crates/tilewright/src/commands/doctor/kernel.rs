//! Products of seeded values, compared with the same products in float64.

use tilewright_cpu::matmul::{Inputs, Matrix, matmul};
use tilewright_cpu::pool::Pool;
use tilewright_cpu::simd::Isa;
use tilewright_model::{Refusal, WeightFormat};

/// Rows of activations, inputs and outputs: none a multiple of a vector, a tile or a group.
const ROWS: usize = 7;
const INPUTS: usize = 1_001;
const OUTPUTS: usize = 67;

/// The shape, for people.
pub(super) const SHAPE: &str = "7 rows, 1001 inputs and 67 outputs";

/// The greatest error as a share of what rounding allows: at most 1 when the kernels are right, not a number when a
/// result is not.
///
/// What rounding allows: activations lie within half a step of a 127th of the greatest (integer formats) or within a
/// few roundings (floats); weights are taken as they are after packing.
pub(super) fn error(isa: Isa, format: WeightFormat) -> Result<f64, Refusal> {
    let pool = Pool::new(2);
    let (weights, activations) = (values(OUTPUTS * INPUTS, 1), values(ROWS * INPUTS, 2));
    let matrix = Matrix::pack(&pool, isa, format, (OUTPUTS, INPUTS), &|rows, out| {
        out.copy_from_slice(&weights[rows.start * INPUTS..rows.end * INPUTS]);
        Ok(())
    })?;
    let mut inputs = Inputs::default();
    inputs.fill(&pool, isa, &matrix, ROWS, |row, out| {
        out.copy_from_slice(&activations[row * INPUTS..][..INPUTS]);
    });
    // Poisoned, so that an output nobody writes is found.
    let mut products = vec![f32::NAN; ROWS * OUTPUTS];
    matmul(&pool, isa, &matrix, &inputs, &mut products);

    let mut worst = 0.0f64;
    let mut weights = vec![0.0; INPUTS];
    for output in 0..OUTPUTS {
        matrix.row_f32(output, &mut weights);
        for (row, products) in products.chunks(OUTPUTS).enumerate() {
            let activations = &activations[row * INPUTS..][..INPUTS];
            let share = share(f64::from(products[output]), &weights, activations, format);
            if share.is_nan() {
                return Ok(share);
            }
            worst = worst.max(share);
        }
    }
    Ok(worst)
}

/// How far `got` lies from the product of `weights` and `activations`, as a share of what rounding allows.
fn share(got: f64, weights: &[f32], activations: &[f32], format: WeightFormat) -> f64 {
    let greatest = activations.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let step = f64::from(greatest)
        * match format {
            WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16 => 1e-6,
            WeightFormat::Int8 | WeightFormat::Int4 | WeightFormat::Gguf => 1.0 / 253.0,
        };
    let exact: f64 = weights.iter().zip(activations).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
    let allowed: f64 = weights.iter().map(|w| f64::from(w.abs()) * step).sum();
    (got - exact).abs() / allowed
}

/// Values in (-1, 1) from a linear congruential generator: the same everywhere.
fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}
