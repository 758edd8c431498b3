//! Writes a GGUF file, version 3, as it is or quantised.
//!
//! What is written holds what the checkpoint states as far as the format has a place for it: configuration, tokenizer,
//! template and the ids that end a text, but no settings of sampling. What the format cannot say is refused. Vectors become
//! f32; matrices keep their type, or are quantised.

mod facts;
mod tokenizer;

use std::path::Path;

use super::check_free;
use super::quantise::quantise;
use super::staged::{Reserved, Staged, unwritable};
use crate::gguf::names::{ROPE_FACTORS, gguf, is_rotated};
use crate::gguf::write::Writer;
use crate::{Checkpoint, Code, Family, Finding, Refusal, Role, RopeScaling, StoredType, Tensor};

/// A mixture of block types for the matrices of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quant {
    /// 8 bits and a scale for 32 weights.
    Q8_0,
    /// 4 bits and a scale for 32 weights; the head in 6 bits.
    Q4_0,
    /// 4 bits with scales and minima in 6 bits for 32 weights; the head, half of the values and half of the last
    /// matrices of the layers in 6 bits. Rows that are no multiple of 256 are kept in 8 bits.
    Q4KM,
}

impl Quant {
    /// Every mixture, by the name used on the command line.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Q8_0, "q8_0"), (Self::Q4_0, "q4_0"), (Self::Q4KM, "q4_k_m")];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(quant, _)| *quant == self).map_or("", |(_, name)| name)
    }

    /// The type of a matrix of `role` with rows of `cols` in layer `layer` of `layers`.
    fn stored(self, role: Role, is_head: bool, cols: usize, (layer, layers): (usize, usize)) -> StoredType {
        let more = layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
        let wanted = match self {
            Self::Q8_0 => StoredType::Q8_0,
            _ if is_head => StoredType::Q6K,
            Self::Q4_0 => StoredType::Q4_0,
            Self::Q4KM if matches!(role, Role::V | Role::Down) && more => StoredType::Q6K,
            Self::Q4KM => StoredType::Q4K,
        };
        if cols.is_multiple_of(wanted.block_len()) { wanted } else { StoredType::Q8_0 }
    }
}

/// A tensor to be written.
struct Planned<'a> {
    tensor: Tensor<'a>,
    name: String,
    stored: StoredType,
    /// As in [`Tensor`], of what is written.
    interleaved: Option<usize>,
}

/// Writes `checkpoint` to the file `path`, whose folder is made if absent. `progress` hears bytes written and bytes in
/// all.
///
/// # Errors
/// Before anything is written: [`Code::InexactConversion`] for what the format cannot state, [`Code::OutputExists`]. Later
/// [`Code::FileUnwritable`] or [`Code::NonFiniteWeight`]; then no partial file is left.
pub fn write_gguf(
    checkpoint: &Checkpoint,
    path: &Path,
    quant: Option<Quant>,
    overwrite: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Refusal> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(Refusal::new(Code::FileUnwritable, "path", "a file name", path.display()));
    };
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let mut writer = Writer::default();
    let factors = facts::write(checkpoint, quant, &mut writer)?;
    tokenizer::write(checkpoint, &mut writer)?;
    let planned = plan(checkpoint, quant)?;
    let mut paddings = Vec::with_capacity(planned.len());
    for Planned { tensor, name, stored, .. } in &planned {
        paddings.push(writer.tensor(name, tensor.shape, *stored));
    }
    let factor_padding =
        factors.as_ref().map(|factors| writer.tensor(ROPE_FACTORS, &[factors.len()], StoredType::F32));
    let total = writer.data_bytes() as u64;
    check_free(dir, &[name], Vec::new(), overwrite)?;
    std::fs::create_dir_all(dir).map_err(|e| unwritable(dir, &e))?;
    let _reserved = Reserved::new(dir, &[name])?;
    check_free(dir, &[name], Vec::new(), overwrite)?;
    let mut file = Staged::create(dir, name)?;
    file.write(&writer.finish())?;
    let mut done = 0;
    for (planned, padding) in planned.iter().zip(paddings) {
        file.write(&vec![0; padding])?;
        planned.write(&mut |bytes| {
            done += bytes.len() as u64;
            progress(done, total);
            file.write(bytes)
        })?;
        checkpoint.release(planned.tensor.bytes);
    }
    if let (Some(factors), Some(padding)) = (factors, factor_padding) {
        file.write(&vec![0; padding])?;
        file.write(&factors.iter().flat_map(|factor| (*factor as f32).to_le_bytes()).collect::<Vec<_>>())?;
    }
    progress(total, total);
    file.commit()
}

