//! The story model from prompt to text, through the public API alone.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;
#[path = "end_to_end/families.rs"]
mod families;

use std::collections::BTreeMap;

use common::{greedy, ids, open, reference};
use tilewright_engine::{
    Cache, Cancel, ChatRole, Code, Engine, Event, FinishReason, Message, OpenOptions, RenderArgs, Request,
    Sampling, Source, Specials, Stage, Stop, WeightFormat,
};

fn story() -> Engine {
    open(Source::Embedded, WeightFormat::Bf16)
}

fn ask(prompt: Vec<u32>, count: usize) -> Request {
    Request {
        max_tokens: Some(count),
        sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
        ..Request::new(prompt)
    }
}

#[test]
fn greedy_stories_are_those_of_the_float64_reference() {
    for weights in [WeightFormat::F32, WeightFormat::Bf16] {
        let engine = open(Source::Embedded, weights);
        for story in reference()["greedy"].as_array().unwrap() {
            let want = ids(&story["ids"]);
            let prompt = ids(&story["prompt_ids"]);
            let text = story["prompt"].as_str().unwrap();
            // One prompt is templated already: its control tokens are meant, where a text's are not.
            let specials = if text.contains("<|im_start|>") { Specials::Parse } else { Specials::Plain };
            assert_eq!(engine.tokenizer().unwrap().encode_prompt(text, specials).unwrap(), prompt);
            assert_eq!(greedy(&engine, &prompt, want.len()).ids, want, "{weights}: {}", story["prompt"]);
        }
    }
}

