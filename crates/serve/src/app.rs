//! What all requests share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tilewright_engine::{ChatTemplate, Code, Engine, Refusal, Scheduler, SchedulerOptions};
use tilewright_library::{Access, Library};
use tokio::sync::Semaphore;

use crate::error::Failure;
use crate::metrics::Metrics;
use crate::structured::Grammars;

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The model's name for clients.
    pub name: String,
    /// A chat template in place of the model's, and where it came from.
    pub template: Option<(String, String)>,
    /// Names besides its own that the server answers to; where every machine may come, none means any.
    pub hosts: Vec<String>,
    /// The key that requests must carry; `None` asks for none.
    pub api_key: Option<String>,
    /// Bytes of a request's body at most.
    pub body_limit: usize,
    /// How often a stream that has nothing to say says that it is alive.
    pub keep_alive: Duration,
    /// How replies are scheduled.
    pub scheduler: SchedulerOptions,
    /// What library functions may touch.
    pub library: Access,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            name: "tilewright".to_owned(),
            template: None,
            hosts: Vec::new(),
            api_key: None,
            body_limit: 2 << 20,
            keep_alive: Duration::from_secs(10),
            scheduler: SchedulerOptions::default(),
            library: Access::default(),
        }
    }
}

/// What all requests share.
pub(crate) struct App {
    pub(crate) options: ServeOptions,
    pub(crate) metrics: Metrics,
    /// When the server started, in seconds since 1970.
    pub(crate) created: u64,
    pub(crate) library: Library,
    /// Library functions run one at a time: some open a model.
    pub(crate) library_turn: Arc<Semaphore>,
    /// The call that runs and those that may wait for their turn.
    pub(crate) library_places: Arc<Semaphore>,
    ready: OnceLock<Arc<Ready>>,
    stopping: AtomicBool,
    names: AtomicU64,
}

/// A model that can answer.
pub(crate) struct Ready {
    pub(crate) engine: Engine,
    pub(crate) scheduler: Scheduler,
    pub(crate) grammars: Grammars,
    /// Which build, device and format answer.
    pub(crate) fingerprint: String,
    template: Result<ChatTemplate, Refusal>,
}

impl Ready {
    fn new(engine: &Engine, options: &ServeOptions) -> Result<Self, Refusal> {
        let plan = engine.plan();
        let template = match (&options.template, engine.tokenizer()) {
            (Some((source, place)), Some(tokenizer)) => Ok(ChatTemplate::new(source, tokenizer, place)?),
            _ => engine.template(),
        };
        Ok(Self {
            engine: engine.clone(),
            scheduler: Scheduler::start(engine, options.scheduler.clone())?,
            grammars: Grammars::new(engine),
            fingerprint: format!("tilewright-{}-{}-{}", env!("CARGO_PKG_VERSION"), plan.device, plan.weights),
            template,
        })
    }

    /// The chat template.
    pub(crate) fn template(&self) -> Result<&ChatTemplate, Refusal> {
        self.template.as_ref().map_err(Clone::clone)
    }
}

impl App {
    pub(crate) fn new(options: ServeOptions) -> Self {
        Self {
            metrics: Metrics::default(),
            library: Library::new(options.library.clone()),
            library_turn: Arc::new(Semaphore::new(1)),
            library_places: Arc::new(Semaphore::new(
                options.scheduler.queue.saturating_add(1).min(Semaphore::MAX_PERMITS),
            )),
            created: now(),
            ready: OnceLock::new(),
            stopping: AtomicBool::new(false),
            names: AtomicU64::new(0),
            options,
        }
    }

    /// Takes the model. A second one changes nothing.
    pub(crate) fn become_ready(&self, engine: &Engine) -> Result<(), Refusal> {
        let ready = Arc::new(Ready::new(engine, &self.options)?);
        self.ready.get_or_init(|| ready);
        Ok(())
    }

    /// From now on requests are refused.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether a request is to get no more of its body: the server shuts down.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Replies that run or wait.
    pub(crate) fn replies(&self) -> usize {
        self.ready.get().map_or(0, |ready| ready.scheduler.replies())
    }

    /// The model, if it can answer.
    ///
    /// # Errors
    /// `server_unavailable`.
    pub(crate) fn ready(&self) -> Result<Arc<Ready>, Failure> {
        let unavailable = |got| {
            let refusal = Refusal::new(Code::ServerUnavailable, "server", "one that is ready", got);
            Failure::from(refusal)
        };
        if self.is_stopping() {
            return Err(unavailable("one that shuts down"));
        }
        self.ready.get().cloned().ok_or_else(|| unavailable("one that loads its model"))
    }

    /// A name that no other reply of this server has.
    pub(crate) fn name(&self, prefix: &str) -> String {
        let n = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}-{:x}{n:06x}", self.created)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
