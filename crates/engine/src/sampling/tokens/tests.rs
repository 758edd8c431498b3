//! Padded heads and vocabularies with gaps.

use super::*;

#[test]
fn padding_and_gaps_stand_for_no_token() {
    let json = br#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 3}, "merges": []},
        "decoder": {"type": "ByteLevel"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}}"#;
    let tokenizer = Tokenizer::from_bytes(json, None).unwrap();
    let tokens = Tokens::of(&tokenizer, 8);
    assert_eq!((tokens.limit(), tokens.gaps(), tokens.count()), (4, &[2][..], 3));
    let known: Vec<u32> = (0..10).filter(|&id| tokens.has(id)).collect();
    assert_eq!(known, [0, 1, 3]);
    assert_eq!(Tokens::of(&tokenizer, 2), Tokens::all(2));
}
