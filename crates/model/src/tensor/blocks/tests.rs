//! Blocks beside what the `gguf` package makes of them.

use std::process::Command;

use serde_json::Value;

use super::Block;
use crate::{StoredType, Tensor};

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Compares every block of a report of `tools/gguf_blocks.py`, bit by bit.
fn check(report: &Value) {
    let types = report.as_object().unwrap();
    for stored in StoredType::all().filter(|stored| stored.is_block()) {
        let entry = &types[stored.name()];
        let (bytes, elements) =
            (unhex(entry["blocks"].as_str().unwrap()), unhex(entry["elements"].as_str().unwrap()));
        let expected: Vec<u32> =
            elements.as_chunks().0.iter().map(|bits| u32::from_le_bytes(*bits)).collect();
        assert_eq!(bytes.len() % stored.block_bytes(), 0);
        let shape = [1, bytes.len() / stored.block_bytes() * stored.block_len()];
        let tensor =
            Tensor { name: "t", shape: &shape, stored, transposed: false, interleaved: None, bytes: &bytes };
        let got: Vec<u32> = tensor.to_f32().unwrap().iter().map(|value| value.to_bits()).collect();
        assert_eq!(got, expected, "{stored}");
        let wide = tensor.to_f64().unwrap();
        assert!(
            wide.iter().zip(&got).all(|(wide, bits)| *wide == f64::from(f32::from_bits(*bits))),
            "{stored}"
        );
    }
}

#[test]
fn blocks_are_what_the_gguf_package_makes_of_them() {
    check(&serde_json::from_str(include_str!("golden.json")).unwrap());
}

#[test]
fn fresh_blocks_are_what_the_gguf_package_makes_of_them() {
    let python = std::env::var("TILEWRIGHT_GGUF_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/gguf_blocks.py");
    for seed in ["1", "2", "3"] {
        match Command::new(&python).args([script, seed]).output() {
            Ok(output) if output.status.success() => check(&serde_json::from_slice(&output.stdout).unwrap()),
            _ => return eprintln!("skipped: {python} has no package gguf"),
        }
    }
}

#[test]
fn a_scale_that_is_not_finite_is_refused_by_place() {
    let mut bytes = vec![0; 3 * 34];
    bytes[34..36].copy_from_slice(&0x7c00_u16.to_le_bytes());
    let shape = [3, 32];
    let tensor = Tensor {
        name: "t",
        shape: &shape,
        stored: StoredType::Q8_0,
        transposed: false,
        interleaved: None,
        bytes: &bytes,
    };
    for refusal in [tensor.to_f32().unwrap_err(), tensor.check_finite(0..3).unwrap_err()] {
        assert_eq!(refusal.code(), crate::Code::NonFiniteWeight);
        assert!(refusal.findings()[0].what.contains("t[1, 0]"), "{refusal}");
    }
    assert!(tensor.check_finite(2..3).is_ok());
}

#[test]
fn a_block_of_another_size_is_none() {
    assert!(Block::read(StoredType::Q8_0, &[0; 33]).is_none());
    assert!(Block::read(StoredType::F32, &[0; 4]).is_none());
}

/// The rows of two heads of width 4, stored as 0, 2, 1, 3.
#[test]
fn interleaved_rows_come_back_in_order() {
    let stored_order = [0, 2, 1, 3, 4, 6, 5, 7];
    let values: Vec<f32> = stored_order.iter().flat_map(|&row| [row as f32, 0.5]).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let tensor = Tensor {
        name: "t",
        shape: &[8, 2],
        stored: StoredType::F32,
        transposed: false,
        interleaved: Some(4),
        bytes: &bytes,
    };
    let expected: Vec<f32> = (0..8).flat_map(|row| [row as f32, 0.5]).collect();
    assert_eq!(tensor.to_f32().unwrap(), expected);
    let mut part = [0.0; 4];
    tensor.rows_f32(1..3, &mut part).unwrap();
    assert_eq!(part, [1.0, 0.5, 2.0, 0.5]);
    assert_eq!(tensor.row_bytes(1), [1.0f32.to_le_bytes(), 0.5f32.to_le_bytes()].concat());
}
