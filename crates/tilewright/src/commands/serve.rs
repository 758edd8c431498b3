//! `serve`: replies over HTTP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tilewright_engine::{Cancel, MAX_SEQUENCES, Refusal, SchedulerOptions, Source};
use tilewright_library::{Access, Checkpoints};
use tilewright_serve::{ServeOptions, Server};

use crate::commands::session::Session;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::{ModelFlags, OutputFlags, read_text};
use crate::interrupt::Interrupt;

/// Serve the model over HTTP, as OpenAI's clients expect it
///
/// Listens before the model is loaded and answers 503 until it can reply. Ctrl-C, or the system's request to end, takes no more
/// requests and finishes those that run; a second Ctrl-C leaves at once. docs/server.md has the endpoints and fields.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address to listen at; only this machine can reach the default
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), help_heading = "Server")]
    host: IpAddr,

    /// Port to listen at; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8080, help_heading = "Server")]
    port: u16,

    /// Name of the model for clients [default: that of its folder]
    #[arg(long, value_name = "NAME", help_heading = "Server", value_parser = visible)]
    served_name: Option<String>,

    /// Key that every request but /health must carry; better given by the variable, which other users cannot see
    #[arg(long, value_name = "KEY", help_heading = "Server", value_parser = visible)]
    api_key: Option<String>,

    /// Name that requests may be addressed to besides localhost and the address (repeat for several): only this machine's names
    /// reach a server at the default address
    #[arg(long, value_name = "NAME", help_heading = "Server", value_parser = host_name)]
    allow_host: Vec<String>,

    /// Jinja file to use in place of the model's chat template
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    chat_template: Option<PathBuf>,

    /// Bytes of a request's body at most
    #[arg(long, value_name = "N", default_value = "2097152", help_heading = "Server")]
    body_limit: NonZeroUsize,

    /// Seconds after which a silent stream says that it is alive
    #[arg(long, value_name = "N", default_value = "10", help_heading = "Server")]
    keep_alive: NonZeroU64,

    /// Replies that are made at once, 1 to 32
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u8).range(1..=MAX_SEQUENCES as i64), help_heading = "Scheduling")]
    parallel: u8,

    /// Replies that may wait beyond those; more are refused with 429
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Scheduling")]
    queue: usize,

    /// MiB that keys and values may take [default: half of what the machine has left on the CPU, what the GPU has left on NVIDIA]
    #[arg(long, value_name = "N", help_heading = "Scheduling", value_parser = clap::value_parser!(u64).range(..=1 << 40))]
    kv_mib: Option<u64>,

    /// Prompt tokens taken in between two tokens of running replies
    #[arg(long, value_name = "N", default_value = "64", help_heading = "Scheduling")]
    prefill_between: NonZeroUsize,

    /// Take in every prompt from its beginning, whatever earlier ones left in memory
    #[arg(long, help_heading = "Scheduling")]
    no_reuse: bool,

    /// Folder whose checkpoints the decode functions of /v1/libraries may open [default: none may be opened]
    #[arg(long, value_name = "DIR", help_heading = "Server")]
    library_checkpoints: Option<PathBuf>,

    #[command(flatten)]
    model: ModelFlags,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// A text of characters that can be seen, at least one: a key of none would lock everybody out.
fn visible(text: &str) -> Result<String, String> {
    match text {
        "" => Err("it is empty".to_owned()),
        text if text.chars().any(char::is_control) => Err("it has a control character".to_owned()),
        text => Ok(text.to_owned()),
    }
}

/// A name or address of a host alone: with a scheme, a port or a star no request would ever be addressed to it.
fn host_name(text: &str) -> Result<String, String> {
    let part = |part: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (1..=63).contains(&part.len()) && part.chars().all(plain)
    };
    let is_name = text.len() <= 253 && text.split('.').all(part);
    if is_name || text.parse::<IpAddr>().is_ok() {
        return Ok(text.to_owned());
    }
    Err("a name as in `box.example` or an address, with no scheme, port or star".to_owned())
}

impl ServeArgs {
    fn options(&self, source: &Source) -> Result<ServeOptions, Refusal> {
        let folder = match source {
            Source::Embedded => None,
            Source::Path(path) => path
                .canonicalize()
                .ok()
                .and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned())),
        };
        let template = match &self.chat_template {
            Some(path) => Some((read_text(path)?, path.display().to_string())),
            None => None,
        };
        Ok(ServeOptions {
            name: self.served_name.clone().or(folder).unwrap_or_else(|| "stories-qwen3".to_owned()),
            template,
            hosts: self.allow_host.clone(),
            api_key: self.api_key.clone(),
            body_limit: self.body_limit.get(),
            keep_alive: Duration::from_secs(self.keep_alive.get()),
            scheduler: SchedulerOptions {
                parallel: usize::from(self.parallel),
                queue: self.queue,
                kv_bytes: self.kv_mib.map(|mib| mib << 20),
                prefill_chunk: self.prefill_between.get(),
                reuse: !self.no_reuse,
            },
            library: Access {
                checkpoints: self.library_checkpoints.clone().map_or(Checkpoints::None, Checkpoints::Below),
                ..Access::default()
            },
        })
    }
}

/// What is still to be done when no more requests are taken.
fn farewell(replies: usize) -> String {
    let what = match replies {
        0 => return "no reply runs".to_owned(),
        1 => "the reply that runs".to_owned(),
        more => format!("{more} replies that run or wait"),
    };
    format!("takes no more requests and finishes {what}; Ctrl-C again leaves at once")
}

/// Carries `serve` out.
pub(crate) fn run(args: ServeArgs, console: &mut Console) -> Result<(), Failure> {
    let interrupt = Interrupt::install();
    let model = args.model.clone().resolve();
    let options = args.options(&model.source)?;
    let name = options.name.clone();
    let server = Server::start(SocketAddr::new(args.host, args.port), options)?;
    if !args.host.is_loopback() && args.api_key.is_none() {
        console.notice("warning", "other machines can reach this address, and no --api-key is asked of them");
    }
    let session = Session::open(model, console)?;
    server.ready(&session.engine)?;
    let address = format!("http://{}", server.address());
    console.notice("serving", &format!("{name} at {address}/v1"));
    if console.json() {
        console.object(&json!({"address": address, "model": name}))?;
    }
    let cancel = Cancel::default();
    let guard = interrupt.guard(cancel.clone());
    server.wait(&cancel, |replies| console.notice("stopping", &farewell(replies)))?;
    drop(guard);
    Ok(())
}
