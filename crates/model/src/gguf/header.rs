//! The header of a GGUF file: every claim it makes is checked against the file before anything is believed.
//!
//! Nothing is allocated that is not proportional to the header actually present. The tensors have to fill the data in the
//! order of their places, each from the next multiple of the alignment on: no hole, no overlap, nothing outside.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::cursor::Cursor;
use super::metadata::Metadata;
use crate::{Code, Finding, Refusal, StoredType};

const MAGIC: &[u8; 4] = b"GGUF";

/// Alignment of the data where the metadata states none.
pub(crate) const ALIGNMENT: usize = 32;

/// A tensor of the file.
#[derive(Clone, Debug)]
pub(crate) struct Described<'a> {
    pub(crate) name: &'a str,
    /// Outermost dimension first, `[out, in]` for a matrix: the other way around than in the file.
    pub(crate) shape: Vec<usize>,
    pub(crate) stored: StoredType,
    /// Bytes in the file.
    pub(crate) range: Range<usize>,
}

/// What the file says of itself.
#[derive(Debug)]
pub(crate) struct Header<'a> {
    pub(crate) metadata: Metadata<'a>,
    pub(crate) tensors: Vec<Described<'a>>,
}

/// What is said of a tensor, before it is believed.
struct Claim<'a> {
    name: &'a str,
    dims: Vec<usize>,
    kind: u32,
    offset: usize,
}

/// Reads the header of a file whose bytes are `file`.
///
/// # Errors
/// `gguf_invalid` for the first thing that cannot be read, else listing every claim that does not hold;
/// `weights_unsupported` naming every element type that is not read.
pub(crate) fn read(file: &[u8]) -> Result<Header<'_>, Refusal> {
    let mut cursor = Cursor::new(file);
    let magic = cursor.array("magic")?;
    if &magic != MAGIC {
        return Err(Refusal::new(Code::GgufInvalid, "magic", "GGUF", String::from_utf8_lossy(&magic)));
    }
    match cursor.u32("version")? {
        2 | 3 => {}
        other if matches!(other.swap_bytes(), 2 | 3) => {
            return Err(Refusal::new(Code::GgufInvalid, "byte order", "little-endian", "big-endian"));
        }
        other => return Err(Refusal::new(Code::GgufInvalid, "version", "2 or 3", other)),
    }
    let tensors = cursor.size("number of tensors")?;
    let keys = cursor.size("number of keys")?;
    let metadata = Metadata::read(&mut cursor, keys)?;
    let claims = (0..tensors).map(|index| claim(&mut cursor, index)).collect::<Result<Vec<_>, _>>()?;

    let mut findings = Vec::new();
    let alignment = metadata.size("general.alignment", &mut findings).unwrap_or(ALIGNMENT);
    if !alignment.is_power_of_two() || alignment > 1 << 20 {
        findings.push(Finding::new("general.alignment", "a power of two up to 1 MiB", alignment));
    }
    Refusal::check(Code::GgufInvalid, findings)?;
    let data = if claims.is_empty() { file.len() } else { cursor.at.next_multiple_of(alignment) };
    let tensors = place(claims, data..file.len(), alignment)?;
    Ok(Header { metadata, tensors })
}

fn claim<'a>(cursor: &mut Cursor<'a>, index: usize) -> Result<Claim<'a>, Refusal> {
    let name = cursor.text(&format!("name of tensor {index}"))?;
    let count = cursor.u32(name)?;
    if !(1..=4).contains(&count) {
        return Err(Refusal::new(
            Code::GgufInvalid,
            format!("tensor {index} {name:?}"),
            "1 to 4 dimensions",
            count,
        ));
    }
    let dims = (0..count).map(|_| cursor.size(name)).collect::<Result<_, _>>()?;
    Ok(Claim { name, dims, kind: cursor.u32(name)?, offset: cursor.size(name)? })
}

