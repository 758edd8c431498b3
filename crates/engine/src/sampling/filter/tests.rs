//! Each filter on known probabilities, and all of them against their definitions.

use proptest::prelude::*;

use super::*;
use crate::sampling::Setting;

fn set(temperature: f64, top_k: usize, min_p: f64, top_p: f64) -> SamplingSet {
    SamplingSet {
        temperature: Setting::default_of(temperature),
        top_k: Setting::default_of(top_k),
        min_p: Setting::default_of(min_p),
        top_p: Setting::default_of(top_p),
        ..SamplingSet::default()
    }
}

fn ids(logits: &[f32], set: &SamplingSet) -> Vec<u32> {
    support(logits, set).iter().map(|c| c.id).collect()
}

/// Logits whose softmax is 0.1, 0.4, 0.2, 0.3.
fn known() -> Vec<f32> {
    [0.1f32, 0.4, 0.2, 0.3].iter().map(|p| p.ln()).collect()
}

#[test]
fn top_k_keeps_the_most_likely() {
    assert_eq!(ids(&known(), &set(1.0, 0, 0.0, 1.0)), [0, 1, 2, 3]);
    assert_eq!(ids(&known(), &set(1.0, 1, 0.0, 1.0)), [1]);
    assert_eq!(ids(&known(), &set(1.0, 2, 0.0, 1.0)), [1, 3]);
    assert_eq!(ids(&known(), &set(1.0, 9, 0.0, 1.0)), [0, 1, 2, 3]);
}

#[test]
fn top_k_breaks_ties_by_id() {
    let mut logits = vec![1.0f32; 100];
    logits[90] = 2.0;
    assert_eq!(ids(&logits, &set(1.0, 4, 0.0, 1.0)), [0, 1, 2, 90]);
}

#[test]
fn min_p_compares_with_the_most_likely() {
    // Of 0.4: 0.6 is 0.24, 0.3 is 0.12.
    assert_eq!(ids(&known(), &set(1.0, 0, 0.6, 1.0)), [1, 3]);
    assert_eq!(ids(&known(), &set(1.0, 0, 0.3, 1.0)), [1, 2, 3]);
    // At temperature 0.5 the ratios are squared: 0.3 / 0.4 becomes 0.5625.
    assert_eq!(ids(&known(), &set(0.5, 0, 0.6, 1.0)), [1]);
}

#[test]
fn top_p_keeps_the_smallest_set_that_reaches_the_share() {
    assert_eq!(ids(&known(), &set(1.0, 0, 0.0, 0.39)), [1]);
    assert_eq!(ids(&known(), &set(1.0, 0, 0.0, 0.41)), [1, 3]);
    assert_eq!(ids(&known(), &set(1.0, 0, 0.0, 0.69)), [1, 3]);
    assert_eq!(ids(&known(), &set(1.0, 0, 0.0, 0.71)), [1, 2, 3]);
    assert_eq!(ids(&known(), &set(1.0, 0, 0.0, 1e-9)), [1]);
}

#[test]
fn top_p_is_a_share_of_what_top_k_and_min_p_left() {
    // After top-k 2: 0.4 / 0.7 = 0.571.
    assert_eq!(ids(&known(), &set(1.0, 2, 0.0, 0.57)), [1]);
    assert_eq!(ids(&known(), &set(1.0, 2, 0.0, 0.58)), [1, 3]);
    // After min-p 0.4: 0.4 / 0.9 = 0.444.
    assert_eq!(ids(&known(), &set(1.0, 0, 0.4, 0.44)), [1]);
    assert_eq!(ids(&known(), &set(1.0, 0, 0.4, 0.45)), [1, 3]);
}

#[test]
fn weights_are_relative_to_the_most_likely_at_the_temperature() {
    let c = support(&known(), &set(2.0, 0, 0.0, 1.0));
    for (c, p) in c.iter().zip([0.1f64, 0.4, 0.2, 0.3]) {
        assert!((c.weight - (p / 0.4).sqrt()).abs() < 1e-6, "{c:?}");
    }
}

#[test]
fn extreme_temperatures_stay_defined() {
    for t in [f64::MIN_POSITIVE, 1e-30, 1e30, f64::MAX] {
        let c = support(&[1.0, 3.0, -2.0, 3.0], &set(t, 0, 0.0, 0.9));
        assert!(c.iter().all(|c| c.weight.is_finite()) && c.iter().any(|c| c.id == 1), "{t}: {c:?}");
    }
}

/// The filters as their definitions read: sort everything, cut three times.
fn by_definition(logits: &[f32], set: &SamplingSet) -> Vec<u32> {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scaled = |c: &Candidate| f64::from(c.logit - largest) / set.temperature.value;
    let mut all: Vec<Candidate> = allowed(logits).collect();
    all.sort_by(by_likelihood);
    if set.top_k.value > 0 {
        all.truncate(set.top_k.value);
    }
    if set.min_p.value > 0.0 {
        let floor = set.temperature.value * set.min_p.value.ln();
        all.retain(|c| f64::from(c.logit) - f64::from(largest) >= floor);
    }
    if set.top_p.value < 1.0 {
        let mut by_id = all.clone();
        by_id.sort_by_key(|c| c.id);
        let needed = set.top_p.value * by_id.iter().map(|c| exp(scaled(c))).sum::<f64>();
        let mut sum = 0.0;
        let reached = all.iter().position(|c| {
            sum += exp(scaled(c));
            sum >= needed
        });
        all.truncate(reached.map_or(all.len(), |i| i + 1));
    }
    let mut ids: Vec<u32> = all.iter().map(|c| c.id).collect();
    ids.sort();
    ids
}

proptest! {
    /// Coarse logits make many ties; lengths pass the batch of the partial ranking.
    #[test]
    fn support_is_what_the_definitions_say(
        logits in prop::collection::vec((-40i8..40).prop_map(|x| f32::from(x) / 8.0), 1..2000),
        banned in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        temperature in 0.05f64..20.0,
        top_k in prop_oneof![Just(0usize), 1usize..40, 100usize..3000],
        min_p in prop_oneof![Just(0.0), 0.0f64..0.99],
        top_p in prop_oneof![Just(1.0), 0.01f64..1.0],
    ) {
        let mut logits = logits;
        if logits.len() > banned.len() {
            for index in &banned {
                logits[index.index(banned.len().max(1))] = f32::NEG_INFINITY;
            }
        }
        let set = set(temperature, top_k, min_p, top_p);
        let found = support(&logits, &set);
        let ids: Vec<u32> = found.iter().map(|c| c.id).collect();
        prop_assert_eq!(&ids, &by_definition(&logits, &set));
        prop_assert!(ids.contains(&(scan::argmax(&logits) as u32)));
        prop_assert!(found.iter().all(|c| c.logit > f32::NEG_INFINITY && c.weight >= 0.0));
    }
}
