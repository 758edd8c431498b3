//! Which files there must be, and which there must not be. These use directories on disk.

use std::path::Path;

use tempfile::TempDir;
use tilewright_model::{Checkpoint, Code, Inspection, Refusal, inspect};

use crate::build::{Folder, safetensors, tensors, whats};

/// Writes the files to a fresh directory.
fn on_disk(folder: &Folder) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in &folder.0 {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

fn open(folder: &Folder) -> Result<Checkpoint, Refusal> {
    Checkpoint::open(on_disk(folder).path())
}

#[track_caller]
fn refused(folder: &Folder, code: Code, about: &[&str]) {
    let refusal = open(folder).map(|_| ()).unwrap_err();
    assert_eq!((refusal.code(), whats(&refusal)), (code, about.to_vec()), "{refusal}");
}

#[test]
fn a_path_that_is_no_directory_holds_no_checkpoint() {
    let dir = on_disk(&Folder::valid());
    for path in [Path::new("/nowhere/at/all"), &dir.path().join("config.json")] {
        assert_eq!(Checkpoint::open(path).unwrap_err().code(), Code::CheckpointNotFound);
    }
}

#[test]
fn what_is_no_regular_file_is_refused_and_not_read() {
    for name in ["config.json", "tokenizer.json"] {
        let dir = on_disk(&Folder::valid());
        _ = std::fs::remove_file(dir.path().join(name));
        std::fs::create_dir(dir.path().join(name)).unwrap();
        let found = inspect(dir.path()).refusals;
        let told = |r: &Refusal| r.code() == Code::FileUnreadable && whats(r) == ["kind"];
        assert!(found.iter().any(told), "{name}: {found:?}");
    }
}

#[test]
fn a_missing_file_is_named() {
    refused(&Folder::valid().without("config.json"), Code::CheckpointNotFound, &["config.json"]);
    refused(&Folder::valid().without("model.safetensors"), Code::CheckpointNotFound, &["weights"]);
    let shard_alone = Folder::valid().sharded(4).without("model.safetensors.index.json");
    refused(&shard_alone, Code::CheckpointNotFound, &["weights"]);
}

#[test]
fn other_formats_of_weights_are_named() {
    let bare = Folder::valid().without("model.safetensors");
    for name in ["pytorch_model.bin", "model.pt", "model.pth", "model.onnx", "weights.npz"] {
        refused(&bare.clone().with(name, "x"), Code::WeightsUnsupported, &[name]);
    }
}

#[test]
fn other_formats_beside_safetensors_are_not_read() {
    let folder = Folder::valid().with("pytorch_model.bin", "x").with("model.gguf", "x");
    open(&folder).unwrap();
}

#[test]
fn a_stray_weight_file_is_named() {
    let extra = safetensors(&tensors()[..1]);
    let single = Folder::valid().with("extra.safetensors", extra.clone());
    refused(&single, Code::StrayWeights, &["extra.safetensors"]);
    let sharded = Folder::valid().sharded(4).with("extra.safetensors", extra);
    refused(&sharded, Code::StrayWeights, &["extra.safetensors"]);
    refused(&Folder::valid().with("weights.blob", "x"), Code::StrayWeights, &["weights.blob"]);
}

#[test]
#[cfg(unix)]
fn a_file_that_cannot_be_read_is_named() {
    // A directory in place of a file: there for everybody, readable for nobody, the superuser included.
    let dir = on_disk(&Folder::valid());
    for name in ["config.json", "generation_config.json", "chat_template.jinja"] {
        let path = dir.path().join(name);
        let kept = std::fs::read(&path).ok();
        let _ = std::fs::remove_file(&path);
        std::fs::create_dir(&path).unwrap();
        let refusal = Checkpoint::open(dir.path()).unwrap_err();
        assert_eq!(refusal.code(), Code::FileUnreadable, "{name}: {refusal}");
        assert!(refusal.place().unwrap().ends_with(name), "{refusal}");
        std::fs::remove_dir(&path).unwrap();
        if let Some(bytes) = kept {
            std::fs::write(&path, bytes).unwrap();
        }
    }
}

#[test]
fn links_into_a_store_are_followed() {
    #[cfg(unix)]
    {
        let store = on_disk(&Folder::valid());
        let snapshot = tempfile::tempdir().unwrap();
        for name in ["config.json", "model.safetensors"] {
            std::os::unix::fs::symlink(store.path().join(name), snapshot.path().join(name)).unwrap();
        }
        Checkpoint::open(snapshot.path()).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn a_link_that_leads_nowhere_is_told_from_no_file() {
    let gone = "../blobs/gone";
    let told = |dir: &TempDir, path: &Path, name: &str| {
        let refusal = Checkpoint::open(path).unwrap_err();
        assert_eq!(refusal.code(), Code::CheckpointNotFound, "{refusal}");
        let finding = &refusal.findings()[0];
        assert!(finding.got.contains(gone) && finding.got.contains("a link"), "{name}: {refusal}");
        assert!(path != dir.path() || finding.what == name, "{refusal}");
    };
    for name in ["config.json", "model.safetensors", "model.gguf"] {
        let dir = on_disk(&Folder::valid());
        if name == "model.gguf" {
            std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
        } else {
            std::fs::remove_file(dir.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink(gone, dir.path().join(name)).unwrap();
        told(&dir, dir.path(), name);
        if name == "model.gguf" {
            told(&dir, &dir.path().join(name), name);
        }
    }
    let sharded = on_disk(&Folder::valid().sharded(4));
    let shard = std::fs::read_dir(sharded.path()).unwrap().map(|entry| entry.unwrap().path());
    let shard =
        shard.into_iter().find(|path| path.extension().is_some_and(|end| end == "safetensors")).unwrap();
    std::fs::remove_file(&shard).unwrap();
    std::os::unix::fs::symlink(gone, &shard).unwrap();
    let refusal = Checkpoint::open(sharded.path()).unwrap_err();
    assert!(refusal.code() == Code::IndexInvalid && refusal.findings()[0].got.contains(gone), "{refusal}");
}

#[test]
fn inspection_lists_the_refusals_of_every_part() {
    let folder = Folder::valid()
        .with("config.json", "{")
        .with("model.safetensors", "short")
        .with("generation_config.json", r#"{"num_beams": 4}"#)
        .with("chat_template.json", "{}");
    let Inspection { refusals, .. } = inspect(on_disk(&folder).path());
    let codes: Vec<_> = refusals.iter().map(Refusal::code).collect();
    let expected =
        [Code::ConfigInvalid, Code::SafetensorsInvalid, Code::TemplateInvalid, Code::GenerationConfigInvalid];
    assert_eq!(codes, expected);
    assert!(serde_json::to_string(&refusals).unwrap().contains("generation_config_invalid"));
}

#[test]
fn inspection_of_nothing_says_so() {
    let Inspection { refusals, files, .. } = inspect(Path::new("/nowhere/at/all"));
    assert_eq!((refusals[0].code(), files.len()), (Code::CheckpointNotFound, 0));
}
