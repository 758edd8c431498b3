//! The search for NVRTC, on folders made up for it.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;

#[test]
fn packages_of_the_newest_python_come_first() {
    let prefix = tempfile::tempdir().unwrap();
    for folder in
        ["python3.9/site-packages", "python3.12/site-packages", "python3.12/dist-packages", "python3", "perl"]
    {
        std::fs::create_dir_all(prefix.path().join("lib").join(folder)).unwrap();
    }
    let lib = prefix.path().join("lib");
    let want: Vec<PathBuf> =
        ["python3.12/site-packages", "python3.12/dist-packages", "python3.9/site-packages"]
            .map(|p| lib.join(p))
            .into();
    assert_eq!(site_packages(prefix.path()), want);
}

#[test]
fn a_wheel_is_looked_for_in_both_layouts() {
    let folders = wheel_folders(Path::new("p"));
    for layout in ["p/nvidia/cu13/lib", "p/nvidia/cuda_nvrtc/lib"] {
        assert!(folders.contains(&PathBuf::from(layout)));
    }
}

#[test]
fn the_search_begins_with_the_loader_and_names_only_files_after_it() {
    if env::var_os(VARIABLE).is_some() {
        return;
    }
    let places = search();
    assert_eq!(places[0], Path::new(NAMES[0]));
    assert!(places[NAMES.len()..].iter().all(|place| place.is_file()), "{places:?}");
}
