//! Random arrivals, cancels and disconnects over a device whose logits depend on every id held: whoever got another's
//! position, a wrong prefix or a lost token would get other ids.

mod window;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tilewright_model::{Code, Refusal};

use super::core::Core;
use super::job::Job;
use super::listener::{Message, Seat};
use super::memory::Budget;
use super::*;
use crate::draft::Draft;
use crate::fake::{self, Kind, PAGE, Watch};
use crate::request::Checked;
use crate::{Engine, Event, FinishReason, Request, Sampling};

const VOCAB: usize = 23;

/// Logits that depend on every id held.
fn mixing(ids: &[u32]) -> Vec<f32> {
    let hash = ids.iter().fold(7u32, |h, &id| h.wrapping_mul(0x9E37_79B1).wrapping_add(id ^ 0x55));
    (0..VOCAB as u32).map(|i| (hash.wrapping_mul(2 * i + 1) >> 20) as f32 / 400.0).collect()
}

/// What happens to one request.
#[derive(Clone, Debug)]
struct Script {
    /// The step before which it comes.
    at: usize,
    prompt: Vec<u32>,
    max_tokens: usize,
    /// `None`: greedy.
    seed: Option<u64>,
    /// An id that ends it.
    stop: Option<u32>,
    /// A text that ends it.
    stop_text: Option<String>,
    /// After so many events nobody listens any more.
    leaves: Option<usize>,
    /// So many steps later it is cancelled.
    cancelled: Option<usize>,
}

impl Script {
    fn request(&self) -> Request {
        let temperature = Some(if self.seed.is_some() { 1.0 } else { 0.0 });
        let sampling = Sampling { temperature, seed: self.seed, ..Sampling::default() };
        let stop_ids = self.stop.into_iter().collect();
        let stop = self.stop_text.iter().cloned().collect();
        let max_tokens = Some(self.max_tokens);
        Request { max_tokens, sampling, stop_ids, stop, ..Request::new(self.prompt.clone()) }
    }
}

fn scripts() -> impl Strategy<Value = Vec<Script>> {
    // Prompts begin alike: cut from few texts.
    let prompt = (0_u32..3, 1_usize..40, 0_u32..3).prop_map(|(text, len, tail)| {
        let mut ids: Vec<u32> = (0..len as u32).map(|i| (i * (text + 2) + text) % VOCAB as u32).collect();
        ids.push(tail);
        ids
    });
    let one = (
        0_usize..60,
        prompt,
        1_usize..20,
        prop::option::weighted(0.3, 0_u64..5),
        prop::option::of(0..VOCAB as u32),
        prop::option::weighted(0.2, 0_usize..12),
        prop::option::weighted(0.2, 0_usize..20),
    );
    let one = one.prop_map(|(at, prompt, max_tokens, seed, stop, leaves, cancelled)| Script {
        at,
        prompt,
        max_tokens,
        seed,
        stop,
        stop_text: None,
        leaves,
        cancelled,
    });
    prop::collection::vec(one, 1..14)
}

/// What a listener got.
#[derive(Default)]
struct Heard {
    ids: Vec<u32>,
    end: Option<Result<FinishReason, Refusal>>,
    cached: usize,
    events: usize,
}

impl Heard {
    fn hear(&mut self, event: Event) {
        assert!(self.end.is_none(), "an event after the end");
        self.events += 1;
        match event {
            Event::Token(token) => self.ids.push(token.id),
            Event::Done(done) => {
                self.cached = done.usage.cached_tokens;
                assert_eq!(done.usage.completion_tokens, self.ids.len(), "tokens counted");
                self.end = Some(Ok(done.reason));
            }
            _ => {}
        }
    }
}

fn job(
    engine: &Engine,
    script: &Script,
    inside: &Arc<AtomicUsize>,
    heard: &Arc<Mutex<Heard>>,
    told: &Arc<AtomicU64>,
) -> Job {
    inside.fetch_add(1, Ordering::Relaxed);
    let checked = Checked::new(script.request(), &engine.facts(engine.plan().context)).unwrap();
    let (heard, leaves) = (Arc::clone(heard), script.leaves);
    let sink = move |events: Result<Vec<Event>, Refusal>| {
        let mut heard = heard.lock().unwrap();
        assert!(heard.end.is_none(), "an event after the end");
        match events {
            Ok(events) => events.into_iter().for_each(|event| heard.hear(event)),
            Err(refusal) => heard.end = Some(Err(refusal)),
        }
        leaves.is_none_or(|leaves| heard.events < leaves)
    };
    Job::new(Draft::new(engine, checked).unwrap(), Box::new(sink), Seat::new(inside), told)
}