#[test]
fn pieces_of_text_join_to_the_decoded_reply() {
    let engine = story();
    let prompt = engine.encode("Once upon a time").unwrap();
    let reply = engine.generate(ask(prompt.clone(), 60)).unwrap().reply().unwrap();
    assert_eq!(reply.text, engine.tokenizer().unwrap().decode(&reply.ids, true).unwrap());
    assert_eq!(reply.done.reason, FinishReason::Length);
    assert_eq!((reply.done.usage.prompt_tokens, reply.done.usage.completion_tokens), (prompt.len(), 60));

    let events: Vec<Event> = engine.generate(ask(prompt, 60)).unwrap().map(Result::unwrap).collect();
    let pieces: String = events
        .iter()
        .filter_map(|event| match event {
            Event::Text(piece) => Some(piece.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, reply.text);
    assert!(matches!(events[0], Event::Prefill { done: 4, total: 4 }), "{:?}", events[0]);
    assert!(matches!(events.last(), Some(Event::Done(_))));
}

#[test]
fn a_stop_string_ends_the_reply_before_it() {
    let engine = story();
    let prompt = engine.encode("Once upon a time").unwrap();
    let whole = greedy(&engine, &prompt, 60).text;
    let stop = whole.split_whitespace().nth(9).unwrap().to_owned();
    let request = Request { stop: vec![stop.clone()], ..ask(prompt, 60) };
    let reply = engine.generate(request).unwrap().reply().unwrap();
    assert_eq!(reply.text, whole[..whole.find(&stop).unwrap()]);
    assert_eq!(reply.done.reason, FinishReason::Stop(Stop::Text(stop)));
}

#[test]
fn seeds_repeat_and_differ_and_one_candidate_is_greedy() {
    let engine = story();
    let prompt = engine.encode("The little fox").unwrap();
    let sampled = |seed, top_k| {
        let sampling =
            Sampling { temperature: Some(1.5), top_k: Some(top_k), seed: Some(seed), ..Sampling::default() };
        engine.generate(Request { sampling, ..ask(prompt.clone(), 30) }).unwrap().reply().unwrap().ids
    };
    assert_eq!(sampled(7, 0), sampled(7, 0));
    assert_ne!(sampled(7, 0), sampled(8, 0));
    let greedy = engine.generate(ask(prompt.clone(), 30)).unwrap().reply().unwrap().ids;
    assert_eq!(sampled(7, 1), greedy);
}

#[test]
fn a_forbidden_token_does_not_come() {
    let engine = story();
    let prompt = engine.encode("Once upon a time").unwrap();
    let first = greedy(&engine, &prompt, 1).ids[0];
    let sampling = Sampling {
        temperature: Some(0.0),
        logit_bias: BTreeMap::from([(first, -100.0)]),
        ..Sampling::default()
    };
    let reply = engine.generate(Request { sampling, ..ask(prompt, 40) }).unwrap().reply().unwrap();
    assert!(!reply.ids.contains(&first));
}

#[test]
fn a_conversation_reuses_its_cache_and_answers_as_a_fresh_one_would() {
    let engine = story();
    let mut conversation = engine.conversation();
    let mut messages = Vec::new();
    for (turn, question) in ["Tell me a story about an owl.", "And about a fox?"].into_iter().enumerate() {
        messages.push(Message::new(ChatRole::User, question));
        let prompt = engine.encode_chat(&messages, &RenderArgs::default()).unwrap();
        let reply = conversation.generate(ask(prompt.clone(), 30)).unwrap().reply().unwrap();
        assert_eq!(reply.done.usage.cached_tokens > 0, turn > 0);
        assert_eq!(reply.ids, engine.generate(ask(prompt, 30)).unwrap().reply().unwrap().ids);
        messages.push(Message::new(ChatRole::Assistant, reply.text));
    }
}

#[test]
fn a_cancelled_reply_ends_with_what_it_has() {
    let engine = story();
    let cancel = Cancel::default();
    let request = Request { cancel: cancel.clone(), ..ask(engine.encode("Once").unwrap(), 500) };
    let mut tokens = 0;
    for event in engine.generate(request).unwrap() {
        match event.unwrap() {
            Event::Token(_) => {
                tokens += 1;
                if tokens == 5 {
                    cancel.cancel();
                }
            }
            Event::Done(done) => assert_eq!(done.reason, FinishReason::Cancelled),
            Event::Text(_) | Event::Prefill { .. } => {}
        }
    }
    assert_eq!(tokens, 5);
}

#[test]
fn engines_are_shared_between_threads_and_no_reply_changes_another() {
    let engine = story();
    let prompts = ["Once upon a time", "The little fox", "One day, a girl", "It was raining"];
    let prompts = prompts.map(|text| engine.encode(text).unwrap());
    let alone = prompts.clone().map(|prompt| greedy(&engine, &prompt, 25).ids);
    let together = std::thread::scope(|scope| {
        let replies = prompts.each_ref().map(|prompt| {
            let engine = engine.clone();
            scope.spawn(move || greedy(&engine, prompt, 25).ids)
        });
        replies.map(|reply| reply.join().unwrap())
    });
    assert_eq!(together, alone);
}

#[test]
fn what_cannot_fit_is_refused_before_any_work() {
    let options = OpenOptions { context: Some(16), ..OpenOptions::default() };
    let engine = Engine::open(Source::Embedded, &options, &mut |_| ()).unwrap();
    assert_eq!(engine.plan().context, 16);
    let code = |request| engine.generate(request).err().map(|refusal| refusal.code());
    assert_eq!(code(ask(vec![5; 16], 1)), Some(Code::ContextFull));
    assert_eq!(code(ask(vec![5; 10], 7)), Some(Code::ContextFull));
    assert_eq!(code(ask(vec![], 1)), Some(Code::RequestInvalid));
    assert_eq!(code(ask(vec![5; 10], 6)), None);
}

#[test]
fn the_embedded_model_is_never_kept_in_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions {
        weights: Some(WeightFormat::Int8),
        cache: Cache::Folder(folder.path().to_owned()),
        ..OpenOptions::default()
    };
    Engine::open(Source::Embedded, &options, &mut |p| assert_eq!(p.stage, Stage::Pack)).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
