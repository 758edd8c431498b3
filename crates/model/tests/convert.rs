//! The converted pair: the bytes an independent program writes, and the same model when read back.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tilewright_model::convert::{Arm, BlobType, ConvertOptions, convert, restamp, write_safetensors};
use tilewright_model::manifest::{BLOB, MANIFEST};
use tilewright_model::reference::Reference;
use tilewright_model::{Checkpoint, Code};

const TYPES: [(&str, BlobType); 2] = [("f64", BlobType::F64), ("f32", BlobType::F32)];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn open(name: &str) -> Checkpoint {
    Checkpoint::open(&fixtures().join(name)).unwrap()
}

fn options(dtype: BlobType) -> ConvertOptions<'static> {
    ConvertOptions { dtype, input_ids: &[1, 2, 3], ..ConvertOptions::default() }
}

/// `tools/convert_numpy.py --digests` wrote the table; it knows the format's description and none of this code.
#[test]
fn files_are_those_of_the_numpy_converter() {
    let table = std::fs::read(fixtures().join("../convert_digests.json")).unwrap();
    let table: Value = serde_json::from_slice(&table).unwrap();
    let mut compared = 0;
    for (name, dtype) in fixtures().read_dir().unwrap().flat_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        TYPES.map(|dtype| (name.clone(), dtype))
    }) {
        let Some(expected) = table.get(format!("{name} {}", dtype.0)) else { continue };
        let out = tempfile::tempdir().unwrap();
        convert(&open(&name), out.path(), &options(dtype.1), &mut |_, _| {}).unwrap();
        for file in [MANIFEST, BLOB] {
            let bytes = std::fs::read(out.path().join(file)).unwrap();
            let digest = format!("{:x}", Sha256::digest(&bytes));
            assert_eq!(expected[file], digest, "{name} {} {file}", dtype.0);
        }
        compared += 1;
    }
    assert_eq!(compared, table.as_object().unwrap().len());
    assert_eq!(compared, 2 * 7, "every fixture but the one with YaRN");
}

#[test]
fn the_pair_is_the_same_model() {
    let prompt: Vec<u32> = (3..12).collect();
    for name in ["llama3-rope-scaling", "qwen2-bias", "qwen3-sharded-f16", "qwen3-untied-mqa-f32"] {
        let source = open(name);
        let expected = Reference::new(&source).unwrap().forward(&prompt);
        for (_, dtype) in TYPES {
            let out = tempfile::tempdir().unwrap();
            convert(&source, out.path(), &options(dtype), &mut |_, _| {}).unwrap();
            let pair = Checkpoint::open(out.path()).unwrap();
            assert_eq!(Reference::new(&pair).unwrap().forward(&prompt), expected, "{name}");

            // And converting the pair gives the pair.
            let again = tempfile::tempdir().unwrap();
            convert(&pair, again.path(), &options(dtype), &mut |_, _| {}).unwrap();
            for file in [MANIFEST, BLOB] {
                let read = |dir: &Path| std::fs::read(dir.join(file)).unwrap();
                assert!(read(out.path()) == read(again.path()), "{name} {file}");
            }
        }
    }
}

#[test]
fn f64_values_that_f32_cannot_hold_are_refused() {
    let out = tempfile::tempdir().unwrap();
    convert(&open("qwen3-tiny"), out.path(), &options(BlobType::F64), &mut |_, _| {}).unwrap();
    let blob = out.path().join(BLOB);
    let mut bytes = std::fs::read(&blob).unwrap();
    bytes[..8].copy_from_slice(&0.1f64.to_le_bytes());
    std::fs::write(&blob, bytes).unwrap();
    let pair = Checkpoint::open(out.path()).unwrap();
    let narrow = tempfile::tempdir().unwrap();
    let refusal = convert(&pair, narrow.path(), &options(BlobType::F32), &mut |_, _| {}).unwrap_err();
    assert_eq!(refusal.code(), Code::InexactConversion);
    assert!(names(narrow.path()).is_empty());
}

#[test]
fn progress_ends_at_the_size_of_the_blob() {
    let out = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    let mut note = |done, total| seen.push((done, total));
    convert(&open("qwen3-tiny"), out.path(), &options(BlobType::F32), &mut note).unwrap();
    let size = out.path().join(BLOB).metadata().unwrap().len();
    assert_eq!(seen.last(), Some(&(size, size)));
    assert!(seen.is_sorted());
}

#[test]
fn converting_into_the_folder_of_the_source_leaves_the_source_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(fixtures().join("qwen3-tiny")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let before = names(folder.path());
    let source = Checkpoint::open(folder.path()).unwrap();
    for overwrite in [false, true] {
        let options = ConvertOptions { overwrite, ..options(BlobType::F32) };
        let refusal = convert(&source, folder.path(), &options, &mut |_, _| {}).unwrap_err();
        assert_eq!(refusal.code(), Code::OutputExists);
        assert!(refusal.findings().iter().any(|f| f.what == "model.safetensors"), "{refusal}");
    }
    assert_eq!(names(folder.path()), before);
    assert!(Checkpoint::open(folder.path()).is_ok());
}

