//! Downloads from a hub on loopback that cuts, lies and refuses.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod choice;
mod server;

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tilewright_model::{Code, HubName, Refusal};

use self::server::{Fate, REVISION, Server, sha256};
use crate::{Hub, Pulled, pull};

/// A hub with one GGUF file, and a cache.
struct Setting {
    server: Server,
    hub: Hub,
    folder: TempDir,
}

/// Bytes that differ from place to place.
fn content() -> Vec<u8> {
    (0..300_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

impl Setting {
    fn empty() -> Self {
        let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
        let endpoint = server.address().to_owned();
        let hub = Hub { endpoint, token: None, cache: folder.path().to_owned(), pause: Duration::ZERO };
        Self { server, hub, folder }
    }

    fn new() -> Self {
        let this = Self::empty();
        this.server.file("m.gguf", &sha256(&content()), &content());
        this
    }

    fn pull(&self, name: &str) -> Result<Pulled, Refusal> {
        pull(&self.hub, &HubName::parse(name).unwrap(), &mut |_, _, _| {})
    }

    /// Names of the files in the folder of contents, sorted.
    fn blobs(&self) -> Vec<String> {
        let folder = self.folder.path().join("models--org--name/blobs");
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// The places that contents were asked from.
    fn ranges(&self) -> Vec<String> {
        let asked = self.server.asked().into_iter().filter(|asked| asked.method == "GET");
        asked.filter_map(|asked| asked.headers.get("range").cloned()).collect()
    }
}

#[test]
fn a_model_lies_where_every_program_finds_it() {
    let setting = Setting::new();
    let mut heard = Vec::new();
    let name = HubName::parse("org/name").unwrap();
    let pulled =
        pull(&setting.hub, &name, &mut |file, done, all| heard.push((file.to_owned(), done, all))).unwrap();
    let bytes = content().len() as u64;
    assert_eq!(fs::read(&pulled.path).unwrap(), content());
    assert_eq!(pulled.revision, REVISION);
    assert_eq!(pulled.files[0].received, bytes);
    assert_eq!(name.find_in(&setting.hub.cache).unwrap(), pulled.path.parent().unwrap());
    assert_eq!(setting.blobs(), [sha256(&content())]);
    assert_eq!(heard.first().unwrap(), &("m.gguf".to_owned(), 0, bytes));
    assert_eq!(heard.last().unwrap(), &("m.gguf".to_owned(), bytes, bytes));
    if cfg!(unix) {
        let expected = Path::new("../../blobs").join(sha256(&content()));
        assert_eq!(fs::read_link(&pulled.path).unwrap(), expected);
    }
    // The second time nothing comes over the network but the list of files and the length of this one.
    let before = setting.server.asked().len();
    assert_eq!(setting.pull("org/name").unwrap().files[0].received, 0);
    assert_eq!(setting.server.asked().len(), before + 2);
}

#[test]
fn cuts_in_mid_file_are_mended_from_where_they_were() {
    let setting = Setting::new();
    setting.server.fates("m.gguf", &[Fate::Cut(70_001), Fate::Status(503, ""), Fate::Cut(0), Fate::Cut(9)]);
    let pulled = setting.pull("org/name").unwrap();
    assert_eq!(fs::read(&pulled.path).unwrap(), content());
    assert_eq!(pulled.files[0].received, content().len() as u64);
    let expected = ["bytes=0-", "bytes=70001-", "bytes=70001-", "bytes=70001-", "bytes=70010-"];
    assert_eq!(setting.ranges(), expected);
}

#[test]
fn what_arrived_is_kept_when_it_is_given_up_and_the_next_pull_goes_on() {
    let setting = Setting::new();
    setting.server.fates("m.gguf", &[Fate::Cut(500_000)]);
    setting.server.fates("m.gguf", &[Fate::Cut(0); 5]);
    let refusal = setting.pull("org/name").unwrap_err();
    assert_eq!(refusal.code(), Code::HubConnectionLost, "{refusal}");
    assert_eq!(setting.blobs(), [format!("{}.incomplete", sha256(&content()))]);
    assert_eq!(HubName::parse("org/name").unwrap().find_in(&setting.hub.cache), None);
    let pulled = setting.pull("org/name").unwrap();
    assert_eq!(pulled.files[0].received, content().len() as u64 - 500_000);
    assert_eq!(fs::read(&pulled.path).unwrap(), content());
}

#[test]
fn a_hub_without_ranges_sends_the_whole_again() {
    let setting = Setting::new();
    setting.server.fates("m.gguf", &[Fate::Cut(400_000), Fate::Whole]);
    assert_eq!(fs::read(setting.pull("org/name").unwrap().path).unwrap(), content());
}

#[test]
fn a_content_with_another_checksum_gets_no_name_and_is_deleted() {
    for (etag, what) in [(sha256(b"another"), "SHA-256"), ("0".repeat(40), "SHA-1")] {
        let setting = Setting::empty();
        setting.server.file("m.gguf", &etag, &content());
        let refusal = setting.pull("org/name").unwrap_err();
        assert_eq!(refusal.code(), Code::HubChecksumDiffers, "{what}");
        assert_eq!(setting.blobs(), [] as [String; 0], "{what}");
        assert_eq!(HubName::parse("org/name").unwrap().find_in(&setting.hub.cache), None);
    }
    let setting = Setting::new();
    setting.server.fates("m.gguf", &[Fate::Damaged]);
    assert_eq!(setting.pull("org/name").unwrap_err().code(), Code::HubChecksumDiffers);
    // What was damaged does not stay in the way.
    assert_eq!(fs::read(setting.pull("org/name").unwrap().path).unwrap(), content());
}

#[test]
fn a_part_of_something_else_is_found_out() {
    let setting = Setting::new();
    let blobs = setting.folder.path().join("models--org--name/blobs");
    fs::create_dir_all(&blobs).unwrap();
    fs::write(blobs.join(format!("{}.incomplete", sha256(&content()))), vec![7; 1000]).unwrap();
    assert_eq!(setting.pull("org/name").unwrap_err().code(), Code::HubChecksumDiffers);
    assert_eq!(fs::read(setting.pull("org/name").unwrap().path).unwrap(), content());
}

#[test]
fn a_small_file_is_compared_by_the_name_git_gives_it() {
    let setting = Setting::empty();
    // `printf 'hello\n' | git hash-object --stdin`
    setting.server.file("m.gguf", "ce013625030ba8dba906f756967f9e9ca394464a", b"hello\n");
    assert_eq!(fs::read(setting.pull("org/name").unwrap().path).unwrap(), b"hello\n");
}

#[test]
fn refusals_of_the_hub_have_names() {
    let cases = [
        ("main", 404, "", Code::HubRepositoryNotFound),
        ("main", 401, "RepoNotFound", Code::HubRepositoryNotFound),
        ("main", 401, "", Code::HubTokenNeeded),
        ("main", 403, "GatedRepo", Code::HubTokenNeeded),
        ("m.gguf", 401, "GatedRepo", Code::HubTokenNeeded),
        ("m.gguf", 404, "EntryNotFound", Code::HubFileNotFound),
        ("m.gguf", 400, "", Code::HubRefused),
    ];
    for (end, status, error, code) in cases {
        let setting = Setting::new();
        setting.server.fates(end, &[Fate::Status(status, error)]);
        let refusal = setting.pull("org/name").unwrap_err();
        assert_eq!(refusal.code(), code, "{end} {status} {error}");
        // Asking again would not help, and nobody does.
        let asked = setting
            .server
            .asked()
            .into_iter()
            .filter(|asked| asked.method == "GET" && asked.path.ends_with(end));
        assert_eq!(asked.count(), 1, "{end} {status}");
    }
}

#[test]
fn too_many_requests_and_failures_of_the_hub_are_waited_for_and_then_refused() {
    for status in [429, 500] {
        let setting = Setting::new();
        setting.server.fates("main", &[Fate::Status(status, ""); 2]);
        setting.server.fates("m.gguf", &[Fate::Status(status, ""); 4]);
        setting.pull("org/name").unwrap();
        let setting = Setting::new();
        setting.server.fates("main", &[Fate::Status(status, ""); 5]);
        let refusal = setting.pull("org/name").unwrap_err();
        assert_eq!(refusal.code(), Code::HubRefused);
        assert_eq!(refusal.findings()[0].got, status.to_string());
    }
}

#[test]
fn the_token_goes_to_the_hub_and_to_nobody_else() {
    let (mut setting, elsewhere) = (Setting::new(), Setting::new());
    setting.hub.token = Some("hf_secret".to_owned());
    setting.server.redirect(elsewhere.server.address());
    let pulled = setting.pull("org/name").unwrap();
    assert_eq!(fs::read(&pulled.path).unwrap(), content());
    // The content's name and length are the hub's, not those of its redirection.
    assert_eq!(setting.blobs(), [sha256(&content())]);
    let with_token = |server: &Server| -> Vec<bool> {
        let token =
            |headers: &std::collections::BTreeMap<String, String>| headers.get("authorization").cloned();
        server
            .asked()
            .iter()
            .map(|asked| token(&asked.headers).as_deref() == Some("Bearer hf_secret"))
            .collect()
    };
    assert_eq!(with_token(&setting.server), [true; 3]);
    assert_eq!(with_token(&elsewhere.server), [false]);
    assert!(!format!("{:?}", setting.hub).contains("hf_secret"));
    setting.hub.token = Some("two\nlines".to_owned());
    let refusal = setting.pull("org/name").unwrap_err();
    assert_eq!(refusal.code(), Code::RequestInvalid);
    assert!(!refusal.to_string().contains("lines"));
}

#[test]
fn what_is_no_hub_is_refused() {
    let mut setting = Setting::new();
    for endpoint in
        ["", "huggingface.co", "ftp://host", "https://", "http://me:secret@host", "http://host?x=1"]
    {
        setting.hub.endpoint = endpoint.to_owned();
        assert_eq!(setting.pull("org/name").unwrap_err().code(), Code::HubEndpointInvalid, "{endpoint}");
    }
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    setting.hub.endpoint = format!("http://127.0.0.1:{port}");
    assert_eq!(setting.pull("org/name").unwrap_err().code(), Code::HubConnectionLost);
    // The page of something else.
    let page = Setting::empty();
    page.server.file("\"", "x", b"");
    assert_eq!(page.pull("org/name").unwrap_err().code(), Code::HubEndpointInvalid);
    // Names of contents and files that would lead out of the folder.
    let evil = Setting::empty();
    evil.server.file("m.gguf", "../../../evil", b"x");
    assert_eq!(evil.pull("org/name").unwrap_err().code(), Code::HubEndpointInvalid);
    let evil = Setting::empty();
    evil.server.file("../../../m.gguf", "abc", b"x");
    assert_eq!(evil.pull("org/name").unwrap_err().code(), Code::HubFileNotFound);
}

#[test]
fn a_file_that_another_process_downloads_is_left_to_it() {
    let setting = Setting::new();
    let blobs = setting.folder.path().join("models--org--name/blobs");
    fs::create_dir_all(&blobs).unwrap();
    let part = fs::File::create(blobs.join(format!("{}.incomplete", sha256(&content())))).unwrap();
    part.lock().unwrap();
    assert_eq!(setting.pull("org/name").unwrap_err().code(), Code::HubFileBusy);
    part.unlock().unwrap();
    setting.pull("org/name").unwrap();
}

#[test]
fn two_files_that_share_a_name_of_contents_that_is_no_checksum_are_refused() {
    let setting = Setting::empty();
    setting.server.file("config.json", "v1", b"{}");
    setting.server.file("model.safetensors", "v1", &content());
    let refusal = setting.pull("org/name").unwrap_err();
    assert_eq!((refusal.code(), refusal.findings()[0].what.as_str()), (Code::HubEndpointInvalid, "etag"));
    assert_eq!(HubName::parse("org/name").unwrap().find_in(&setting.hub.cache), None);
}

#[test]
fn a_content_that_was_cut_short_in_the_cache_is_downloaded_again() {
    let setting = Setting::new();
    let path = setting.pull("org/name").unwrap().path;
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1000).unwrap();
    assert_eq!(setting.pull("org/name").unwrap().files[0].received, content().len() as u64);
    assert_eq!(fs::read(&path).unwrap(), content());
}

#[test]
fn a_content_of_the_right_length_that_was_changed_in_the_cache_is_downloaded_again() {
    for small in [false, true] {
        let setting = if small { Setting::empty() } else { Setting::new() };
        let expected = if small { b"hello\n".to_vec() } else { content() };
        if small {
            setting.server.file("m.gguf", "ce013625030ba8dba906f756967f9e9ca394464a", &expected);
        }
        let path = setting.pull("org/name").unwrap().path;
        let mut changed = expected.clone();
        changed[3] ^= 1;
        fs::write(&path, &changed).unwrap();
        // As long as the right one has not come, what is there is not touched.
        setting.server.fates("m.gguf", &[Fate::Status(400, "")]);
        assert_eq!(setting.pull("org/name").unwrap_err().code(), Code::HubRefused);
        assert_eq!(fs::read(&path).unwrap(), changed);
        assert_eq!(setting.pull("org/name").unwrap().files[0].received, expected.len() as u64);
        assert_eq!(fs::read(&path).unwrap(), expected);
        assert_eq!(setting.pull("org/name").unwrap().files[0].received, 0);
    }
}

#[test]
fn a_password_in_the_address_of_a_hub_is_shown_to_nobody() {
    for endpoint in [
        "http://me:secret@host",
        "http://me:sec/ret@host/x",
        "me:secret@host",
        "https://a@b:secret@host",
        "http://host?token=secret",
        "ftp://me:secret@host?x=secret",
    ] {
        let mut setting = Setting::new();
        setting.hub.endpoint = endpoint.to_owned();
        let refusal = setting.pull("org/name").unwrap_err();
        assert_eq!(refusal.code(), Code::HubEndpointInvalid, "{endpoint}");
        for shown in [refusal.to_string(), format!("{refusal:?}"), format!("{:?}", setting.hub)] {
            assert!(!shown.contains("sec") && shown.contains("host"), "{endpoint}: {shown}");
        }
    }
    let setting = Setting::new();
    setting.server.moved("http://me:secret@elsewhere.example");
    let refusal = setting.pull("org/name").unwrap_err().to_string();
    assert!(!refusal.contains("secret") && refusal.contains("elsewhere.example"), "{refusal}");
}

#[test]
fn a_single_file_of_a_newer_revision_brings_the_others_along() {
    let setting = Setting::empty();
    for (name, text) in [("config.json", "{}"), ("model.safetensors", "weights"), ("sub/more.gguf", "more")] {
        setting.server.file(name, &sha256(text.as_bytes()), text.as_bytes());
    }
    setting.pull("org/name").unwrap();
    let repository = setting.folder.path().join("models--org--name");
    fs::rename(repository.join("snapshots").join(REVISION), repository.join("snapshots/older")).unwrap();
    fs::write(repository.join("refs/main"), "older").unwrap();
    let pulled = setting.pull("org/name:sub/more.gguf").unwrap();
    assert!(pulled.path.ends_with("sub/more.gguf"));
    let found = HubName::parse("org/name").unwrap().find_in(&setting.hub.cache).unwrap();
    assert!(found.ends_with(REVISION));
    assert_eq!(fs::read(found.join("model.safetensors")).unwrap(), b"weights");
    assert_eq!(pulled.files.iter().map(|file| file.received).sum::<u64>(), 4);
}

#[test]
fn a_hub_that_lives_elsewhere_is_named() {
    let setting = Setting::new();
    setting.server.moved("http://elsewhere.example");
    let refusal = setting.pull("org/name").unwrap_err();
    assert_eq!(refusal.code(), Code::HubEndpointInvalid);
    assert!(refusal.to_string().contains("elsewhere.example"), "{refusal}");
}

#[test]
fn a_link_whose_content_was_cleared_away_is_replaced() {
    let setting = Setting::new();
    let path = setting.pull("org/name").unwrap().path;
    fs::remove_file(fs::canonicalize(&path).unwrap()).unwrap();
    assert!(!path.exists());
    assert_eq!(fs::read(setting.pull("org/name").unwrap().path).unwrap(), content());
}

#[cfg(unix)]
#[test]
fn a_file_that_the_disk_has_no_room_for_is_refused_before_any_of_it_comes() {
    let setting = Setting::new();
    setting.server.claims(1 << 60);
    let refusal = setting.pull("org/name").unwrap_err();
    assert_eq!((refusal.code(), refusal.findings()[0].what.as_str()), (Code::FileUnwritable, "disk"));
    assert_eq!(setting.ranges(), [] as [String; 0]);
}
