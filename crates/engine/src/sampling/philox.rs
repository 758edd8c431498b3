//! Philox4x32-10, the generator of every draw (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
//! 1, 2, 3", SC 2011).
//!
//! Counter-based: a draw is a function of key and counter and there is no state, so what was drawn before, or for
//! whom, cannot matter. The key is the request's seed, the counter the index of the token in the reply.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// The block of four words for `counter` under `key`.
pub(crate) fn block(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let (high0, low0) = wide(MULTIPLIERS[0], counter[0]);
        let (high1, low1) = wide(MULTIPLIERS[1], counter[2]);
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0];
        key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
    }
    counter
}

/// The draw of `seed` at `step`: uniform on the multiples of 2^-53 in [0, 1).
///
/// Counter words: step (low, high), 0, 0. Key words: seed (low, high). The first two words of the block, the
/// second above the first, give the 53 bits from the top.
pub(crate) fn uniform(seed: u64, step: u64) -> f64 {
    let [first, second, ..] = block([low(step), high(step), 0, 0], [low(seed), high(seed)]);
    let bits = u64::from(second) << 32 | u64::from(first);
    (bits >> 11) as f64 * (-53f64).exp2()
}

fn wide(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    (high(product), low(product))
}

fn low(x: u64) -> u32 {
    (x & 0xFFFF_FFFF) as u32
}

fn high(x: u64) -> u32 {
    (x >> 32) as u32
}

#[cfg(test)]
mod tests;
