//! Another reference is held to our own, and does not stand where it differs.

use std::process::Command;

use super::*;
use crate::audit::audit;
use crate::testing::{Small, workload};

/// The forward of a file of answers: what our own gives, with `off` added to one number.
fn speaking(small: &Small, ids: &[u32], off: f64) -> Remote {
    let config = small.checkpoint.config();
    let own = Reference::new(&small.checkpoint).unwrap();
    let mut ours = own.sequence();
    let mut numbers = ours.extend(ids, ids.len());
    let logits = numbers.len();
    for (layer, head) in (0..config.layers).flat_map(|l| (0..config.kv_heads).map(move |h| (l, h))) {
        let (keys, values) = ours.kv(layer, head);
        numbers.extend_from_slice(keys);
        numbers.extend_from_slice(values);
    }
    numbers[logits + 5] += off;
    let keys = ids.len() * config.head_dim * config.layers * config.kv_heads;
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let file = small.folder.path().join("answer");
    std::fs::write(&file, bytes).unwrap();
    let said = format!(
        "read line; echo '{{\"version\": \"shell 1\", \"where\": \"a shell\"}}'\n\
         read line; echo '{{\"logits\": {logits}, \"keys\": {keys}}}'; cat {}\nread line; echo '{{}}'",
        file.display()
    );
    let mut command = Command::new("sh");
    command.arg("-c").arg(said);
    Remote::start(command, small.folder.path(), config).unwrap()
}

#[test]
fn another_reference_that_is_off_by_a_millionth_does_not_stand() {
    let small = Small::new();
    let workload = workload("pp8", [0, 8, 0, 1], false);
    let remote = |off| speaking(&small, &workload.ids[0], off);
    let stands = held(&remote(0.0), &small.checkpoint, &workload).unwrap();
    assert_eq!((stands.tokens, stands.logits.values, stands.version.as_str()), (8, 8 * 96, "shell 1"));
    let refusal = held(&remote(1e-6), &small.checkpoint, &workload).unwrap_err();
    assert_eq!(refusal.code(), Code::PeerUnavailable);
    assert!(refusal.remedy().contains("--reference") && !refusal.remedy().contains("--compare"), "{refusal}");
}

#[test]
fn a_report_whose_other_reference_was_not_held_to_our_own_is_caught() {
    let small = Small::new();
    let phases = crate::bench::Phases { first: vec![workload("pp8", [0, 8, 0, 1], false)], second: None };
    let mut report = small.report(tilewright_model::WeightFormat::Bf16, None, phases).unwrap();
    let sound =
        held(&speaking(&small, &report.workloads[0].ids[0], 0.0), &small.checkpoint, &report.workloads[0]);
    report.reference = Some(sound.unwrap());
    let report = report.sealed().unwrap();
    audit(&report).unwrap();
    let changes: [fn(&mut OtherReference); 5] = [
        |other| other.tokens = 0,
        |other| other.logits.outside = 1,
        |other| other.keys.values -= 1,
        |other| other.values.max_abs = None,
        |other| other.atol *= 10.0,
    ];
    for change in changes {
        let mut changed = report.clone();
        change(changed.reference.as_mut().unwrap());
        let said = audit(&changed.sealed().unwrap()).unwrap_err().to_string();
        assert!(said.contains("held to our own forward"), "{said}");
    }
}

#[test]
fn the_reference_is_asked_for_by_name_and_program() {
    assert_eq!("own".parse(), Ok(ReferenceChoice::Own));
    assert_eq!("torch=/somewhere/python".parse(), Ok(ReferenceChoice::Torch("/somewhere/python".into())));
    assert!("own=python".parse::<ReferenceChoice>().unwrap_err().contains("neither own nor torch"));
}

#[test]
fn a_reference_that_announces_another_number_of_logits_is_refused_before_memory_is_taken() {
    let small = Small::new();
    let config = small.checkpoint.config();
    let keys = config.head_dim * config.layers * config.kv_heads;
    for logits in [u64::MAX, 1 << 60, 95] {
        let said = format!(
            "read line; echo '{{\"version\": \"shell 1\", \"where\": \"a shell\"}}'\n\
             read line; echo '{{\"logits\": {logits}, \"keys\": {keys}}}'; read line; echo '{{}}'"
        );
        let mut command = Command::new("sh");
        command.arg("-c").arg(said);
        let remote = Remote::start(command, small.folder.path(), config).unwrap();
        let refusal = remote.sequence().extend(&[1], 1).unwrap_err();
        assert!(refusal.to_string().contains("logits instead of 96"), "{refusal}");
    }
}