#[test]
fn a_pair_that_is_there_is_replaced_only_when_asked() {
    let out = tempfile::tempdir().unwrap();
    let source = open("qwen3-tiny");
    let first = options(BlobType::F64);
    convert(&source, out.path(), &first, &mut |_, _| {}).unwrap();
    let refusal = convert(&source, out.path(), &options(BlobType::F32), &mut |_, _| {}).unwrap_err();
    assert_eq!((refusal.code(), refusal.findings().len()), (Code::OutputExists, 2));

    let second = ConvertOptions { overwrite: true, ..options(BlobType::F32) };
    convert(&source, out.path(), &second, &mut |_, _| {}).unwrap();
    assert_eq!(names(out.path()), [MANIFEST, BLOB]);
    assert!(Checkpoint::open(out.path()).is_ok());
}

#[test]
fn the_remedy_for_what_is_in_the_way_names_replacing_only_where_that_helps() {
    let out = tempfile::tempdir().unwrap();
    let source = open("qwen3-tiny");
    convert(&source, out.path(), &options(BlobType::F32), &mut |_, _| {}).unwrap();
    let refused = || convert(&source, out.path(), &options(BlobType::F32), &mut |_, _| {}).unwrap_err();
    assert!(refused().remedy().contains("--overwrite"));
    std::fs::write(out.path().join("model-00001-of-00002.safetensors"), "shard").unwrap();
    let refusal = refused();
    assert_eq!(refusal.findings().len(), 3, "all in one message: {refusal}");
    assert!(!refusal.remedy().contains("overwrite"), "{refusal}");
}

#[test]
fn one_file_of_safetensors_is_not_written_beside_shards_even_when_files_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(fixtures().join("qwen3-sharded-f16")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let source = Checkpoint::open(folder.path()).unwrap();
    let before = names(folder.path());
    for overwrite in [false, true] {
        let refusal = write_safetensors(&source, folder.path(), overwrite, &mut |_, _| {}).unwrap_err();
        assert_eq!(refusal.code(), Code::OutputExists);
        assert!(refusal.findings().iter().any(|f| f.what.ends_with(".index.json")), "{refusal}");
    }
    assert_eq!(names(folder.path()), before);
    assert!(Checkpoint::open(folder.path()).is_ok());
}

#[test]
fn a_failure_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for file in fixtures().join("qwen3-untied-mqa-f32").read_dir().unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), dir.path().join(file.file_name())).unwrap();
    }
    // The last element of the file, whose tensor is not the first to be written, becomes infinite.
    let path = dir.path().join("model.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();

    let out = tempfile::tempdir().unwrap();
    let source = Checkpoint::open(dir.path()).unwrap();
    let refusal = convert(&source, out.path(), &options(BlobType::F64), &mut |_, _| {}).unwrap_err();
    assert_eq!(refusal.code(), Code::NonFiniteWeight);
    assert!(names(out.path()).is_empty());
}

#[test]
fn a_prompt_can_be_changed_without_touching_the_weights() {
    let out = tempfile::tempdir().unwrap();
    convert(&open("qwen3-tiny"), out.path(), &options(BlobType::F64), &mut |_, _| {}).unwrap();
    restamp(out.path(), &[7, 8]).unwrap();

    let expected = tempfile::tempdir().unwrap();
    let direct = ConvertOptions { input_ids: &[7, 8], ..options(BlobType::F64) };
    convert(&open("qwen3-tiny"), expected.path(), &direct, &mut |_, _| {}).unwrap();
    let read = |dir: &Path| std::fs::read_to_string(dir.join(MANIFEST)).unwrap();
    assert_eq!(read(out.path()), read(expected.path()));

    assert_eq!(restamp(out.path(), &[512]).unwrap_err().code(), Code::RequestInvalid);
    assert_eq!(restamp(&out.path().join("none"), &[1]).unwrap_err().code(), Code::CheckpointNotFound);
}

#[test]
fn what_cannot_be_honored_is_refused_before_anything_is_written() {
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("pair");
    let code = |name, options: ConvertOptions<'_>| {
        convert(&open(name), &dir, &options, &mut |_, _| {}).unwrap_err().code()
    };
    let plain = options(BlobType::F64);
    assert_eq!(code("qwen3-yarn", plain.clone()), Code::UnsupportedArchitecture);
    assert_eq!(
        code("qwen3-tiny", ConvertOptions { arm: Arm::Fixed, ..plain.clone() }),
        Code::FixedShapeMismatch
    );
    assert_eq!(code("qwen3-tiny", ConvertOptions { input_ids: &[600], ..plain }), Code::RequestInvalid);
    assert!(!dir.exists());
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let refusal = convert(&open("qwen3-tiny"), file.path(), &options(BlobType::F64), &mut |_, _| {});
    assert_eq!(refusal.unwrap_err().code(), Code::FileUnwritable);
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn of_two_writers_at_once_the_second_is_refused() {
    let out = tempfile::tempdir().unwrap();
    let first = std::fs::File::open(out.path()).unwrap();
    first.try_lock().unwrap();
    let write = || convert(&open("qwen3-tiny"), out.path(), &options(BlobType::F32), &mut |_, _| {});
    let refusal = write().unwrap_err();
    assert_eq!(refusal.code(), Code::OutputBusy);
    assert!(refusal.to_string().contains("another process is writing there"), "{refusal}");
    assert!(refusal.remedy().starts_with("Wait until the other process has ended"), "{refusal}");
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
    drop(first);
    write().unwrap();
}

#[test]
fn what_a_killed_writer_left_is_cleared_away() {
    let out = tempfile::tempdir().unwrap();
    let left = out.path().join(format!(".{BLOB}.4711.partial"));
    std::fs::write(&left, "half").unwrap();
    convert(&open("qwen3-tiny"), out.path(), &options(BlobType::F32), &mut |_, _| {}).unwrap();
    assert!(!left.exists());
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 2);
}
