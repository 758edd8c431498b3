//! A benchmark of a model from its flags to its report.

use std::path::{Path, PathBuf};

use tilewright_backend::Plan;
use tilewright_engine::{OpenOptions, Source, open_resident, resolve_plan, user_cache_folder};
use tilewright_gate::bench::{Measure, Phases, Settings, Subject, run};
use tilewright_gate::oracle::{ReferenceChoice, Remote};
use tilewright_gate::peer::{Opening, Peer, model_folder};
use tilewright_gate::programs::{CHUNKS, Common, DOCUMENT};
use tilewright_gate::report::{Absent, Report, Workload};
use tilewright_gate::{chart, table};
use tilewright_model::{Checkpoint, Code, Finding, Refusal};

use super::flags::{Format, RunFlags};
use crate::commands::describe;
use crate::console::{Bar, Console};
use crate::exit::Failure;
use crate::flags::ModelChoice;

/// What is to be measured and how.
pub(super) struct Job {
    pub(super) checkpoint: Checkpoint,
    choice: ModelChoice,
    settings: Settings,
    flags: RunFlags,
}

impl Job {
    /// Resolves flags and opens the checkpoint; `trials` rounds unless asked.
    pub(super) fn new(program: &str, mut flags: RunFlags, trials: usize) -> Result<Self, Refusal> {
        if let Some(path) = &flags.save {
            // Its page and table have other endings, and must not be written over it.
            if path.extension().is_none_or(|extension| extension != "json") {
                let refusal =
                    Refusal::new(Code::RequestInvalid, "--save", "a name that ends in .json", path.display());
                return Err(refusal
                    .with_remedy("Choose another name; the page and the table get names of their own."));
            }
            outputs(path).iter().try_for_each(|path| new_file("--save", path))?;
        }
        let settings = Settings {
            program: program.to_owned(),
            trials: flags.rounds(trials),
            warmups: usize::from(flags.warmups),
            pause: flags.pause(),
            ceilings: !flags.no_ceilings,
            remarks: Vec::new(),
        };
        let choice = std::mem::take(&mut flags.model).resolve();
        let checkpoint = match &choice.source {
            Source::Embedded => Checkpoint::embedded()?,
            Source::Path(path) => Checkpoint::open(path)?,
        };
        Ok(Self { checkpoint, choice, settings, flags })
    }

    /// Adds what the numbers are not.
    pub(super) fn remark(&mut self, remark: &str) {
        self.settings.remarks.push(remark.to_owned());
    }

