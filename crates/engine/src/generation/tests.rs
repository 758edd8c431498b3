//! Replies over scripted logits: how they end, what they count, what they report, what they hold.

use std::collections::BTreeMap;

use tilewright_model::{Code, Specials};

use crate::fake::{self, favor, saying};
use crate::{
    Cancel, Conversation, Engine, Event, FinishReason, Generation, Reply, Request, Sampling, Stop, Token,
    Usage,
};

const VOCAB: usize = 10;

fn ids_of(engine: &Engine, request: Request) -> (Vec<u32>, FinishReason) {
    let reply = engine.generate(request).unwrap().reply().unwrap();
    (reply.ids, reply.done.reason)
}

fn events(generation: Generation<'_>) -> Vec<Event> {
    generation.map(|event| event.unwrap()).collect()
}

#[test]
fn any_id_of_the_stop_set_ends_the_reply_and_is_part_of_it() {
    for stop in [8, 9] {
        let (engine, _) = fake::engine(VOCAB, &[9, 8], saying(VOCAB, 2, &[1, 2, stop]));
        let expected = (vec![1, 2, stop], FinishReason::Stop(Stop::Id(stop)));
        assert_eq!(ids_of(&engine, Request::new([5, 6])), expected);
    }
}

#[test]
fn ids_of_the_request_stop_too() {
    let (engine, _) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[1, 2, 9]));
    let request = Request { stop_ids: vec![2], ..Request::new([5]) };
    assert_eq!(ids_of(&engine, request), (vec![1, 2], FinishReason::Stop(Stop::Id(2))));
}

#[test]
fn ignoring_the_stop_set_runs_to_the_limit() {
    let (engine, _) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[9, 1]));
    let request = Request { ignore_eos: true, max_tokens: Some(4), ..Request::new([5]) };
    assert_eq!(ids_of(&engine, request), (vec![9, 1, 1, 1], FinishReason::Length));
}

#[test]
fn a_cut_reply_says_length_and_has_exactly_the_tokens_asked_for() {
    let (engine, _) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[1]));
    let request = Request { max_tokens: Some(3), ..Request::new([5]) };
    let reply = engine.generate(request).unwrap().reply().unwrap();
    assert_eq!(reply.done.reason, FinishReason::Length);
    let usage = Usage { prompt_tokens: 1, cached_tokens: 0, completion_tokens: 3 };
    assert_eq!(reply.done.usage, usage);
    assert_eq!(usage.total_tokens(), 4);
}

#[test]
fn without_a_limit_the_context_is_the_limit() {
    let (engine, _) = fake::engine(VOCAB, &[9], saying(VOCAB, 10, &[1]));
    let (ids, reason) = ids_of(&engine, Request::new([5; 10]));
    assert_eq!((ids.len(), reason), (54, FinishReason::Length));
}

#[test]
fn a_stop_id_at_the_limit_is_a_stop() {
    let (engine, _) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[1, 9]));
    let request = Request { max_tokens: Some(2), ..Request::new([5]) };
    assert_eq!(ids_of(&engine, request).1, FinishReason::Stop(Stop::Id(9)));
}

#[test]
fn stop_ids_are_not_drawn_before_the_minimum() {
    let script = |_: &[u32]| {
        let mut logits = favor(9, VOCAB);
        logits[3] = 4.0;
        logits
    };
    let (engine, _) = fake::engine(VOCAB, &[9], script);
    let request = Request { min_tokens: 3, ..Request::new([5]) };
    assert_eq!(ids_of(&engine, request), (vec![3, 3, 3, 9], FinishReason::Stop(Stop::Id(9))));
}

#[test]
fn the_prompt_comes_in_chunks_and_each_is_reported() {
    let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 10, &[9]));
    let events = events(engine.generate(Request::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 1])).unwrap());
    assert_eq!(watch.prefills(), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 1]]);
    let done = |event: &Event| match event {
        Event::Prefill { done, total: 10 } => Some(*done),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(done).collect::<Vec<_>>(), [4, 8, 10]);
    assert!(matches!(events[3..], [Event::Token(Token { id: 9, .. }), Event::Done(_)]), "{events:?}");
}

