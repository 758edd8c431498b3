//! `docs/acceptance.md` against the tree: every item once, every test that it names.

use std::collections::BTreeSet;
use std::fs;

use super::files::{report, root, sources};

/// The sections of the list, with their last items.
const SECTIONS: [(char, u32); 8] =
    [('A', 12), ('B', 17), ('C', 40), ('D', 57), ('E', 74), ('F', 80), ('G', 90), ('H', 100)];

/// Item, what, state and where of every row.
fn rows(page: &str) -> Vec<[&str; 4]> {
    page.lines()
        .filter(|line| line.starts_with("| "))
        .filter_map(|line| {
            line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>().try_into().ok()
        })
        .filter(|[item, ..]: &[&str; 4]| item.ends_with(|c: char| c.is_ascii_digit()))
        .collect()
}

#[test]
fn every_item_has_its_row_and_every_named_test_exists() {
    let page = fs::read_to_string(root().join("docs/acceptance.md")).expect("docs/acceptance.md");
    let rows = rows(&page);
    let mut items = Vec::new();
    let mut first = 1;
    for (section, last) in SECTIONS {
        items.extend((first..=last).map(|n| format!("{section}{n}")));
        first = last + 1;
    }
    assert_eq!(rows.iter().map(|[item, ..]| *item).collect::<Vec<_>>(), items);

    let rust = sources(&["rs"]);
    let tests: BTreeSet<&str> = rust
        .iter()
        .flat_map(|file| file.text.split("#[test]").skip(1))
        .filter_map(|after| after.split("fn ").nth(1)?.split('(').next())
        .collect();
    let mut complaints = Vec::new();
    for [item, _, state, place] in rows {
        let named: Vec<&str> =
            place.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 1).collect();
        complaints.extend(
            named.iter().filter(|name| !tests.contains(**name)).map(|name| format!("{item}: no test {name}")),
        );
        let fits = match state {
            "proven" => !named.is_empty(),
            "stated" => !place.is_empty(),
            "open" | "Apple" => true,
            _ => false,
        };
        if !fits {
            complaints.push(format!("{item}: {state} without saying where"));
        }
    }
    report(&complaints);
}
