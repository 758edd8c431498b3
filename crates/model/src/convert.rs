//! Writes checkpoints: here the converted pair `manifest.json` + `weights.blob`, which `docs/converted-checkpoint.md`
//! describes; GGUF in [`write_gguf`], the published form in [`write_safetensors`].
//!
//! bf16, f16 and f32 sources widen exactly to either element type. Nothing is rounded but by a [`Rounding`]: an f64 source
//! becomes f32 only where that is exact. Memory stays within one tile of a tensor. Not here: reading the pair (see
//! [`Checkpoint::open`]).

mod blob;
mod gguf;
mod quantise;
mod safetensors;
mod staged;

use std::path::Path;

use serde_json::{Value, json};

use crate::manifest::{BLOB, MANIFEST, Manifest, ManifestConfig, ManifestTensor};
use crate::{Checkpoint, Code, Config, Finding, Refusal, Role, StoredType, Tensor, fixed_arm};
pub use gguf::{Quant, write_gguf};
pub use safetensors::{write_rounded, write_safetensors};
pub use staged::discard_partial;
use staged::{Reserved, Staged};

/// Type of an element of the blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlobType {
    /// IEEE binary64.
    #[default]
    F64,
    /// IEEE binary32.
    F32,
}

impl BlobType {
    /// The stored type it is read back as.
    pub fn stored(self) -> StoredType {
        match self {
            Self::F64 => StoredType::F64,
            Self::F32 => StoredType::F32,
        }
    }
}

/// Which entry point the pair is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arm {
    /// Any supported model: the manifest states every fact.
    #[default]
    AnyModel,
    /// The fixed entry point: the shape of Qwen3-0.6B-Base and no other, whose facts the manifest leaves out.
    Fixed,
}

/// How matrices are rounded before they are written: parts of rows, `[_, n]`, in place. A part begins where a group of inputs
/// does, as long as that has [`Rounding::GROUP`] elements or a divisor of it.
#[derive(Clone, Copy)]
pub struct Rounding<'a>(pub &'a RoundRows<'a>);

/// Rounds parts of rows of the length given, one after the other.
pub type RoundRows<'a> = dyn Fn(&mut [f32], usize) -> Result<(), Refusal> + 'a;

impl Rounding<'_> {
    /// Elements of the largest group.
    pub const GROUP: usize = 256;

    /// Rounds elements of the row length `n`; vectors stay as they are.
    fn apply(
        rounding: Option<Self>,
        tensor: &Tensor<'_>,
        values: &mut [f32],
        n: usize,
    ) -> Result<(), Refusal> {
        match rounding {
            Some(Rounding(round)) if tensor.shape.len() == 2 => round(values, n),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Rounding<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rounding")
    }
}

/// What to write.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions<'a> {
    /// Type of an element.
    pub dtype: BlobType,
    /// Keys of the manifest.
    pub arm: Arm,
    /// How matrices are rounded, if at all.
    pub rounding: Option<Rounding<'a>>,
    /// Prompt folded into the manifest; may be empty.
    pub input_ids: &'a [u32],
    /// Whether a pair that is there already is replaced.
    pub overwrite: bool,
}

