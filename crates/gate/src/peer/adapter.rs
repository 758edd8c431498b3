//! The adapters that come with the program: which there are and how each is started.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use tilewright_model::{Code, Refusal, embedded_files};

use super::process::unavailable;
use super::{Opening, Peer};

/// A Python script of ours, by name, for a peer.
const SCRIPTS: [(&str, &str); 6] = [
    ("common.py", include_str!("../../../../bench/peers/common.py")),
    ("llama_cpp_peer.py", include_str!("../../../../bench/peers/llama_cpp_peer.py")),
    ("transformers_peer.py", include_str!("../../../../bench/peers/transformers_peer.py")),
    ("mlx_peer.py", include_str!("../../../../bench/peers/mlx_peer.py")),
    ("torch_reference.py", include_str!("../../../../bench/peers/torch_reference.py")),
    ("write_gguf.py", include_str!("../../../../bench/peers/write_gguf.py")),
];

/// The peers that can be asked for, each with its script; candle's is a program of its own.
const PEERS: [(&str, Option<&str>); 4] = [
    ("llama.cpp", Some("llama_cpp_peer.py")),
    ("transformers", Some("transformers_peer.py")),
    ("mlx", Some("mlx_peer.py")),
    ("candle", None),
];

/// Those whose adapters run several sequences at once.
const SEVERAL: [&str; 1] = ["transformers"];

/// A peer that is asked for: `NAME`, or `NAME=PROGRAM` with the Python that has its packages, or candle's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerChoice {
    /// Which.
    pub name: &'static str,
    script: Option<&'static str>,
    program: PathBuf,
}

impl FromStr for PeerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, program) =
            text.split_once('=').map_or((text, None), |(name, program)| (name, Some(program)));
        let known = PEERS.iter().find(|(known, _)| *known == name);
        let (name, script) = known
            .ok_or_else(|| format!("`{name}` is not one of {}", PEERS.map(|(name, _)| name).join(", ")))?;
        let usual = if script.is_some() { "python3" } else { "tilewright-peer-candle" };
        Ok(Self { name, script: *script, program: program.unwrap_or(usual).into() })
    }
}

impl fmt::Display for PeerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PeerChoice {
    /// Starts the peer and opens the model in it.
    ///
    /// # Errors
    /// `peer_unavailable` with what it said; `file_unwritable` when its script cannot be written to the work folder.
    pub fn start(&self, opening: Opening<'_>) -> Result<Peer, Refusal> {
        if opening.sequences > 1 && !SEVERAL.contains(&self.name) {
            return Err(unavailable(self.name, &"an adapter that runs one sequence at a time"));
        }
        let mut command = Command::new(&self.program);
        if let Some(name) = self.script {
            command.arg("-B").arg(script(opening.work, name)?);
        }
        Peer::start(self.name, command, opening)
    }
}

/// Writes our scripts to `work`; the path of the one called `name`.
pub(crate) fn script(work: &Path, name: &str) -> Result<PathBuf, Refusal> {
    for (name, text) in SCRIPTS {
        write(&work.join(name), text.as_bytes())?;
    }
    Ok(work.join(name))
}

/// A folder with the checkpoint's files, for engines that read a folder: `folder` itself, or the model inside the program
/// written below `work`.
///
/// # Errors
/// `file_unwritable`.
pub fn model_folder(folder: Option<&Path>, work: &Path) -> Result<PathBuf, Refusal> {
    if let Some(folder) = folder {
        return Ok(folder.to_owned());
    }
    let folder = work.join("stories-qwen3");
    for (name, bytes) in embedded_files() {
        write(&folder.join(name), bytes)?;
    }
    Ok(folder)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| {
        if std::fs::read(path).is_ok_and(|there| there == bytes) {
            Ok(())
        } else {
            std::fs::write(path, bytes)
        }
    });
    made.map_err(|e| Refusal::new(Code::FileUnwritable, "file", "a writable file", e).at(path.display()))
}
