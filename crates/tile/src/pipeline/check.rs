//! Judging a pipeline.

use std::fmt;

use crate::bind::{self, BindError, Bound, Range};
use crate::ir::Param;
use crate::types::{Literal, Scalar};
use crate::verify::{Subject, Verified};

use super::stage::{Binding, Mode, Region, Stage};
use super::{Pipeline, ResourceKind};

/// A pipeline that may not run, with everything found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineError {
    /// The pipeline.
    pub pipeline: String,
    /// Stage by stage, its name and what is wrong.
    pub findings: Vec<(String, StageError)>,
}

impl std::error::Error for PipelineError {}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pipeline {} is refused:", self.pipeline)?;
        self.findings.iter().try_for_each(|(stage, error)| write!(f, "\n  stage {stage}: {error}"))
    }
}

/// What can be wrong with a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// A parameter nothing is bound to.
    #[error("nothing is bound to {parameter}")]
    Unbound {
        /// The parameter.
        parameter: String,
    },
    /// A name that is no parameter, or bound twice.
    #[error("{parameter} is no parameter of {kernel}, or is bound twice")]
    Unknown {
        /// The name.
        parameter: String,
        /// The kernel.
        kernel: String,
    },
    /// The kernel does something else with the region than the stage says.
    #[error("{parameter} is declared {declared}, but the kernel's mode is {actual}")]
    Mode {
        /// The parameter.
        parameter: String,
        /// What the stage says.
        declared: Mode,
        /// What the kernel does.
        actual: Mode,
    },
    /// A region beyond its resource.
    #[error("{parameter} ends at byte {end} of {resource}, which has {bytes}")]
    BeyondResource {
        /// The parameter.
        parameter: String,
        /// End of the region.
        end: u64,
        /// The resource.
        resource: String,
        /// Its length.
        bytes: u64,
    },
    /// An input that would be written.
    #[error("{resource} is an input and would be written")]
    WritesInput {
        /// The resource.
        resource: String,
    },
    /// What is read before earlier launches have ended must be there from the start.
    #[error("{parameter} is read before the launch barrier, and {resource} is no input")]
    EarlyRead {
        /// The parameter.
        parameter: String,
        /// The resource.
        resource: String,
    },
    /// A region that nothing wrote before.
    #[error("{resource} is read at bytes {start}..{end}, which no earlier stage writes")]
    Unwritten {
        /// The resource.
        resource: String,
        /// First byte.
        start: u64,
        /// One past the last.
        end: u64,
    },
    /// Two launches that may overlap meet in a resource.
    #[error("{kind} of {resource} after stage {earlier}, with nothing to wait for between")]
    Hazard {
        /// What kind of meeting.
        kind: HazardKind,
        /// The resource.
        resource: String,
        /// The earlier stage.
        earlier: String,
    },
    /// The launch does not fit the kernel.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// How two launches meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HazardKind {
    /// The later reads what the earlier writes.
    ReadAfterWrite,
    /// The later writes what the earlier reads.
    WriteAfterRead,
    /// Both write.
    WriteAfterWrite,
}

impl fmt::Display for HazardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadAfterWrite => "read after write",
            Self::WriteAfterRead => "write after read",
            Self::WriteAfterWrite => "write after write",
        })
    }
}

/// Two stages that must not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// Number of the earlier stage.
    pub earlier: usize,
    /// Number of the later stage.
    pub later: usize,
    /// How they meet.
    pub kind: HazardKind,
    /// Where.
    pub resource: String,
}

/// Everything that the order of a pipeline keeps apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hazards {
    /// The meetings, each covered by order.
    pub covered: Vec<Hazard>,
}

impl Subject for Pipeline {
    type Facts = Hazards;
}

impl Pipeline {
    /// Checks every launch against its kernel and the launches against their order.
    ///
    /// # Errors
    /// Everything found, stage by stage.
    pub fn verify(self) -> Result<Verified<Self>, PipelineError> {
        let mut findings = Vec::new();
        for stage in &self.stages {
            let errors = self.launch(stage);
            findings.extend(errors.into_iter().map(|error| (stage.name.clone(), error)));
        }
        let hazards = self.hazards();
        for hazard in &hazards {
            if !self.waits(hazard.earlier, hazard.later) {
                let error = StageError::Hazard {
                    kind: hazard.kind,
                    resource: hazard.resource.clone(),
                    earlier: self.stages[hazard.earlier].name.clone(),
                };
                findings.push((self.stages[hazard.later].name.clone(), error));
            }
        }
        findings.extend(self.unwritten());
        match findings.is_empty() {
            true => Ok(Verified::new(self, Hazards { covered: hazards })),
            false => Err(PipelineError { pipeline: self.name, findings }),
        }
    }