    /// Runs what `build` makes for the model and the chunk of its plan.
    pub(super) fn run(
        self,
        console: &mut Console,
        build: &mut dyn FnMut(Common) -> Result<Phases<'static>, Refusal>,
    ) -> Result<(), Failure> {
        let config = self.checkpoint.config();
        let stored = self.checkpoint.parameters().map(|_, tensor| tensor.stored);
        let mut options = self.choice.options.clone();
        let chunk = resolve_plan(config, &stored, &options)?.prefill_chunk;
        let phases = build(Common { vocab: config.vocab, chunk })?;
        let room = room(&phases);
        if phases.first.is_empty() {
            return Err(Refusal::new(Code::RequestInvalid, "lengths", "at least one above 0", "none").into());
        }
        // As little as is needed: a longer context takes memory, and on some devices time.
        let context = options.context.unwrap_or(room);
        if context < room {
            return Err(Refusal::new(Code::ContextFull, "--ctx", format!("{room} or more"), context).into());
        }
        options.context = Some(context);
        let device = options.choose_device()?;
        let plan = resolve_plan(config, &stored, &options)?;
        console.notice("model", &format!("{}: {}", self.choice.source, describe::config(config)));
        console.notice("plan", &describe::plan(&plan));
        console.notice("", &format!("device {}: {}", device.kind, device.reason));
        if cfg!(debug_assertions) {
            console.notice("", "this program was built without optimisation: its times say little");
        }

        let folder = match &self.choice.source {
            Source::Embedded => None,
            Source::Path(path) => Some(path.as_path()),
        };
        let sequences = phases.first.iter().map(|workload| workload.ids.len()).max().unwrap_or(1);
        let (peers, absent) = self.peers(folder, &plan, (context, sequences), console)?;
        let reference = match &self.flags.reference {
            ReferenceChoice::Own => None,
            ReferenceChoice::Torch(python) => {
                let work = self.work();
                Some(Remote::torch(python, &model_folder(folder, &work)?, &work, config)?)
            }
        };
        let mut open = |chunk| {
            let options = OpenOptions { prefill_chunk: Some(chunk), ..options.clone() };
            open_resident(device.kind, &self.checkpoint, &options, &mut |_| ())
        };
        let mut ceilings = super::device::measure(device.kind);
        let subject = Subject {
            name: self.name(),
            checkpoint: &self.checkpoint,
            folder,
            plan,
            reason: device.reason.clone(),
            reference,
            open: &mut open,
            ceilings: ceilings.as_mut().map(|measure| measure as &mut Measure<'_>),
        };
        let mut bars = Bars(None);
        let report = run(subject, peers, absent, &self.settings, phases, &mut |progress| {
            bars.tell(console, &progress)
        })?;
        drop(bars);
        self.publish(&report, console)
    }

    /// What the model is called.
    fn name(&self) -> String {
        let own = match &self.choice.source {
            Source::Embedded => Some("stories-qwen3".into()),
            Source::Path(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        };
        self.flags.name.clone().or(own).unwrap_or_else(|| "a checkpoint".to_owned())
    }

    /// Where peers find what they need.
    fn work(&self) -> PathBuf {
        let usual = || user_cache_folder().unwrap_or_else(std::env::temp_dir).join("bench");
        self.flags.work.clone().unwrap_or_else(usual)
    }

    /// The peers asked for; one that cannot be started is absent, and the report says so.
    fn peers(
        &self,
        folder: Option<&Path>,
        plan: &Plan,
        (context, sequences): (usize, usize),
        console: &Console,
    ) -> Result<(Vec<Peer>, Vec<Absent>), Refusal> {
        let (mut peers, mut absent) = (Vec::new(), Vec::new());
        if self.flags.compare.is_empty() {
            return Ok((peers, absent));
        }
        let work = self.work();
        let model = model_folder(folder, &work)?;
        let (device, weights, kv) = (plan.device.to_string(), plan.weights.to_string(), plan.kv.to_string());
        let opening = Opening {
            model: &model,
            work: &work,
            device: &device,
            weights: &weights,
            kv: &kv,
            threads: self.flags.threads(),
            context,
            sequences,
        };
        for choice in &self.flags.compare {
            match choice.start(opening) {
                Ok(peer) => {
                    console.notice("peer", &format!("{}, {}", peer.version, peer.precision));
                    peers.push(peer);
                }
                Err(refusal) if refusal.code() == Code::PeerUnavailable => {
                    let reason =
                        refusal.findings().first().map_or("not known", |finding| finding.got.as_str());
                    console.notice("peer", &format!("{choice} is absent: {reason}"));
                    absent.push(Absent { name: choice.to_string(), reason: reason.to_owned() });
                }
                Err(refusal) => return Err(refusal),
            }
        }
        Ok((peers, absent))
    }

    /// Writes the report and says what is in it. One of a failure is written as well, and is the command's failure.
    fn publish(&self, report: &Report, console: &mut Console) -> Result<(), Failure> {
        if let Some(path) = &self.flags.save {
            report.write_new(path)?;
            let [_, page, markdown] = outputs(path);
            write(&page, &chart::page(report))?;
            if let Ok(table) = table::markdown(report) {
                write(&markdown, &table)?;
            }
            console.notice("report", &path.display().to_string());
        }
        if console.json() {
            console.line(&report.json(false)?)?;
            return report.times().map(|_| ()).map_err(|_| Failure::Negative);
        }
        match self.flags.format {
            Format::Md => console.text(&table::markdown(report)?),
            Format::Csv => console.text(&table::csv(report)?),
        }
    }
}

/// The most positions that any sequence needs, in the second phase as well.
fn room(phases: &Phases<'_>) -> usize {
    let first = phases.first.iter().map(Workload::room).max().unwrap_or(0);
    let second = if phases.second.is_some() {
        DOCUMENT.iter().sum::<usize>().max(CHUNKS[CHUNKS.len() - 1])
    } else {
        0
    };
    first.max(second)
}

/// The report's files: itself, its page and its table.
fn outputs(report: &Path) -> [PathBuf; 3] {
    [report.to_owned(), report.with_extension("html"), report.with_extension("md")]
}

/// Refuses, before hours of work, a file that could not be made after them.
pub(super) fn new_file(flag: &str, path: &Path) -> Result<(), Refusal> {
    if path.exists() {
        return Err(
            Refusal::new(Code::OutputExists, flag, "a new file", "one that is there").at(path.display())
        );
    }
    let made = std::fs::File::create_new(path).and_then(|_| std::fs::remove_file(path));
    made.map_err(|e| Refusal::new(Code::FileUnwritable, flag, "a writable file", e).at(path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Refusal> {
    std::fs::write(path, text).map_err(|e| {
        let finding = Finding::new("report", "a writable file", e);
        Refusal::with_findings(Code::FileUnwritable, vec![finding]).at(path.display())
    })
}

/// A bar for each stage of each workload.
struct Bars(Option<(String, Bar)>);

impl Bars {
    fn tell(&mut self, console: &Console, progress: &tilewright_gate::bench::Progress<'_>) {
        let stage = format!("{} {}", progress.what, progress.workload);
        if self.0.as_ref().is_none_or(|(held, _)| *held != stage) {
            self.0 = None;
            let bar = console.bar(stage.clone());
            self.0 = Some((stage, bar));
        }
        if let Some((_, bar)) = &self.0 {
            bar.report(progress.done as u64, progress.total as u64);
        }
    }
}
