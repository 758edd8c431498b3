//! From typed model flags to open options.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    model: ModelFlags,
}

fn resolve(line: &[&str]) -> Result<ModelChoice, clap::Error> {
    Line::try_parse_from([&["tilewright"], line].concat()).map(|l| l.model.resolve())
}

#[test]
fn without_a_flag_the_embedded_model_runs_as_the_planner_decides() {
    let choice = resolve(&[]).unwrap();
    assert_eq!(choice.source, Source::Embedded);
    assert_eq!(choice.options.device, DeviceRequest::Auto);
    assert!(
        choice.options.weights.is_none() && choice.options.kv.is_none() && choice.options.threads.is_none()
    );
    assert!(choice.options.context.is_none() && choice.options.prefill_chunk.is_none());
    assert_eq!(choice.options.cache, Cache::User);
}

#[test]
fn every_flag_reaches_the_engine() {
    let line = "-m dir --device cuda:1 --weights int4 --kv-dtype f16 -c 77 --prefill-chunk 5 -t 3 --numerics llama.cpp --cache here";
    let choice = resolve(&line.split(' ').collect::<Vec<_>>()).unwrap();
    assert_eq!(choice.source, Source::Path("dir".into()));
    assert_eq!(choice.options.device, DeviceRequest::Cuda(1));
    assert_eq!(choice.options.weights, Some(WeightFormat::Int4));
    assert_eq!(choice.options.kv, Some(KvFormat::F16));
    assert_eq!(choice.options.context, Some(77));
    assert_eq!(choice.options.prefill_chunk, Some(5));
    assert_eq!(choice.options.threads, Some(3));
    assert_eq!(choice.options.numerics, Some(Numerics::LlamaCpp));
    assert_eq!(choice.options.cache, Cache::Folder("here".into()));
}

#[test]
fn no_cache_is_off_and_contradicts_a_folder() {
    assert_eq!(resolve(&["-m", "dir", "--no-cache"]).unwrap().options.cache, Cache::Off);
    assert!(resolve(&["--no-cache", "--cache", "here"]).is_err());
}

#[test]
fn a_context_of_zero_is_the_models_own() {
    assert_eq!(resolve(&["-c", "0"]).unwrap().options.context, None);
}

#[test]
fn values_outside_the_set_are_usage_errors() {
    for line in [
        ["--weights", "int5"],
        ["--kv-dtype", "int4"],
        ["--device", "gpu"],
        ["--numerics", "mlx"],
        ["-t", "0"],
        ["-c", "-1"],
    ] {
        assert!(resolve(&line).is_err(), "{line:?}");
    }
}
