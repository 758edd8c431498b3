//! Whose value is in effect, and which values are refused.

use std::collections::BTreeMap;

use super::*;

fn stated() -> SamplingDefaults {
    SamplingDefaults {
        do_sample: Some(true),
        temperature: Some(0.7),
        top_k: Some(40),
        top_p: Some(0.95),
        ..SamplingDefaults::default()
    }
}

fn resolve(asked: Sampling) -> Result<SamplingSet, Refusal> {
    SamplingDefaults::default().resolve(&asked, &Tokens::all(100))
}

#[test]
fn request_wins_over_checkpoint_over_engine() {
    let asked = Sampling { top_k: Some(5), seed: Some(9), ..Sampling::default() };
    let set = stated().resolve(&asked, &Tokens::all(100)).unwrap();
    assert_eq!(set.top_k, Setting { value: 5, origin: Origin::Request });
    assert_eq!(set.temperature, Setting { value: 0.7, origin: Origin::Checkpoint });
    assert_eq!(set.min_p, Setting { value: 0.0, origin: Origin::Engine });
    assert_eq!(set.seed, Setting { value: 9, origin: Origin::Request });
}

#[test]
fn the_story_model_says_how_it_is_sampled() {
    let checkpoint = tilewright_model::Checkpoint::embedded().unwrap();
    assert_eq!(SamplingDefaults::from(checkpoint.generation_config()), stated());
}

#[test]
fn without_a_word_the_engine_is_greedy() {
    let set = resolve(Sampling::default()).unwrap();
    assert!(set.is_greedy());
    assert_eq!(SamplingSet { seed: Setting::default_of(0), ..set }, SamplingSet::default());
}

#[test]
fn do_sample_decides_what_a_checkpoint_means() {
    let temperature = |do_sample, temperature| {
        let d = SamplingDefaults { do_sample, temperature, ..SamplingDefaults::default() };
        d.resolve(&Sampling::default(), &Tokens::all(10)).unwrap().temperature
    };
    let checkpoint = |value| Setting { value, origin: Origin::Checkpoint };
    assert_eq!(temperature(Some(false), Some(0.6)), checkpoint(0.0));
    assert_eq!(temperature(Some(false), None), checkpoint(0.0));
    assert_eq!(temperature(Some(true), None), checkpoint(1.0));
    assert_eq!(temperature(Some(true), Some(0.6)), checkpoint(0.6));
    assert_eq!(temperature(None, Some(0.6)), checkpoint(0.6));
    assert_eq!(temperature(None, None), Setting::default_of(0.0));
}

#[test]
fn a_request_can_sample_where_the_checkpoint_is_greedy() {
    let greedy = SamplingDefaults { do_sample: Some(false), top_k: Some(20), ..SamplingDefaults::default() };
    let asked = Sampling { temperature: Some(0.8), ..Sampling::default() };
    let set = greedy.resolve(&asked, &Tokens::all(10)).unwrap();
    assert!(!set.is_greedy());
    assert_eq!(set.top_k.value, 20);
}

#[test]
fn zero_and_below_is_greedy() {
    for t in [0.0, -0.0, -1.0] {
        assert!(resolve(Sampling { temperature: Some(t), ..Sampling::default() }).unwrap().is_greedy());
    }
}

#[test]
fn every_bad_value_is_listed_at_once() {
    let asked = Sampling {
        temperature: Some(f64::NAN),
        top_k: Some(-1),
        top_p: Some(0.0),
        min_p: Some(1.0),
        repetition_penalty: Some(0.0),
        repeat_last_n: Some(-2),
        presence_penalty: Some(2.5),
        frequency_penalty: Some(f64::INFINITY),
        logit_bias: BTreeMap::from([(100, 1.0), (3, 101.0)]),
        seed: None,
    };
    let refusal = resolve(asked).unwrap_err();
    assert_eq!(refusal.code(), Code::SamplingInvalid);
    let named: Vec<&str> = refusal.findings().iter().map(|f| f.what.as_str()).collect();
    assert_eq!(
        named,
        [
            "temperature",
            "top_k",
            "top_p",
            "min_p",
            "repetition_penalty",
            "repeat_last_n",
            "presence_penalty",
            "frequency_penalty",
            "logit_bias of id 3",
            "logit_bias",
        ]
    );
}

#[test]
fn bounds_are_where_the_documentation_puts_them() {
    type Edit = fn(&mut Sampling, f64);
    let cases: [(&str, Edit, &[f64], &[f64]); 6] = [
        (
            "temperature",
            |s, x| s.temperature = Some(x),
            &[-1.0, 0.0, 2.0, 1e9],
            &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY],
        ),
        ("top_p", |s, x| s.top_p = Some(x), &[1e-9, 1.0], &[-0.1, 0.0, 1.000001, f64::NAN]),
        ("min_p", |s, x| s.min_p = Some(x), &[0.0, 0.999], &[-0.1, 1.0, f64::NAN]),
        (
            "repetition_penalty",
            |s, x| s.repetition_penalty = Some(x),
            &[0.1, 1.0, 10.0],
            &[0.09, 10.1, -1.0, f64::NAN],
        ),
        ("presence_penalty", |s, x| s.presence_penalty = Some(x), &[-2.0, 2.0], &[-2.1, 2.1, f64::NAN]),
        ("frequency_penalty", |s, x| s.frequency_penalty = Some(x), &[-2.0, 2.0], &[-2.1, 2.1, f64::NAN]),
    ];
    for (name, edit, good, bad) in cases {
        for (values, accepted) in [(good, true), (bad, false)] {
            for &x in values {
                let mut asked = Sampling::default();
                edit(&mut asked, x);
                let result = resolve(asked);
                assert_eq!(result.is_ok(), accepted, "{name} {x}");
                if let Err(refusal) = result {
                    assert_eq!(refusal.findings()[0].what, name);
                }
            }
        }
    }
}

#[test]
fn a_bad_value_of_the_checkpoint_names_the_file() {
    let bad = SamplingDefaults { top_p: Some(1.5), ..SamplingDefaults::default() };
    let refusal = bad.resolve(&Sampling::default(), &Tokens::all(10)).unwrap_err();
    assert_eq!(refusal.findings()[0].what, "top_p in generation_config.json");
    let asked = Sampling { top_p: Some(0.9), ..Sampling::default() };
    assert!(bad.resolve(&asked, &Tokens::all(10)).is_ok());
}

#[test]
fn seeds_nobody_chose_differ() {
    let seed = || resolve(Sampling::default()).unwrap().seed.value;
    let seeds = [seed(), seed(), seed(), seed()];
    assert!(seeds.iter().any(|s| *s != seeds[0]), "{seeds:?}");
}

#[test]
fn values_that_change_nothing_are_named() {
    let asked = Sampling {
        temperature: Some(0.0),
        top_k: Some(40),
        top_p: Some(0.9),
        min_p: Some(0.1),
        repeat_last_n: Some(10),
        seed: Some(1),
        ..Sampling::default()
    };
    let idle = resolve(asked).unwrap().without_effect();
    assert_eq!(idle, ["top_k", "top_p", "min_p", "seed", "repeat_last_n"]);
    let asked = Sampling { temperature: Some(0.8), top_k: Some(40), seed: Some(1), ..Sampling::default() };
    assert!(resolve(asked).unwrap().without_effect().is_empty());
    let asked = Sampling { temperature: Some(0.8), top_k: Some(1), ..Sampling::default() };
    assert_eq!(resolve(asked).unwrap().without_effect(), ["temperature"]);
}
