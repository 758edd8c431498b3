//! A load against a server of a few lines, and reports that were altered.

use std::io::{Read, Write};
use std::net::TcpListener;

use tilewright_model::Code;

use super::*;

fn settings() -> LoadSettings {
    LoadSettings {
        requests: 12,
        pace: Pace::Rate(400.0),
        first: 0,
        prompt_tokens: 3,
        output_tokens: 2,
        seed: 5,
        exact: true,
    }
}

/// Whether somebody listens, the version, one to warm up, the load, and what is asked again.
const REQUESTS: usize = 2 + 1 + 12 + ALONE;

/// A server that answers `requests` times, from the request counted `wrong` on with another text.
fn server(requests: usize, wrong: usize) -> String {
    changed(requests, wrong, |body| body)
}

/// A server whose streams are changed.
fn saying(change: fn(String) -> String) -> String {
    changed(REQUESTS, 99, change)
}

fn changed(requests: usize, wrong: usize, change: fn(String) -> String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for index in 0..requests {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            if length == 0 {
                continue;
            }
            let word = if index < wrong { "one" } else { "other" };
            let body = if request[..length].starts_with(b"GET") {
                r#"{"version": "few lines 1"}"#.to_owned()
            } else {
                change(format!(
                    "data: {{\"choices\":[{{\"text\":\"{word}\"}}]}}\n\ndata: {{\"choices\":[{{\"text\":\" two\"}}]}}\n\n\
                     data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":2}}}}\n\ndata: [DONE]\n\n"
                ))
            };
            // A client that has read enough goes away.
            let _ = write!(stream, "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{body}");
        }
    });
    address
}

#[test]
fn a_load_is_sent_when_it_is_due_and_its_report_holds_every_piece() {
    let report = run(&server(REQUESTS, 99), 96, settings(), &|_, _| ()).unwrap();
    let times = report.times().unwrap();
    assert_eq!(times.requests.len(), 12);
    assert_eq!((times.summaries.first.count, times.summaries.between.count), (12, 12));
    assert_eq!((report.server.as_str(), times.summaries.differing), ("few lines 1", 0));
    assert!(report.machine.cores > 0 && report.machine.class.ends_with("cpu"), "{:?}", report.machine);
    assert!(times.requests.is_sorted_by_key(|request| request.due_ns));
    let read: LoadReport = serde_json::from_str(&report.json().unwrap()).unwrap();
    read.audit().unwrap();
    type Change = fn(&mut LoadReport, &mut LoadTimes);
    let changes: [(&str, Change); 7] = [
        ("do not follow", |_, times| times.requests[3].text = "0".repeat(64)),
        ("asked alone", |_, times| times.summaries.differing = 1),
        ("requests are missing", |_, times| times.requests.truncate(11)),
        ("not due when the seed says", |_, times| times.requests[2].due_ns += 5000),
        ("cannot be", |_, times| times.requests[2].done_ns = 0),
        ("do not follow", |_, times| times.summaries.first.p99 += 1),
        ("another length", |report, _| report.settings.prompt_tokens += 1),
    ];
    for (said, change) in changes {
        let mut altered = report.clone();
        let mut times = report.times().unwrap().clone();
        change(&mut altered, &mut times);
        altered.outcome = LoadOutcome::Passed(Box::new(times));
        assert!(altered.audit().unwrap_err().to_string().contains("the seal does not fit"));
        let refusal = altered.sealed().unwrap().audit().unwrap_err();
        assert!(refusal.to_string().contains(said), "{said}: {refusal}");
    }
}

#[test]
fn another_reply_under_load_leaves_no_time() {
    let report = run(&server(REQUESTS, 15), 96, settings(), &|_, _| ()).unwrap();
    assert_eq!(report.times().unwrap_err().code(), Code::GateFailed);
    assert!(!report.json().unwrap().contains("_ns"));
    report.audit().unwrap();
}

#[test]
fn replies_that_may_differ_are_counted() {
    let settings = LoadSettings { exact: false, ..settings() };
    let report = run(&server(REQUESTS, 15), 96, settings, &|_, _| ()).unwrap();
    assert_eq!(report.times().unwrap().summaries.differing, ALONE);
}