/// Every parameter with its name and type in the file.
fn plan(checkpoint: &Checkpoint, quant: Option<Quant>) -> Result<Vec<Planned<'_>>, Refusal> {
    let config = checkpoint.config();
    let rotates = matches!(config.family, Family::Llama | Family::Mistral);
    let (mut planned, mut findings) = (Vec::new(), Vec::new());
    let _ = checkpoint.parameters().map(|role, tensor| {
        let is_head = role == Role::Head || (role == Role::Embedding && config.tied);
        let layer = tensor.name.split('.').nth(2).and_then(|part| part.parse().ok()).unwrap_or(0);
        let stored = match (tensor.shape, quant) {
            ([_, cols], Some(quant)) => quant.stored(role, is_head, *cols, (layer, config.layers)),
            ([_, _], None) if tensor.stored != StoredType::F64 => tensor.stored,
            _ => StoredType::F32,
        };
        match gguf(tensor.name) {
            Some(name) => planned.push(Planned {
                name,
                stored,
                interleaved: (rotates && is_rotated(tensor.name)).then_some(config.head_dim),
                tensor: tensor.clone(),
            }),
            None => findings.push(Finding::new(tensor.name, "a tensor that GGUF has a name for", "another")),
        }
    });
    Refusal::check(Code::InexactConversion, findings)?;
    Ok(planned)
}

impl Planned<'_> {
    /// Hands `out` the data row by row.
    fn write(&self, out: &mut dyn FnMut(&[u8]) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let (rows, cols) = (self.tensor.rows(), self.tensor.row_len());
        let mut values = vec![0.0; cols];
        let mut order: Vec<usize> = (0..rows).collect();
        let to = Tensor { interleaved: self.interleaved, ..self.tensor.clone() };
        (0..rows).for_each(|row| order[to.stored_row(row)] = row);
        let as_it_is = self.stored == self.tensor.stored && !self.tensor.transposed;
        let mut bytes = Vec::new();
        for (index, row) in order.into_iter().enumerate() {
            if as_it_is {
                self.tensor.check_finite(row..row + 1)?;
                bytes.extend_from_slice(self.tensor.row_bytes(row));
            } else {
                self.tensor.rows_f32(row..row + 1, &mut values)?;
                quantise(self.stored, &values, &mut bytes);
            }
            if bytes.len() > 1 << 20 || index + 1 == rows {
                out(&bytes)?;
                bytes.clear();
            }
        }
        Ok(())
    }
}

/// Divisors of the rotary frequencies, where the format states scaling by them.
fn divisors(checkpoint: &Checkpoint) -> Option<Vec<f64>> {
    let config = checkpoint.config();
    match &config.rope.scaling {
        RopeScaling::Factors(factors) => Some(factors.clone()),
        RopeScaling::Llama3 { .. } => {
            let plain = crate::Rope { scaling: RopeScaling::None, ..config.rope.clone() };
            let scaled = config.rope.inv_freq(config.head_dim);
            Some(
                plain
                    .inv_freq(config.head_dim)
                    .iter()
                    .zip(scaled)
                    .map(|(plain, scaled)| plain / scaled)
                    .collect(),
            )
        }
        RopeScaling::None | RopeScaling::Linear { .. } | RopeScaling::Yarn { .. } => None,
    }
}
