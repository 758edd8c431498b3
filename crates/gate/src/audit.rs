//! A report judged by itself: everything that follows from its raw trials, checks and hashes is computed again.
//!
//! An auditor trusts nothing that it can compute. What it cannot (that the trials were ever run) it holds to be
//! consistent: times do not overlap and lie within the driver's clock, every run gave the ids that were checked against
//! the reference, hashes before and after are the same, and the seal fits the text.

mod ceilings;
mod checks;
mod facts;
#[cfg(test)]
mod tests;
mod trials;

use std::path::{Path, PathBuf};

use tilewright_model::{Code, Finding, Refusal};

use crate::load::LoadReport;
use crate::report::{Outcome, Report, SCHEMA};
pub(crate) use facts::tells_a_path;

/// A report of either form.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyReport {
    /// Of runs of a model.
    Run(Box<Report>),
    /// Of a load at a server.
    Load(Box<LoadReport>),
}

impl AnyReport {
    /// Reads a report; it is not audited by this.
    ///
    /// # Errors
    /// `file_unreadable`, `report_invalid`.
    pub fn read(path: &Path) -> Result<Self, Refusal> {
        let text = std::fs::read_to_string(path).map_err(|e| unreadable(path, &e))?;
        let invalid =
            |e| Refusal::new(Code::ReportInvalid, "report", "a report of this program", e).at(path.display());
        let value: serde_json::Value = serde_json::from_str(&text).map_err(invalid)?;
        if value["program"] == "bench serve" {
            return Ok(Self::Load(serde_json::from_value(value).map_err(invalid)?));
        }
        Ok(Self::Run(Box::new(Report::from_json(&text).map_err(|refusal| refusal.at(path.display()))?)))
    }

    /// Audits it.
    ///
    /// # Errors
    /// `report_invalid`.
    pub fn audit(&self) -> Result<(), Refusal> {
        match self {
            Self::Run(report) => audit(report),
            Self::Load(report) => report.audit(),
        }
    }

    /// What it holds, on one line.
    pub fn describe(&self) -> String {
        match self {
            Self::Load(report) => format!("{}, {} requests", report.program, report.settings.requests),
            Self::Run(report) => {
                let runs = |passed: &crate::report::Passed| -> usize {
                    passed.measured.iter().map(|m| m.trials.len() + m.warmups.len()).sum()
                };
                let (program, checks) = (&report.program, report.checks.len());
                format!("{program}, {checks} checks and {} runs", report.passed().map_or(0, runs))
            }
        }
    }
}

/// Audits a report.
///
/// # Errors
/// `report_invalid` with everything found.
pub fn audit(report: &Report) -> Result<(), Refusal> {
    let mut faults = Vec::new();
    // Form 1 was written up to November 2026.
    let is_earlier = report.schema == 1 && report.created.as_str() < "2026-12";
    if report.schema != SCHEMA && !is_earlier {
        faults.push(format!("schema {} is not {SCHEMA}", report.schema));
    }
    if report.due_seal()? != report.seal {
        faults.push("the seal does not fit the report".to_owned());
    }
    facts::audit(report, &mut faults);
    match &report.outcome {
        Outcome::Passed(passed) => {
            checks::audit(report, &mut faults);
            trials::audit(report, passed, &mut faults);
            ceilings::audit(report, passed, &mut faults);
        }
        Outcome::Failed(failure) => {
            let known = report.workload(&failure.workload).is_some();
            if failure.what.is_empty() || !known || !["gate", "timing"].contains(&failure.stage.as_str()) {
                faults.push("a failure says what failed, when, and in which workload".to_owned());
            }
            match failure.stage.as_str() {
                "gate" if !checks::has_failed(report, failure) => {
                    faults.push("a failure at the gate, and nothing that failed there".to_owned());
                }
                // Timing begins when everything was compared and agreed.
                "timing" => checks::audit(report, &mut faults),
                _ => {}
            }
        }
    }
    let findings =
        faults.into_iter().map(|fault| Finding::new("audit", "a report that follows from itself", fault));
    Refusal::check(Code::ReportInvalid, findings.collect())
}

/// Reads and audits the report at `path`, or every `*.json` in the folder at `path` and below; gives what was audited.
///
/// # Errors
/// `file_unreadable`, or `report_invalid` for the first report that is; a folder without any is refused too.
pub fn audit_path(path: &Path) -> Result<Vec<(PathBuf, AnyReport)>, Refusal> {
    let mut files = Vec::new();
    gather(path, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(Refusal::new(Code::ReportInvalid, "reports", "at least one", "none").at(path.display()));
    }
    let audited = files.into_iter().map(|file| {
        let report = AnyReport::read(&file)?;
        report.audit().map_err(|refusal| refusal.at(file.display()))?;
        Ok((file, report))
    });
    audited.collect()
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Refusal> {
    if !std::fs::metadata(path).map_err(|e| unreadable(path, &e))?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path).map_err(|e| unreadable(path, &e))? {
        let entry = entry.map_err(|e| unreadable(path, &e))?.path();
        if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "json") {
            gather(&entry, files)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::new(Code::FileUnreadable, "report", "a readable file or folder", error).at(path.display())
}
