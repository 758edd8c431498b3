//! The generator: a value for each (seed, name, index), computed independently of every other.

/// Random numbers addressed by index, from a seed and a name.
///
/// The bits at index `i` are the SplitMix64 finaliser (Steele, Lea and Flood, 2014) of `key + i * 2^64/phi`, and `key`
/// is that finaliser of the seed mixed with the FNV-1a hash of the name.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    key: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draw {
    /// The stream called `name` of `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let name = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        Self { key: mix(seed.wrapping_add(GOLDEN) ^ name) }
    }

    /// 64 random bits at index `i`.
    pub fn bits(self, i: u64) -> u64 {
        mix(self.key.wrapping_add(i.wrapping_mul(GOLDEN)))
    }

    /// A value at index `i` of mean 0, standard deviation 1 and magnitude at most 3.47: the sum of four uniform 16-bit
    /// integers, which is near enough to normal for weights and exact on every machine.
    pub fn normal(self, i: u64) -> f32 {
        /// `sqrt((2^32 - 1) / 3)`, the standard deviation of such a sum.
        const DEVIATION: f32 = 37_837.23;
        let bits = self.bits(i);
        let sum: u64 = (0..4).map(|part| (bits >> (16 * part)) & 0xffff).sum();
        (sum as f32 - 2.0 * 65_535.0) / DEVIATION
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
