//! The header of a safetensors file: every claim it makes is checked against the file before anything is believed.
//!
//! A file is eight bytes of header length, the header (a JSON object: name to type, shape and byte range), then
//! the data. The ranges must tile the data: no hole, no overlap, nothing outside. Nothing is allocated that is
//! not proportional to the header actually present.

use std::ops::Range;

use safetensors::tensor::TensorInfo;
use serde::Deserialize;
use serde_json::Value;

use super::tiling::{Claim, check_tiling};
use super::weights::Entry;
use crate::{Code, Finding, Refusal, StoredType, json};

/// Longest header, as in the format's own definition.
const HEADER_LIMIT: usize = 100_000_000;

/// The tensors of a file whose bytes are `file`, in the order of their data. `file_index` goes into the entries.
///
/// # Errors
/// `safetensors_invalid` listing every claim that does not hold; `tensor_mismatch` for an element type that
/// is not bf16, f16 or f32.
pub(crate) fn read(file: &[u8], file_index: usize) -> Result<Vec<Entry>, Refusal> {
    let (header, data) = split(file)?;
    let members = json::object(header).map_err(|e| invalid("header", "a JSON object", e))?;

    let mut tensors = Vec::with_capacity(members.len());
    let mut findings = Vec::new();
    for (name, member) in members {
        // Free text that no reader interprets.
        if name == "__metadata__" {
            continue;
        }
        match tensor_info(&member) {
            Ok(info) => tensors.push((name, info)),
            Err(e) => findings.push(Finding::new(name, "exactly dtype, shape and data_offsets", e)),
        }
    }
    findings.extend(tensors.iter().filter_map(|(name, info)| wrong_size(name, info)));
    let claims = tensors.iter().map(|(name, info)| {
        let (start, end) = info.data_offsets;
        Claim { name, start, end: Some(end) }
    });
    findings.extend(check_tiling(claims.collect(), data.len(), "byte"));
    Refusal::check(Code::SafetensorsInvalid, findings)?;

    let mut entries = Vec::with_capacity(tensors.len());
    let mut mistyped = Vec::new();
    for (name, info) in tensors {
        let (start, end) = info.data_offsets;
        match stored_type(info.dtype) {
            Some(stored) => entries.push(Entry {
                name,
                shape: info.shape,
                stored,
                transposed: false,
                interleaved: None,
                file: file_index,
                range: data.start + start..data.start + end,
            }),
            None => mistyped.push(Finding::new(name, "BF16, F16 or F32", info.dtype)),
        }
    }
    Refusal::check(Code::TensorMismatch, mistyped)?;
    Ok(entries)
}

/// One member of the header, with no key but the three.
fn tensor_info(member: &Value) -> Result<TensorInfo, String> {
    match member.as_object() {
        Some(keys) if keys.len() == 3 => TensorInfo::deserialize(member).map_err(|e| e.to_string()),
        _ => Err(json::show(member)),
    }
}

/// Header bytes, and where the data lies in the file.
fn split(file: &[u8]) -> Result<(&[u8], Range<usize>), Refusal> {
    let Some((length, rest)) = file.split_first_chunk::<8>() else {
        return Err(invalid("file", "at least 8 bytes", format!("{} bytes", file.len())));
    };
    let length = u64::from_le_bytes(*length);
    match usize::try_from(length) {
        Ok(n) if n <= HEADER_LIMIT && n <= rest.len() => Ok((&rest[..n], 8 + n..file.len())),
        _ => {
            let expected = format!("at most {} bytes", rest.len().min(HEADER_LIMIT));
            Err(invalid("header length", expected, length))
        }
    }
}

/// A range that does not hold the shape it is for.
fn wrong_size(name: &str, info: &TensorInfo) -> Option<Finding> {
    let (start, end) = info.data_offsets;
    let elements = info.shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
    let size = elements.and_then(|n| n.checked_mul(info.dtype.bitsize())).map(|bits| bits.div_ceil(8));
    if size.is_some() && size == end.checked_sub(start) {
        return None;
    }
    let size = size.map_or_else(|| "a size that can be counted".to_owned(), |size| format!("{size} bytes"));
    let expected = format!("{size} for {} {:?}", info.dtype, info.shape);
    Some(Finding::new(name, expected, format!("bytes {start}..{end}")))
}

fn stored_type(dtype: safetensors::Dtype) -> Option<StoredType> {
    match dtype {
        safetensors::Dtype::BF16 => Some(StoredType::Bf16),
        safetensors::Dtype::F16 => Some(StoredType::F16),
        safetensors::Dtype::F32 => Some(StoredType::F32),
        _ => None,
    }
}

fn invalid(what: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::SafetensorsInvalid, what, expected, got)
}
