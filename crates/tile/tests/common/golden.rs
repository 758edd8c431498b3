//! Golden text: a test fails on a difference, and rewrites the file only when `UPDATE=1` is set.

use std::path::Path;

/// Compares `text` with `tests/golden/NAME`.
pub fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected == text {
        return;
    }
    let differs = |(a, b): &(&str, &str)| a != b;
    let line = expected.lines().zip(text.lines()).position(|pair| differs(&pair));
    let line = line.unwrap_or_else(|| expected.lines().count().min(text.lines().count()));
    panic!(
        "{} differs at line {}:\n  expected: {}\n  got:      {}\nUPDATE=1 rewrites it",
        path.display(),
        line + 1,
        expected.lines().nth(line).unwrap_or("(end)"),
        text.lines().nth(line).unwrap_or("(end)"),
    );
}
