//! Many replies at once on one device.
//!
//! A [`Scheduler`] has a thread that takes steps: it admits what waits as far as memory allows, takes in one chunk of one
//! prompt, and decodes a token of every running reply in one sweep over the weights. A [`Session`] is one reply, opened
//! at any time and closed at any time; closing, dropping or cancelling it takes effect within a step, in a prompt too.
//!
//! - A second thread makes text and events of ids and tells listeners, while the device is at its next step already. Events of
//!   a reply come in order, those of one call of the device together. That a stop string ended a reply is known there: the first
//!   thread finds it before its next call of the device or, where listeners keep up, the one after; what was computed beyond is
//!   told to nobody.
//! - A device that chooses ids by itself does so as long as every reply that decodes is plain and greedy, also while prompts of
//!   others are taken in or other work is done; a prompt asks for nothing before its own first token. One reply that needs
//!   logits brings those of all to the host, since one sweep serves them.
//! - Where nothing is in between, some such steps are one call. What comes meanwhile waits for that call; ids past a reply's end
//!   are forgotten. Beside a prompt a call is one step: steps of few rows take as long as those of many, so more would keep
//!   prompts waiting and win no time.
//! - A reply's ids do not depend on its company, on when it came or on what was reused: rows do not see each other, and
//!   sampling is a function of the reply alone.
//! - Prompts take turns, and between two decode steps at most one chunk of one prompt is taken in.
//! - Keys and values of replies that ended are kept as long as nobody needs their memory. A prompt that begins with the
//!   same ids, compared one by one, begins where they end, to the token. On a device with pages whole ones are shared and the
//!   last one is copied, so running replies lend their beginnings too; elsewhere a sequence that nobody uses is taken over.
//!   Where a device computes prompts and replies by different paths ([`Plan`](crate::Plan)), only prompts are reused.
//! - Where the device takes memory page by page, a reply is admitted when its prompt fits and room is left to grow. When
//!   memory runs out all the same, the youngest reply gives its pages back and takes its ids in again later; the oldest
//!   always goes on. Elsewhere a reply is admitted when all of its context fits.

mod core;
mod job;
mod listener;
mod memory;
mod prefix;
mod session;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tilewright_model::{Code, Finding, Refusal};

use crate::draft::Draft;
use crate::request::Checked;
use crate::sampling::SamplingSet;
use crate::{Cancel, Engine, Event, Request};

use self::core::Core;
use job::Job;
use listener::{Message, Seat, Sink};
use memory::Budget;

pub use session::Session;

/// Sequences that a step can serve.
pub const MAX_SEQUENCES: usize = 32;

/// How to schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerOptions {
    /// Replies that run at once, 1 to [`MAX_SEQUENCES`].
    pub parallel: usize,
    /// Replies that may wait beyond those.
    pub queue: usize,
    /// Bytes that keys and values may take, at least those of one whole context. `None`: half of what the machine has left
    /// on the CPU, elsewhere what the device gives. A device with a memory of its own never gives more than it has.
    pub kv_bytes: Option<u64>,
    /// Prompt tokens taken in between two decode steps.
    pub prefill_chunk: usize,
    /// Whether keys and values of earlier replies are reused.
    pub reuse: bool,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self { parallel: 16, queue: 64, kv_bytes: None, prefill_chunk: 64, reuse: true }
    }
}

impl SchedulerOptions {
    fn check(&self) -> Result<(), Refusal> {
        let mut findings = Vec::new();
        if !(1..=MAX_SEQUENCES).contains(&self.parallel) {
            findings.push(Finding::new("parallel", format!("1 to {MAX_SEQUENCES}"), self.parallel));
        }
        if self.prefill_chunk == 0 {
            findings.push(Finding::new("prefill chunk", "at least 1", 0));
        }
        Refusal::check(Code::DeviceOptionInvalid, findings)
    }
}

/// What a scheduler has done and is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Replies that run.
    pub running: usize,
    /// Replies that wait for memory or a place.
    pub waiting: usize,
    /// Ended sequences whose keys and values are kept.
    pub kept: usize,
    /// Bytes of keys and values in memory; on devices without pages, those reserved.
    pub kv_bytes: u64,
    /// Bytes they may take, if there is a bound.
    pub kv_limit: Option<u64>,
    /// Replies admitted, ever.
    pub admitted: u64,
    /// Prompt tokens of those.
    pub prompt_tokens: u64,
    /// Of them, tokens that were in memory already.
    pub cached_tokens: u64,
    /// Tokens generated, ever.
    pub completion_tokens: u64,
    /// Decode steps, ever.
    pub steps: u64,
    /// How often a reply gave its memory back.
    pub preempted: u64,
}

/// Work between two steps: called until it says that it is done.
type Task = Box<dyn FnMut() -> bool + Send>;

/// What the thread is told.
enum Command {
    Open(Box<Job>),
    Task(Task),
}

/// A handle of the thread that takes steps; clones share it. When the last handle is gone the thread finishes what runs
/// and waits, then ends.
#[derive(Clone)]
pub struct Scheduler {
    engine: Engine,
    commands: Sender<Command>,
    inside: Arc<AtomicUsize>,
    load: Arc<Mutex<Load>>,
    /// Tokens that listeners were told, ever.
    told: Arc<AtomicU64>,
    options: SchedulerOptions,
}