/// Checks types, sizes and places.
fn place<'a>(
    claims: Vec<Claim<'a>>,
    data: Range<usize>,
    alignment: usize,
) -> Result<Vec<Described<'a>>, Refusal> {
    let mut unknown: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for claim in claims.iter().filter(|claim| StoredType::of_gguf_number(claim.kind).is_none()) {
        unknown.entry(claim.kind).or_default().push(claim.name);
    }
    let names: Vec<_> =
        StoredType::all().filter(|t| t.gguf_number().is_some()).map(StoredType::name).collect();
    let finding = |(kind, tensors): (u32, Vec<&str>)| {
        let what = format!("{} of {} tensors", tensors[0], tensors.len());
        Finding::new(what, format!("one of {}", names.join(", ")), type_name(kind))
    };
    Refusal::check(Code::WeightsUnsupported, unknown.into_iter().map(finding).collect())?;

    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    let mut described = Vec::with_capacity(claims.len());
    for Claim { name, dims, kind, offset } in claims {
        if !seen.insert(name) {
            findings.push(Finding::new(name, "one tensor of this name", "two"));
        }
        let Some(stored) = StoredType::of_gguf_number(kind) else { continue };
        match size(&dims, stored) {
            Ok(bytes) => {
                // Trailing dimensions of one say nothing.
                let used = dims.iter().rposition(|&n| n != 1).map_or(1, |last| last + 1);
                let shape = dims[..used].iter().rev().copied().collect();
                described.push((Described { name, shape, stored, range: 0..bytes }, offset));
            }
            Err(expected) => findings.push(Finding::new(name, expected, format!("{dims:?} of {stored}"))),
        }
    }
    Refusal::check(Code::GgufInvalid, findings)?;

    let mut findings = Vec::new();
    described.sort_by_key(|(_, offset)| *offset);
    let mut end = 0usize;
    for (tensor, offset) in &mut described {
        let bytes = tensor.range.len();
        if *offset != end.next_multiple_of(alignment) {
            let expected =
                format!("data from byte {}, the end of the tensor before", end.next_multiple_of(alignment));
            findings.push(Finding::new(tensor.name, expected, *offset));
        }
        match offset.checked_add(bytes).filter(|stop| *stop <= data.len()) {
            Some(stop) => {
                tensor.range = data.start + *offset..data.start + stop;
                end = stop;
            }
            None => {
                let got = format!("{bytes} bytes from byte {offset}");
                findings.push(Finding::new(tensor.name, format!("data within {} bytes", data.len()), got));
                // What follows cannot be judged by an end that is not true.
                break;
            }
        }
    }
    if findings.is_empty() && data.len() >= end.next_multiple_of(alignment) + alignment {
        findings.push(Finding::new("data", format!("{end} bytes, all of them in a tensor"), data.len()));
    }
    Refusal::check(Code::GgufInvalid, findings)?;
    Ok(described.into_iter().map(|(tensor, _)| tensor).collect())
}

/// Bytes of a tensor, or what was expected of its dimensions.
fn size(dims: &[usize], stored: StoredType) -> Result<usize, String> {
    let row = dims[0];
    if stored.is_block() && dims.len() < 2 {
        return Err("floats, for a vector".to_owned());
    }
    if row == 0 || !row.is_multiple_of(stored.block_len()) {
        return Err(format!("rows of whole blocks of {}", stored.block_len()));
    }
    let elements = dims.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
    let bytes = elements.and_then(|n| (n / stored.block_len()).checked_mul(stored.block_bytes()));
    bytes.ok_or_else(|| "a size that can be counted".to_owned())
}

/// The names of types that are known and not read.
fn type_name(kind: u32) -> String {
    const NAMES: [(u32, &str); 18] = [
        (9, "q8_1"),
        (15, "q8_k"),
        (16, "iq2_xxs"),
        (17, "iq2_xs"),
        (18, "iq3_xxs"),
        (19, "iq1_s"),
        (21, "iq3_s"),
        (22, "iq2_s"),
        (24, "i8"),
        (25, "i16"),
        (26, "i32"),
        (27, "i64"),
        (28, "f64"),
        (29, "iq1_m"),
        (34, "tq1_0"),
        (35, "tq2_0"),
        (39, "mxfp4"),
        (40, "nvfp4"),
    ];
    let name = NAMES.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name);
    name.map_or_else(|| format!("type {kind}"), |name| format!("{name} (type {kind})"))
}