#[test]
fn one_call_of_next_does_one_step() {
    let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 4, &[1, 2, 3]));
    let mut generation = engine.generate(Request::new([5; 4])).unwrap();
    assert_eq!(watch.prefills().len(), 0);
    generation.next();
    assert_eq!((watch.prefills().len(), watch.decodes()), (1, 0));
    generation.next();
    assert_eq!(watch.decodes(), 0, "the first token comes from the prompt's logits");
    generation.next();
    assert_eq!(watch.decodes(), 1);
}

#[test]
fn nothing_comes_after_the_end() {
    let (engine, _) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[9]));
    let mut generation = engine.generate(Request::new([5])).unwrap();
    let last = generation.by_ref().last();
    assert!(matches!(last, Some(Ok(Event::Done(_)))), "{last:?}");
    assert!(generation.next().is_none() && generation.next().is_none());
    assert_eq!(generation.reply().unwrap_err().code(), Code::RequestInvalid);
}

#[test]
fn dropping_frees_the_sequence_at_any_time() {
    let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 6, &[1]));
    for steps in 0..6 {
        let mut generation = engine.generate(Request::new([5; 6])).unwrap();
        assert_eq!(watch.alive(), 1);
        for _ in 0..steps {
            generation.next();
        }
        drop(generation);
        assert_eq!(watch.alive(), 0, "after {steps} steps");
    }
}

#[test]
fn a_refused_request_costs_nothing() {
    let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[1]));
    for request in [Request::new([]), Request::new([10]), Request::new([1; 64])] {
        assert!(engine.generate(request).is_err());
    }
    assert_eq!((watch.alive(), watch.prefills().len()), (0, 0));
}

#[test]
fn cancelling_takes_effect_at_the_next_step() {
    let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[1]));
    let cancel = Cancel::default();
    let request = Request { cancel: cancel.clone(), ..Request::new([5]) };
    let mut tokens = 0;
    let mut reason = None;
    for event in engine.generate(request).unwrap() {
        match event.unwrap() {
            Event::Token(_) => {
                tokens += 1;
                if tokens == 3 {
                    cancel.cancel();
                }
            }
            Event::Done(done) => reason = Some((done.reason, done.usage.completion_tokens)),
            _ => {}
        }
    }
    assert_eq!((reason, watch.decodes(), watch.alive()), (Some((FinishReason::Cancelled, 3)), 2, 0));
}

#[test]
fn cancelling_before_the_start_does_no_work() {
    let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[1]));
    let request = Request::new([5]);
    request.cancel.cancel();
    assert_eq!(ids_of(&engine, request), (vec![], FinishReason::Cancelled));
    assert_eq!(watch.prefills().len(), 0);
}

#[test]
fn cancelling_within_prefill_ends_the_reply_and_keeps_whole_chunks() {
    let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 12, &[1]));
    *watch.cancel_in_prefill.lock().unwrap() = Some(1);
    let mut conversation = engine.conversation();
    let reply = conversation.generate(Request::new([5; 12])).unwrap().reply().unwrap();
    assert_eq!(reply.done.reason, FinishReason::Cancelled);
    assert_eq!(reply.done.timings.prefilled, 4);
    assert_eq!(conversation.ids(), [5; 4]);
}

#[test]
fn logits_that_are_not_finite_end_the_reply_by_name() {
    let script = |ids: &[u32]| if ids.len() < 3 { favor(1, VOCAB) } else { vec![f32::NAN; VOCAB] };
    let (engine, watch) = fake::engine(VOCAB, &[9], script);
    let mut generation = engine.generate(Request::new([5])).unwrap();
    let refusal = generation.find_map(Result::err).unwrap();
    assert_eq!(refusal.code(), Code::NonFiniteLogits);
    assert_eq!(refusal.findings()[0].what, "logit of id 0 at step 2");
    assert!(generation.next().is_none());
    drop(generation);
    assert_eq!(watch.alive(), 0);
}

