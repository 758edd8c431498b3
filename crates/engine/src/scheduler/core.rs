//! What one step does. No thread and no clock: whoever calls [`Core::step`] decides when.

pub(super) mod window;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tilewright_backend::{LogitSink, Step};
use tilewright_model::{Code, Refusal};

use super::job::{Job, Running};
use super::listener::{Message, News, Outlet};
use super::memory::Budget;
use super::prefix::{LEAST, Shelf, common};
use super::{Command, Load, SchedulerOptions, Task};
use crate::lease::Lease;
use crate::{Engine, FinishReason};

/// The state of a scheduler.
pub(super) struct Core {
    engine: Engine,
    options: SchedulerOptions,
    /// What was given, and what is counted on: less where the device had less, until nothing runs.
    given: Budget,
    budget: Budget,
    /// Whether a token gives the same bits as a prompt's and as a reply's.
    one_path: bool,
    waiting: VecDeque<Job>,
    /// By rising order.
    running: Vec<Running>,
    shelf: Shelf,
    tasks: VecDeque<Task>,
    /// Whether the prompt with the least left goes next, and not the one that came first.
    shortest: bool,
    came: u64,
    /// Steps that the device can take in one call.
    window: usize,
    /// Steps for which logits are looked at whatever the replies ask for.
    by_logits: usize,
    logits: Vec<f32>,
    load: Load,
    /// Where news of replies go, and whether they still can.
    outlet: Outlet,
    heard: bool,
    /// Tokens told, ever.
    told: Arc<AtomicU64>,
}

/// Where the beginning of a sequence is.
#[derive(Clone, Copy)]
enum Source {
    Kept(usize),
    Running(usize),
}

