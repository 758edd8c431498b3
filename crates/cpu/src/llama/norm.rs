//! RMSNorm.

/// `1 / √(mean(x²) + eps)`: squares are rounded to f32 and summed one after the other in f64.
pub(crate) fn inverse_rms(x: &[f32], eps: f32) -> f32 {
    let sum = x.iter().fold(0.0, |sum, v| sum + f64::from(v * v));
    let mean = (sum / x.len() as f64) as f32;
    1.0 / (mean + eps).sqrt()
}
