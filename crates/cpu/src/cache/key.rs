//! What a file of packed weights is of.

use tilewright_backend::Progress;
use tilewright_model::{Digest, LayerParameters, Parameters, Refusal, StoredType, Tensor, WeightFormat};
use twox_hash::xxhash3_128::Hasher;

use crate::load::{Packer, assemble};
use crate::pool::Pool;
use crate::simd::Isa;

/// The first bytes of every file; the number is that of the format described in [`cache`](super).
const MAGIC: &[u8; 16] = b"tilewright pack1";

/// Content, format and way of packing: equal keys mean equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    digest: Digest,
    format: WeightFormat,
    packing: u128,
}

impl Key {
    /// The key of a checkpoint's content in `format`, packed by this program.
    pub(super) fn of(digest: Digest, format: WeightFormat, by: (Isa, &Pool)) -> Result<Self, Refusal> {
        Ok(Self { digest, format, packing: packing(format, by)? })
    }

    /// The checkpoint's content.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// The format of the matrices.
    pub(super) fn format(&self) -> WeightFormat {
        self.format
    }

    /// The first bytes of the file: magic, content, way of packing, format.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut name = [0; 8];
        name.iter_mut().zip(self.format.name().bytes()).for_each(|(to, from)| *to = from);
        [MAGIC.as_slice(), self.digest.as_bytes(), &self.packing.to_le_bytes(), &name].concat()
    }

    /// The name of the file. Half of the digest and less of the rest do: the file itself holds all of it.
    pub(super) fn file_name(&self) -> String {
        format!("{:.32}-{}-{:08x}.packed", self.digest.to_string(), self.format, self.packing as u32)
    }
}

/// Whether `stem` is the name of such a file without its ending.
pub(super) fn is_stem(stem: &str) -> bool {
    let hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let mut parts = stem.split('-');
    let [digest, format, packing, None] = [parts.next(), parts.next(), parts.next(), parts.next()] else {
        return false;
    };
    digest.is_some_and(|part| hex(part, 32))
        && format.is_some_and(|part| WeightFormat::ALL.iter().any(|format| format.name() == part))
        && packing.is_some_and(|part| hex(part, 8))
}

/// What names the way of packing: a digest of what it makes of a small model. So a change of layout, of rounding or of
/// which tensors lie together in a matrix makes every older file foreign, and no version number can be forgotten.
fn packing(format: WeightFormat, (isa, pool): (Isa, &Pool)) -> Result<u128, Refusal> {
    let sample = Sample::new();
    let parameters = sample.parameters();
    let mut silent = |_: Progress| Ok(());
    let mut packer = Packer::new(&parameters, format, (isa, pool), &|_| (), &mut silent)?;
    let weights = assemble(&parameters, &mut packer)?;
    let mut hasher = Hasher::new();
    for matrix in weights.matrices() {
        hasher.write(&(matrix.bytes().len() as u64).to_le_bytes());
        hasher.write(matrix.bytes());
    }
    Ok(hasher.finish_128())
}

/// Inputs of the sample's matrices: several groups of every format and a part of one, which ends in a part of a word.
const INPUTS: usize = 301;
/// Outputs of a matrix of one tensor: a full panel and a part of one.
const OUTPUTS: usize = 37;

/// Bytes of a small model's weights. All tensors of one shape are the same; stacked ones differ in shape.
struct Sample {
    bytes: Vec<u8>,
}

impl Sample {
    fn new() -> Self {
        let mut state = 1_u32;
        let values = (0..2 * OUTPUTS * INPUTS).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Of several magnitudes, so that groups have scales of their own.
            let magnitude = 1.0 / f32::from(1 + (state >> 12) as u16 % 7);
            ((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * magnitude
        });
        Self { bytes: values.flat_map(f32::to_le_bytes).collect() }
    }

    fn tensor<'a>(&'a self, shape: &'a [usize], skip: usize) -> Tensor<'a> {
        let size = 4 * shape.iter().product::<usize>();
        Tensor {
            name: "sample",
            shape,
            stored: StoredType::F32,
            transposed: false,
            interleaved: None,
            bytes: &self.bytes[skip..][..size],
        }
    }

    /// One layer and an untied head. Stacked matrices begin at different values.
    fn parameters(&self) -> Parameters<Tensor<'_>> {
        let matrix = |skip: usize| self.tensor(&[OUTPUTS, INPUTS], 4 * skip);
        let vector = || self.tensor(&[OUTPUTS], 0);
        Parameters {
            embedding: matrix(1),
            layers: vec![LayerParameters {
                input_norm: vector(),
                q: matrix(2),
                k: matrix(3),
                v: matrix(4),
                q_bias: None,
                k_bias: None,
                v_bias: None,
                q_norm: None,
                k_norm: None,
                o: matrix(5),
                post_norm: vector(),
                gate: matrix(6),
                up: matrix(7),
                down: matrix(8),
            }],
            final_norm: vector(),
            head: Some(matrix(9)),
        }
    }
}