impl Core {
    /// `told` counts the tokens that listeners are told.
    pub(super) fn new(
        engine: &Engine,
        options: &SchedulerOptions,
        budget: Budget,
        outlet: Outlet,
        told: &Arc<AtomicU64>,
    ) -> Self {
        Self {
            engine: engine.clone(),
            options: options.clone(),
            given: budget,
            budget,
            one_path: engine.plan().has_one_path(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            shelf: Shelf::default(),
            tasks: VecDeque::new(),
            shortest: false,
            came: 0,
            window: engine.resident().greedy_window(),
            by_logits: 0,
            logits: Vec::new(),
            load: Load { kv_limit: budget.limit(), ..Load::default() },
            outlet,
            heard: true,
            told: Arc::clone(told),
        }
    }

    pub(super) fn take(&mut self, command: Command) {
        match command {
            Command::Open(mut job) => {
                self.came += 1;
                job.order = self.came;
                self.waiting.push_back(*job);
            }
            Command::Task(task) => self.tasks.push_back(task),
        }
    }

    /// Whether a step would do anything.
    pub(super) fn is_busy(&self) -> bool {
        !(self.waiting.is_empty() && self.running.is_empty() && self.tasks.is_empty())
    }

    pub(super) fn load(&self) -> Load {
        let kv_bytes = match self.budget {
            Budget::Pages { bytes, .. } => self.pages_used() as u64 * bytes,
            Budget::Rooms { bytes, .. } => self.rooms_used() as u64 * bytes,
        };
        Load {
            running: self.running.len(),
            waiting: self.waiting.len(),
            kept: self.shelf.len(),
            kv_bytes,
            completion_tokens: self.told.load(Ordering::Relaxed),
            ..self.load
        }
    }

    /// Whether replies can still be told of.
    pub(super) fn is_heard(&self) -> bool {
        self.heard
    }

    /// One step: ends what was cancelled, admits what fits, takes in one chunk, decodes one token of each, or some where
    /// nothing waits for the host.
    pub(super) fn step(&mut self) {
        self.end_cancelled();
        self.admit();
        self.work_between();
        self.prefill();
        self.decode();
    }

    /// Lets listeners know, while this thread goes on.
    fn tell(&mut self, messages: Vec<Message>) {
        if !messages.is_empty() {
            self.heard &= (self.outlet)(messages);
        }
    }

    fn end_cancelled(&mut self) {
        let waiting = self.waiting.iter_mut();
        let jobs = waiting.chain(self.running.iter_mut().map(|running| &mut running.job));
        let cancelled = jobs.filter(|job| !job.ended() && job.chooser.cancel().is_cancelled());
        let messages = cancelled.map(|job| job.end(FinishReason::Cancelled)).collect();
        self.tell(messages);
        self.waiting.retain(|job| !job.ended());
        self.sweep();
    }

    /// Takes the replies that ended out of those that run and keeps their sequences: those that took all their steps whole, others as
    /// far as somebody was told of them.
    fn sweep(&mut self) {
        let (ended, running) = self.running.drain(..).partition(|r: &Running| r.job.ended());
        self.running = running;
        for running in ended {
            if self.options.reuse {
                let held = if running.job.chooser.is_complete() { running.held } else { running.known() };
                let Running { job, lease, room, .. } = running;
                let prompt = job.chooser.request().prompt.len();
                let keep = if self.one_path { held } else { held.min(prompt) };
                lease.truncate(keep);
                let mut ids = job.ids;
                ids.truncate(keep);
                self.shelf.keep(lease, ids, room);
            }
        }
    }

    fn work_between(&mut self) {
        if let Some(mut task) = self.tasks.pop_front()
            && !task()
        {
            self.tasks.push_back(task);
        }
    }

    /// Gives memory to those that wait, first come first, as far as there is any. One whose beginning is just being taken
    /// in by another waits for that.
    fn admit(&mut self) {
        if self.running.is_empty() {
            self.budget = self.given;
        }
        let mut index = 0;
        while index < self.waiting.len() && self.running.len() < self.options.parallel {
            let source = self.source(&self.waiting[index].ids, self.waiting[index].room());
            let best = source.map_or(0, |(_, len)| len);
            if self.is_coming(&self.waiting[index].ids, best) {
                index += 1;
                continue;
            }
            if !self.fits(&self.waiting[index], best) {
                if self.shelf_gives(source) || (self.running.is_empty() && self.shelf.forget_one()) {
                    continue;
                }
                if !self.running.is_empty() {
                    return;
                }
            }
            let Some(job) = self.waiting.remove(index) else { return };
            match self.place(&job, source) {
                Ok((lease, held, room)) => self.begin(job, lease, held, room),
                Err(refusal) if refusal.code() == Code::OutOfMemory && self.shelf.forget_one() => {
                    self.waiting.insert(index, job);
                }
                Err(refusal) if refusal.code() == Code::OutOfMemory && !self.running.is_empty() => {
                    self.waiting.insert(index, job);
                    return;
                }
                Err(refusal) => {
                    let mut job = job;
                    let message = job.fail(refusal);
                    self.tell(vec![message]);
                }
            }
        }
    }

    fn begin(&mut self, job: Job, lease: Lease, held: usize, room: usize) {
        if !job.again {
            let message = job.message(News::Reused(held));
            self.tell(vec![message]);
            self.load.admitted += 1;
            self.load.prompt_tokens += job.ids.len() as u64;
            self.load.cached_tokens += held as u64;
        }
        let at = self.running.partition_point(|running| running.job.order < job.order);
        self.running.insert(at, Running { job, lease, held, room });
    }

    /// The longest beginning of `ids` that is in memory and can be used for `room` positions, short of the last id, whose
    /// logits are still to be computed.
    fn source(&self, ids: &[u32], room: usize) -> Option<(Source, usize)> {
        if !self.options.reuse {
            return None;
        }
        let shares = matches!(self.budget, Budget::Pages { .. });
        let kept = self.shelf.entries().iter().enumerate().filter(|(_, kept)| shares || kept.room >= room);
        let kept = kept.map(|(index, kept)| (Source::Kept(index), common(&kept.ids, ids)));
        let running = self.running.iter().enumerate().filter(|_| shares).map(|(index, running)| {
            (Source::Running(index), common(&running.job.ids[..self.lends(running)], ids))
        });
        kept.chain(running)
            .map(|(source, len)| (source, len.min(ids.len() - 1)))
            .filter(|(_, len)| *len >= LEAST)
            .max_by_key(|(_, len)| *len)
    }

    /// How much of a running sequence others may use.
    fn lends(&self, running: &Running) -> usize {
        let prompt = running.job.chooser.request().prompt.len();
        if self.one_path { running.held } else { running.held.min(prompt) }
    }

    /// Whether a running prompt will soon hold more of `ids` than `best`, so that waiting saves taking them in twice.
    fn is_coming(&self, ids: &[u32], best: usize) -> bool {
        let shares = self.options.reuse && matches!(self.budget, Budget::Pages { .. });
        shares
            && self.running.iter().any(|running| {
                let len = common(&running.job.chooser.request().prompt, ids).min(ids.len() - 1);
                len >= LEAST && len > best && running.held < len
            })
    }

    /// Whether a job whose first `held` ids are in memory can be given what it needs.
    fn fits(&self, job: &Job, held: usize) -> bool {
        match self.budget {
            Budget::Pages { page, most, .. } => {
                let promised: usize = self
                    .running
                    .iter()
                    .map(|r| (r.job.ids.len() + 1).div_ceil(page) - r.held.div_ceil(page))
                    .sum();
                // The page in which the beginning ends is copied; every running reply may soon want one more.
                let wanted = (job.ids.len() + 1).div_ceil(page) - held / page + self.running.len();
                self.pages_used() + promised + wanted <= most
            }
            Budget::Rooms { most, .. } => {
                most.is_none_or(|most| self.rooms_used() + self.roomy(job.room()) <= most)
            }
        }
    }

    /// Forgets a kept sequence other than `source`; whether there was one.
    fn shelf_gives(&mut self, source: Option<(Source, usize)>) -> bool {
        match source {
            // One that is used is forgotten last; where there are others it is not the oldest for long.
            Some((Source::Kept(index), _)) => {
                self.shelf.touch(index);
                self.shelf.len() > 1 && self.shelf.forget_one()
            }
            _ => self.shelf.forget_one(),
        }
    }

    /// Positions a sequence is made for: where memory is taken at once, in steps, so that sequences can be taken over.
    fn roomy(&self, room: usize) -> usize {
        match self.budget {
            Budget::Pages { .. } => room,
            Budget::Rooms { .. } => room.next_multiple_of(1024).min(self.engine.plan().context),
        }
    }

    /// A sequence for a job, how many ids it holds, and what it is made for.
    fn place(
        &mut self,
        job: &Job,
        source: Option<(Source, usize)>,
    ) -> Result<(Lease, usize, usize), Refusal> {
        let room = self.roomy(job.room());
        if let Some((source, len)) = source {
            let (lease, whole) = match source {
                Source::Kept(index) => {
                    self.shelf.touch(index);
                    let kept = &self.shelf.entries()[index];
                    (&kept.lease, kept.ids.len() == len && kept.room >= room)
                }
                Source::Running(index) => (&self.running[index].lease, false),
            };
            // A sequence that goes on as it is needs no copy.
            let forked = if whole { None } else { lease.fork(len, room)? };
            if let Some(lease) = forked {
                return Ok((lease, len, room));
            }
            if let Source::Kept(index) = source
                && self.shelf.entries()[index].room >= job.room()
            {
                let kept = self.shelf.take(index);
                kept.lease.truncate(len);
                return Ok((kept.lease, len, kept.room));
            }
        }
        Ok((Lease::new(&self.engine, room)?, 0, room))
    }

    fn pages_used(&self) -> usize {
        self.engine.resident().paging().map_or(0, |paging| paging.used)
    }

    fn rooms_used(&self) -> usize {
        self.shelf.rooms() + self.running.iter().map(|running| running.room).sum::<usize>()
    }

    /// Whether those of `which` can append as much as it says without passing the budget.
    fn can_grow(&self, growth: impl Iterator<Item = (usize, usize)>) -> bool {
        let Budget::Pages { page, most, .. } = self.budget else { return true };
        let wanted: usize = growth.map(|(from, to)| to.div_ceil(page) - from.div_ceil(page)).sum();
        wanted == 0 || self.pages_used() + wanted <= most
    }

    /// Frees memory: a kept sequence, else that of the youngest reply, which then waits to go on. Whether there was any.
    fn give_way(&mut self) -> bool {
        if self.shelf.forget_one() {
            return true;
        }
        if self.running.len() < 2 {
            return false;
        }
        if let Some(Running { mut job, .. }) = self.running.pop() {
            job.again = true;
            self.load.preempted += 1;
            let at = self.waiting.partition_point(|waiting| waiting.order < job.order);
            self.waiting.insert(at, job);
        }
        true
    }

    /// Another program took the memory that was counted on: frees some, and counts on no more than there was, so that who gave
    /// way does not come back for it before the others have gone on. Whether there was any to free.
    fn shrink(&mut self) -> bool {
        let used = self.pages_used();
        if let Budget::Pages { most, .. } = &mut self.budget {
            *most = used.min(*most);
        }
        self.give_way()
    }

    /// Takes in a chunk of the prompt whose turn it is: by turns the one that came first and the one with least left.
    fn prefill(&mut self) {
        let (index, to) = loop {
            let Some((index, to)) = self.next_prompt() else { return };
            if self.can_grow([(self.running[index].held, to)].into_iter()) || !self.give_way() {
                break (index, to);
            }
        };
        self.shortest = !self.shortest;
        let vocab = self.engine.config().vocab;
        self.logits.resize(self.logits.len().max(vocab), 0.0);
        let Running { job, lease, held, .. } = &mut self.running[index];
        let last = to == job.ids.len();
        let sink = if last { LogitSink::Last(&mut self.logits[..vocab]) } else { LogitSink::None };
        let started = Instant::now();
        let result = lease.prefill(&job.ids[*held..to], sink, job.chooser.cancel());
        job.timings.prefill += started.elapsed();
        let now = lease.len();
        job.timings.prefilled += now - *held;
        *held = now;
        if matches!(&result, Err(refusal) if refusal.code() == Code::OutOfMemory) && self.shrink() {
            return;
        }
        let job = &mut self.running[index].job;
        let mut messages = Vec::new();
        match result {
            Ok(()) => {
                if job.chooser.latest().is_none() {
                    messages.push(job.message(News::Prefilled(to)));
                }
                if last {
                    messages.push(job.choose(&self.logits[..vocab], false));
                }
            }
            Err(refusal) if refusal.code() == Code::Cancelled => {
                messages.push(job.end(FinishReason::Cancelled));
            }
            Err(refusal) => messages.push(job.fail(refusal)),
        }
        self.tell(messages);
        self.sweep();
    }

    /// Which prompt goes next, and up to where.
    fn next_prompt(&self) -> Option<(usize, usize)> {
        let prompts = self.running.iter().enumerate().filter(|(_, r)| !r.decodes(self.one_path));
        let (index, running) = if self.shortest {
            prompts.min_by_key(|(_, running)| running.todo().len())?
        } else {
            prompts.min_by_key(|(_, running)| running.job.order)?
        };
        let alone = self.running.iter().all(|running| !running.decodes(self.one_path));
        let plan = self.engine.plan().prefill_chunk.max(1);
        let chunk = if alone { plan } else { self.options.prefill_chunk.min(plan) };
        Some((index, running.job.ids.len().min(running.held + chunk)))
    }

    /// A token of every reply that has its prompt taken in, or some, in one sweep. Whatever else there is to do, the device
    /// chooses the ids where it can and nobody asks for logits.
    fn decode(&mut self) {
        let one_path = self.one_path;
        let decoding = |running: &&Running| running.decodes(one_path);
        while !self.can_grow(self.running.iter().filter(decoding).map(|r| (r.held, r.held + 1))) {
            if !self.give_way() {
                break;
            }
        }
        if !self.running.iter().any(|running| running.decodes(one_path)) {
            return;
        }
        if let Some(steps) = self.window()
            && self.decode_window(steps)
        {
            return;
        }
        self.by_logits = self.by_logits.saturating_sub(1);
        let steps: Vec<Step> =
            self.running.iter().filter(decoding).map(|r| r.lease.step(r.todo()[0])).collect();
        let vocab = self.engine.config().vocab;
        self.logits.resize(self.logits.len().max(steps.len() * vocab), 0.0);
        let logits = &mut self.logits[..steps.len() * vocab];
        let started = Instant::now();
        let result = self.engine.resident().decode_together(&steps, logits);
        let time = started.elapsed();
        let rows = self.running.iter_mut().filter(|running| running.decodes(one_path));
        let mut messages = Vec::with_capacity(steps.len());
        match result {
            Ok(()) => {
                self.load.steps += 1;
                for (running, logits) in rows.zip(logits.chunks_exact(vocab)) {
                    running.held += 1;
                    running.job.timings.decode += time;
                    messages.push(running.job.choose(logits, true));
                }
            }
            Err(refusal) if refusal.code() == Code::OutOfMemory && self.shrink() => {}
            Err(refusal) => {
                let rows = self.running.iter_mut().filter(|running| running.decodes(one_path));
                messages.extend(rows.map(|running| running.job.fail(refusal.clone())));
            }
        }
        self.tell(messages);
        self.sweep();
    }
}
