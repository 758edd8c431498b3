//! Each formula and what it looks back on.

use super::*;
use crate::sampling::Setting;

fn penalized(edit: impl FnOnce(&mut SamplingSet), logits: &[f32], prompt: &[u32], reply: &[u32]) -> Vec<f32> {
    let mut set = SamplingSet::default();
    edit(&mut set);
    let mut counts = BTreeMap::new();
    for &id in reply {
        *counts.entry(id).or_insert(0) += 1;
    }
    let mut logits = logits.to_vec();
    apply(&mut logits, &set, &[prompt, reply].concat(), &counts);
    logits
}

#[test]
fn repetition_divides_positive_and_multiplies_negative_once_for_each_id() {
    let edit = |set: &mut SamplingSet| set.repetition_penalty = Setting::default_of(2.0);
    assert_eq!(penalized(edit, &[4.0, -4.0, 0.0, 1.0], &[0, 0, 1], &[2, 0]), [2.0, -8.0, 0.0, 1.0]);
}

#[test]
fn repetition_looks_back_over_its_window_of_prompt_and_reply() {
    let edit = |n| {
        move |set: &mut SamplingSet| {
            set.repetition_penalty = Setting::default_of(2.0);
            set.repeat_last_n = Setting::default_of(n);
        }
    };
    let run = |n| penalized(edit(n), &[4.0; 4], &[0, 1], &[2]);
    assert_eq!(run(Some(0)), [4.0, 4.0, 4.0, 4.0]);
    assert_eq!(run(Some(1)), [4.0, 4.0, 2.0, 4.0]);
    assert_eq!(run(Some(2)), [4.0, 2.0, 2.0, 4.0]);
    assert_eq!(run(Some(64)), [2.0, 2.0, 2.0, 4.0]);
    assert_eq!(run(None), [2.0, 2.0, 2.0, 4.0]);
}

#[test]
fn presence_counts_once_and_only_the_reply() {
    let edit = |set: &mut SamplingSet| set.presence_penalty = Setting::default_of(1.5);
    assert_eq!(penalized(edit, &[1.0; 3], &[0, 0], &[1, 1, 1]), [1.0, -0.5, 1.0]);
}

#[test]
fn frequency_counts_each_time_and_only_the_reply() {
    let edit = |set: &mut SamplingSet| set.frequency_penalty = Setting::default_of(-0.5);
    assert_eq!(penalized(edit, &[1.0; 3], &[0, 0], &[1, 2, 1, 1]), [1.0, 2.5, 1.5]);
}

#[test]
fn bias_is_added_after_the_penalties() {
    let edit = |set: &mut SamplingSet| {
        set.repetition_penalty = Setting::default_of(2.0);
        set.presence_penalty = Setting::default_of(1.0);
        set.logit_bias = BTreeMap::from([(0, -3.0), (2, 100.0)]);
    };
    // Id 0: 6 / 2 - 1 - 3; bias first would give (6 - 3) / 2 - 1.
    assert_eq!(penalized(edit, &[6.0, 1.0, 1.0], &[], &[0]), [-1.0, 1.0, 101.0]);
}

#[test]
fn ids_beyond_the_logits_and_overflow_are_harmless() {
    let edit = |set: &mut SamplingSet| set.repetition_penalty = Setting::default_of(10.0);
    assert_eq!(penalized(edit, &[-3e38], &[0, 99], &[]), [f32::MIN]);
}
