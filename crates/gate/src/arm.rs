//! What takes turns in a run: this program's device, and engines in processes of their own.

use std::time::{Duration, Instant};

use tilewright_backend::{Cancel, Greedy, LogitSink, Resident, Sequence};
use tilewright_model::Refusal;

use crate::report::Workload;
use crate::validate::{greatest, step};

/// One run of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Time of the prompt, where there is one.
    pub prompt: Option<Duration>,
    /// Time of the steps, where there are some.
    pub decode: Option<Duration>,
    /// Ids that each sequence chose.
    pub ids: Vec<Vec<u32>>,
}

/// Something that runs workloads.
pub trait Runner {
    /// Runs a workload once. What is untimed (the tokens of its depth) may be kept from the run before.
    ///
    /// # Errors
    /// Whatever is refused.
    fn run(&mut self, workload: &Workload) -> Result<Run, Refusal>;
}

/// This program's device.
pub struct Ours {
    /// The model.
    pub model: Box<dyn Resident>,
    held: Option<Held>,
}

/// Sequences that hold the untimed tokens of a workload.
struct Held {
    workload: String,
    sequences: Vec<Sequence>,
    /// What each chooses after those tokens, where that is part of the run.
    first: Vec<u32>,
}

impl Ours {
    /// A runner over a model.
    pub fn new(model: Box<dyn Resident>) -> Self {
        Self { model, held: None }
    }

    /// Frees the sequences that are held.
    pub fn release(&mut self) {
        for sequence in self.held.take().into_iter().flat_map(|held| held.sequences) {
            self.model.release(sequence);
        }
    }

    fn create(&mut self, workload: &Workload) -> Result<Vec<Sequence>, Refusal> {
        workload.ids.iter().map(|_| self.model.create(workload.room())).collect()
    }

    /// Takes in `count` tokens of each sequence from `from` on; gives what each chooses after them.
    fn take_in(
        &mut self,
        workload: &Workload,
        sequences: &[Sequence],
        from: usize,
        count: usize,
    ) -> Result<Vec<u32>, Refusal> {
        let mut logits = vec![0.0; self.model.config().vocab];
        let one = |(sequence, ids): (&Sequence, &Vec<u32>)| {
            let piece = &ids[from..from + count];
            self.model.prefill(*sequence, piece, LogitSink::Last(&mut logits), &Cancel::default())?;
            Ok(greatest(&logits))
        };
        sequences.iter().zip(&workload.ids).map(one).collect()
    }

    /// Sequences that hold the workload's depth.
    fn deep(&mut self, workload: &Workload) -> Result<(Vec<Sequence>, Vec<u32>), Refusal> {
        if let Some(held) = self.held.as_ref().filter(|held| held.workload == workload.name) {
            held.sequences.iter().for_each(|sequence| self.model.truncate(*sequence, workload.depth));
            return Ok((held.sequences.clone(), held.first.clone()));
        }
        self.release();
        let sequences = self.create(workload)?;
        let first = match workload.depth {
            0 => Vec::new(),
            depth => self.take_in(workload, &sequences, 0, depth)?,
        };
        let held = Held { workload: workload.name.clone(), sequences, first };
        let (sequences, first) = (held.sequences.clone(), held.first.clone());
        self.held = Some(held);
        Ok((sequences, first))
    }

    /// `steps` tokens after `ids`, each the greatest logit after the one before; on a device that chooses by itself, chosen there.
    fn steps(
        &mut self,
        sequences: &[Sequence],
        ids: &mut [Vec<u32>],
        tokens: &[u32],
        steps: usize,
    ) -> Result<(), Refusal> {
        if let ([sequence], [token], [ids]) = (sequences, tokens, &mut *ids) {
            return self.steps_alone(*sequence, ids, *token, steps);
        }
        let run = |(&sequence, &token)| Greedy { sequence, token, count: steps, ends: &[] };
        let runs: Vec<Greedy<'_>> = sequences.iter().zip(tokens).map(run).collect();
        let found = self.model.greedy_together(&runs, &Cancel::default())?;
        ids.iter_mut().zip(found).for_each(|(ids, found)| ids.extend(found));
        Ok(())
    }

    /// The same for one sequence, which may have a path of its own.
    fn steps_alone(
        &mut self,
        sequence: Sequence,
        ids: &mut Vec<u32>,
        mut token: u32,
        steps: usize,
    ) -> Result<(), Refusal> {
        let mut logits = vec![0.0; self.model.config().vocab];
        let mut done = 0;
        while done < steps {
            let mut found = self.model.greedy(sequence, token, steps - done, &[])?;
            if found.is_empty() {
                step(&mut *self.model, &[sequence], &[token], &mut logits)?;
                found.push(greatest(&logits));
            }
            done += found.len();
            token = found.last().copied().unwrap_or(token);
            ids.extend(found);
        }
        Ok(())
    }
}

impl Runner for Ours {
    fn run(&mut self, workload: &Workload) -> Result<Run, Refusal> {
        let (mut sequences, mut first) = match (workload.depth, workload.given) {
            (0, false) => (Vec::new(), Vec::new()),
            _ => self.deep(workload)?,
        };
        let mut run = Run::default();
        if workload.prompt > 0 {
            let start = Instant::now();
            if sequences.is_empty() {
                self.release();
                sequences = self.create(workload)?;
            }
            first = self.take_in(workload, &sequences, workload.depth, workload.prompt)?;
            run.prompt = Some(start.elapsed());
        }
        let tokens = if workload.given {
            run.ids = vec![Vec::new(); sequences.len()];
            workload.ids.iter().filter_map(|ids| ids.last().copied()).collect()
        } else {
            run.ids = first.iter().map(|id| vec![*id]).collect();
            first
        };
        if workload.steps > 0 {
            let start = Instant::now();
            self.steps(&sequences, &mut run.ids, &tokens, workload.steps)?;
            run.decode = Some(start.elapsed());
        }
        if self.held.is_none() {
            sequences.iter().for_each(|sequence| self.model.release(*sequence));
        }
        Ok(run)
    }
}
