//! Log-probabilities of known softmaxes.

use super::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6
}

#[test]
fn are_logarithms_of_the_softmax() {
    let logits: Vec<f32> = [0.1f32, 0.4, 0.2, 0.3].iter().map(|p| p.ln() + 8.0).collect();
    let l = logprobs(&logits, 2, 3, &Tokens::all(4));
    assert!(close(l.chosen, 0.2f64.ln()), "{}", l.chosen);
    assert_eq!(l.top.iter().map(|a| a.id).collect::<Vec<_>>(), [1, 3, 2]);
    for (a, p) in l.top.iter().zip([0.4f64, 0.3, 0.2]) {
        assert!(close(a.logprob, p.ln()), "{a:?}");
    }
}

#[test]
fn no_alternatives_unless_asked_and_ties_by_id() {
    assert!(logprobs(&[1.0; 4], 0, 0, &Tokens::all(4)).top.is_empty());
    let top = logprobs(&[1.0; 4], 0, 2, &Tokens::all(4)).top;
    assert_eq!(top.iter().map(|a| a.id).collect::<Vec<_>>(), [0, 1]);
    assert!(close(top[0].logprob, 0.25f64.ln()));
}

#[test]
fn padding_rows_weigh_but_are_no_alternatives() {
    let l = logprobs(&[0.0, 0.0, 9.0, 9.0], 0, 4, &Tokens::all(2));
    assert_eq!(l.top.iter().map(|a| a.id).collect::<Vec<_>>(), [0, 1]);
    assert!(l.chosen < -9.0);
}

#[test]
fn large_logits_do_not_overflow() {
    assert!(close(log_sum_exp(&[1024.0, 1024.0]), 1024.0 + 2f64.ln()));
    assert!(close(log_sum_exp(&[-1000.0, -1000.0]), -1000.0 + 2f64.ln()));
}
