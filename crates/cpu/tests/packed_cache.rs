//! Packed weights kept between starts: used when they are of this content, noticed and replaced when they are not
//! what was written, and never in the way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use common::{prefill_all, seeded};
use tempfile::TempDir;
use tilewright_backend::{Progress, Stage, Watch};
use tilewright_cpu::{CpuOptions, PackedCache, open};
use tilewright_gate::seeded::small;
use tilewright_model::{Checkpoint, Code, Config, Family, Refusal, WeightFormat};

/// What a start did.
struct Start {
    logits: Vec<f32>,
    notes: String,
    stages: Vec<Stage>,
}

impl Start {
    fn packed(&self) -> bool {
        self.stages.contains(&Stage::Pack)
    }
}

fn config() -> Config {
    config_of(Family::Qwen3)
}

/// Widths that end in a part of a group in both formats.
fn config_of(family: Family) -> Config {
    Config { hidden: 160, intermediate: 288, ..small(family) }
}

fn start(checkpoint: &Checkpoint, weights: WeightFormat, folder: &Path) -> Start {
    start_watched(checkpoint, weights, folder, &mut |_| Ok(()))
}

fn start_watched(
    checkpoint: &Checkpoint,
    weights: WeightFormat,
    folder: &Path,
    watch: &mut Watch<'_>,
) -> Start {
    let cache = PackedCache { folder: folder.to_owned(), least_bytes: 0 };
    let options =
        CpuOptions { weights: Some(weights), threads: Some(2), cache: Some(cache), ..CpuOptions::default() };
    let mut seen: Vec<Progress> = Vec::new();
    let mut progress = |p: Progress| {
        seen.push(p);
        watch(p)
    };
    let mut model = open(checkpoint, &options, &mut progress).unwrap();
    for (at, p) in seen.iter().enumerate() {
        let last = seen.get(at + 1).is_none_or(|next| next.stage != p.stage);
        assert!(p.done <= p.total && (!last || p.stage == Stage::Restore || p.done == p.total), "{p:?}");
    }
    let mut stages: Vec<Stage> = seen.iter().map(|p| p.stage).collect();
    stages.dedup();
    let notes = model.plan().notes.join("\n");
    Start { logits: prefill_all(&mut *model, &[3, 1, 4, 1, 5]).1, notes, stages }
}

/// What packing gives, without any cache.
fn fresh(checkpoint: &Checkpoint, weights: WeightFormat) -> Vec<f32> {
    let mut model = common::resident(checkpoint, weights, CpuOptions::default());
    prefill_all(&mut *model, &[3, 1, 4, 1, 5]).1
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

/// A checkpoint, and a folder with its packed weights.
fn stored(weights: WeightFormat) -> (TempDir, Checkpoint, TempDir, PathBuf) {
    let (home, checkpoint) = seeded(&config(), 31);
    let folder = tempfile::tempdir().unwrap();
    let first = start(&checkpoint, weights, folder.path());
    assert!(first.packed() && first.notes.contains("kept in"), "{}", first.notes);
    let [file] = files(folder.path()).try_into().unwrap();
    (home, checkpoint, folder, file)
}

#[test]
fn a_second_start_reads_what_the_first_packed() {
    for weights in [WeightFormat::Int8, WeightFormat::Int4] {
        for (family, tied) in [(Family::Qwen3, true), (Family::Qwen2, false)] {
            let (_home, checkpoint) = seeded(&Config { tied, ..config_of(family) }, 32);
            let want = fresh(&checkpoint, weights);
            let folder = tempfile::tempdir().unwrap();
            // A folder that is not there yet is made.
            let inner = folder.path().join("a/b");
            let first = start(&checkpoint, weights, &inner);
            assert_eq!(first.stages, [Stage::Identify, Stage::Pack, Stage::Store], "{}", first.notes);
            let second = start(&checkpoint, weights, &inner);
            assert_eq!(second.stages, [Stage::Identify, Stage::Restore]);
            let file = files(&inner)[0].display().to_string();
            assert!(first.notes.contains("kept in") && first.notes.contains(&file), "{}", first.notes);
            assert!(second.notes.contains("read from") && second.notes.contains(&file), "{}", second.notes);
            assert!(first.logits == want && second.logits == want, "{weights}");
        }
    }
}

#[test]
fn formats_and_contents_have_files_of_their_own() {
    let (_home, checkpoint, folder, _file) = stored(WeightFormat::Int8);
    assert!(start(&checkpoint, WeightFormat::Int4, folder.path()).packed());
    assert_eq!(files(folder.path()).len(), 2);
    let (_other_home, other) = seeded(&config(), 99);
    assert!(start(&other, WeightFormat::Int8, folder.path()).packed());
    assert_eq!(files(folder.path()).len(), 3);
    // The same content elsewhere is the same content.
    let (_again_home, again) = seeded(&config(), 31);
    assert!(!start(&again, WeightFormat::Int8, folder.path()).packed());
}

#[test]
fn a_weight_edited_in_place_is_noticed_though_length_and_time_are_the_same() {
    let (home, checkpoint, folder, _file) = stored(WeightFormat::Int8);
    drop(checkpoint);
    let path = home.path().join("model.safetensors");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 2001] ^= 1;
    fs::write(&path, &bytes).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();

    let edited = Checkpoint::open(home.path()).unwrap();
    let start = start(&edited, WeightFormat::Int8, folder.path());
    assert!(start.packed());
    assert!(start.logits == fresh(&edited, WeightFormat::Int8));
}