/// Converts `checkpoint` into `dir`, which is made if absent. `progress` hears bytes written and bytes in all.
///
/// # Errors
/// Before anything is written: [`Code::UnsupportedArchitecture`] for facts the format cannot state,
/// [`Code::FixedShapeMismatch`] for [`Arm::Fixed`] with another shape, [`Code::RequestInvalid`] for prompt ids outside
/// the vocabulary, [`Code::OutputExists`]. Later [`Code::FileUnwritable`], [`Code::NonFiniteWeight`] or, for an f64
/// value that f32 cannot hold, [`Code::InexactConversion`]; then no partial file is left.
pub fn convert(
    checkpoint: &Checkpoint,
    dir: &Path,
    options: &ConvertOptions<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Refusal> {
    let tensors = sorted(checkpoint);
    let manifest = manifest(checkpoint.config(), &tensors, options)?;
    check_ids(options.input_ids, checkpoint.config().vocab)?;
    check_free_of_pairs(dir, options.overwrite)?;

    std::fs::create_dir_all(dir).map_err(|e| staged::unwritable(dir, &e))?;
    let _reserved = Reserved::new(dir, &[BLOB, MANIFEST])?;
    // Whoever had it reserved before may have put a pair there.
    check_free_of_pairs(dir, options.overwrite)?;
    let mut blob_file = Staged::create(dir, BLOB)?;
    blob::write(&tensors, (options.dtype, options.rounding), &mut blob_file, progress)?;
    let mut manifest_file = Staged::create(dir, MANIFEST)?;
    manifest_file.write(manifest.as_bytes())?;

    // A pair being replaced is no pair from here on until the new manifest names the new blob.
    staged::remove(&dir.join(MANIFEST))?;
    blob_file.commit()?;
    manifest_file.commit()
}

/// Folds another prompt into the pair in `dir` by rewriting its manifest.
///
/// # Errors
/// [`Code::CheckpointNotFound`] or [`Code::FileUnreadable`] when there is no manifest to read, those of
/// [`Manifest::read`], [`Code::RequestInvalid`] for ids outside its vocabulary, [`Code::FileUnwritable`].
pub fn restamp(dir: &Path, input_ids: &[u32]) -> Result<(), Refusal> {
    let path = dir.join(MANIFEST);
    let text = std::fs::read(&path).map_err(|e| {
        let missing = e.kind() == std::io::ErrorKind::NotFound;
        let code = if missing { Code::CheckpointNotFound } else { Code::FileUnreadable };
        Refusal::new(code, MANIFEST, "a readable file", e).at(path.display())
    })?;
    let _reserved = Reserved::new(dir, &[MANIFEST])?;
    check_ids(input_ids, Manifest::read(&text).map_err(|r| r.at(path.display()))?.config.vocab)?;
    let mut manifest: Value = serde_json::from_slice(&text).unwrap_or_default();
    manifest["config"]["n_tokens"] = json!(input_ids.len());
    manifest["input_ids"] = json!(input_ids);
    let mut file = Staged::create(dir, MANIFEST)?;
    file.write(manifest.to_string().as_bytes())?;
    file.commit()
}

/// The text of the manifest for `tensors`, which are in the order of the blob.
fn manifest(
    config: &Config,
    tensors: &[(Role, Tensor<'_>)],
    options: &ConvertOptions<'_>,
) -> Result<String, Refusal> {
    let mut facts = ManifestConfig::new(config, options.input_ids.len())?;
    if options.dtype == BlobType::F32 {
        facts = facts.f32();
    }
    if options.arm == Arm::Fixed {
        fixed_arm::check(config)?;
        facts = facts.fixed();
    }
    let mut manifest =
        Manifest { config: facts, input_ids: options.input_ids.to_vec(), tensors: Default::default() };
    let mut offset = 0;
    for (role, tensor) in tensors {
        let transposed = is_transposed(*role);
        let mut shape = tensor.shape.to_vec();
        if transposed {
            shape.reverse();
        }
        let n_elements = tensor.elements();
        let entry = ManifestTensor { offset, n_elements, shape, transposed };
        manifest.tensors.insert(tensor.name.to_owned(), entry);
        offset += n_elements;
    }
    serde_json::to_string(&manifest)
        .map_err(|e| Refusal::new(Code::FileUnwritable, MANIFEST, "facts that JSON can hold", e))
}

/// Every parameter of the model, in the byte order of the names; tensors that are stored but unused are left out.
fn sorted(checkpoint: &Checkpoint) -> Vec<(Role, Tensor<'_>)> {
    let mut tensors = Vec::new();
    let _ = checkpoint.parameters().map(|role, tensor| tensors.push((role, tensor.clone())));
    tensors.sort_by(|(_, a), (_, b)| a.name.cmp(b.name));
    tensors
}

/// Whether the blob holds a tensor of this role as `[in, out]`.
fn is_transposed(role: Role) -> bool {
    matches!(role, Role::Q | Role::K | Role::V | Role::O | Role::Gate | Role::Up | Role::Down)
}

fn check_ids(ids: &[u32], vocab: usize) -> Result<(), Refusal> {
    let outside = ids.iter().enumerate().filter(|&(_, &id)| id as usize >= vocab);
    let finding = |(i, id)| Finding::new(format!("input_ids[{i}]"), format!("an id below {vocab}"), id);
    Refusal::check(Code::RequestInvalid, outside.map(finding).collect())
}

/// What to do where all that is in the way may be replaced.
const REPLACE: &str = "Choose another directory, or ask for it to be replaced: with `overwrite`, on the command line --overwrite.";

/// Refuses a folder with files of these names, unless they are to be replaced, and one with `others`, which never are.
fn check_free(dir: &Path, names: &[&str], others: Vec<String>, overwrite: bool) -> Result<(), Refusal> {
    let replaceable = others.is_empty();
    let names = names.iter().filter(|name| !overwrite && dir.join(name).exists());
    let mut taken: Vec<String> = names.map(|name| (*name).to_owned()).chain(others).collect();
    taken.sort();
    let findings = taken.into_iter().map(|name| Finding::new(name, "no such file", "a file")).collect();
    Refusal::check(Code::OutputExists, findings).map_err(|refusal| match replaceable {
        true => refusal.with_remedy(REPLACE).at(dir.display()),
        false => refusal.at(dir.display()),
    })
}

/// Weights in safetensors in a folder, besides a file of the name `own`: beside what is written they would make no
/// checkpoint at all.
fn other_weights(dir: &Path, own: Option<&str>) -> Vec<String> {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let is_weights =
        |name: &String| name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
    names.filter(|name| is_weights(name) && own != Some(name)).collect()
}

/// Refuses a folder that a pair may not be written to.
fn check_free_of_pairs(dir: &Path, overwrite: bool) -> Result<(), Refusal> {
    check_free(dir, &[BLOB, MANIFEST], other_weights(dir, None), overwrite)
}
