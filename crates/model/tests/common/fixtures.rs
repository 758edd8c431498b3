//! The fixtures of every supported family, by name; a test of this crate compares the list with the folder.

/// Every folder of `crates/model/tests/fixtures`.
pub(crate) const FIXTURES: [&str; 8] = [
    "llama-d64-odd-heads",
    "llama3-rope-scaling",
    "qwen2-bias",
    "qwen3-d128-wide-q",
    "qwen3-sharded-f16",
    "qwen3-tiny",
    "qwen3-untied-mqa-f32",
    "qwen3-yarn",
];
