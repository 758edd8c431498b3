//! Names and sizes of cache formats.

use super::*;

#[test]
fn cache_formats_are_found_by_their_names_and_know_their_bytes() {
    for format in KvFormat::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let unknown = "int4".parse::<KvFormat>();
    assert_eq!(unknown, Err("`int4` is not one of f32, f16, bf16, int8".to_owned()));
    // A scale beside each key and value of 8 bits.
    assert_eq!(KvFormat::ALL.map(|format| format.head_bytes(128)), [512, 256, 256, 132]);
}
