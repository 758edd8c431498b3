//! Every field that can be refused, and what is filled in.

use tilewright_model::StopSource;

use super::*;
use crate::{Sampling, fake};

const CONTEXT: usize = 16;

fn stop_set(ids: &[u32]) -> StopSet {
    StopSet::union([(StopSource::Config, ids.to_vec())])
}

fn check(request: Request) -> Result<Checked, Refusal> {
    let facts = Facts {
        tokens: &Tokens::all(10),
        context: CONTEXT,
        tokenizer: Some(&fake::tokenizer()),
        stop_set: &stop_set(&[9, 7]),
        stop_strings: &["bye".to_owned()],
        sampling: &SamplingDefaults::default(),
    };
    Checked::new(request, &facts)
}

fn refused(request: Request) -> (Code, Vec<String>) {
    let refusal = check(request).err().expect("a refusal");
    (refusal.code(), refusal.findings().iter().map(|f| f.what.clone()).collect())
}

#[test]
fn defaults_are_filled_in() {
    let checked = check(Request::new([1, 2, 3])).unwrap();
    assert_eq!(checked.max_tokens, CONTEXT - 3);
    assert_eq!(checked.stop_ids, [7, 9]);
}

#[test]
fn stops_are_joined_and_ignore_eos_drops_only_the_checkpoints() {
    let request = Request { stop_ids: vec![3, 7], stop: vec!["END".into()], ..Request::new([1]) };
    let checked = check(request.clone()).unwrap();
    assert_eq!((checked.stop_ids, checked.stop_strings), (vec![3, 7, 9], vec!["END".into(), "bye".into()]));
    let checked = check(Request { ignore_eos: true, ..request }).unwrap();
    assert_eq!((checked.stop_ids, checked.stop_strings), (vec![3, 7], vec!["END".into()]));
}

#[test]
fn a_stop_string_that_is_a_special_token_stands_for_its_id() {
    let request = Request { stop: vec!["<|im_end|>".into(), "the".into()], ..Request::new([1]) };
    assert_eq!(check(request).unwrap().stop_ids, [7, 9, fake::END]);
}

#[test]
fn every_bad_field_is_listed_at_once() {
    let request = Request {
        max_tokens: Some(0),
        stop: vec!["x".into(), String::new()],
        stop_ids: vec![10],
        logprobs: Some(21),
        ..Request::new([0, 10, 11])
    };
    let (code, named) = refused(request);
    assert_eq!(code, Code::RequestInvalid);
    assert_eq!(named, ["max_tokens", "stop", "logprobs", "prompt", "stop_ids"]);
}

#[test]
fn an_empty_prompt_is_refused() {
    assert_eq!(refused(Request::new([])), (Code::RequestInvalid, vec!["prompt".into()]));
}

#[test]
fn unknown_ids_are_named_a_few_at_a_time() {
    let refusal = check(Request::new((10..30).collect::<Vec<u32>>())).err().unwrap();
    assert_eq!(refusal.findings()[0].got, "10, 11, 12, 13, 14, 15, 16, 17 and 12 more");
}

#[test]
fn minimum_above_maximum_is_refused() {
    let request = Request { min_tokens: 4, max_tokens: Some(3), ..Request::new([1]) };
    assert_eq!(refused(request), (Code::RequestInvalid, vec!["min_tokens".into()]));
}

#[test]
fn a_minimum_needs_an_id_that_does_not_stop() {
    let request = Request { min_tokens: 1, stop_ids: (0..10).collect(), ..Request::new([1]) };
    assert_eq!(refused(request.clone()), (Code::RequestInvalid, vec!["min_tokens".into()]));
    assert!(check(Request { min_tokens: 0, ..request }).is_ok());
}

#[test]
fn stop_strings_need_a_tokenizer() {
    let request = Request { stop: vec!["x".into()], ..Request::new([1]) };
    let facts = Facts {
        tokens: &Tokens::all(10),
        context: CONTEXT,
        tokenizer: None,
        stop_set: &StopSet::default(),
        stop_strings: &[],
        sampling: &SamplingDefaults::default(),
    };
    let refusal = Checked::new(request, &facts).err().unwrap();
    assert_eq!((refusal.code(), refusal.findings()[0].what.as_str()), (Code::RequestInvalid, "stop"));
}

#[test]
fn what_does_not_fit_is_refused_and_never_clipped() {
    let request = |prompt: usize, max_tokens| Request { max_tokens, ..Request::new(vec![1; prompt]) };
    assert_eq!(check(request(6, Some(10))).unwrap().max_tokens, 10);
    assert_eq!(check(request(15, None)).unwrap().max_tokens, 1);
    for (prompt, max_tokens, got) in
        [(6, Some(11), "6 + 11"), (16, None, "16 + 1"), (100, None, "100 + 1"), (1, Some(usize::MAX), "1 + ")]
    {
        let refusal = check(request(prompt, max_tokens)).err().unwrap();
        assert_eq!(refusal.code(), Code::ContextFull);
        let finding = &refusal.findings()[0];
        assert!(finding.got.starts_with(got) && finding.expected.contains("16"), "{finding:?}");
    }
    let request = Request { min_tokens: 11, ..request(6, None) };
    assert_eq!(check(request).err().unwrap().code(), Code::ContextFull);
}

#[test]
fn bad_sampling_is_refused_by_its_own_code() {
    let sampling = Sampling { top_p: Some(0.0), temperature: Some(f64::NAN), ..Sampling::default() };
    let (code, named) = refused(Request { sampling, ..Request::new([1]) });
    assert_eq!(code, Code::SamplingInvalid);
    assert_eq!(named, ["temperature", "top_p"]);
}

#[test]
fn without_a_model_only_what_none_could_honor_is_refused() {
    Request::new([]).check().unwrap();
    Request { stop_ids: vec![1_000_000], ..Request::new([u32::MAX]) }.check().unwrap();
    let sampling = Sampling { top_p: Some(2.0), ..Sampling::default() };
    assert_eq!(Request { sampling, ..Request::new([]) }.check().unwrap_err().code(), Code::SamplingInvalid);
    let bad = Request { max_tokens: Some(0), logprobs: Some(21), ..Request::new([]) };
    assert_eq!(bad.check().unwrap_err().findings().len(), 2);
}
