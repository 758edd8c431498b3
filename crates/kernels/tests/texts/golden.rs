//! Printed kernels are as committed: IR, MSL, CUDA and report of each entry's first variant at the smallest shape, and
//! a digest of the texts of every variant.

use std::fmt::Write;
use std::path::Path;

use tilewright_kernels::{Shape, catalogue};
use tilewright_tile::{Report, emit, ir, verify};

use super::digest;

/// Compares `text` with `tests/golden/NAME`; rewrites it when `UPDATE=1` is set.
fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(text.lines()).position(|(e, g)| e != g);
    let line = differs.unwrap_or_else(|| expected.lines().count().min(text.lines().count()));
    assert!(
        expected == text,
        "{} differs at line {}:\n  expected: {}\n  got:      {}\nUPDATE=1 rewrites it",
        path.display(),
        line + 1,
        expected.lines().nth(line).unwrap_or("(end)"),
        text.lines().nth(line).unwrap_or("(end)"),
    );
}

#[test]
fn texts_are_as_committed() {
    let mut digests = String::from("# kernel, then digests of its IR, MSL and CUDA\n");
    for entry in catalogue::entries() {
        for (n, (name, kernel)) in entry.kernels(&Shape::QWEN3_TINY).enumerate() {
            let kernel = verify(kernel).unwrap_or_else(|e| panic!("{name}: {e}"));
            let texts = [ir::print(&kernel), emit::msl(&kernel), emit::cuda(&kernel)];
            let [ir, msl, cuda] = texts.each_ref().map(|text| digest(text));
            let _ = writeln!(digests, "{name} {ir} {msl} {cuda}");
            if n == 0 {
                for (ending, text) in ["ir", "metal", "cu"].into_iter().zip(&texts) {
                    check(&format!("{name}.{ending}"), text);
                }
                check(&format!("{name}.txt"), &Report::new(&kernel).to_string());
            }
        }
    }
    check("digests.txt", &digests);
}
