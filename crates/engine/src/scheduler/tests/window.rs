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
    let single = (1..8).map(|replies| vec![1; replies]);
    assert_eq!(
        watch.windows(),
        [single.collect(), vec![vec![2, 3, 4, 5, 6, 7, 8, 8], vec![1]]].concat::<Vec<usize>>()
    );
    assert_eq!(watch.decodes(), 0, "no logits");
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
    assert_eq!(watch.windows(), [[1], [8], [8], [3]], "of 30 less 2 + 9");
    assert_eq!(watch.decodes(), 9 + 9);
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
    let before = [vec![vec![8]; 2], vec![vec![1]; chunks - 1]].concat();
    assert_eq!(watch.windows(), [before, vec![vec![8, 1], vec![40 - 1 - 16 - (chunks - 1) - 8]]].concat());
    assert_eq!(watch.decodes(), 0, "no logits");
    check(&engine, &scripts, &heard);
}

/// Steps beside a prompt brought all logits to the host.
#[test]
fn a_prompt_keeps_no_plain_reply_from_the_device_whatever_it_asks_for_later() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let long: Vec<u32> = (0..30).map(|i| i % 7).collect();
    let sampled = Script { seed: Some(1), ..script(1, &long, 3) };
    let scripts = [script(0, &[1, 2], 40), script(0, &[3, 4], 40), sampled];
    let options = SchedulerOptions { prefill_chunk: 3, ..SchedulerOptions::default() };
    let (heard, _) = play(&engine, &watch, &scripts, &options);
    // Three sequences for each of the two tokens after its first.
    assert_eq!(watch.decodes(), 3 * 2);
    let single = watch.windows().iter().filter(|counts| **counts == [1, 1]).count();
    assert!(single >= 9, "{:?}", watch.windows());
    check(&engine, &scripts, &heard);
}

/// Text is made while the device goes on: at the latest a call later a stop string is known, and what came after is nobody's.
#[test]
fn what_was_computed_beyond_a_stop_string_is_forgotten_however_late_it_is_found() {
    let (engine, watch) =
        fake::engine_with_text_of(CHOOSING, 4096, |ids| favor(300 + (ids.len() as u32 * 37) % 500, 4096));
    let plain = engine.generate(script(0, &[300, 301, 302, 303], 56).request()).unwrap().reply().unwrap();
    let middle: String = plain.text.chars().skip(plain.text.chars().count() / 4 + 3).take(5).collect();
    let stopped = Script { stop_text: Some(middle), ..script(0, &[300, 301, 302, 303], 56) };
    let told = engine.generate(stopped.request()).unwrap().reply().unwrap().ids.len();
    assert!(told < 56 - 4 * MOST && (told - 1) % MOST != 0, "{told} tokens end within a call");
    let next = [&stopped.prompt[..], &plain.ids[..40], &[9]].concat();
    for late in 0..4 {
        let scripts = [stopped.clone(), script(0, &[305, 306], 40), script(30, &next, 4)];
        let (heard, _) = play_late(&engine, &watch, &scripts, &SchedulerOptions::default(), late);
        check(&engine, &scripts, &heard);
        assert_eq!(heard[2].cached, 4 + told - 1, "heard {late} steps late");
    }
}

#[test]
fn a_place_that_is_waited_for_is_free_as_soon_as_a_reply_has_its_last_token() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let scripts = [script(0, &[1, 2], 20), script(0, &[3, 4], 4), script(0, &[5, 6], 4)];
    let options = SchedulerOptions { parallel: 2, ..SchedulerOptions::default() };
    let (heard, _) = play(&engine, &watch, &scripts, &options);
    assert_eq!(watch.windows(), [vec![1], vec![3, 3], vec![8, 3], vec![7]]);
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
            tell.send(seen.windows().len()).unwrap();
            calls == 6
        })
        .unwrap();
    let told: Vec<_> = told.iter().collect();
    assert!(told.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{told:?}");
    let beside = *told.last().unwrap();
    assert!(watch.windows()[..beside].iter().all(|counts| *counts == [1]), "{:?}", watch.windows());
    assert_eq!(session.lock().unwrap().take().unwrap().reply().unwrap().ids.len(), 20);
    assert!(watch.windows().iter().any(|counts| counts[0] > 1), "afterwards some steps are one call");
}

#[test]
fn a_listener_who_leaves_gets_no_second_call_and_what_it_heard_is_kept() {
    let (engine, watch) = fake::engine_of(CHOOSING, VOCAB, mixing);
    let prompt: Vec<u32> = (0..10).collect();
    let reply = engine.generate(script(0, &prompt, 20).request()).unwrap().reply().unwrap().ids;
    // Three chunks of the prompt, its token, and those of a call, of which the second says that it has left.
    let left = Script { leaves: Some(6), ..script(0, &prompt, 20) };
    let next = [&prompt[..], &reply[..12], &[3]].concat();
    let scripts = [left, script(30, &next, 9)];
    let (heard, load) = play(&engine, &watch, &scripts, &SchedulerOptions::default());
    assert_eq!(heard[0].ids, reply[..1 + MOST]);
    assert_eq!(heard[0].end, Some(Ok(FinishReason::Cancelled)));
    assert_eq!(heard[1].cached, 10 + MOST, "the last token was not taken in");
    assert_eq!(watch.windows(), [[MOST], [MOST], [1]], "no more of the first, nine of the second");
    assert_eq!(load.completion_tokens as usize, 1 + MOST + 9);
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
