//! Several steps in one call: when, how many, and that replies are what they are by single steps.

use super::super::core::window::MOST;
use super::*;
use crate::fake::favor;

/// A device that chooses ids by itself, for more steps than the scheduler asks it for.
const CHOOSING: Kind = Kind { pages: true, two_paths: false, window: 2 * MOST, most: None, real: None };

#[test]
fn plain_replies_take_several_steps_in_one_call() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let scripts: Vec<_> = (0..8).map(|i| script(0, &[i, i + 1, i + 2], 10)).collect();
    let (heard, load) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
    // While prompts come in, the replies before them go on step by step; then the one that is left has one token to go.
    assert_eq!(watch.windows(), [[2, 3, 4, 5, 6, 7, 8, 8]]);
    assert_eq!(watch.decodes(), 1 + 2 + 3 + 4 + 5 + 6 + 7 + 1);
    assert_eq!((load.steps, load.completion_tokens), (7 + 8 + 1, 80));
    check(&engine, &scripts, &heard);
}

#[test]
fn a_device_whose_ids_the_host_chooses_is_asked_for_one_step_at_a_time() {
    let (engine, watch) = fake::engine_of(PAGED, VOCAB, mixing);
    let scripts = [script(0, &[1, 2], 10), script(0, &[3, 4], 10)];
    play(&engine, &watch, &scripts, &SchedulerOptions::default());
    assert_eq!((watch.windows(), watch.decodes()), (Vec::<Vec<usize>>::new(), 18));
}

#[test]
fn a_reply_that_is_not_plain_lets_the_host_see_all_logits() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let sampled = Script { seed: Some(1), ..script(0, &[3, 4], 10) };
    let scripts = [script(0, &[1, 2], 30), sampled];
    let (heard, _) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
    // Until it has ended: one token at its prompt's end and one a step.
    assert_eq!(watch.windows(), [[8], [8], [3]], "of 30 less 1 + 1 + 9");
    check(&engine, &scripts, &heard);
}

#[test]
fn a_prompt_is_held_up_by_one_step_a_chunk() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let long: Vec<u32> = (0..41).map(|i| i % 7).collect();
    let scripts = [script(0, &[1, 2], 40), script(2, &long, 2)];
    let options = SchedulerOptions { prefill_chunk: 3, ..SchedulerOptions::default() };
    let (heard, _) = play(&engine, &watch, &scripts, &options);
    // So many chunks, between which the first reply goes on by single steps; with the last both go on together.
    let chunks = 14;
    assert_eq!(watch.windows(), [vec![8], vec![8], vec![8, 1], vec![40 - 1 - 16 - (chunks - 1) - 8]]);
    check(&engine, &scripts, &heard);
}

#[test]
fn a_place_that_is_waited_for_is_free_as_soon_as_a_reply_has_its_last_token() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let scripts = [script(0, &[1, 2], 20), script(0, &[3, 4], 4), script(0, &[5, 6], 4)];
    let options = SchedulerOptions { parallel: 2, ..SchedulerOptions::default() };
    let (heard, _) = play(&engine, &watch, &scripts, &options);
    assert_eq!(watch.windows(), [vec![3, 3], vec![8, 3], vec![7]]);
    check(&engine, &scripts, &heard);
}

#[test]
fn work_between_steps_waits_for_one_step() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let scheduler = Scheduler::start(&engine, SchedulerOptions::default()).unwrap();
    let (session, seen, inner) = (Arc::new(Mutex::new(None)), watch.clone(), scheduler.clone());
    let (opened, request) = (Arc::clone(&session), script(0, &[1, 2], 20).request());
    let (tell, told) = channel();
    let mut calls = 0;
    // The work opens the reply, so that it surely runs beside it.
    scheduler
        .between_steps(move || {
            if calls == 0 {
                *opened.lock().unwrap() = Some(inner.open(request.clone()).unwrap());
            }
            calls += 1;
            tell.send((seen.windows().len(), seen.decodes())).unwrap();
            calls == 6
        })
        .unwrap();
    let told: Vec<_> = told.iter().collect();
    assert!(told.iter().all(|(windows, _)| *windows == 0), "{told:?}");
    assert!(told.windows(2).all(|pair| pair[1].1 <= pair[0].1 + 1), "{told:?}");
    assert_eq!(session.lock().unwrap().take().unwrap().reply().unwrap().ids.len(), 20);
    assert!(!watch.windows().is_empty(), "afterwards the device goes on by itself");
}

