//! ARCHITECTURE.md against the tree: every crate in the table, every path it names, every arrow.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::files::{report, root};

fn architecture() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md")
}

/// The crates' table: name to the names it may depend on.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = architecture();
    let section =
        text.split("\n## Crates").nth(1).and_then(|s| s.split("\n## ").next()).expect("a section on crates");
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let names =
            |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
        rows.insert(names(cells[1]).pop_first().expect("a name"), names(cells[3]));
    }
    rows
}

fn folder(name: &str) -> String {
    if name == "xtask" { name.to_owned() } else { format!("crates/{name}") }
}

/// The project's own crates that `name` depends on in its `[dependencies]` tables (not dev-dependencies).
fn arrows(name: &str) -> BTreeSet<String> {
    let path = root().join(folder(name)).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.contains("dependencies") && !line.contains("dev-dependencies");
        } else if let Some(rest) = line.strip_prefix("tilewright-").filter(|_| inside) {
            found.extend(rest.split(['.', ' ', '=']).next().map(str::to_owned));
        }
    }
    found
}

#[test]
fn every_crate_is_in_the_table_and_every_row_is_a_crate() {
    let mut there: BTreeSet<String> = fs::read_dir(root().join("crates"))
        .expect("crates")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    there.insert("xtask".to_owned());
    let drawn: BTreeSet<String> = table().into_keys().collect();
    assert_eq!(there, drawn);
}

#[test]
fn dependencies_follow_the_arrows() {
    let mut complaints = Vec::new();
    for (name, allowed) in table() {
        for arrow in arrows(&name).difference(&allowed) {
            complaints.push(format!("{name} depends on {arrow}, which ARCHITECTURE.md does not allow"));
        }
    }
    report(&complaints);
}

#[test]
fn paths_named_in_the_map_exist() {
    let text = architecture();
    let complaints: Vec<_> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| {
            ["crates/", "docs/", "xtask/", ".ci/"].iter().any(|p| name.starts_with(p))
                && !name.contains("NAME")
        })
        .filter(|name| !root().join(name).exists())
        .map(|name| format!("ARCHITECTURE.md names `{name}`, which is not there"))
        .collect();
    report(&complaints);
}
