//! What is found, and which refusal comes first.

use super::*;

fn found(look: impl FnOnce(&mut Checks)) -> Option<(Code, usize)> {
    let mut checks = Checks::new(10);
    look(&mut checks);
    checks.finish().err().map(|refusal| (refusal.code(), refusal.findings().len()))
}

#[test]
fn what_fits_is_not_refused() {
    let steps = [0, 1].map(|n| Step { sequence: Sequence(n), token: 9 });
    let look = |checks: &mut Checks| {
        checks.append(Sequence(0), Some((3, 8)), &[0, 9, 4], 2);
        checks.once(steps.iter().map(|step| step.sequence));
        checks.step_logits(20, 2);
        checks.last_logits(10, 1);
    };
    assert_eq!(found(look), None);
}

#[test]
fn a_position_too_many_is_a_full_context() {
    let look = |checks: &mut Checks| checks.append(Sequence(0), Some((3, 8)), &[1, 2, 3], 3);
    assert_eq!(found(look), Some((Code::ContextFull, 1)));
    let endless = |checks: &mut Checks| checks.append(Sequence(0), Some((3, 8)), &[1], usize::MAX);
    assert_eq!(found(endless), Some((Code::ContextFull, 1)));
}

#[test]
fn everything_invalid_is_told_before_anything_full() {
    let steps = [0, 0].map(|n| Step { sequence: Sequence(n), token: 1 });
    let look = |checks: &mut Checks| {
        checks.append(Sequence(0), Some((8, 8)), &[10], 0);
        checks.append(Sequence(1), None, &[1], 0);
        checks.once(steps.iter().map(|step| step.sequence));
        checks.step_logits(19, 2);
        checks.last_logits(9, 0);
    };
    assert_eq!(found(look), Some((Code::RequestInvalid, 6)));
}

#[test]
fn greedy_steps_want_room_for_all_ids_but_the_last() {
    let run = |sequence, count| Greedy { sequence: Sequence(sequence), token: 9, count, ends: &[] };
    let held = |sequence: Sequence| [Some((3, 8)), Some((8, 8))].get(sequence.0 as usize).copied().flatten();
    let look = |runs: &[Greedy<'_>]| found(|checks| checks.greedy(runs, held));
    assert_eq!(look(&[run(0, 5), run(1, 0)]), None);
    assert_eq!(look(&[run(0, 6), run(1, 1)]), Some((Code::ContextFull, 2)));
    assert_eq!(look(&[run(0, 1), run(0, 1), run(2, 0)]), Some((Code::RequestInvalid, 2)));
}
