//! The protocol, spoken by a few lines of shell.

use tilewright_model::Code;

use super::*;

fn opening(folder: &Path) -> Opening<'_> {
    Opening {
        model: folder,
        work: folder,
        device: "cpu",
        weights: "bf16",
        kv: "f16",
        threads: 1,
        context: 64,
        sequences: 1,
    }
}

fn workload() -> Workload {
    crate::testing::workload("x", [0, 3, 1, 1], false)
}

/// A peer that answers each line with the next of `replies`.
fn speaking(replies: &[&str]) -> Result<Peer, Refusal> {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = replies.iter().map(|reply| format!("read line; echo '{reply}'")).collect();
    let mut command = Command::new("sh");
    command.arg("-c").arg(lines.join("\n"));
    Peer::start("shell", command, opening(folder.path()))
}

const OPENED: &str = r#"{"version": "shell 1", "precision": "weights bf16"}"#;

#[test]
fn a_peer_says_who_it_is_and_what_it_chose() {
    let run = r#"{"prompt_ns": 5, "decode_ns": 7, "ids": [[1, 2]]}"#;
    let mut peer = speaking(&[OPENED, r#"{"logits": [1.0, 2.0]}"#, run]).unwrap();
    assert_eq!((peer.version.as_str(), peer.precision.as_str()), ("shell 1", "weights bf16"));
    let check = peer.check(&[1], &[1.0, 2.5]).unwrap();
    assert!((check.relative_rms - 0.5 / 7.25f64.sqrt()).abs() < 1e-12, "{check:?}");
    let run = peer.run(&workload()).unwrap();
    assert_eq!((run.prompt, run.ids), (Some(Duration::from_nanos(5)), vec![vec![1, 2]]));
}

#[test]
fn a_peer_that_cannot_is_unavailable_with_its_reason() {
    let code = |result: Result<Peer, Refusal>| {
        let refusal = result.err().unwrap();
        assert_eq!(refusal.code(), Code::PeerUnavailable);
        refusal.to_string()
    };
    assert!(code(speaking(&[r#"{"refused": "no module named x"}"#])).contains("no module named x"));
    assert!(code(speaking(&[])).contains("ended without an answer"));
    assert!(code(speaking(&["{}"])).contains("version"));
    let folder = tempfile::tempdir().unwrap();
    let absent = Peer::start("none", Command::new("no-such-program-at-all"), opening(folder.path()));
    assert!(code(absent).contains("none: expected"));
    let mut peer = speaking(&[OPENED, r#"{"logits": [1.0]}"#]).unwrap();
    assert_eq!(peer.check(&[1], &[1.0, 2.0]).unwrap_err().code(), Code::PeerUnavailable);
}

#[test]
fn peers_are_asked_for_by_name_and_program() {
    let peer: PeerChoice = "llama.cpp=/somewhere/python".parse().unwrap();
    assert_eq!(peer.name, "llama.cpp");
    assert!("mlx".parse::<PeerChoice>().is_ok() && "candle".parse::<PeerChoice>().is_ok());
    assert!("another".parse::<PeerChoice>().unwrap_err().contains("llama.cpp, transformers, mlx, candle"));
}

/// Its adapter would refuse in the middle of the run, after all that was compared.
#[test]
fn a_peer_of_one_sequence_is_absent_from_a_batch_and_not_even_started() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["llama.cpp", "mlx", "candle"] {
        let choice: PeerChoice = format!("{name}=/no/such/program").parse().unwrap();
        let refusal = choice.start(Opening { sequences: 2, ..opening(folder.path()) }).err().unwrap();
        assert_eq!(refusal.code(), Code::PeerUnavailable);
        assert!(refusal.to_string().contains("one sequence at a time"), "{refusal}");
    }
    let several: PeerChoice = "transformers=/no/such/program".parse().unwrap();
    let refusal = several.start(Opening { sequences: 2, ..opening(folder.path()) }).err().unwrap();
    assert!(!refusal.to_string().contains("one sequence"), "{refusal}");
}

/// What a process of this script answers, within `patience`; it is then given up at once.
fn answer(script: &str, patience: Duration) -> String {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    let mut process = Process::start("shell", command).unwrap();
    process.patience = patience;
    let refusal = process.ask::<serde_json::Value>(&json!({"op": "open"})).unwrap_err();
    process.patience = Duration::ZERO;
    assert_eq!(refusal.code(), Code::PeerUnavailable);
    refusal.to_string()
}

#[test]
fn a_process_that_never_answers_or_never_leaves_is_ended() {
    let silent = answer("exec sleep 1000", Duration::from_millis(20));
    assert!(silent.contains("no answer for 20ms"), "{silent}");
    for (said, told) in [(r#"{"refused": "not today"}"#, "not today"), ("hello there", "hello there")] {
        let refusal = answer(&format!("read line; echo '{said}'; exec sleep 1000"), Duration::from_secs(600));
        assert!(refusal.contains(told), "{refusal}");
    }
}
