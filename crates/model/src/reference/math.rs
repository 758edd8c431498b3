//! The operations of a decoder layer over row-major float64.

/// `x @ w^T + bias`: `x` is `[T, width]`, `w` is `[out, width]`, the result `[T, out]`.
pub(super) fn linear(x: &[f64], width: usize, w: &[f64], bias: Option<&[f64]>) -> Vec<f64> {
    let (rows, outs) = (x.len() / width, w.len() / width);
    let mut y = vec![0.0; rows * outs];
    // Threads share the outputs, which changes no sum; a small product is not worth one.
    let share = outs.div_ceil(threads(rows * w.len()));
    std::thread::scope(|scope| {
        let part = |w: &[f64]| -> Vec<f64> {
            w.chunks_exact(width).flat_map(|w| x.chunks_exact(width).map(|x| dot(x, w))).collect()
        };
        let mut parts = w.chunks(share * width);
        let first = parts.next();
        let others: Vec<_> = parts.map(|w| scope.spawn(move || part(w))).collect();
        let mut place = |at: usize, sums: Vec<f64>| {
            for (o, column) in sums.chunks_exact(rows).enumerate() {
                let bias = bias.map_or(0.0, |bias| bias[at + o]);
                for (t, sum) in column.iter().enumerate() {
                    y[t * outs + at + o] = sum + bias;
                }
            }
        };
        first.into_iter().for_each(|w| place(0, part(w)));
        for (i, other) in others.into_iter().enumerate() {
            match other.join() {
                Ok(sums) => place((i + 1) * share, sums),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    y
}

/// How many threads a product of this many multiplications is shared by.
fn threads(products: usize) -> usize {
    const WORTH: usize = 1 << 20;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (products / WORTH).clamp(1, cores)
}

/// Sum of products, kept as four running sums so that one addition need not wait for the one before.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a, a_rest) = a.as_chunks::<4>();
    let (b, b_rest) = b.as_chunks::<4>();
    for (a, b) in a.iter().zip(b) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums[0] + sums[1] + (sums[2] + sums[3]) + rest
}

/// `x / sqrt(mean(x^2) + eps) * w` over each run of `w.len()` values: a row, or one head of a row.
pub(super) fn rms_norm(x: &[f64], w: &[f64], eps: f64) -> Vec<f64> {
    let mut y = Vec::with_capacity(x.len());
    for x in x.chunks_exact(w.len()) {
        let scale = 1.0 / (dot(x, x) / x.len() as f64 + eps).sqrt();
        y.extend(x.iter().zip(w).map(|(x, w)| x * scale * w));
    }
    y
}

/// Rotates every head of `x`, `[T, heads, head_dim]`, whose first row stands at position `start`.
///
/// Element `i` of the first half and element `i` of the second half form a pair (the "rotate half" order).
pub(super) fn rotate(
    x: &mut [f64],
    heads: usize,
    head_dim: usize,
    start: usize,
    inv_freq: &[f64],
    factor: f64,
) {
    for (t, row) in x.chunks_exact_mut(heads * head_dim).enumerate() {
        let angles = inv_freq.iter().map(|f| (start + t) as f64 * f);
        let turns: Vec<(f64, f64)> = angles.map(|a| (a.sin() * factor, a.cos() * factor)).collect();
        for head in row.chunks_exact_mut(head_dim) {
            let (left, right) = head.split_at_mut(head_dim / 2);
            for ((l, r), (sin, cos)) in left.iter_mut().zip(right).zip(&turns) {
                (*l, *r) = (*l * cos - *r * sin, *r * cos + *l * sin);
            }
        }
    }
}

/// Softmax attention of one query over the keys and values it may see: `q` is `[head_dim]`, the others
/// `[visible, head_dim]`.
pub(super) fn attend(q: &[f64], k: &[f64], v: &[f64]) -> Vec<f64> {
    let scale = 1.0 / (q.len() as f64).sqrt();
    let mut weights: Vec<f64> = k.chunks_exact(q.len()).map(|k| dot(q, k) * scale).collect();
    let max = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for w in &mut weights {
        *w = (*w - max).exp();
    }
    let sum: f64 = weights.iter().sum();
    let mut mixed = vec![0.0; q.len()];
    for (w, v) in weights.iter().zip(v.chunks_exact(q.len())) {
        for (m, v) in mixed.iter_mut().zip(v) {
            *m += w / sum * v;
        }
    }
    mixed
}

/// `silu(gate) * up`.
pub(super) fn swiglu(gate: &[f64], up: &[f64]) -> Vec<f64> {
    gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect()
}

/// `x += y`.
pub(super) fn add(x: &mut [f64], y: &[f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}
