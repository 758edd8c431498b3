//! Sessions on the CPU device: the ids of a reply alone, in any company, after any reuse.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

mod common;

use std::sync::LazyLock;

use common::open;
use proptest::prelude::*;
use tilewright_engine::{
    Cache, DeviceRequest, Embedding, Engine, Event, FinishReason, OpenOptions, Pooling, Request, Sampling,
    Scheduler, SchedulerOptions, Source, WeightFormat,
};

/// Texts that begin alike in all the ways that matter: within a page, past one, and the same.
fn prompt(engine: &Engine, which: usize) -> Vec<u32> {
    const BEGINNINGS: [&str; 3] =
        ["Once upon a time there was a little girl", "One day a boy went", "The big dog"];
    const ENDS: [&str; 3] = [" who", " and", " named Tim. He"];
    let (beginning, end) = (BEGINNINGS[which % 3], ENDS[which / 3 % 3]);
    let long = if which.is_multiple_of(2) {
        " in the park with a red ball and a blue car.".repeat(which % 5 * 7)
    } else {
        String::new()
    };
    engine.encode(&format!("{beginning}{long}{end}")).unwrap()
}

fn request(engine: &Engine, which: usize, seed: Option<u64>) -> Request {
    let temperature = Some(if seed.is_some() { 0.9 } else { 0.0 });
    Request {
        max_tokens: Some(4 + which % 9),
        ignore_eos: true,
        sampling: Sampling { temperature, seed, ..Sampling::default() },
        ..Request::new(prompt(engine, which))
    }
}

fn engine() -> Engine {
    static OPEN: LazyLock<Engine> = LazyLock::new(|| open(Source::Embedded, WeightFormat::Int8));
    OPEN.clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn replies_are_those_they_are_alone(
        orders in prop::collection::vec((0_usize..9, prop::option::of(0_u64..3), 0_usize..5), 4..16),
        parallel in 1_usize..9,
        tight in any::<bool>(),
    ) {
        let engine = engine();
        let context = engine.plan().context;
        let least = (context.div_ceil(256) + 1) as u64 * 256 * engine.plan().kv_bytes_per_position;
        let kv_bytes = tight.then_some(least);
        let options = SchedulerOptions { parallel, kv_bytes, prefill_chunk: 19, ..SchedulerOptions::default() };
        let scheduler = Scheduler::start(&engine, options).unwrap();
        let mut sessions = Vec::new();
        for &(which, seed, leave) in &orders {
            let mut session = scheduler.open(request(&engine, which, seed)).unwrap();
            // Some leave early, while others are on their way.
            if leave == 4 {
                session.next();
                session.close();
            }
            sessions.push(session);
        }
        for (session, &(which, seed, leave)) in sessions.into_iter().zip(&orders) {
            if leave == 4 {
                continue;
            }
            let reply = session.reply().unwrap();
            let alone = engine.generate(request(&engine, which, seed)).unwrap().reply().unwrap();
            prop_assert_eq!((&reply.ids, &reply.text), (&alone.ids, &alone.text));
        }
    }
}

/// The story model on an NVIDIA GPU, where there is one.
fn engine_on_a_gpu() -> Option<Engine> {
    let options = OpenOptions { device: DeviceRequest::Cuda(0), cache: Cache::Off, ..OpenOptions::default() };
    let engine = Engine::open(Source::Embedded, &options, &mut |_| ());
    engine.inspect_err(|refusal| println!("skipped: {refusal}")).ok()
}