#[test]
fn every_kind_of_damage_is_noticed_told_and_repaired() {
    let (_home, checkpoint, folder, file) = stored(WeightFormat::Int8);
    let want = fresh(&checkpoint, WeightFormat::Int8);
    let sound = fs::read(&file).unwrap();
    let end = sound.len();
    let flipped = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let mut damaged: Vec<(String, Vec<u8>)> = [0, 15, 16, 47, 48, 63, 64, 71, 72, 87, 88, end / 2, end - 1]
        .into_iter()
        .map(|at| (format!("byte {at} changed"), flipped(at)))
        .collect();
    for length in [0, 1, 71, 72, 80, 88, end / 3, end - 1] {
        damaged.push((format!("cut to {length}"), sound[..length].to_vec()));
    }
    damaged.push(("longer".to_owned(), [sound.as_slice(), &[0]].concat()));
    damaged.push(("a hole".to_owned(), [&sound[..end / 2], vec![0; end - end / 2].as_slice()].concat()));
    damaged.push(("foreign".to_owned(), vec![0x5a; end]));
    for (what, bytes) in damaged {
        fs::write(&file, &bytes).unwrap();
        let start = start(&checkpoint, WeightFormat::Int8, folder.path());
        assert!(start.packed() && start.notes.contains("warning"), "{what}: {}", start.notes);
        assert!(start.logits == want, "{what}");
        assert!(fs::read(&file).unwrap() == sound, "{what}: not repaired");
    }
    assert!(!start(&checkpoint, WeightFormat::Int8, folder.path()).packed());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    let (_home, checkpoint, folder, file) = stored(WeightFormat::Int8);
    fs::remove_file(&file).unwrap();
    let abandoned = folder.path().join("abandoned.partial");
    assert!(std::process::Command::new("mkfifo").args([&file, &abandoned]).status().unwrap().success());
    let start = start(&checkpoint, WeightFormat::Int8, folder.path());
    assert!(start.packed() && start.notes.contains("no regular file"), "{}", start.notes);
    assert!(start.logits == fresh(&checkpoint, WeightFormat::Int8));
}

#[test]
fn a_file_of_another_model_under_this_ones_name_is_not_used() {
    let (_home, checkpoint, folder, file) = stored(WeightFormat::Int8);
    let (_third_home, third) = seeded(&config(), 77);
    let third_folder = tempfile::tempdir().unwrap();
    start(&third, WeightFormat::Int8, third_folder.path());
    fs::copy(&files(third_folder.path())[0], &file).unwrap();
    let start = start(&checkpoint, WeightFormat::Int8, folder.path());
    assert!(start.packed() && start.notes.contains("not the file its name says"), "{}", start.notes);
    assert!(start.logits == fresh(&checkpoint, WeightFormat::Int8));
}

#[test]
fn a_folder_that_cannot_be_used_costs_a_warning() {
    let (home, checkpoint) = seeded(&config(), 33);
    let file = home.path().join("config.json");
    for folder in [file.clone(), file.join("below")] {
        let start = start(&checkpoint, WeightFormat::Int8, &folder);
        assert!(start.packed() && start.notes.contains("could not be kept"), "{}", start.notes);
        assert!(start.logits == fresh(&checkpoint, WeightFormat::Int8));
    }
}

