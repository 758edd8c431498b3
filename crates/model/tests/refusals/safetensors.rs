//! Safetensors files that are cut, damaged or lie about themselves.

use serde_json::{Value, json};
use tilewright_model::Code;

use crate::build::{Folder, raw_safetensors, safetensors, tensors, whats};

/// The valid checkpoint with this file in place of its weights.
fn with(file: Vec<u8>) -> Folder {
    Folder::valid().with("model.safetensors", file)
}

/// The header of the valid file and its data.
fn parts() -> (Value, Vec<u8>) {
    let file = safetensors(&tensors());
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&file[8..8 + length]).unwrap(), file[8 + length..].to_vec())
}

const NAME: &str = "model.embed_tokens.weight";

/// The valid file with one field of one tensor replaced.
fn with_field(field: &str, value: Value) -> Folder {
    let (mut header, data) = parts();
    header[NAME][field] = value;
    with(raw_safetensors(&header.to_string(), &data))
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let file = safetensors(&tensors());
    for length in (0..file.len()).filter(|n| *n < 2048 || n % 97 == 0) {
        with(file[..length].to_vec()).refused(Code::SafetensorsInvalid);
    }
    with([file, vec![0]].concat()).refused(Code::SafetensorsInvalid);
}

#[test]
fn a_header_length_that_the_file_does_not_have_is_refused() {
    let file = safetensors(&tensors());
    let header = u64::from_le_bytes(file[..8].try_into().unwrap());
    for length in [0, header - 1, header + 1, file.len() as u64, 1 << 27, 1 << 40, u64::MAX] {
        let lying = [&length.to_le_bytes(), &file[8..]].concat();
        with(lying).refused(Code::SafetensorsInvalid);
    }
}

#[test]
fn a_header_that_is_no_object_of_tensors_is_refused() {
    for header in ["", "[]", "{", "\u{0}", r#"{"a": 1}"#, r#"{"a": {}}"#, r#"{"a": {"dtype": "BF16"}}"#] {
        with(raw_safetensors(header, &[])).refused(Code::SafetensorsInvalid);
    }
    let mut latin = raw_safetensors(r#"{"__metadata__": {"a": "b"}}"#, &[]);
    latin[12] = 0xff;
    with(latin).refused(Code::SafetensorsInvalid);
}

#[test]
fn a_tensor_named_twice_is_refused() {
    let (header, data) = parts();
    let text = header.to_string();
    let twice = format!("{},{}", text.strip_suffix('}').unwrap(), text.strip_prefix('{').unwrap());
    let refusal = with(raw_safetensors(&twice, &data)).refused(Code::SafetensorsInvalid);
    assert!(refusal.findings()[0].got.contains("stated twice"), "{refusal}");
}

#[test]
fn an_element_type_that_does_not_exist_is_named() {
    let refusal = with_field("dtype", json!("BF17")).refused(Code::SafetensorsInvalid);
    assert_eq!(whats(&refusal)[0], NAME);
}

#[test]
fn a_member_that_a_tensor_does_not_have_is_named() {
    let refusal = with_field("strides", json!([1])).refused(Code::SafetensorsInvalid);
    assert_eq!(whats(&refusal)[0], NAME);
}

#[test]
fn a_range_that_does_not_hold_its_shape_is_named() {
    for (field, value) in [
        ("shape", json!([9, 32])),
        ("shape", json!([8, 32, 2])),
        ("shape", json!([1u64 << 62, 32])),
        ("dtype", json!("F32")),
        ("data_offsets", json!([512, 0])),
    ] {
        let refusal = with_field(field, value).refused(Code::SafetensorsInvalid);
        assert!(whats(&refusal).contains(&NAME), "{refusal}");
    }
}

#[test]
fn ranges_that_do_not_tile_the_data_are_refused() {
    let header = |a: [u64; 2], b: [u64; 2]| {
        let tensor =
            |r: [u64; 2]| json!({"dtype": "BF16", "shape": [r[1].wrapping_sub(r[0]) / 2], "data_offsets": r});
        json!({"a": tensor(a), "b": tensor(b)}).to_string()
    };
    let cases = [
        ("hole", [0, 4], [6, 8]),
        ("overlap", [0, 6], [4, 8]),
        ("start", [2, 4], [4, 8]),
        ("end", [0, 4], [4, 6]),
        ("outside", [0, 4], [4, 10]),
        ("wrapping", [0, 4], [4, u64::MAX - 1]),
        ("far", [0, 4], [u64::MAX - 3, u64::MAX - 1]),
    ];
    for (case, a, b) in cases {
        let refusal = with(raw_safetensors(&header(a, b), &[0; 8])).refused(Code::SafetensorsInvalid);
        assert!(!refusal.findings().is_empty(), "{case}");
    }
}

#[test]
fn sizes_whose_sum_wraps_around_are_refused() {
    // Each tensor's size can be counted; together they pass the end of the address space and come back.
    let size = 1u64 << 61;
    let mut header = serde_json::Map::new();
    for i in 0..8u64 {
        let (start, end) = (i.wrapping_mul(size), (i + 1).wrapping_mul(size));
        let entry = json!({"dtype": "U8", "shape": [size], "data_offsets": [start, end]});
        header.insert(format!("t{i}"), entry);
    }
    with(raw_safetensors(&Value::Object(header).to_string(), &[])).refused(Code::SafetensorsInvalid);
}

#[test]
fn any_changed_byte_of_the_header_opens_or_is_refused() {
    let file = safetensors(&tensors());
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let mut opened = 0;
    for at in 0..8 + length {
        for flip in [0x01, 0x20, 0x80] {
            let mut changed = file.clone();
            changed[at] ^= flip;
            opened += usize::from(with(changed).open().is_ok());
        }
    }
    // A name in the wrong case is another tensor, so hardly anything still opens.
    assert_eq!(opened, 0);
}

#[test]
fn free_text_in_the_header_is_allowed() {
    let (mut header, data) = parts();
    header["__metadata__"] = json!({"format": "pt"});
    with(raw_safetensors(&header.to_string(), &data)).open().unwrap();
}