#[test]
fn logprobs_are_of_the_raw_logits() {
    let script = |_: &[u32]| vec![0.0, 1.0, 2.0];
    let (engine, _) = fake::engine(3, &[], script);
    let sampling = Sampling { logit_bias: BTreeMap::from([(0, 50.0)]), ..Sampling::default() };
    let request = Request { max_tokens: Some(1), logprobs: Some(2), sampling, ..Request::new([0]) };
    let reply = engine.generate(request).unwrap().reply().unwrap();
    let total = (0..3).map(|x| f64::from(x).exp()).sum::<f64>().ln();
    assert_eq!(reply.ids, [0]);
    let logprobs = &reply.logprobs[0];
    assert!((logprobs.chosen + total).abs() <= 1e-9, "{logprobs:?}");
    assert_eq!(logprobs.top.iter().map(|a| a.id).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn the_settings_in_effect_can_be_read() {
    let (engine, _) = fake::engine(3, &[], |_| vec![0.0; 3]);
    let sampling = Sampling { seed: Some(4), temperature: Some(0.5), ..Sampling::default() };
    let generation = engine.generate(Request { sampling, ..Request::new([0]) }).unwrap();
    assert_eq!(generation.sampling().seed.value, 4);
    assert_eq!(generation.max_tokens(), 63);
}

/// A device whose logits depend on every id held, so that a wrong reuse shows.
fn mixing(ids: &[u32]) -> Vec<f32> {
    let hash = ids.iter().fold(7u32, |h, &id| h.wrapping_mul(31).wrapping_add(id));
    (0..VOCAB as u32).map(|i| (hash.wrapping_mul(i + 1) % 97) as f32 / 10.0).collect()
}

fn seeded(prompt: &[u32]) -> Request {
    let sampling = Sampling { temperature: Some(1.0), seed: Some(3), ..Sampling::default() };
    Request { max_tokens: Some(6), sampling, ..Request::new(prompt) }
}

#[test]
fn a_conversation_reuses_the_common_prefix_and_changes_no_id() {
    let (engine, watch) = fake::engine(VOCAB, &[], mixing);
    let mut conversation = engine.conversation();
    let mut cached = Vec::new();
    // Longer, the same again, branching off early, shorter, something else.
    let prompts: [&[u32]; 5] = [&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 5], &[1, 2, 7, 7], &[1, 2], &[9]];
    for prompt in prompts {
        let warm: Reply = conversation.generate(seeded(prompt)).unwrap().reply().unwrap();
        let cold = engine.generate(seeded(prompt)).unwrap().reply().unwrap();
        assert_eq!(warm.ids, cold.ids, "{prompt:?}");
        cached.push(warm.done.usage.cached_tokens);
        assert_eq!(warm.done.timings.prefilled + warm.done.usage.cached_tokens, prompt.len());
    }
    assert_eq!(cached, [0, 4, 2, 1, 0]);
    drop(conversation);
    assert_eq!(watch.alive(), 0);
}

#[test]
fn a_reply_is_reused_when_the_next_prompt_contains_it() {
    let (engine, _) = fake::engine(VOCAB, &[], mixing);
    let mut conversation = engine.conversation();
    let first = conversation.generate(seeded(&[1, 2])).unwrap().reply().unwrap();
    let prompt = [&[1, 2][..], &first.ids, &[3]].concat();
    let second = conversation.generate(seeded(&prompt)).unwrap().reply().unwrap();
    // All of it but the last token of the reply, which was never taken in.
    assert_eq!(second.done.usage.cached_tokens, 2 + first.ids.len() - 1);
}

#[test]
fn a_reply_by_another_path_than_prompts_is_taken_in_anew() {
    let kind = fake::Kind { two_paths: true, ..fake::Kind::default() };
    let (engine, _) = fake::engine_of(kind, VOCAB, mixing);
    let mut conversation = engine.conversation();
    let first = conversation.generate(seeded(&[1, 2])).unwrap().reply().unwrap();
    let prompt = [&[1, 2][..], &first.ids, &[3]].concat();
    let warm = conversation.generate(seeded(&prompt)).unwrap().reply().unwrap();
    let cold = engine.generate(seeded(&prompt)).unwrap().reply().unwrap();
    assert_eq!((warm.ids, warm.done.usage.cached_tokens), (cold.ids, 2));
}

#[test]
fn generations_that_take_turns_do_not_disturb_each_other() {
    let (engine, _) = fake::engine(VOCAB, &[], mixing);
    let prompts: [&[u32]; 3] = [&[1], &[2, 3, 4, 5, 6, 7], &[8, 8]];
    let alone: Vec<Vec<u32>> =
        prompts.iter().map(|p| engine.generate(seeded(p)).unwrap().reply().unwrap().ids).collect();
    let mut running: Vec<_> = prompts.iter().map(|p| engine.generate(seeded(p)).unwrap()).collect();
    let mut together = vec![Vec::new(); 3];
    let mut busy = true;
    while busy {
        busy = false;
        for (generation, ids) in running.iter_mut().zip(&mut together) {
            if let Some(event) = generation.next() {
                busy = true;
                if let Event::Token(token) = event.unwrap() {
                    ids.push(token.id);
                }
            }
        }
    }
    assert_eq!(together, alone);
}

#[test]
fn an_engine_and_its_generations_can_move_to_other_threads() {
    fn check<T: Send>() {}
    fn share<T: Send + Sync>() {}
    share::<Engine>();
    check::<Generation<'static>>();
    check::<Conversation>();
}

/// The reply of an engine that says `text` and then ends the turn.
fn says(text: &str, request: Request) -> Reply {
    let mut ids = fake::tokenizer().encode(text, Specials::Plain).unwrap();
    ids.push(fake::END);
    let (engine, _) = fake::engine_with_text(4096, saying(4096, 1, &ids));
    engine.generate(Request { prompt: vec![0], ..request }).unwrap().reply().unwrap()
}

#[test]
fn text_comes_with_the_ids_and_the_end_token_adds_none() {
    let reply = says("a small fox, 日本", Request::default());
    assert_eq!(reply.text, "a small fox, 日本");
    assert_eq!(reply.done.reason, FinishReason::Stop(Stop::Id(fake::END)));
    assert_eq!(reply.ids.last(), Some(&fake::END));
}

#[test]
fn a_stop_string_ends_the_reply_and_is_left_out_unless_asked() {
    let request = Request { stop: vec!["a fox".into()], ..Request::default() };
    let reply = says("there was a fox in the woods", request.clone());
    assert_eq!(reply.text, "there was ");
    assert_eq!(reply.done.reason, FinishReason::Stop(Stop::Text("a fox".into())));
    let reply = says("there was a fox in the woods", Request { include_stop: true, ..request });
    assert_eq!(reply.text, "there was a fox");
}

#[test]
fn text_held_for_a_stop_string_comes_out_at_the_end() {
    let request = Request { stop: vec!["fox!".into()], ..Request::default() };
    assert_eq!(says("a small fox", request.clone()).text, "a small fox");
    let limit = fake::tokenizer().encode("a small fox", Specials::Plain).unwrap().len();
    let reply = says("a small fox", Request { max_tokens: Some(limit), ..request });
    assert_eq!((reply.text.as_str(), reply.done.reason), ("a small fox", FinishReason::Length));
}

#[test]
fn the_text_of_a_stop_id_is_left_out_unless_asked() {
    let tokenizer = fake::tokenizer();
    let dot = tokenizer.encode(".", Specials::Plain).unwrap();
    let request = Request { stop_ids: dot, stop: vec!["fox. The".into()], ..Request::default() };
    assert_eq!(says("a fox. The end", request.clone()).text, "a fox");
    // The part of the stop string that was held comes first.
    assert_eq!(says("a fox. The end", Request { include_stop: true, ..request }).text, "a fox.");
}

#[test]
fn rows_of_the_head_without_a_token_are_refused_and_never_drawn() {
    let script = |_: &[u32]| {
        let mut logits = favor(7, 4200);
        logits[4096..].fill(50.0);
        logits
    };
    let (engine, _) = fake::engine_with_text(4200, script);
    let refusal = engine.generate(Request::new([4096])).err().unwrap();
    assert_eq!((refusal.code(), refusal.findings()[0].what.as_str()), (Code::RequestInvalid, "prompt"));
    for temperature in [0.0, 2.0] {
        let sampling = Sampling { temperature: Some(temperature), seed: Some(1), ..Sampling::default() };
        let request = Request { sampling, max_tokens: Some(40), ignore_eos: true, ..Request::new([1]) };
        let reply = engine.generate(request).unwrap().reply().unwrap();
        assert!(reply.ids.iter().all(|&id| id < 4096), "{:?}", reply.ids);
    }
}

/// Ids that follow from all before them and end now and then.
fn wandering(ids: &[u32]) -> Vec<f32> {
    favor((ids.iter().sum::<u32>() * 7 + ids.len() as u32 * 3) % VOCAB as u32, VOCAB)
}

#[test]
fn runs_of_the_device_change_no_reply_and_leave_no_token_behind() {
    for stop in 0..VOCAB as u32 {
        for limit in 2..40 {
            let ask = |runs: bool| {
                let (engine, watch) = fake::engine(VOCAB, &[stop], wandering);
                *watch.runs.lock().unwrap() = runs.then(Vec::new);
                let mut conversation = engine.conversation();
                let request = Request { max_tokens: Some(limit), min_tokens: 2, ..Request::new([5, 6]) };
                let reply = conversation.generate(request).unwrap().reply().unwrap();
                let asked = watch.runs.lock().unwrap().clone();
                (reply.ids, reply.done.reason, conversation.ids().to_vec(), asked)
            };
            let (steps, runs) = (ask(false), ask(true));
            assert_eq!((&steps.0, &steps.1, &steps.2), (&runs.0, &runs.1, &runs.2), "stop {stop}, {limit}");
            assert!(runs.0.len() < 4 || runs.3.is_some_and(|asked| !asked.is_empty()));
        }
    }
}

#[test]
fn runs_grow_to_a_bound_and_end_where_a_reply_is_cancelled() {
    let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[1]));
    *watch.runs.lock().unwrap() = Some(Vec::new());
    let cancel = Cancel::default();
    let mut conversation = engine.conversation();
    let request = Request { cancel: cancel.clone(), ..Request::new([5]) };
    let mut tokens = 0;
    for event in conversation.generate(request).unwrap() {
        tokens += usize::from(matches!(event.unwrap(), Event::Token(_)));
        if tokens == 40 {
            cancel.cancel();
        }
    }
    assert_eq!(tokens, 40);
    assert_eq!(watch.runs.lock().unwrap().clone().unwrap(), [2, 4, 8, 16, 32]);
    assert_eq!(conversation.ids().len(), 40);
}

#[test]
fn penalties_biases_and_log_probabilities_leave_the_choice_to_the_host() {
    let plain = Request { max_tokens: Some(5), ..Request::new([5]) };
    let penalty = Sampling { presence_penalty: Some(0.5), ..Sampling::default() };
    let bias = Sampling { logit_bias: BTreeMap::from([(1, 1.0)]), ..Sampling::default() };
    let random = Sampling { temperature: Some(1.0), ..Sampling::default() };
    let with = |sampling| Request { sampling, ..plain.clone() };
    let probabilities = Request { logprobs: Some(1), ..plain.clone() };
    for (request, run) in [
        (with(penalty), false),
        (with(bias), false),
        (with(random), false),
        (probabilities, false),
        (plain.clone(), true),
    ] {
        let (engine, watch) = fake::engine(VOCAB, &[9], saying(VOCAB, 1, &[1]));
        *watch.runs.lock().unwrap() = Some(Vec::new());
        ids_of(&engine, request);
        assert_eq!(!watch.runs.lock().unwrap().clone().unwrap().is_empty(), run);
    }
}
