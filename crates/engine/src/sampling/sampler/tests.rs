//! The whole pick: order, repeatability, distribution, invariants.

use proptest::prelude::*;
use tilewright_model::Code;

use super::*;
use crate::sampling::Setting;

fn set(edit: impl FnOnce(&mut SamplingSet)) -> SamplingSet {
    let mut set = SamplingSet::default();
    edit(&mut set);
    set
}

fn warm(seed: u64) -> SamplingSet {
    set(|s| {
        s.temperature = Setting::default_of(1.0);
        s.seed = Setting::default_of(seed);
    })
}

/// A reply of `n` tokens over logits that do not change.
fn reply(set: &SamplingSet, logits: &[f32], prompt: &[u32], n: usize) -> Vec<u32> {
    let mut sampler = Sampler::new(set.clone(), prompt, Tokens::all(logits.len()));
    (0..n).map(|_| sampler.pick(logits, &[]).unwrap()).collect()
}

#[test]
fn greedy_takes_the_most_likely_and_the_lowest_of_equals() {
    assert_eq!(reply(&SamplingSet::default(), &[0.0, 2.0, 2.0, 1.0], &[], 3), [1, 1, 1]);
}

#[test]
fn ids_without_a_token_and_banned_ids_are_never_picked() {
    for set in [SamplingSet::default(), warm(3)] {
        let mut sampler = Sampler::new(set, &[], Tokens::all(3));
        for _ in 0..200 {
            assert_eq!(sampler.pick(&[1.0, 30.0, 20.0, 90.0, 90.0], &[1, 2, 77]).unwrap(), 0);
        }
    }
}

#[test]
fn the_ban_wins_over_bias() {
    let set = set(|s| s.logit_bias = BTreeMap::from([(1, 100.0)]));
    assert_eq!(Sampler::new(set, &[], Tokens::all(3)).pick(&[0.0, 0.0, 0.5], &[1]).unwrap(), 2);
}

#[test]
fn logits_that_are_not_finite_are_refused_with_step_and_id() {
    let mut sampler = Sampler::new(SamplingSet::default(), &[], Tokens::all(2));
    sampler.pick(&[0.0, 1.0, 0.0], &[]).unwrap();
    // Even where no token can be picked: such logits mean that the forward pass went wrong.
    let refusal = sampler.pick(&[0.0, 1.0, f32::NAN], &[]).unwrap_err();
    assert_eq!(refusal.code(), Code::NonFiniteLogits);
    assert_eq!(refusal.findings()[0].what, "logit of id 2 at step 1");
}

#[test]
fn presence_is_no_matter_of_the_prompt() {
    let set = set(|s| s.presence_penalty = Setting::default_of(2.0));
    assert_eq!(reply(&set, &[1.0, 0.5, 0.2], &[0, 0, 0], 4), [0, 1, 2, 0]);
}

#[test]
fn the_repetition_window_moves_with_the_reply() {
    let set = set(|s| {
        s.repetition_penalty = Setting::default_of(10.0);
        s.repeat_last_n = Setting::default_of(Some(2));
    });
    assert_eq!(reply(&set, &[1.0, 0.9, 0.8], &[0], 5), [1, 2, 0, 1, 2]);
}

#[test]
fn a_seed_gives_one_reply_and_another_seed_another() {
    let logits: Vec<f32> = (0..50).map(|i| (i % 7) as f32 / 3.0).collect();
    assert_eq!(reply(&warm(7), &logits, &[], 64), reply(&warm(7), &logits, &[], 64));
    assert_ne!(reply(&warm(7), &logits, &[], 64), reply(&warm(8), &logits, &[], 64));
}

/// The draw of a step depends on its index alone: another length of prompt or other earlier logits change nothing.
#[test]
fn draws_do_not_depend_on_what_came_before() {
    let logits: Vec<f32> = (0..50).map(|i| (i % 7) as f32 / 3.0).collect();
    let whole = reply(&warm(5), &logits, &[], 10);
    let mut sampler = Sampler::new(warm(5), &[1, 2, 3], Tokens::all(50));
    for _ in 0..9 {
        sampler.pick(&[0.0; 50], &[]).unwrap();
    }
    assert_eq!(sampler.pick(&logits, &[]).unwrap(), whole[9]);
}

