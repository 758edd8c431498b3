//! Who is told of a reply, apart from who makes it: text and events are made while the device takes its next steps.
//!
//! The scheduler hands over ids and goes on. What it does not know by itself, that a stop string ended the reply or that
//! nobody listens any more, it finds here at its next step; what was computed meanwhile was told to nobody and is forgotten.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tilewright_model::Refusal;

use crate::draft::Telling;
use crate::{Cancel, Event, FinishReason, Timings, Token};

/// Where events go, those of a call of the device at once; `false` says that nobody listens.
pub(super) type Sink = Box<dyn FnMut(Result<Vec<Event>, Refusal>) -> bool + Send>;

/// Takes what is to be told; `false` says that it cannot be told any more.
pub(super) type Outlet = Box<dyn FnMut(Vec<Message>) -> bool + Send>;

/// A place among those that run and wait, given back when dropped.
pub(super) struct Seat(Arc<AtomicUsize>);

impl Seat {
    /// For a place that `taken` counts already.
    pub(super) fn new(taken: &Arc<AtomicUsize>) -> Self {
        Self(Arc::clone(taken))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What has become of a reply.
pub(super) enum News {
    /// So many tokens of the prompt are in memory already.
    Reused(usize),
    /// The prompt is taken in up to here.
    Prefilled(usize),
    /// Tokens, each of a decode step if they are `stepped`, and what was measured before and with them.
    Tokens { tokens: Vec<Token>, stepped: bool, timings: Timings },
    /// The end.
    End(FinishReason, Timings),
    /// The end by a refusal.
    Fail(Refusal),
}

/// News of a reply, for its listener.
pub(super) struct Message {
    pub(super) listener: Arc<Listener>,
    pub(super) news: News,
}

impl Message {
    /// Tells it.
    pub(super) fn deliver(self) {
        self.listener.hear(self.news);
    }
}

/// A reply's listener, and what it lets the scheduler know.
pub(super) struct Listener {
    part: Mutex<Part>,
    cancel: Cancel,
    /// Tokens told.
    told: AtomicUsize,
    /// Whether the end was told.
    over: AtomicBool,
    /// Tokens told of all replies.
    all: Arc<AtomicU64>,
}

/// What hearing needs. Without an end the sink is still there.
struct Part {
    telling: Telling,
    sink: Option<Sink>,
    /// Given back before the end is told, so that who hears of it finds the place free.
    seat: Option<Seat>,
}

impl Listener {
    /// `all` counts tokens told.
    pub(super) fn new(
        telling: Telling,
        cancel: Cancel,
        sink: Sink,
        seat: Seat,
        all: &Arc<AtomicU64>,
    ) -> Self {
        let part = Mutex::new(Part { telling, sink: Some(sink), seat: Some(seat) });
        Self { part, cancel, told: AtomicUsize::new(0), over: AtomicBool::new(false), all: Arc::clone(all) }
    }

    /// Whether the end was told.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Tokens told so far.
    pub(super) fn told(&self) -> usize {
        self.told.load(Ordering::Acquire)
    }

    fn hear(&self, news: News) {
        let mut part = self.part.lock().unwrap_or_else(PoisonError::into_inner);
        if part.telling.ended() {
            return;
        }
        let before = part.telling.told();
        let heard = part.telling.hear(news, &self.cancel);
        let told = part.telling.told();
        self.all.fetch_add((told - before) as u64, Ordering::Relaxed);
        self.told.store(told, Ordering::Release);
        if heard.is_err() {
            part.telling.abandon();
        }
        let events = heard.map(|()| part.telling.take_ready());
        let over = part.telling.ended();
        if over {
            part.seat = None;
            self.over.store(true, Ordering::Release);
        }
        if events.as_ref().is_ok_and(Vec::is_empty) {
            return;
        }
        if let Some(sink) = &mut part.sink
            && !sink(events)
        {
            self.cancel.cancel();
        }
        if over {
            part.sink = None;
        }
    }
}

impl Telling {
    /// Takes news in; what is to be told of it is then ready.
    ///
    /// # Errors
    /// That of the news, or of the tokenizer.
    fn hear(&mut self, news: News, cancel: &Cancel) -> Result<(), Refusal> {
        match news {
            News::Reused(tokens) => self.reused(tokens),
            News::Prefilled(done) => self.prefilled(done),
            News::Tokens { tokens, stepped, timings } => {
                let first_token = self.timings.first_token;
                self.timings = Timings { first_token, ..timings };
                for token in tokens {
                    if cancel.is_cancelled() {
                        self.end(FinishReason::Cancelled);
                    }
                    if self.ended() {
                        break;
                    }
                    self.timings.decoded += usize::from(stepped);
                    self.accept(token)?;
                }
            }
            News::End(reason, timings) => {
                let first_token = self.timings.first_token;
                self.timings = Timings { first_token, ..timings };
                self.end(reason);
            }
            News::Fail(refusal) => return Err(refusal),
        }
        Ok(())
    }
}