/// Ids that the GPU chooses by itself, some steps in a call, are those that the host chooses from its logits.
#[test]
fn greedy_replies_on_a_gpu_are_those_whose_logits_the_host_sees() {
    let Some(engine) = engine_on_a_gpu() else { return };
    let start = || {
        let options = SchedulerOptions { parallel: 32, reuse: false, ..SchedulerOptions::default() };
        Scheduler::start(&engine, options).unwrap()
    };
    let request = |which: usize, logprobs| {
        let stop = if which % 4 == 1 { vec![" a ".to_owned()] } else { Vec::new() };
        let max_tokens = Some(20 + which);
        Request {
            max_tokens,
            logprobs,
            stop,
            ignore_eos: which.is_multiple_of(2),
            ..request(&engine, which, None)
        }
    };
    let replies = |logprobs| {
        let scheduler = start();
        let sessions: Vec<_> =
            (0..40).map(|which| scheduler.open(request(which, logprobs)).unwrap()).collect();
        let replies: Vec<_> = sessions.into_iter().map(|session| session.reply().unwrap()).collect();
        (replies, scheduler.load())
    };
    let (chosen, seen) = (replies(None), replies(Some(0)));
    for (which, (chosen, seen)) in chosen.0.iter().zip(&seen.0).enumerate() {
        assert_eq!((&chosen.ids, &chosen.text), (&seen.ids, &seen.text), "{which}");
        assert_eq!(chosen.done.reason, seen.done.reason, "{which}");
    }
    println!("{}: {:?}", engine.plan().kernels, chosen.1);
}

/// Alone means alone in a scheduler, whose path serves one sequence as it serves many.
#[test]
fn replies_on_a_gpu_are_those_they_are_alone() {
    let Some(engine) = engine_on_a_gpu() else { return };
    let start = |parallel, reuse| {
        let options = SchedulerOptions { parallel, reuse, ..SchedulerOptions::default() };
        Scheduler::start(&engine, options).unwrap()
    };
    let (alone, together) = (start(1, false), start(32, true));
    let request = |which: usize| request(&engine, which, (!which.is_multiple_of(2)).then_some(which as u64));
    for _ in 0..2 {
        let sessions: Vec<_> = (0..32).map(|which| together.open(request(which)).unwrap()).collect();
        for (which, session) in sessions.into_iter().enumerate() {
            let reply = session.reply().unwrap();
            let cold = alone.open(request(which)).unwrap().reply().unwrap();
            assert_eq!(reply.ids, cold.ids, "{which}, {} reused", reply.done.usage.cached_tokens);
        }
    }
    let load = together.load();
    println!("{}: {load:?}", engine.plan().kernels);
    assert!(load.cached_tokens > 0 && load.steps < load.completion_tokens, "{load:?}");
}

/// A reply whose prompt goes on where another's ends, while that one runs: its pages are shared, and no id is another.
fn a_running_reply_lends_its_prompt(engine: &Engine) {
    let start = || Scheduler::start(engine, SchedulerOptions::default()).unwrap();
    let (scheduler, alone) = (start(), start());
    let beginning = engine.encode(&"One day a girl saw a big red ball in the park. ".repeat(30)).unwrap();
    let context = engine.plan().context;
    assert!((300..context / 2).contains(&beginning.len()), "{} of {context}", beginning.len());
    let request = |prompt: Vec<u32>, max_tokens| Request {
        max_tokens: Some(max_tokens),
        ignore_eos: true,
        sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
        ..Request::new(prompt)
    };
    let long = request(beginning.clone(), context - beginning.len());
    let mut running = scheduler.open(long).unwrap();
    assert!(matches!(running.next(), Some(Ok(_))));
    let shorts = [" She took", " \"Look"]
        .map(|end| request([&beginning[..], &engine.encode(end).unwrap()].concat(), 9));
    let replies = shorts.clone().map(|short| scheduler.open(short).unwrap().reply().unwrap());
    let load = scheduler.load();
    println!("{}: {load:?}", engine.plan().kernels);
    assert!(load.running > 0 && load.kv_bytes > 0 && load.kv_limit.is_some(), "{load:?}");
    running.close();
    for (short, reply) in shorts.into_iter().zip(replies) {
        // Where a reply is as good as a prompt, what it has said so far may be the beginning of this one too.
        assert!(reply.done.usage.cached_tokens >= beginning.len(), "{:?}", reply.done.usage);
        assert_eq!(reply.ids, alone.open(short).unwrap().reply().unwrap().ids);
    }
}

#[test]
fn a_running_reply_lends_its_prompt_on_the_cpu() {
    a_running_reply_lends_its_prompt(&engine());
}

#[test]
fn a_running_reply_lends_its_prompt_on_a_gpu() {
    if let Some(engine) = engine_on_a_gpu() {
        a_running_reply_lends_its_prompt(&engine);
    }
}