#[test]
fn starts_at_the_same_time_leave_one_sound_file() {
    let (home, checkpoint) = seeded(&config(), 34);
    let want = fresh(&checkpoint, WeightFormat::Int4);
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let checkpoint = Checkpoint::open(home.path()).unwrap();
                let start = start(&checkpoint, WeightFormat::Int4, folder.path());
                assert!(start.logits == want && !start.notes.contains("warning"), "{}", start.notes);
            });
        }
    });
    assert_eq!(files(folder.path()).len(), 1);
    assert!(!start(&checkpoint, WeightFormat::Int4, folder.path()).packed());
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_another_is_writing_is_not() {
    let (_home, checkpoint) = seeded(&config(), 35);
    let folder = tempfile::tempdir().unwrap();
    let kept = format!("{}-int4-{}.packed", "0123456789abcdef".repeat(2), "89abcdef");
    let [abandoned, busy] = ["1-0", "2-0"].map(|by| folder.path().join(format!("{kept}.{by}.partial")));
    fs::write(&abandoned, "half").unwrap();
    // Partial files of other people, and what only looks like ours.
    let foreign = ["notes.txt", "notes.partial", "x.packed.1-0.partial"].map(str::to_owned);
    let foreign = foreign.into_iter().chain([format!("{kept}.1.partial"), format!("{kept}.1-x.partial")]);
    let foreign: Vec<_> = foreign.map(|name| folder.path().join(name)).collect();
    foreign.iter().for_each(|path| fs::write(path, "not ours").unwrap());
    let writer = File::create(&busy).unwrap();
    writer.lock().unwrap();
    start(&checkpoint, WeightFormat::Int8, folder.path());
    assert!(!abandoned.exists() && busy.exists());
    assert!(foreign.iter().all(|path| path.exists()));
}

#[test]
fn a_checkpoint_that_changes_while_it_is_packed_is_not_kept() {
    let (home, checkpoint) = seeded(&config(), 36);
    let path = home.path().join("model.safetensors");
    let folder = tempfile::tempdir().unwrap();
    let mut edited = false;
    let mut edit = |p: Progress| {
        if p.stage == Stage::Pack && p.done > 0 && !edited {
            edited = true;
            let mut bytes = fs::read(&path).unwrap();
            let end = bytes.len();
            bytes[end - 2001] ^= 1;
            // In place: the same file, as it is mapped.
            let mut file = File::options().write(true).open(&path).unwrap();
            std::io::Write::write_all(&mut file, &bytes).unwrap();
        }
        Ok(())
    };
    let start = start_watched(&checkpoint, WeightFormat::Int8, folder.path(), &mut edit);
    assert!(start.notes.contains("changed while"), "{}", start.notes);
    assert_eq!(files(folder.path()), [] as [PathBuf; 0]);
}

#[test]
fn what_is_no_slower_to_pack_than_to_read_is_not_kept() {
    let (_home, checkpoint) = seeded(&config(), 37);
    let folder = tempfile::tempdir().unwrap();
    for weights in [WeightFormat::F32, WeightFormat::Bf16] {
        let start = start(&checkpoint, weights, folder.path());
        assert_eq!(start.stages, [Stage::Pack]);
    }
    let cache = PackedCache { folder: folder.path().to_owned(), least_bytes: 1 << 30 };
    let options =
        CpuOptions { weights: Some(WeightFormat::Int8), cache: Some(cache), ..CpuOptions::default() };
    let mut only_packs = |at: Progress| {
        assert_eq!(at.stage, Stage::Pack);
        Ok(())
    };
    open(&checkpoint, &options, &mut only_packs).unwrap();
    assert_eq!(files(folder.path()), [] as [PathBuf; 0]);
}

#[test]
fn loading_that_nobody_waits_for_ends_where_it_is_and_keeps_nothing() {
    let (_source, checkpoint) = seeded(&config(), 5);
    let folder = TempDir::new().unwrap();
    let mut stages = Vec::new();
    for heard in 1.. {
        let cache = PackedCache { folder: folder.path().to_owned(), least_bytes: 0 };
        let options = CpuOptions {
            weights: Some(WeightFormat::Int8),
            threads: Some(2),
            cache: Some(cache),
            ..CpuOptions::default()
        };
        let mut told = 0;
        let opened = open(&checkpoint, &options, &mut |at| {
            told += 1;
            if told < heard {
                return Ok(());
            }
            stages.push(at.stage);
            Err(Refusal::with_findings(Code::Cancelled, Vec::new()))
        });
        let Err(refusal) = opened else { break };
        assert_eq!((refusal.code(), told), (Code::Cancelled, heard));
        let kept = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(kept, 0, "after {stages:?}");
    }
    stages.dedup();
    assert_eq!(stages, [Stage::Identify, Stage::Pack, Stage::Store]);
}