    /// One launch against its kernel.
    fn launch(&self, stage: &Stage) -> Vec<StageError> {
        let mut errors = Vec::new();
        let kernel = &stage.kernel;
        let mut bound = Vec::new();
        for &param in kernel.params() {
            let name = kernel.param_name(param).to_owned();
            let binding = stage.binding(&name);
            match (binding, param) {
                (None, _) => errors.push(StageError::Unbound { parameter: name }),
                (Some(Binding::Region(region, declared)), _) => {
                    let resource = &self.resources[region.resource];
                    let end = region.offset.saturating_add(region.bytes);
                    if end > resource.bytes {
                        errors.push(StageError::BeyondResource {
                            parameter: name.clone(),
                            end,
                            resource: resource.name.clone(),
                            bytes: resource.bytes,
                        });
                    }
                    if declared.writes() && resource.kind == ResourceKind::Input {
                        errors.push(StageError::WritesInput { resource: resource.name.clone() });
                    }
                    if let Param::Buffer(buffer) = param {
                        if kernel.facts().is_early(buffer) && resource.kind != ResourceKind::Input {
                            let resource = resource.name.clone();
                            errors.push(StageError::EarlyRead { parameter: name.clone(), resource });
                        }
                        let actual = Mode::of(kernel.buffers()[buffer].access);
                        if actual != declared {
                            errors.push(StageError::Mode { parameter: name, declared, actual });
                        }
                    }
                    bound.push(Bound::Range(range(region)));
                }
                (Some(Binding::Fixed(literal)), _) => bound.push(Bound::Scalar(literal)),
                (Some(Binding::Argument(argument)), param) => {
                    // Both ends of the range must fit; what lies between then does.
                    let (low, high) = self.arguments[argument].range;
                    bound.push(Bound::Scalar(number(kernel.scalar_of(param), low)));
                    if let Param::Argument(a) = param {
                        let (least, most) = kernel.arguments()[a].range;
                        if kernel.arguments()[a].scalar.is_word() && high > most {
                            let expected = format!("within {least}..={most}");
                            let got = number(kernel.scalar_of(param), high);
                            errors.push(BindError::Scalar { name, expected, got }.into());
                        }
                    }
                }
            }
        }
        let known = |name: &str| kernel.params().iter().any(|&p| kernel.param_name(p) == name);
        for (n, (name, _)) in stage.bindings.iter().enumerate() {
            if !known(name) || stage.bindings[..n].iter().any(|(earlier, _)| earlier == name) {
                let (parameter, kernel) = (name.clone(), kernel.name().to_owned());
                errors.push(StageError::Unknown { parameter, kernel });
            }
        }
        if bound.len() == kernel.params().len() {
            errors.extend(bind::check(kernel, stage.groups, &bound).into_iter().map(StageError::from));
        }
        errors
    }

    /// Every pair of stages that meet in a resource.
    fn hazards(&self) -> Vec<Hazard> {
        let mut hazards = Vec::new();
        for (later, stage) in self.stages.iter().enumerate() {
            for (region, mode) in stage.regions() {
                for (earlier, before) in self.stages[..later].iter().enumerate() {
                    for (other, other_mode) in before.regions() {
                        let kind = match (other_mode.writes(), mode.writes()) {
                            (false, false) => continue,
                            (true, true) => HazardKind::WriteAfterWrite,
                            (true, false) => HazardKind::ReadAfterWrite,
                            (false, true) => HazardKind::WriteAfterRead,
                        };
                        if range(region).overlaps(range(other)) {
                            let resource = self.resources[region.resource].name.clone();
                            hazards.push(Hazard { earlier, later, kind, resource });
                        }
                    }
                }
            }
        }
        hazards
    }

    /// Reads of scratch and outputs that no earlier stage writes.
    fn unwritten(&self) -> Vec<(String, StageError)> {
        let mut findings = Vec::new();
        let mut written: Vec<Region> = Vec::new();
        for stage in &self.stages {
            for (region, mode) in stage.regions() {
                let resource = &self.resources[region.resource];
                let blank = matches!(resource.kind, ResourceKind::Scratch | ResourceKind::Output);
                if mode.reads() && blank && !covers(&written, region) {
                    let (start, end) = (region.offset, region.offset + region.bytes);
                    let resource = resource.name.clone();
                    findings.push((stage.name.clone(), StageError::Unwritten { resource, start, end }));
                }
            }
            written.extend(stage.regions().filter(|(_, mode)| mode.writes()).map(|(region, _)| region));
        }
        findings
    }
}

fn range(region: Region) -> Range {
    let Region { resource, offset, bytes } = region;
    Range { buffer: resource.index() as u64, offset, bytes }
}

/// A number of a scalar type.
fn number(scalar: Scalar, value: i64) -> Literal {
    match scalar {
        Scalar::U32 => Literal::U32(u32::try_from(value).unwrap_or(u32::MAX)),
        Scalar::F32 => Literal::f32(0.0),
        _ => Literal::I32(i32::try_from(value).unwrap_or(i32::MAX)),
    }
}

/// Whether regions written before cover all of `region`.
fn covers(written: &[Region], region: Region) -> bool {
    let mut ranges: Vec<(u64, u64)> = written
        .iter()
        .filter(|w| w.resource == region.resource)
        .map(|w| (w.offset, w.offset + w.bytes))
        .collect();
    ranges.sort_unstable();
    let reached =
        ranges.into_iter().fold(
            region.offset,
            |reached, (start, end)| {
                if start <= reached { reached.max(end) } else { reached }
            },
        );
    reached >= region.offset + region.bytes
}
