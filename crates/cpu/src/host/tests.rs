//! What is found out about this machine.

use super::{Host, group_headroom, parse_meminfo};

#[test]
fn memory_is_read_in_kibibytes() {
    let text = "MemTotal:       24576 kB\nMemFree:  1 kB\nMemAvailable:   12345 kB\n";
    assert_eq!(parse_meminfo(text), Some(12345 * 1024));
    assert_eq!(parse_meminfo("MemTotal: 5 kB\n"), None);
}

#[test]
fn control_groups_without_a_limit_leave_everything() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(group_headroom(folder.path()), None);
    std::fs::write(folder.path().join("memory.current"), "300\n").unwrap();
    std::fs::write(folder.path().join("memory.max"), "max\n").unwrap();
    assert_eq!(group_headroom(folder.path()), None);
    std::fs::write(folder.path().join("memory.max"), "1000\n").unwrap();
    assert_eq!(group_headroom(folder.path()), Some(700));
    std::fs::write(folder.path().join("memory.stat"), "anon 7\ninactive_file 50\nactive_file 100\n").unwrap();
    assert_eq!(group_headroom(folder.path()), Some(850));
}

#[test]
fn this_machine_has_a_core() {
    assert!(Host::detect().cores >= 1);
}
