//! What is said to be held packed: as much as the model has, on a device that packs.

use tilewright_backend::{Packing, Scopes};

use super::*;
use crate::bench::REBUILDING;
use crate::{chart, table};

/// A report as a device writes it that holds bf16 weights as pairs.
fn packed() -> Report {
    let mut report = report();
    report.method.device = "shim".to_owned();
    report.method.includes.push(REBUILDING.to_owned());
    let head = report.model.vocab * report.model.hidden;
    let layers = report.model.matrix_elements() - head as u64;
    let vocabulary = if report.model.tied { head } else { 2 * head } as u64;
    report.packing = Packing::of(Scopes { vocabulary, layers }, 0);
    report.sealed().unwrap()
}

fn packing(report: &mut Report) -> &mut Packing {
    report.packing.as_mut().unwrap()
}

const NOT_THIS_MODEL: &str = "not what this device packs of this model";
const NOT_OF_SCOPES: &str = "do not follow from its scopes";

/// As in the list of all changes.
const CHANGES: &[Change] = &[
    ("the packing left out", NOT_THIS_MODEL, |r| r.packing = None),
    ("the packing of another device", NOT_THIS_MODEL, |r| r.method.device = "cpu".to_owned()),
    ("the packing of other weights", NOT_THIS_MODEL, |r| r.precision.weights = "f16".to_owned()),
    ("a layer less", NOT_THIS_MODEL, |r| {
        let Scopes { vocabulary, layers } = packing(r).scopes;
        r.packing = Packing::of(Scopes { vocabulary, layers: layers / 2 }, 0);
    }),
    ("no vocabulary", NOT_THIS_MODEL, |r| {
        let scopes = Scopes { vocabulary: 0, ..packing(r).scopes };
        r.packing = Packing::of(scopes, 0);
    }),
    ("elements", NOT_OF_SCOPES, |r| packing(r).elements -= 2),
    ("bytes as f32", NOT_OF_SCOPES, |r| packing(r).unpacked_bytes += 4),
    ("bytes packed", NOT_OF_SCOPES, |r| packing(r).packed_bytes /= 2),
    ("one that was not compared", NOT_OF_SCOPES, |r| packing(r).verified -= 1),
    ("more rounded than there are", "more was rounded", |r| {
        let packing = packing(r);
        packing.rounded = packing.elements + 1;
    }),
    ("rounded blocks of a file", "more was rounded", |r| {
        r.precision.weights = "gguf".to_owned();
        packing(r).rounded = 1;
    }),
    ("more than all weights", "more than those of the weights", |r| r.precision.weight_bytes = 100),
    ("rebuilding not timed", "a time includes rebuilding", |r| {
        r.method.includes.pop();
    }),
];

#[test]
fn what_is_held_packed_follows_from_the_model_and_the_device() {
    let report = packed();
    audit(&report).unwrap();
    for (what, said_to_be, change) in CHANGES {
        let mut altered = report.clone();
        change(&mut altered);
        let said = said(&altered.sealed().unwrap());
        assert!(said.contains(said_to_be), "{what}: said {said:?}, not {said_to_be:?}");
    }
    // Of a file's matrices any may be in bf16.
    let mut some = report;
    some.precision.weights = "gguf".to_owned();
    some.packing = Packing::of(Scopes { vocabulary: 0, layers: 64 }, 0);
    assert!(!said(&some.sealed().unwrap()).contains("pack"));
}

#[test]
fn a_packing_is_on_the_page_and_in_the_table_and_survives_its_file() {
    let report = packed();
    assert_eq!(Report::from_json(&report.json(true).unwrap()).unwrap(), report);
    let Packing { elements, packed_bytes, unpacked_bytes, .. } = report.packing.unwrap();
    for text in [chart::page(&report), table::markdown(&report).unwrap()] {
        for said in [
            format!("{elements} elements as pairs"),
            format!("{packed_bytes} bytes, {unpacked_bytes} as f32"),
            format!("untimed, {elements} were packed and compared bit by bit, and none of them was rounded"),
            "rebuilding f32 is timed".to_owned(),
        ] {
            assert!(text.to_lowercase().contains(&said), "{said}: {text}");
        }
    }
    let plain = super::report();
    assert!(!plain.json(false).unwrap().contains("\"packing\""), "what packs nothing has no such field");
    assert!(!table::markdown(&plain).unwrap().contains("Held packed"));
}
