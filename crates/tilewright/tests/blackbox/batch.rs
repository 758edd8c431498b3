//! `run --batch`: order, refusals, and going on where it was stopped.

use std::fs;

use serde_json::Value;

use crate::harness::{tilewright, tilewright_with};

fn lines(path: &std::path::Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Six prompts, one of which is refused.
const PROMPTS: &str = r#"{"id": "a", "prompt": "Once upon a time"}
{"id": 2, "prompt": "The dog"}
{"prompt": "A cat", "temprature": 1}

{"id": "d", "messages": [{"role": "user", "content": "Hi"}]}
{"id": "e", "ids": [100, 200]}
{"id": "f", "prompt": "The dog"}
"#;

#[test]
fn replies_keep_the_order_and_a_stopped_batch_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.jsonl"), folder.path().join("out.jsonl"));
    fs::write(&input, PROMPTS).unwrap();
    let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
    let args =
        ["run", "--batch", from, "--replies", to, "-n", "6", "--temp", "0", "--json", "--parallel", "3"];
    let first = tilewright(&args).expect_code(1).json();
    assert_eq!((&first["lines"], &first["refused"]), (&6.into(), &1.into()));
    let whole = lines(&output);
    let ids: Vec<_> = whole.iter().map(|line| line["id"].clone()).collect();
    assert_eq!(ids, [Value::from("a"), 2.into(), Value::Null, "d".into(), "e".into(), "f".into()]);
    assert_eq!(whole[2]["refusal"]["code"], "request_invalid");
    assert_eq!(whole[1]["text"], whole[5]["text"]);
    assert_eq!(whole[0]["usage"]["completion_tokens"], 6);
    let alone = tilewright(&["run", "-p", "Once upon a time", "-n", "6", "--temp", "0", "--json"]).json();
    assert_eq!(whole[0]["ids"], alone["ids"]);

    // Killed within the third line.
    let text = fs::read_to_string(&output).unwrap();
    let cut = text.match_indices('\n').nth(1).unwrap().0 + 10;
    fs::write(&output, &text[..cut]).unwrap();
    let second = tilewright(&args).expect_code(1).json();
    assert_eq!(second["before"], 2);
    let again = lines(&output);
    let texts = |lines: &[Value]| lines.iter().map(|line| line["ids"].clone()).collect::<Vec<_>>();
    assert_eq!(texts(&again), texts(&whole));

    // Nothing is left to do, and what was refused is said again.
    let third = tilewright(&args).expect_code(1).json();
    assert_eq!((&third["before"], &third["refused"]), (&6.into(), &1.into()));

    // What belongs to another batch is not touched, be it by an id, a prompt or a setting.
    let before = fs::read_to_string(&output).unwrap();
    let other = args.iter().chain(&["--weights", "int4"]).copied().collect::<Vec<_>>();
    assert_eq!(tilewright(&other).refusal()["code"], "output_exists");
    for (from, to) in [("\"a\"", "\"z\""), ("The dog", "The fox")] {
        fs::write(&input, PROMPTS.replace(from, to)).unwrap();
        let refused = tilewright(&args).refusal();
        assert_eq!(refused["code"], "output_exists");
        assert_eq!(fs::read_to_string(&output).unwrap(), before);
    }
}

#[test]
fn a_batch_wants_both_files() {
    tilewright(&["run", "--batch", "x.jsonl"]).expect_code(2);
    tilewright(&["run", "-p", "x", "--replies", "y"]).expect_code(2);
    tilewright(&["run", "-p", "x", "--parallel", "2"]).expect_code(2);
    let missing =
        tilewright_with(&[], &["run", "--batch", "/nowhere.jsonl", "--replies", "/nowhere.out", "--json"]);
    assert_eq!(missing.refusal()["code"], "file_unreadable");
}

#[test]
fn a_batch_waits_for_room_however_few_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.jsonl"), folder.path().join("out.jsonl"));
    fs::write(&input, "{\"prompt\": \"Once\"}\n".repeat(200)).unwrap();
    let (from, to) = (input.to_str().unwrap(), output.to_str().unwrap());
    let args = ["run", "--batch", from, "--replies", to, "-n", "2", "--json", "--parallel", "1"];
    assert_eq!(tilewright(&args).expect_code(0).json()["refused"], 0);
    let replies = lines(&output);
    assert_eq!(replies.len(), 200);
    // Without a seed of ours each has one of its own, and says it.
    let seeds: std::collections::BTreeSet<_> =
        replies.iter().map(|reply| reply["sampling"]["seed"]["value"].as_u64().unwrap()).collect();
    assert_eq!(seeds.len(), 200);
}

#[test]
fn files_that_are_not_the_batchs_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.jsonl"), folder.path().join("out.jsonl"));
    fs::write(&input, "{\"prompt\": \"Once\"}\n").unwrap();
    let args = |output: &std::path::Path| {
        let (from, to) = (input.to_str().unwrap().to_owned(), output.to_str().unwrap().to_owned());
        ["run", "--batch", &from, "--replies", &to, "-n", "2", "--json"].map(str::to_owned)
    };
    let run = |output: &std::path::Path| {
        let args = args(output);
        tilewright(&args.each_ref().map(String::as_str))
    };
    for foreign in ["{\"my\":\"valuable data\"}", "notes", "{\"line\":1,\"other\":", "\n"] {
        fs::write(&output, foreign).unwrap();
        assert_eq!(run(&output).refusal()["code"], "output_exists", "{foreign}");
        assert_eq!(fs::read_to_string(&output).unwrap(), foreign);
    }
    for other in ["/dev/full", "/dev/null", "-"] {
        assert_eq!(run(std::path::Path::new(other)).refusal()["code"], "file_unwritable", "{other}");
    }
    fs::remove_file(&output).unwrap();
    let writer = fs::File::create(&output).unwrap();
    writer.lock().unwrap();
    assert_eq!(run(&output).refusal()["code"], "output_busy");
    drop(writer);
    run(&output).expect_code(0);
}
