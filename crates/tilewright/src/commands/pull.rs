//! `pull`: a model of a hub into the cache that programs of Hugging Face share.

use clap::Args;
use serde_json::json;
use tilewright_model::HubName;
use tilewright_pull::{Hub, PulledFile, pull};

use crate::console::{Bar, Console, bytes};
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Download a model into the cache of Hugging Face, where -m org/name finds it
///
/// Takes what a checkpoint needs, or the repository's only GGUF model, or the file that is named. A download that was cut goes
/// on where it stopped; a file counts only when its checksum is right, one that is in the cache already as well. HF_ENDPOINT names another hub, HF_TOKEN a token for
/// repositories that want one (else the one that a login stored, unless HF_HUB_DISABLE_IMPLICIT_TOKEN is set), HF_HUB_CACHE or
/// HF_HOME another folder, HTTPS_PROXY a proxy; HF_HUB_OFFLINE forbids it. No other command reaches a hub.
#[derive(Args, Debug)]
pub(crate) struct PullArgs {
    /// Repository, and a file of it where one is meant
    #[arg(value_name = "ORG/NAME[:FILE]", value_parser = name)]
    name: HubName,

    #[command(flatten)]
    pub output: OutputFlags,
}

fn name(text: &str) -> Result<HubName, String> {
    HubName::parse(text).ok_or_else(|| "not of the form org/name or org/name:file".to_owned())
}

/// Carries `pull` out.
pub(crate) fn run(args: PullArgs, console: &mut Console) -> Result<(), Failure> {
    let mut bar: Option<(String, Bar)> = None;
    let mut progress = |file: &str, done, total| {
        if bar.as_ref().is_none_or(|(name, _)| name != file) {
            bar = Some((file.to_owned(), console.bar(file.to_owned())));
        }
        if let Some((_, bar)) = &bar {
            bar.report(done, total);
        }
    };
    let pulled = pull(&Hub::from_environment()?, &args.name, &mut progress)?;
    drop(bar);

    let path = pulled.path.display().to_string();
    let sum = |of: fn(&PulledFile) -> u64| pulled.files.iter().map(of).sum();
    let (all, received) = (sum(|file| file.bytes), sum(|file| file.received));
    console.notice("done", &format!("{} in {path}, {} of it received", bytes(all), bytes(received)));
    if console.json() {
        let file =
            |file: &PulledFile| json!({"name": file.name, "bytes": file.bytes, "received": file.received});
        let files: Vec<_> = pulled.files.iter().map(file).collect();
        console.object(&json!({"path": path, "revision": pulled.revision, "files": files}))?;
    }
    Ok(())
}