/// Token frequencies at a temperature follow the softmax of logits over it.
#[test]
fn frequencies_follow_the_softmax_at_the_temperature() {
    let logits = [0.0f32, 1.0, 2.0, -1.0, 0.5];
    for temperature in [0.7f64, 1.0, 1.8] {
        let mut set = warm(11);
        set.temperature = Setting::default_of(temperature);
        let n = 20_000;
        let mut seen = [0u32; 5];
        for id in reply(&set, &logits, &[], n) {
            seen[id as usize] += 1;
        }
        let weights = logits.map(|x| (f64::from(x) / temperature).exp());
        let total: f64 = weights.iter().sum();
        let chi: f64 = seen
            .iter()
            .zip(weights)
            .map(|(&count, w)| {
                let expected = w / total * n as f64;
                (f64::from(count) - expected).powi(2) / expected
            })
            .sum();
        // Four degrees of freedom: 18.5 is exceeded once in a thousand; the seed is fixed.
        assert!(chi < 18.5, "temperature {temperature}: {chi}");
    }
}

fn logits() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec((-60i16..60).prop_map(|x| f32::from(x) / 7.0), 1..400)
}

proptest! {
    #[test]
    fn top_k_of_one_is_greedy_at_any_temperature(
        logits in logits(),
        prompt in prop::collection::vec(0u32..400, 0..20),
        temperature in prop_oneof![Just(1e-12), 0.01f64..100.0],
        repetition in 0.5f64..2.0,
        presence in -2.0f64..2.0,
        seed: u64,
    ) {
        let common = |s: &mut SamplingSet| {
            s.repetition_penalty = Setting::default_of(repetition);
            s.presence_penalty = Setting::default_of(presence);
            s.seed = Setting::default_of(seed);
        };
        let greedy = set(common);
        let one = set(|s| {
            common(s);
            s.temperature = Setting::default_of(temperature);
            s.top_k = Setting::default_of(1);
        });
        prop_assert_eq!(reply(&greedy, &logits, &prompt, 8), reply(&one, &logits, &prompt, 8));

        // Also without the shortcut that treats it as greedy.
        let support = filter::support(&logits, &one);
        prop_assert_eq!(support.len(), 1);
        prop_assert_eq!(support[0].id, scan::argmax(&logits) as u32);
    }

    #[test]
    fn the_pick_is_in_the_support(logits in logits(), seed: u64, top_k in 0usize..50, top_p in 0.05f64..1.0) {
        let set = set(|s| {
            s.temperature = Setting::default_of(0.9);
            s.top_k = Setting::default_of(top_k);
            s.top_p = Setting::default_of(top_p);
            s.seed = Setting::default_of(seed);
        });
        let support = filter::support(&logits, &set);
        for id in reply(&set, &logits, &[], 6) {
            prop_assert!(support.iter().any(|c| c.id == id));
        }
    }

    /// Renaming ids renames the greedy pick, where no tie makes the id matter.
    #[test]
    fn greedy_follows_a_permutation(n in 1usize..300, shift in 0usize..300) {
        let logits: Vec<f32> = (0..n).map(|i| ((i * 7919 + 13) % 10_007) as f32).collect();
        let moved: Vec<f32> = (0..n).map(|i| logits[(i + shift) % n]).collect();
        let pick = reply(&SamplingSet::default(), &logits, &[], 1)[0] as usize;
        let moved_pick = reply(&SamplingSet::default(), &moved, &[], 1)[0] as usize;
        prop_assert_eq!((moved_pick + shift) % n, pick);
    }
}

proptest! {
    /// The plain pick reads the logits where they lie; the steps in their order find the same.
    #[test]
    fn a_plain_pick_is_that_of_all_steps(
        logits in prop::collection::vec(-3_i8..3, 12..40),
        gaps in prop::collection::btree_set(0_u32..8, 0..7),
        padding in 0_usize..4,
    ) {
        let logits: Vec<f32> = logits.into_iter().map(f32::from).collect();
        let gaps: Vec<u32> = gaps.into_iter().collect();
        let tokens = Tokens::except(logits.len() - padding, &gaps);
        let pick = |allowed: Option<&[u32]>| {
            let mut sampler = Sampler::new(SamplingSet::default(), &[1, 2], tokens.clone());
            sampler.pick_among(&logits, &[], allowed).unwrap()
        };
        let plain = pick(None);
        prop_assert!(tokens.has(plain));
        prop_assert_eq!(plain, pick(Some(&[u32::MAX; 2])));
    }
}