/// Runs scripts to their end, each listener hearing at once. Gives what each heard, and what the scheduler says of itself at
/// the end.
fn play(
    engine: &Engine,
    watch: &Watch,
    scripts: &[Script],
    options: &SchedulerOptions,
) -> (Vec<Heard>, Load) {
    play_late(engine, watch, scripts, options, 0)
}

/// The same, listeners hearing so many steps later.
fn play_late(
    engine: &Engine,
    watch: &Watch,
    scripts: &[Script],
    options: &SchedulerOptions,
    late: usize,
) -> (Vec<Heard>, Load) {
    let budget = Budget::new(engine, options.kv_bytes).unwrap();
    let (told, due) = (Arc::<AtomicU64>::default(), Arc::<Mutex<VecDeque<Vec<Message>>>>::default());
    let queue = Arc::clone(&due);
    let outlet = move |messages: Vec<Message>| {
        match late {
            0 => messages.into_iter().for_each(Message::deliver),
            _ => queue.lock().unwrap().back_mut().unwrap().extend(messages),
        }
        true
    };
    let mut core = Core::new(engine, options, budget, Box::new(outlet), &told);
    let inside = Arc::<AtomicUsize>::default();
    let heard: Vec<_> = scripts.iter().map(|_| Arc::<Mutex<Heard>>::default()).collect();
    let mut cancels = vec![None; scripts.len()];
    let last = scripts.iter().map(|s| s.at).max().unwrap_or(0);
    let mut now = 0;
    while now <= last || core.is_busy() {
        for (index, script) in scripts.iter().enumerate() {
            if script.at == now {
                let job = job(engine, script, &inside, &heard[index], &told);
                cancels[index] = Some(job.chooser.cancel().clone());
                core.take(Command::Open(Box::new(job)));
            }
            if script.cancelled.is_some_and(|after| script.at + after == now)
                && let Some(cancel) = &cancels[index]
            {
                cancel.cancel();
            }
        }
        due.lock().unwrap().push_back(Vec::new());
        core.step();
        while due.lock().unwrap().len() > late {
            let messages = due.lock().unwrap().pop_front().unwrap();
            messages.into_iter().for_each(Message::deliver);
        }
        let load = core.load();
        assert!(load.running <= options.parallel);
        assert!(load.kv_limit.is_none_or(|limit| load.kv_bytes <= limit), "{load:?}");
        assert_eq!(watch.alive(), load.running + load.kept, "sequences that nobody owns");
        now += 1;
        assert!(now < 20_000, "it does not end");
    }
    for messages in std::mem::take(&mut *due.lock().unwrap()) {
        messages.into_iter().for_each(Message::deliver);
    }
    let load = core.load();
    assert_eq!((load.running, load.waiting, inside.load(Ordering::Relaxed)), (0, 0, 0));
    drop(core);
    assert_eq!(watch.alive(), 0, "sequences outlive the scheduler");
    (heard.into_iter().map(|h| Arc::try_unwrap(h).ok().unwrap().into_inner().unwrap()).collect(), load)
}

/// Each reply is the one it is alone; one that was cut short is the beginning of it.
fn check(engine: &Engine, scripts: &[Script], heard: &[Heard]) {
    for (script, heard) in scripts.iter().zip(heard) {
        let alone = engine.generate(script.request()).unwrap().reply().unwrap();
        match heard.end.as_ref().expect("an end") {
            Ok(FinishReason::Cancelled) => {
                assert!(script.leaves.is_some() || script.cancelled.is_some(), "cancelled by nobody");
                assert!(alone.ids.starts_with(&heard.ids), "{script:?}: {:?} begins otherwise", heard.ids);
            }
            Ok(reason) => assert_eq!((reason, &heard.ids), (&alone.done.reason, &alone.ids), "{script:?}"),
            Err(refusal) => panic!("{script:?}: {refusal}"),
        }
    }
}