#[test]
fn clients_ask_again_when_they_have_their_reply() {
    let settings = LoadSettings { pace: Pace::Clients(3), ..settings() };
    let mut report = run(&server(REQUESTS, 99), 96, settings, &|_, _| ()).unwrap();
    assert_eq!(report.times().unwrap().requests.len(), 12);
    report.settings.pace = Pace::Clients(0);
    let refusal = report.sealed().unwrap().audit().unwrap_err();
    assert!(refusal.to_string().contains("more at once"), "{refusal}");
}

#[test]
fn two_servers_get_the_same_requests_by_turns_and_none_twice() {
    let (ours, theirs) = (server(2 * REQUESTS, 99), server(2 * REQUESTS, REQUESTS + 15));
    let rounds = compare([&ours, &theirs], 96, &settings(), 2, &|_, _| ()).unwrap();
    let [first, second] = &rounds[..] else { panic!("{} rounds", rounds.len()) };
    assert_eq!((&first.ours.prompts, first.theirs.settings.exact), (&first.theirs.prompts, false));
    assert!(first.ours.prompts.iter().all(|prompt| !second.ours.prompts.contains(prompt)));
    let differing = Comparison::of(&rounds, |s| s.differing as f64).unwrap();
    assert_eq!((differing.ours, differing.theirs), (0.0, ALONE as f64 / 2.0));
}

#[test]
fn a_server_that_is_not_there_is_refused_with_its_address() {
    let refusal = run("127.0.0.1:1", 96, settings(), &|_, _| ()).unwrap_err();
    assert_eq!((refusal.code(), refusal.place()), (Code::ServerUnmeasurable, Some("127.0.0.1:1")));
}

#[test]
fn a_space_after_the_colon_of_an_event_may_be_left_out() {
    let address = saying(|body| body.replace("data: ", "data:"));
    run(&address, 96, settings(), &|_, _| ()).unwrap().times().unwrap();
}

#[test]
fn a_reply_that_cannot_be_timed_is_refused_at_the_first_and_the_server_named() {
    type Change = fn(String) -> String;
    let changes: [(Change, &str); 6] = [
        (|body| body.replace(",\"usage\":{\"completion_tokens\":2}", ""), "usage.completion_tokens"),
        (|body| body.replace("tokens\":2", "tokens\":1"), "the tokens asked for, got 1"),
        (|body| body.replace("data: [DONE]", ""), "[DONE]"),
        (|body| body.replace("{\"choices\"", "{\"error\":\"no room\",\"choices\""), "no room"),
        (|body| body.replace("data: {", "data: <"), "an event of JSON"),
        (|body| body.replace("data: [DONE]", &"x".repeat(1 << 21)), "at most 1056768 bytes"),
    ];
    for (change, said) in changes {
        let address = saying(change);
        let refusal = run(&address, 96, settings(), &|_, _| ()).unwrap_err();
        assert_eq!((refusal.code(), refusal.place()), (Code::ServerUnmeasurable, Some(&*address)), "{said}");
        assert!(refusal.to_string().contains(said), "{said}: {refusal}");
    }
}

#[test]
fn percentiles_are_times_that_were_seen() {
    let of = |count: u64| Percentiles::of((1..=count).rev().collect());
    assert_eq!(of(100), Percentiles { count: 100, p50: 50, p90: 90, p95: 95, p99: 99, most: 100 });
    assert_eq!(of(3), Percentiles { count: 3, p50: 2, p90: 3, p95: 3, p99: 3, most: 3 });
    assert_eq!(of(0).most, 0);
}

#[test]
fn requests_come_at_their_rate() {
    let settings = LoadSettings { requests: 4000, pace: Pace::Rate(50.0), ..settings() };
    let due = arrivals(&settings);
    let mean = *due.last().unwrap() as f64 / 1e9 / 3999.0;
    assert!((mean * 50.0 - 1.0).abs() < 0.06, "{mean}");
    assert_eq!(due, arrivals(&settings));
}