#[test]
fn a_second_turn_reuses_the_first_to_the_token() {
    let engine = engine();
    let scheduler = Scheduler::start(&engine, SchedulerOptions::default()).unwrap();
    let first = request(&engine, 4, None);
    let reply = scheduler.open(first.clone()).unwrap().reply().unwrap();
    let next = [&first.prompt[..], &reply.ids, &engine.encode(" And then").unwrap()].concat();
    let request = Request { prompt: next.clone(), ..first.clone() };
    let warm = scheduler.open(request.clone()).unwrap().reply().unwrap();
    // Everything but the last token of the reply, which was never taken in.
    assert_eq!(warm.done.usage.cached_tokens, first.prompt.len() + reply.ids.len() - 1);
    let cold = engine.generate(request).unwrap().reply().unwrap();
    assert_eq!(warm.ids, cold.ids);
}

/// What is kept for reuse is bounded, however many prompts come: each of these takes a page.
#[test]
fn a_hundred_different_prompts_leave_no_more_than_may_be_kept() {
    // Of its own: pages are the device's, and other tests use the common one's at the same time.
    let engine = open(Source::Embedded, WeightFormat::Int8);
    let pages = (engine.plan().context.div_ceil(256) + 1) as u64;
    let kv_bytes = pages * 256 * engine.plan().kv_bytes_per_position;
    let options = SchedulerOptions { kv_bytes: Some(kv_bytes), ..SchedulerOptions::default() };
    let scheduler = Scheduler::start(&engine, options).unwrap();
    for n in 0..100 {
        let prompt: Vec<u32> = (0..40).map(|i| (n * 37 + i * 11) % 4000 + 50).collect();
        let request = Request { max_tokens: Some(1), ..Request::new(prompt) };
        scheduler.open(request).unwrap().reply().unwrap();
    }
    // The load is that of the latest step, which may still be under way.
    let load = loop {
        let load = scheduler.load();
        if load.running == 0 && load.admitted == 100 {
            break load;
        }
        std::thread::yield_now();
    };
    assert!(load.kept > 0 && load.kv_bytes > 0 && load.kv_bytes <= kv_bytes, "{load:?}");
}

#[test]
fn cancelling_within_a_long_prompt_takes_effect_at_once() {
    let engine = engine();
    let scheduler = Scheduler::start(&engine, SchedulerOptions::default()).unwrap();
    let prompt = vec![7; engine.plan().context - 8];
    let session = scheduler.open(Request { max_tokens: Some(4), ..Request::new(prompt) }).unwrap();
    session.cancel().cancel();
    let done = session.reply().unwrap().done;
    assert_eq!(done.reason, FinishReason::Cancelled);
    assert_eq!(done.usage.completion_tokens, 0);
}

#[test]
fn events_come_while_the_reply_is_made() {
    let engine = engine();
    let scheduler = Scheduler::start(&engine, SchedulerOptions::default()).unwrap();
    let session = scheduler.open(request(&engine, 0, None)).unwrap();
    let texts = session.filter(|event| matches!(event, Ok(Event::Text(_)))).count();
    assert!(texts > 1, "{texts} pieces");
}

#[test]
fn texts_that_mean_alike_have_vectors_that_are_alike() {
    let engine = open(Source::Embedded, WeightFormat::F32);
    let embed = |text: &str, chunk| {
        let mut embedding = Embedding::new(&engine, engine.encode(text).unwrap(), Pooling::Mean).unwrap();
        loop {
            if let Some(vector) = embedding.advance(chunk, &Default::default()).unwrap() {
                break vector;
            }
        }
    };
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let (dog, puppy, rain) = (
        embed("The dog ran to the park.", 3),
        embed("The puppy ran to the park.", 64),
        embed("It was raining hard last night", 64),
    );
    assert_eq!(dog, embed("The dog ran to the park.", 64), "chunks change no bit");
    assert!((dot(&dog, &dog) - 1.0).abs() <= 1e-5);
    assert!(dot(&dog, &puppy) > dot(&dog, &rain));
}
