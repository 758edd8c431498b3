//! What is stored comes back whole or not at all.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;

#[test]
fn content_comes_back_and_damage_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().to_path_buf());
    let key = Cache::key(&[b"text", b"sm_90a"]);
    assert_eq!(cache.get(&key), None);
    cache.put(&key, b"machine code").unwrap();
    assert_eq!(cache.get(&key).as_deref(), Some(&b"machine code"[..]));
    cache.put(&key, b"other code").unwrap();
    assert_eq!(cache.get(&key).as_deref(), Some(&b"other code"[..]));

    let path = cache.path(&key);
    let whole = fs::read(&path).unwrap();
    for length in [0, 5, DIGEST, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(cache.get(&key), None, "cut to {length} bytes");
    }
    let mut flipped = whole;
    flipped[DIGEST + 2] ^= 1;
    fs::write(&path, flipped).unwrap();
    assert_eq!(cache.get(&key), None);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "no staged file stays behind");
}

#[test]
fn keys_differ_wherever_the_parts_do() {
    let parts: [&[&[u8]]; 5] = [&[b"ab", b"c"], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""], &[b"", b"abc"]];
    let keys: std::collections::BTreeSet<_> = parts.iter().map(|p| Cache::key(p)).collect();
    assert_eq!(keys.len(), parts.len());
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let cache = Cache::at(file);
    assert!(cache.put("key", b"content").is_err());
    assert_eq!(cache.get("key"), None);
}
