//! Rules about single files.

use super::files::{Source, report, root, sources};

/// Source files past 600 lines, each with its reason. None may pass 1,000.
const LONG: &[(&str, &str)] = &[];

/// Folders whose crates must stay pure, and what they may not name.
const PURE: &[(&str, &[&str])] = &[
    ("crates/tile/src", &["std::fs", "std::net", "std::env", "std::time", "std::thread", "std::process"]),
    ("crates/model/src", &["std::net", "process::Command"]),
    ("crates/engine/src", &["axum", "hyper", "http::"]),
];

fn rust() -> Vec<Source> {
    sources(&["rs"])
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

#[test]
fn no_source_file_is_too_long() {
    let mut complaints = Vec::new();
    for file in sources(&["rs", "cu", "py", "h"]) {
        let lines = file.text.lines().count();
        let reasoned = LONG.iter().any(|(path, _)| *path == file.path);
        if lines > 1000 || (lines > 600 && !reasoned) {
            complaints.push(format!(
                "{}: {lines} lines; split it, or give a reason in LONG (600 to 1,000)",
                file.path
            ));
        }
        if reasoned && lines <= 600 {
            complaints.push(format!("{}: {lines} lines; its line in LONG is stale", file.path));
        }
    }
    for (path, _) in LONG {
        if !root().join(path).exists() {
            complaints.push(format!("{path}: in LONG but not in the tree"));
        }
    }
    report(&complaints);
}

#[test]
fn kernels_contain_no_text_of_another_language() {
    let foreign =
        ["__global__", "__shared__", "kernel void", "threadgroup_barrier", "asm volatile", "include_str!"];
    let mut complaints = Vec::new();
    for file in
        sources(&["rs", "cu", "cuh", "metal"]).iter().filter(|f| f.path.starts_with("crates/kernels/src/"))
    {
        let found = foreign.iter().filter(|word| file.text.contains(**word));
        complaints.extend(found.map(|word| format!("{}: names {word}", file.path)));
    }
    report(&complaints);
}

#[test]
fn every_module_says_what_it_is_for() {
    let complaints: Vec<_> = rust()
        .iter()
        .filter(|file| {
            !file.text.trim_start().starts_with("//!") && !file.text.trim_start().starts_with("#![")
        })
        .map(|file| format!("{}: begins without a `//!` line", file.path))
        .collect();
    report(&complaints);
}

#[test]
fn unsafe_code_stands_only_in_files_named_raw() {
    let mut complaints = Vec::new();
    for file in rust() {
        let named = file.path.ends_with("/raw.rs") || file.path.contains("/raw/");
        let own = file.path.starts_with("xtask/tests/tidy");
        if named || own {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern"]
                .iter()
                .any(|u| code.contains(u))
            {
                complaints.push(format!("{}:{}: unsafe outside a file named raw", file.path, number + 1));
            }
        }
    }
    report(&complaints);
}

#[test]
fn pure_crates_stay_pure() {
    let mut complaints = Vec::new();
    for file in rust() {
        for (folder, banned) in PURE {
            if file.path.starts_with(folder) && !is_test(&file.path) {
                complaints.extend(
                    banned
                        .iter()
                        .filter(|word| file.text.contains(**word))
                        .map(|word| format!("{}: names `{word}`, which {folder} may not", file.path)),
                );
            }
        }
    }
    report(&complaints);
}

/// Names by which a program reaches out: the standard library's, tokio's and those of well-known clients.
const NETWORK: &[&str] =
    &["TcpStream::connect", "TcpSocket", "UdpSocket", "ToSocketAddrs", "ureq", "reqwest", "curl::"];

/// Files that reach out all the same, and why.
const REACHING: &[(&str, &str)] = &[
    ("crates/gate/src/load/http.rs", "measures the server it has started, at the address of that server"),
    ("crates/serve/examples/host/main.rs", "measures a server within itself, at the address of that server"),
];

#[test]
fn nothing_but_pull_reaches_the_network() {
    let mut complaints = Vec::new();
    let exempt = |path: &str| {
        path.starts_with("crates/pull/src/")
            || path.starts_with("xtask/tests/tidy")
            || is_test(path)
            || REACHING.iter().any(|(reaching, _)| *reaching == path)
    };
    for file in rust().iter().filter(|file| !exempt(&file.path)) {
        let found = NETWORK.iter().filter(|word| file.text.contains(**word));
        complaints.extend(found.map(|word| format!("{}: names `{word}`", file.path)));
    }
    for (path, _) in REACHING {
        if !root().join(path).exists() {
            complaints.push(format!("{path}: in REACHING but not in the tree"));
        }
    }
    report(&complaints);
}

#[test]
fn nothing_but_the_command_pull_has_a_client_of_http() {
    let clients = [
        "ureq",
        "reqwest",
        "curl",
        "isahc",
        "attohttpc",
        "minreq",
        "hyper-rustls",
        "hyper-tls",
        "tokio-rustls",
    ];
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let users = |of: &str| -> Vec<String> {
        let with = format!("\n \"{of}");
        let packages = lock.split("[[package]]").filter(|package| {
            package.match_indices(&with).any(|(at, _)| package[at + with.len()..].starts_with(['"', ' ']))
        });
        packages.filter_map(|package| Some(package.split('"').nth(1)?.to_owned())).collect()
    };
    for client in clients {
        let expected: &[&str] = if client == "ureq" { &["tilewright-pull"] } else { &[] };
        assert_eq!(users(client), expected, "who depends on {client}");
    }
    assert_eq!(users("tilewright-pull"), ["tilewright"]);
}

#[test]
fn nothing_is_left_unfinished() {
    let words = ["todo!(", "unimplemented!(", "FIXME", "XXX", "HACK", "#[ignore]"];
    let mut complaints = Vec::new();
    for file in sources(&["rs", "cu", "py", "h", "sh"]) {
        if file.path.starts_with("xtask/tests/tidy") {
            continue;
        }
        for word in words.iter().filter(|word| file.text.contains(**word)) {
            complaints.push(format!("{}: holds `{word}`", file.path));
        }
    }
    report(&complaints);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut complaints = Vec::new();
    for file in sources(&["md"]) {
        let folder = root().join(&file.path).parent().expect("in a folder").to_path_buf();
        for target in file.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            let external = target.contains("://") || target.starts_with("mailto:");
            if !external && !path.is_empty() && !path.contains(' ') && !folder.join(path).exists() {
                complaints.push(format!("{}: link to `{target}` leads nowhere", file.path));
            }
        }
    }
    report(&complaints);
}
