//! From typed sampling flags to a request.

use clap::{CommandFactory, FromArgMatches, Parser};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    sampling: SamplingFlags,
}

fn resolve(line: &[&str]) -> Result<Sampling, clap::Error> {
    // As the program allows them of every flag with a value.
    let command = Line::command().mut_args(|arg| arg.allow_negative_numbers(true));
    let matches = command.try_get_matches_from([&["tilewright"], line].concat())?;
    Line::from_arg_matches(&matches).map(|l| l.sampling.resolve())
}

#[test]
fn without_a_flag_everything_is_left_to_the_checkpoint() {
    assert_eq!(resolve(&[]).unwrap(), Sampling::default());
}

#[test]
fn every_flag_reaches_the_engine() {
    let line = "--temp 0.5 --top-k 7 --top-p 0.9 --min-p 0.1 --repeat-penalty 1.2 --repeat-last-n -1 \
                --presence-penalty -0.5 --frequency-penalty 0.25 --logit-bias 3=-1.5 --logit-bias 9=100 -s 42";
    let sampling = resolve(&line.split_whitespace().collect::<Vec<_>>()).unwrap();
    let expected = Sampling {
        temperature: Some(0.5),
        top_k: Some(7),
        top_p: Some(0.9),
        min_p: Some(0.1),
        repetition_penalty: Some(1.2),
        repeat_last_n: Some(-1),
        presence_penalty: Some(-0.5),
        frequency_penalty: Some(0.25),
        logit_bias: [(3, -1.5), (9, 100.0)].into(),
        seed: Some(42),
    };
    assert_eq!(sampling, expected);
}

#[test]
fn values_out_of_range_are_left_for_the_engine_to_refuse_together() {
    let sampling = resolve(&["--temp", "-1", "--top-p", "1.5", "--top-k", "-3"]).unwrap();
    assert_eq!((sampling.temperature, sampling.top_p, sampling.top_k), (Some(-1.0), Some(1.5), Some(-3)));
}

#[test]
fn what_is_no_number_is_a_usage_error() {
    for line in [["--temp", "warm"], ["--seed", "-1"], ["--logit-bias", "3"], ["--logit-bias", "a=1"]] {
        assert!(resolve(&line).is_err(), "{line:?}");
    }
}
