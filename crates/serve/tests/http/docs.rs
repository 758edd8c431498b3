//! The examples of docs/server.md, run as they stand there.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tilewright_serve::ServeOptions;

use crate::client::start;

/// The page's blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/server.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<String> = page
        .split(&format!("```{language}\n"))
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect();
    assert!(!blocks.is_empty(), "no {language} on the page");
    blocks
}

/// A server as `tilewright serve` starts it, and the page's address replaced by its own.
fn served(block: &str, run: impl FnOnce(String)) {
    let server = start(ServeOptions { name: "stories-qwen3".to_owned(), ..ServeOptions::default() });
    run(block.replace("127.0.0.1:8080", &server.address().to_string()));
}

#[test]
fn the_examples_for_curl_work() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("skipped: no curl");
        return;
    }
    for block in blocks("sh") {
        served(&block, |block| {
            let output = Command::new("sh").args(["-c", &block]).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let reply: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{block}\n{text}"));
            assert!(reply["choices"][0]["message"]["content"].is_string(), "{block}\n{text}");
        });
    }
}

/// A folder with the `openai` package, `None` (said aloud) where it cannot be had.
fn openai() -> Option<String> {
    let folder = format!("{}/openai", env!("CARGO_TARGET_TMPDIR"));
    if !Path::new(&folder).join("openai").exists() {
        let quiet = ["-m", "pip", "install", "--quiet", "--no-warn-conflicts", "--root-user-action=ignore"];
        let pip = [&quiet[..], &["--target", &folder, "openai"]].concat();
        if !Command::new("python3").args(pip).status().is_ok_and(|status| status.success()) {
            println!("skipped: Python's package openai cannot be installed");
            return None;
        }
    }
    Some(folder)
}

fn python(folder: &str, arguments: &[&str]) {
    let output = Command::new("python3").env("PYTHONPATH", folder).args(arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
}

#[test]
fn the_examples_for_python_and_openai_s_own_client_work() {
    let Some(folder) = openai() else { return };
    for block in blocks("python") {
        served(&block, |block| python(&folder, &["-c", &block]));
    }
    let server = start(crate::client::options());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/openai_client.py");
    python(&folder, &[script.to_str().unwrap(), &format!("http://{}/v1", server.address())]);
}

#[test]
fn openai_s_client_for_node_works() {
    let folder = format!("{}/node", env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).unwrap();
    if !Path::new(&folder).join("node_modules/openai").exists() {
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", &folder, "openai"];
        if !Command::new("npm").args(install).status().is_ok_and(|status| status.success()) {
            println!("skipped: npm's package openai cannot be installed");
            return;
        }
    }
    // A module finds packages beside itself.
    let script = format!("{folder}/openai_client.mjs");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/openai_client.mjs"), &script)
        .unwrap();
    let server = start(crate::client::options());
    let output =
        Command::new("node").args([&script, &format!("http://{}/v1", server.address())]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
