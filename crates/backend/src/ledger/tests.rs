//! The ledger's names and numbers, and the budgets.

use super::*;

#[test]
fn the_ledger_has_its_names() {
    let names = [
        "ok",
        "shader_toolchain_absent",
        "no_device",
        "session_open_failed",
        "pipeline_not_found",
        "buffer_alloc_failed",
        "upload_length",
        "context_full",
        "dispatch_failed",
        "dispatch_count_mismatch",
        "code_out_of_range",
        "checkpoint_unreadable",
        "unsupported_architecture",
    ];
    for (status, name) in (620..).zip(names) {
        assert_eq!(status_name(status), format!("metaldispatch_{name}"));
    }
}

#[test]
fn codes_of_ours_have_the_ledgers_numbers() {
    let codes = [
        (Code::ShaderToolchainAbsent, 621),
        (Code::NoDevice, 622),
        (Code::SessionOpenFailed, 623),
        (Code::PipelineNotFound, 624),
        (Code::BufferAllocFailed, 625),
        (Code::UploadLength, 626),
        (Code::DispatchFailed, 628),
        (Code::DispatchCountMismatch, 629),
    ];
    for (code, number) in codes {
        assert_eq!((code.number(), code.name()), (number, status_name(i64::from(number))));
    }
}

#[test]
fn any_other_number_has_the_name_for_that() {
    for status in [0, -1, 619, 633, 634, 635, 636, 637, 638, 639, 640, 700, 750, i64::MAX, i64::MIN] {
        assert_eq!(status_name(status), "metaldispatch_code_out_of_range", "{status}");
    }
}

#[test]
fn every_refusal_has_a_status_with_a_name() {
    for &code in Code::ALL {
        let status = status_of(&Refusal::with_findings(code, Vec::new()));
        assert_ne!(status, OK, "{code:?}");
        assert_ne!(status_name(i64::from(status)), OUT_OF_RANGE_NAME, "{code:?}");
    }
    let status = |code| status_of(&Refusal::with_findings(code, Vec::new()));
    assert_eq!(status(Code::ContextFull), 627);
    assert_eq!(status(Code::CheckpointNotFound), 631);
    assert_eq!(status(Code::FileUnreadable), 631);
    assert_eq!(status(Code::FixedShapeMismatch), 632);
    assert_eq!(status(Code::DispatchCountMismatch), 629);
}

#[test]
fn budgets_of_two_and_of_twenty_eight_layers() {
    assert_eq!((prefill_dispatch_budget(2), prefill_dispatch_budget(28)), (19, 227));
    assert_eq!((dispatch_budget(2), dispatch_budget(28)), (21, 229));
    assert_eq!((dispatch_budget_deep(2), dispatch_budget_deep(28)), (23, 257));
}