#[test]
fn what_was_computed_beyond_a_listener_s_leaving_is_forgotten() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let prompt: Vec<u32> = (0..10).collect();
    let reply = engine.generate(script(0, &prompt, 20).request()).unwrap().reply().unwrap().ids;
    // Three chunks of the prompt and three tokens.
    let left = Script { leaves: Some(6), ..script(0, &prompt, 20) };
    let next = [&prompt[..], &reply[..5], &[3]].concat();
    let scripts = [left, script(30, &next, 9)];
    let (heard, load) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
    assert_eq!(heard[0].ids, reply[..3]);
    assert_eq!(heard[0].end, Some(Ok(FinishReason::Cancelled)));
    assert_eq!(heard[1].cached, 12, "the third token was not taken in");
    assert_eq!((watch.windows()[0].clone(), load.completion_tokens), (vec![8], 3 + 9));
    check(&engine, &scripts, &heard);
}

#[test]
fn a_logit_that_is_no_number_ends_its_reply_in_the_words_of_single_steps_and_no_other() {
    // Whoever begins with 5 comes to a logit that is no number in the middle of a window.
    let script_of = |ids: &[u32]| {
        let mut logits = mixing(ids);
        if ids[0] == 5 && ids.len() > 8 {
            logits[3] = f32::NAN;
        }
        logits
    };
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, script_of);
    let scripts = [script(0, &[5, 1], 30), script(0, &[6, 1], 30)];
    let (heard, _) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
    let (mut ids, mut end) = (Vec::new(), None);
    for event in engine.generate(scripts[0].request()).unwrap() {
        match event {
            Ok(Event::Token(token)) => ids.push(token.id),
            Ok(_) => {}
            Err(refusal) => end = Some(Err(refusal)),
        }
    }
    assert_eq!((&heard[0].ids, &heard[0].end), (&ids, &end));
    assert!(matches!(&heard[0].end, Some(Err(refusal)) if refusal.code() == Code::NonFiniteLogits));
    check(&engine, &scripts[1..], &heard[1..]);
    assert!(watch.windows().iter().any(|counts| counts.len() == 1), "the other goes on by windows");
}

#[test]
fn an_id_without_a_token_and_a_stop_string_in_a_window_change_no_reply() {
    let rows = 4100;
    // Now and then the greatest logit is that of a row which stands for no token.
    let script_of = move |ids: &[u32]| {
        let mut logits = favor(300 + (ids.len() as u32 * 37) % 500, rows);
        if ids.len().is_multiple_of(5) {
            logits[rows - 1] = 9.0;
        }
        logits
    };
    let (engine, watch) = fake::engine_with_text_of(CHOOSING, rows, script_of);
    let scheduler = Scheduler::start(&engine, SchedulerOptions::default()).unwrap();
    let plain = script(0, &[300, 301], 30).request();
    let text = engine.generate(plain.clone()).unwrap().reply().unwrap().text;
    let middle: String = text.chars().skip(text.chars().count() / 2).take(4).collect();
    let stopped = Request { stop: vec![middle.clone()], ..plain.clone() };
    for request in [plain, stopped] {
        let alone = engine.generate(request.clone()).unwrap().reply().unwrap();
        let reply = scheduler.open(request.clone()).unwrap().reply().unwrap();
        assert_eq!(
            (&reply.ids, &reply.text, &reply.done.reason),
            (&alone.ids, &alone.text, &alone.done.reason),
            "stop {:?}",
            request.stop
        );
        assert_eq!(reply.done.usage.completion_tokens, alone.done.usage.completion_tokens);
    }
    assert!(text.contains(&middle) && watch.windows().len() > 4, "{:?}", watch.windows());
}