fn options() -> impl Strategy<Value = SchedulerOptions> {
    let tight = prop::option::weighted(0.7, 68_u64..140);
    (1_usize..7, 1_usize..9, tight, any::<bool>()).prop_map(|(parallel, prefill_chunk, kv_bytes, reuse)| {
        SchedulerOptions { parallel, prefill_chunk, kv_bytes, reuse, ..SchedulerOptions::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn company_reuse_and_memory_change_no_id(
        scripts in scripts(),
        options in options(),
        pages in any::<bool>(),
        two_paths in any::<bool>(),
        window in 0_usize..12,
        late in 0_usize..4,
    ) {
        // A device of two paths has no pages: nothing is taken in again there that was decoded.
        let kind = Kind { pages: pages && !two_paths, two_paths, window, most: None, real: None };
        let kv_bytes = options.kv_bytes.filter(|_| kind.pages);
        let options = SchedulerOptions { kv_bytes, ..options };
        let (engine, watch) = fake::engine_of(kind, VOCAB, mixing);
        let (heard, _) = play_late(&engine, &watch, &scripts, &options, late);
        check(&engine, &scripts, &heard);
    }
}

fn script(at: usize, prompt: &[u32], max_tokens: usize) -> Script {
    let prompt = prompt.to_vec();
    Script { at, prompt, max_tokens, seed: None, stop: None, stop_text: None, leaves: None, cancelled: None }
}

const PAGED: Kind = Kind { pages: true, two_paths: false, window: 0, most: None, real: None };

#[test]
fn one_sweep_serves_every_running_reply() {
    let (engine, watch) = fake::engine_of(PAGED, VOCAB, mixing);
    let scripts: Vec<_> = (0..8).map(|i| script(0, &[i, i + 1, i + 2], 10)).collect();
    let (heard, load) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
    check(&engine, &scripts, &heard);
    // Prompts come in one after another; then nine steps for all.
    assert!(load.steps <= 8 + 9, "{load:?}");
    assert_eq!((load.admitted, load.completion_tokens, load.prompt_tokens), (8, 80, 24));
}

#[test]
fn a_long_prompt_holds_others_up_by_one_chunk_a_step() {
    let (engine, watch) = fake::engine_of(PAGED, VOCAB, mixing);
    let long: Vec<u32> = (0..40).map(|i| i % 7).collect();
    let scripts = [script(0, &[1, 2], 30), script(3, &long, 2)];
    let options = SchedulerOptions { prefill_chunk: 3, ..SchedulerOptions::default() };
    let (heard, _) = play(&engine, &watch, &scripts, &options);
    check(&engine, &scripts, &heard);
    let prefills = watch.prefills();
    let chunks: Vec<usize> = prefills.iter().map(Vec::len).collect();
    assert_eq!(chunks[..2], [2, 3], "{chunks:?}");
    assert!(chunks.iter().all(|&len| len <= 4), "{chunks:?}");
}

#[test]
fn a_short_prompt_does_not_wait_for_a_long_one() {
    let (engine, watch) = fake::engine_of(PAGED, VOCAB, mixing);
    let long: Vec<u32> = (0..40).map(|i| i % 7).collect();
    let scripts = [script(0, &long, 2), script(0, &[9, 9], 2)];
    play(&engine, &watch, &scripts, &SchedulerOptions::default());
    let at = watch.prefills().iter().position(|chunk| chunk == &[9, 9]);
    assert_eq!(at, Some(1), "{:?}", watch.prefills());
}

#[test]
fn a_prompt_that_begins_like_another_takes_in_only_the_rest() {
    for kind in [PAGED, Kind::default()] {
        let (engine, watch) = fake::engine_of(kind, VOCAB, mixing);
        let first: Vec<u32> = (0..20).map(|i| i % 11).collect();
        let second = [&first[..18], &[21, 22]].concat();
        let scripts = [script(0, &first, 3), script(30, &second, 3), script(60, &second, 3)];
        let (heard, load) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
        check(&engine, &scripts, &heard);
        assert_eq!(heard.iter().map(|h| h.cached).collect::<Vec<_>>(), [0, 18, 19], "{kind:?}");
        assert_eq!(load.cached_tokens, 37);
    }
}

#[test]
fn a_reply_is_reused_only_where_it_has_the_bits_of_a_prompt() {
    for (two_paths, cached) in [(false, 14), (true, 10)] {
        let kind = Kind { two_paths, ..Kind::default() };
        let (engine, watch) = fake::engine_of(kind, VOCAB, mixing);
        let prompt: Vec<u32> = (0..10).collect();
        let reply = engine.generate(script(0, &prompt, 5).request()).unwrap().reply().unwrap().ids;
        let next = [&prompt[..], &reply, &[3]].concat();
        let scripts = [script(0, &prompt, 5), script(30, &next, 4)];
        let (heard, _) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
        check(&engine, &scripts, &heard);
        assert_eq!(heard[1].cached, cached, "two paths: {two_paths}");
    }
}

#[test]
fn prompts_that_come_together_are_taken_in_once() {
    let (engine, watch) = fake::engine_of(PAGED, VOCAB, mixing);
    let prompt: Vec<u32> = (0..20).collect();
    let scripts: Vec<_> = (0..4).map(|seed| Script { seed: Some(seed), ..script(0, &prompt, 4) }).collect();
    let (heard, _) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
    assert_eq!(heard.iter().map(|h| h.cached).collect::<Vec<_>>(), [0, 19, 19, 19]);
    assert_eq!(watch.prefills().iter().map(Vec::len).sum::<usize>(), 20);
    check(&engine, &scripts, &heard);
}

#[test]
fn the_oldest_goes_on_when_memory_runs_out() {
    let (engine, watch) = fake::engine_of(PAGED, VOCAB, mixing);
    let scripts: Vec<_> = (0..4).map(|i| script(0, &[i, 5, 6], 40)).collect();
    let options = SchedulerOptions { kv_bytes: Some(17 * PAGE as u64), ..SchedulerOptions::default() };
    let (heard, load) = play(&engine, &watch, &scripts, &options);
    check(&engine, &scripts, &heard);
    assert!(load.preempted > 0, "{load:?}");
    assert_eq!(load.admitted, 4, "one that comes back is not counted again");
}

#[test]
fn a_device_with_a_memory_of_its_own_is_not_asked_for_more() {
    // A context takes 16 pages, and one is copied.
    for (asked, most, limit) in [(None, 17, 17), (Some(40), 17, 17), (Some(20), 30, 20)] {
        let (engine, watch) = fake::engine_of(Kind { most: Some(most), ..PAGED }, VOCAB, mixing);
        let scripts: Vec<_> = (0..4).map(|i| script(0, &[i, 5, 6], 40)).collect();
        let kv_bytes = asked.map(|pages| pages * PAGE as u64);
        let options = SchedulerOptions { kv_bytes, ..SchedulerOptions::default() };
        // No step passes the limit.
        let (heard, load) = play(&engine, &watch, &scripts, &options);
        check(&engine, &scripts, &heard);
        assert_eq!(load.kv_limit, Some(limit * PAGE as u64));
        assert!(load.preempted > 0, "{load:?}");
    }
}

/// Another program may take memory that was counted on, also while a prompt is taken in.
#[test]
fn a_prompt_that_finds_no_memory_gives_way_and_comes_back() {
    for full in 0..4 {
        let (engine, watch) = fake::engine_of(PAGED, VOCAB, mixing);
        *watch.full_in_prefill.lock().unwrap() = Some(full);
        let scripts: Vec<_> = (0..3).map(|i| script(0, &[i, 5, 6, 7, 8, 9, 10], 12)).collect();
        let (heard, load) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
        check(&engine, &scripts, &heard);
        assert!(load.preempted > 0, "call {full}: {load:?}");
    }
}

/// Who gave way came back for the page that the older reply had waited for, again and again.
#[test]
fn a_device_with_less_memory_than_it_said_still_serves_all() {
    for real in 5..12 {
        for (long, chunk) in [(20, 4), (24, 1), (12, 64)] {
            let (engine, watch) = fake::engine_of(Kind { real: Some(real), ..PAGED }, VOCAB, mixing);
            // An old reply that grows, and young ones of a page each.
            let mut scripts = vec![script(0, &[1, 5, 6, 7], real * PAGE - 6)];
            scripts.extend((0..3).map(|i| script(2, &[i + 2, 5, 6], 2)));
            scripts.push(script(
                3,
                &(0..long).map(|i| i % VOCAB as u32).collect::<Vec<_>>()
                    [..long.min(real as u32 * 4 - 4) as usize],
                2,
            ));
            let options = SchedulerOptions { prefill_chunk: chunk, ..SchedulerOptions::default() };
            let (heard, load) = play(&engine, &watch, &scripts, &options);
            check(&engine, &scripts, &heard);
            assert!(load.preempted < 50, "{real} pages: {load:?}");
        }
    }
}

#[test]
fn options_outside_their_range_are_refused_together() {
    let (engine, _) = fake::engine_of(PAGED, VOCAB, mixing);
    let options = SchedulerOptions { parallel: 33, prefill_chunk: 0, ..SchedulerOptions::default() };
    let refusal = Scheduler::start(&engine, options).unwrap_err();
    assert_eq!((refusal.code(), refusal.findings().len()), (Code::DeviceOptionInvalid, 2));
    let options = SchedulerOptions { kv_bytes: Some(67), ..SchedulerOptions::default() };
    assert_eq!(Scheduler::start(&engine, options).unwrap_err().code(), Code::DeviceOptionInvalid);
}

/// A scheduler over a device that waits for a permit before each decode step, and what gives permits.
fn held() -> (Scheduler, Watch, std::sync::mpsc::Sender<()>) {
    let (permit, permits) = channel::<()>();
    let permits = Mutex::new(permits);
    let (engine, watch) = fake::engine_of(PAGED, VOCAB, move |ids| {
        let _ = permits.lock().unwrap().recv();
        mixing(ids)
    });
    let options = SchedulerOptions { parallel: 1, queue: 1, ..SchedulerOptions::default() };
    (Scheduler::start(&engine, options).unwrap(), watch, permit)
}

#[test]
fn a_full_queue_refuses_by_name_and_has_room_again() {
    let (scheduler, _, permit) = held();
    let open = || scheduler.open(script(0, &[1], 2).request());
    let (first, second) = (open().unwrap(), open().unwrap());
    assert_eq!(open().unwrap_err().code(), Code::QueueFull);
    drop(permit);
    assert_eq!(first.reply().unwrap().ids.len(), 2);
    assert_eq!(second.reply().unwrap().ids.len(), 2);
    // A seat is free a moment after its reply's last event.
    let mut tries = 0;
    while open().is_err_and(|refusal| refusal.code() == Code::QueueFull) {
        tries += 1;
        assert!(tries < 1000, "seats are not given back");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn closing_is_idempotent_and_nothing_comes_after_it() {
    let (scheduler, watch, permit) = held();
    let mut session = scheduler.open(script(0, &[1], 20).request()).unwrap();
    permit.send(()).unwrap();
    assert!(session.next().is_some());
    session.close();
    session.close();
    assert!(session.next().is_none() && session.next().is_none());
    drop(permit);
    drop(session);
    // It was cancelled within a step or two, and its sequence is kept or gone, not lost.
    let reply = scheduler.open(script(0, &[2], 2).request()).unwrap().reply().unwrap();
    assert_eq!(reply.ids.len(), 2);
    assert!(watch.decodes() <= 4, "{} steps for one that was closed", watch.decodes());
}

#[test]
fn a_session_ends_once_however_often_it_is_asked() {
    let (scheduler, _, permit) = held();
    drop(permit);
    let mut session = scheduler.open(script(0, &[1], 3).request()).unwrap();
    let events: Vec<_> = session.by_ref().collect();
    assert!(matches!(events.last(), Some(Ok(Event::Done(_)))), "{events:?}");
    assert!(session.next().is_none() && session.next().is_none());
    assert_eq!(session.reply().unwrap_err().code(), Code::RequestInvalid);
}

#[test]
fn a_request_s_flag_stops_all_its_sessions_and_a_session_s_flag_only_one() {
    let (scheduler, _, permit) = held();
    let request = script(0, &[1], 40).request();
    let (first, second) =
        (scheduler.open(request.clone()).unwrap(), scheduler.open(request.clone()).unwrap());
    first.cancel().cancel();
    assert!(!request.cancel.is_cancelled() && !second.cancel().is_cancelled());
    request.cancel.cancel();
    drop(permit);
    for session in [first, second] {
        assert_eq!(session.reply().unwrap().done.reason, FinishReason::Cancelled);
    }
}

#[test]
fn what_runs_is_finished_when_the_last_handle_goes() {
    let (scheduler, watch, permit) = held();
    let session = scheduler.open(script(0, &[1], 5).request()).unwrap();
    drop(scheduler);
    drop(permit);
    assert_eq!(session.reply().unwrap().ids.len(), 5);
    let mut tries = 0;
    while watch.alive() > 0 {
        tries += 1;
        assert!(tries < 1000, "the thread does not end");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn work_between_steps_is_called_until_it_is_done() {
    let (scheduler, _, permit) = held();
    let (tell, told) = channel();
    let mut calls = 0;
    scheduler
        .between_steps(move || {
            calls += 1;
            tell.send(calls).unwrap();
            calls == 3
        })
        .unwrap();
    drop(permit);
    assert_eq!(told.iter().collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_listener_that_panics_leaves_nobody_waiting() {
    let (scheduler, _, permit) = held();
    scheduler.open_with(script(0, &[1], 40).request(), |_| panic!("a listener's own mistake")).unwrap();
    let session = scheduler.open(script(0, &[2], 40).request()).unwrap();
    drop(permit);
    assert_eq!(session.reply().unwrap_err().code(), Code::DeviceFailed);
    // The threads end a moment later; then nothing can be opened, and nothing waits for ever.
    let refused = (0..1000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        let opened = scheduler.open(script(0, &[3], 2).request());
        opened.and_then(super::Session::reply).err()
    });
    assert_eq!(refused.unwrap().code(), Code::DeviceFailed);
}
