//! Workloads have the names and lengths that they are asked for.

use super::*;

const COMMON: Common = Common { vocab: 4096, chunk: 512 };

#[test]
fn names_and_lengths_are_those_of_llama_bench() {
    let workloads = COMMON.usual(&[512], &[128], &[0, 1024]);
    let names: Vec<_> = workloads.iter().map(|w| (w.name.as_str(), w.depth, w.prompt, w.steps)).collect();
    let expected = [
        ("pp512", 0, 512, 0),
        ("tg128", 1, 0, 128),
        ("pp512 @ d1024", 1024, 512, 0),
        ("tg128 @ d1024", 1024, 0, 128),
    ];
    assert_eq!(names, expected);
    assert!(COMMON.usual(&[0], &[0], &[0]).is_empty());
}

#[test]
fn outputs_count_the_first_token_and_steps_do_not() {
    let workloads = COMMON.end_to_end(&[8, 32], &[8, 16]);
    let seen: Vec<_> = workloads.iter().map(|w| (w.name.as_str(), w.steps, w.outputs())).collect();
    assert_eq!(seen, [("8/8", 7, 8), ("8/16", 15, 16), ("32/8", 7, 8), ("32/16", 15, 16)]);
    let forty: usize = workloads.iter().map(|_| 2 * 5).sum();
    assert_eq!(forty, 40, "timed generations of two arms over five rounds");
}

/// Five rounds of two arms: 50 generations, 10,560 ids.
#[test]
fn the_long_document_has_the_published_numbers_of_runs_and_ids() {
    let tuning = COMMON.tuning(&Document::synthetic(4096, 1, TUNING[0]));
    let document = COMMON.document(Document::synthetic(4096, 0, DOCUMENT[0]), 512);
    let runs = 2 * 5;
    assert_eq!((tuning.len() + 1) * runs, 50);
    let ids: usize = tuning.iter().chain([&document]).map(|w| w.outputs() * runs).sum();
    assert_eq!(ids, 10_560);
}

#[test]
fn the_document_that_chooses_the_chunk_is_another_one() {
    let document = Document::synthetic(4096, 0, DOCUMENT[0]);
    assert!(distinct(&Document::synthetic(4096, 1, TUNING[0]), &document).is_ok());
    let beginning = Document { source: "another name".to_owned(), ids: document.ids[..2048].to_vec() };
    assert_eq!(distinct(&beginning, &document).unwrap_err().code(), Code::RequestInvalid);
    assert_eq!(Document::of("a file".to_owned(), vec![1; 9], 10).unwrap_err().code(), Code::RequestInvalid);
}

#[test]
fn a_batch_has_four_prompts_by_turns() {
    let batch = COMMON.batch(&[6], 16, 8).remove(0);
    assert_eq!(batch.ids.len(), 6);
    assert_eq!(batch.ids[0], batch.ids[4]);
    assert_ne!(batch.ids[0], batch.ids[1]);
}
