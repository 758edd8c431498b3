//! Logits over a device that says what it was given.

use super::*;
use crate::fake;

const VOCAB: usize = 10;

/// The row after some ids: how many there are, and the last.
fn row(ids: &[u32]) -> Vec<f32> {
    let mut row = vec![ids.len() as f32; VOCAB];
    row[0] = *ids.last().unwrap() as f32;
    row
}

#[test]
fn one_row_or_every_row_however_many_chunks_they_take() {
    let (engine, watch) = fake::engine(VOCAB, &[], row);
    let ids: Vec<u32> = (0..9).collect();
    let every: Vec<f32> = (1..=9).flat_map(|n| row(&ids[..n])).collect();
    assert_eq!(engine.logits(&ids, Positions::Every, &Cancel::default()).unwrap(), every);
    assert_eq!(engine.logits(&ids, Positions::Last, &Cancel::default()).unwrap(), row(&ids));
    assert!(watch.prefills().len() > 2, "more than one chunk");
    assert_eq!(watch.alive(), 0);
}

#[test]
fn nothing_and_ids_without_a_token_are_refused_and_a_raised_flag_ends_it() {
    let (engine, watch) = fake::engine(VOCAB, &[], row);
    let refused =
        |ids: &[u32], cancel: &Cancel| engine.logits(ids, Positions::Last, cancel).unwrap_err().code();
    assert_eq!(refused(&[], &Cancel::default()), Code::RequestInvalid);
    assert_eq!(refused(&[1, VOCAB as u32], &Cancel::default()), Code::RequestInvalid);
    let raised = Cancel::default();
    raised.cancel();
    assert_eq!(refused(&[1, 2], &raised), Code::Cancelled);
    assert_eq!(watch.alive(), 0);
}
