//! The table of stored types.

use super::{StoredType, TYPES};

#[test]
fn a_type_is_the_row_of_its_own_number() {
    for (index, stored) in StoredType::all().enumerate() {
        assert_eq!((stored as usize, TYPES[index].0), (index, stored));
        assert!(stored.gguf_number().is_none_or(|n| StoredType::of_gguf_number(n) == Some(stored)));
    }
    assert_eq!(StoredType::of_gguf_number(9), None);
}