impl Scheduler {
    /// Starts the thread.
    ///
    /// # Errors
    /// `device_option_invalid` for options outside their range; `out_of_memory` when the system gives no thread.
    pub fn start(engine: &Engine, options: SchedulerOptions) -> Result<Self, Refusal> {
        options.check()?;
        let load = Arc::<Mutex<Load>>::default();
        let told = Arc::<AtomicU64>::default();
        let (news, heard) = channel();
        let outlet = Box::new(move |messages| news.send(messages).is_ok());
        let core = Core::new(engine, &options, Budget::new(engine, options.kv_bytes)?, outlet, &told);
        let (commands, received) = channel();
        let shared = Arc::clone(&load);
        // Each ends when the other does, or has nothing more to tell.
        spawn("listeners", move || tell(&heard))?;
        spawn("scheduler", move || work(core, &received, &shared))?;
        Ok(Self { engine: engine.clone(), commands, inside: Arc::default(), load, told, options })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How it schedules.
    pub fn options(&self) -> &SchedulerOptions {
        &self.options
    }

    /// Replies that run or wait at this moment.
    pub fn replies(&self) -> usize {
        self.inside.load(Ordering::Relaxed)
    }

    /// What it has done and is doing, as of its latest step; tokens as far as listeners were told of them.
    pub fn load(&self) -> Load {
        let load = *self.load.lock().unwrap_or_else(PoisonError::into_inner);
        Load { completion_tokens: self.told.load(Ordering::Relaxed), ..load }
    }

    /// Opens a session.
    ///
    /// # Errors
    /// Those of [`Engine::generate`], and `queue_full`: nothing is done then.
    pub fn open(&self, request: Request) -> Result<Session, Refusal> {
        let (events, received) = channel();
        let (cancel, sampling) = self.enter(request, Box::new(move |event| events.send(event).is_ok()))?;
        Ok(Session::new(received, cancel, sampling))
    }

    /// Opens a session whose events go to `sink`, those of one call of the device at once, on the thread that tells all
    /// listeners: it must not wait. When it returns `false` nobody listens any more, and the reply is cancelled. After
    /// [`Event::Done`] or a refusal it is dropped. The flag returned cancels this reply alone.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        &self,
        request: Request,
        sink: impl FnMut(Result<Vec<Event>, Refusal>) -> bool + Send + 'static,
    ) -> Result<Cancel, Refusal> {
        Ok(self.enter(request, Box::new(sink))?.0)
    }

    /// Hands a request to the thread; what cancels it, and the sampling settings in effect.
    fn enter(&self, mut request: Request, sink: Sink) -> Result<(Cancel, SamplingSet), Refusal> {
        request.cancel = request.cancel.child();
        let cancel = request.cancel.clone();
        let checked = Checked::new(request, &self.engine.facts(self.engine.plan().context))?;
        let seat = self.seat()?;
        let mut draft = Draft::new(&self.engine, checked)?;
        draft.telling.start();
        let sampling = draft.sampling().clone();
        self.tell(Command::Open(Box::new(Job::new(draft, sink, seat, &self.told))))?;
        Ok((cancel, sampling))
    }

    /// Does work on the scheduler's thread between its steps: `work` is called once a step until it returns `true`.
    ///
    /// # Errors
    /// `device_failed` when the thread has ended.
    pub fn between_steps(&self, work: impl FnMut() -> bool + Send + 'static) -> Result<(), Refusal> {
        self.tell(Command::Task(Box::new(work)))
    }

    /// A place among those that run and wait.
    fn seat(&self) -> Result<Seat, Refusal> {
        let most = self.options.parallel + self.options.queue;
        let taken = self.inside.fetch_add(1, Ordering::Relaxed);
        let seat = Seat::new(&self.inside);
        if taken >= most {
            return Err(Refusal::new(Code::QueueFull, "requests", format!("at most {most}"), taken + 1));
        }
        Ok(seat)
    }

    fn tell(&self, command: Command) -> Result<(), Refusal> {
        let gone = |_| Refusal::new(Code::DeviceFailed, "scheduler", "its thread", "none: it has ended");
        self.commands.send(command).map_err(gone)
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler")
            .field("options", &self.options)
            .field("load", &self.load())
            .finish_non_exhaustive()
    }
}

/// A thread with a name.
///
/// # Errors
/// `out_of_memory` when the system gives none.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Refusal> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| {
        Refusal::new(Code::OutOfMemory, "thread", "one more", error)
            .with_remedy("Raise the system's limit of threads, or end other programs.")
    })
}

/// The thread of the listeners: makes text and events of ids while the device is at its next steps.
fn tell(heard: &Receiver<Vec<Message>>) {
    for message in heard.iter().flatten() {
        message.deliver();
    }
}

/// The thread of the device: takes commands as they come, sleeps while there is nothing to do.
fn work(mut core: Core, commands: &Receiver<Command>, load: &Mutex<Load>) {
    let mut open = true;
    while core.is_heard() && (open || core.is_busy()) {
        if !core.is_busy() {
            match commands.recv() {
                Ok(command) => core.take(command),
                Err(_) => return,
            }
        }
        loop {
            match commands.try_recv() {
                Ok(command) => core.take(command),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    open = false;
                    break;
                }
            }
        }
        core.step();
        *load.lock().unwrap_or_else(PoisonError::into_inner) = core.load();
    }
}
