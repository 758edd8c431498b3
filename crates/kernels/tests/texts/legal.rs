//! clang takes every MSL text.

use tilewright_kernels::Shape;
use tilewright_shim::Clang;
use tilewright_tile::emit;

#[test]
fn every_msl_text_is_legal() {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/clang");
    let clang = match Clang::find(cache) {
        Ok(clang) => clang,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    for kernel in super::kernels(&Shape::QWEN3_TINY) {
        let text = emit::msl(&kernel);
        clang.check(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}
