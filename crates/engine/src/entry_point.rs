//! The functions of the Metal decode family, called by name: [`ENTRY_POINTS`](tilewright_backend::entry_point).
//!
//! Each call opens the checkpoint, runs and closes. It never fails: what is refused is a status and a message.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tilewright_backend::entry_point::{EntryPoint, EntryResult, Kind, Switch};
use tilewright_backend::{Cancel, LogitSink, Resident, Sequence, Step, ledger};
use tilewright_model::{Checkpoint, Code, Finding, Refusal};

use crate::{
    Cache, DeviceRequest, Engine, EngineParts, FinishReason, OpenOptions, Request, Sampling, staged,
};

/// Sequences of a batch.
const MOST_SEQUENCES: usize = 32;

/// A call of an entry point.
#[derive(Clone, Debug)]
pub struct EntryCall {
    /// The function.
    pub name: String,
    /// The checkpoint's folder.
    pub checkpoint_dir: PathBuf,
    /// Tokens to generate at most; exactly, in a batch.
    pub max_new_tokens: usize,
    /// The switches that are on.
    pub on: Vec<Switch>,
    /// The prompts that come with the call; none for a function whose prompt is the manifest's.
    pub prompts: Vec<Vec<u32>>,
    /// Times the prompt is taken in before it counts.
    pub warmup_prefills: usize,
    /// How the sampled function draws.
    pub sampling: Sampling,
    /// Metal, or the shim.
    pub device: DeviceRequest,
    /// Where the shim keeps compiled texts.
    pub cache: Cache,
}

impl EntryCall {
    /// Calls the function.
    pub fn run(&self) -> EntryResult {
        self.attempt().unwrap_or_else(|refusal| EntryResult {
            status: ledger::status_of(&refusal),
            error_message: refusal.to_string(),
            token_ids: Vec::new(),
            n_prompt: 0,
            stopped_on_eos: false,
            dispatches_per_token: 0,
            decode_tokens_per_sec: 0.0,
            prefill_tokens_per_sec: 0.0,
            prefill_chunks: None,
        })
    }

    fn attempt(&self) -> Result<EntryResult, Refusal> {
        let entry = EntryPoint::find(&self.name).ok_or_else(|| {
            Refusal::new(Code::RequestInvalid, "function", "a name of the table", &self.name)
        })?;
        // Without a temperature the sampled function is its greedy twin, with both switches on.
        if entry.kind == Kind::Sampled && self.sampling.temperature.is_some_and(|t| t <= 0.0) {
            let name = entry.name.trim_end_matches("_sampled").to_owned();
            return Self { name, on: Switch::ALL.to_vec(), ..self.clone() }.attempt();
        }
        let checkpoint = Checkpoint::open(&self.checkpoint_dir)?;
        if entry.fixed {
            checkpoint.check_fixed_shape()?;
        }
        let prompts = self.check(entry, &checkpoint)?;
        let request = entry.request(&self.on);
        let longest = prompts.iter().map(Vec::len).max().unwrap_or_default();
        let options = OpenOptions {
            device: self.device,
            attention: Some(request.attention),
            gemm: Some(request.gemm),
            context: Some((longest + self.max_new_tokens).max(512).min(checkpoint.config().max_positions)),
            cache: self.cache.clone(),
            ..OpenOptions::default()
        };
        let device = options.choose_device()?;
        let resident = staged::open(device.kind, &checkpoint, &options, &mut |_| Ok(()))?;
        match entry.kind {
            Kind::Steps | Kind::Greedy => self.greedy(resident, entry, &checkpoint, &prompts[0]),
            Kind::Batched => self.batched(resident, &prompts),
            Kind::Sampled => {
                let parts = EngineParts {
                    device,
                    tokenizer: None,
                    template: None,
                    stop_set: checkpoint.stop_set().clone(),
                    generation: tilewright_model::GenerationConfig::default(),
                    load_time: Duration::ZERO,
                };
                self.sampled(resident, parts, &prompts[0])
            }
        }
    }

    /// The prompts, and everything that is wrong with them.
    fn check(&self, entry: &EntryPoint, checkpoint: &Checkpoint) -> Result<Vec<Vec<u32>>, Refusal> {
        let mut findings = Vec::new();
        let mut wrong = |what: &str, expected: &str, got: String| {
            findings.push(Finding::new(what, expected, got));
        };
        if self.max_new_tokens == 0 {
            wrong("max_new_tokens", "at least 1", "0".to_owned());
        }
        if self.warmup_prefills > 0 && !entry.warmup {
            wrong(
                "warmup_prefills",
                "none, which this function does not take",
                self.warmup_prefills.to_string(),
            );
        }
        if !matches!(self.device, DeviceRequest::Metal | DeviceRequest::Shim) {
            wrong("device", "metal or shim", self.device.to_string());
        }
        let prompts = match entry.fixed {
            true => checkpoint.prompt_ids().map(|ids| vec![ids.to_vec()]).unwrap_or_default(),
            false => self.prompts.clone(),
        };
        let (least, most) = (1, if entry.kind == Kind::Batched { MOST_SEQUENCES } else { 1 });
        if prompts.len() < least || prompts.len() > most {
            wrong("prompts", &format!("{least} to {most}"), prompts.len().to_string());
        }
        for (n, prompt) in prompts.iter().enumerate().filter(|(_, prompt)| prompt.is_empty()) {
            wrong(&format!("prompt {n}"), "at least one id", prompt.len().to_string());
        }
        if entry.fixed && !self.prompts.is_empty() {
            wrong("prompts", "none: the manifest has it", self.prompts.len().to_string());
        }
        Refusal::check(Code::RequestInvalid, findings)?;
        Ok(prompts)
    }

    fn greedy(
        &self,
        mut resident: Box<dyn Resident>,
        entry: &EntryPoint,
        checkpoint: &Checkpoint,
        prompt: &[u32],
    ) -> Result<EntryResult, Refusal> {
        let ends: Vec<u32> = checkpoint.stop_set().entries().iter().map(|stop| stop.id).collect();
        let sequence = resident.create(prompt.len() + self.max_new_tokens)?;
        for _ in 0..self.warmup_prefills {
            resident.prefill(sequence, prompt, LogitSink::None, &Cancel::default())?;
            resident.truncate(sequence, 0);
        }
        let start = Instant::now();
        let mut logits = vec![0.0; resident.config().vocab];
        let chunks = match entry.kind {
            Kind::Steps => {
                for &token in prompt {
                    resident.decode(&[Step { sequence, token }], &mut logits)?;
                }
                None
            }
            _ => Some(prefill(&mut *resident, sequence, prompt, &mut logits)?),
        };
        let prefill = start.elapsed();
        let first = best(&logits)?;
        let mut ids = vec![first];
        let start = Instant::now();
        while ids.len() < self.max_new_tokens && !ids.last().is_some_and(|id| ends.contains(id)) {
            let token = ids.last().copied().unwrap_or(first);
            let more = resident.greedy(sequence, token, self.max_new_tokens - ids.len(), &ends)?;
            if more.is_empty() {
                return Err(Refusal::new(
                    Code::NonFiniteLogits,
                    "the greatest logit",
                    "a finite number",
                    "another",
                ));
            }
            ids.extend(more);
        }
        let decoded = ids.len() - 1;
        Ok(EntryResult {
            stopped_on_eos: ids.last().is_some_and(|id| ends.contains(id)),
            token_ids: [prompt, &ids].concat(),
            dispatches_per_token: if decoded > 0 { resident.dispatches().unwrap_or_default() } else { 0 },
            decode_tokens_per_sec: rate(decoded, start.elapsed()),
            prefill_tokens_per_sec: rate(prompt.len(), prefill),
            prefill_chunks: chunks,
            ..done(prompt.len())
        })
    }

    fn sampled(
        &self,
        resident: Box<dyn Resident>,
        parts: EngineParts,
        prompt: &[u32],
    ) -> Result<EntryResult, Refusal> {
        let layers = resident.config().layers;
        let chunks = prompt.len().div_ceil(resident.plan().prefill_chunk);
        let engine = Engine::from_parts(resident, parts);
        let request = Request {
            max_tokens: Some(self.max_new_tokens),
            sampling: self.sampling.clone(),
            ..Request::new(prompt)
        };
        let reply = engine.generate(request)?.reply()?;
        Ok(EntryResult {
            stopped_on_eos: matches!(reply.done.reason, FinishReason::Stop(_)),
            token_ids: [prompt, &reply.ids].concat(),
            // Logits come to the host, so nothing is chosen on the device.
            dispatches_per_token: ledger::dispatch_budget(layers) - 2,
            decode_tokens_per_sec: reply.done.timings.decode_rate().unwrap_or_default(),
            prefill_tokens_per_sec: reply.done.timings.prefill_rate().unwrap_or_default(),
            prefill_chunks: Some(chunks),
            ..done(prompt.len())
        })
    }

    fn batched(&self, mut resident: Box<dyn Resident>, prompts: &[Vec<u32>]) -> Result<EntryResult, Refusal> {
        let vocab = resident.config().vocab;
        let (mut sequences, mut ids) = (Vec::new(), Vec::new());
        let mut logits = vec![0.0; vocab];
        let start = Instant::now();
        for prompt in prompts {
            let sequence = resident.create(prompt.len() + self.max_new_tokens)?;
            prefill(&mut *resident, sequence, prompt, &mut logits)?;
            sequences.push(sequence);
            ids.push(vec![best(&logits)?]);
        }
        let prefill = start.elapsed();
        let mut logits = vec![0.0; prompts.len() * vocab];
        let start = Instant::now();
        for _ in 1..self.max_new_tokens {
            let step = |(&sequence, ids): (&Sequence, &Vec<u32>)| Step {
                sequence,
                token: ids.last().copied().unwrap_or_default(),
            };
            let steps: Vec<Step> = sequences.iter().zip(&ids).map(step).collect();
            resident.decode(&steps, &mut logits)?;
            for (ids, row) in ids.iter_mut().zip(logits.chunks_exact(vocab)) {
                ids.push(best(row)?);
            }
        }
        let n_prompt = prompts.iter().map(Vec::len).sum();
        let decoded = (self.max_new_tokens - 1) * prompts.len();
        Ok(EntryResult {
            token_ids: ids.concat(),
            dispatches_per_token: if decoded > 0 { resident.dispatches().unwrap_or_default() } else { 0 },
            decode_tokens_per_sec: rate(decoded, start.elapsed()),
            prefill_tokens_per_sec: rate(n_prompt, prefill),
            prefill_chunks: Some(prompts.len()),
            ..done(n_prompt)
        })
    }
}

/// A result without its numbers.
const fn done(n_prompt: usize) -> EntryResult {
    EntryResult {
        status: ledger::OK,
        error_message: String::new(),
        token_ids: Vec::new(),
        n_prompt,
        stopped_on_eos: false,
        dispatches_per_token: 0,
        decode_tokens_per_sec: 0.0,
        prefill_tokens_per_sec: 0.0,
        prefill_chunks: None,
    }
}

/// Takes a prompt in; the tiles it took.
fn prefill(
    resident: &mut dyn Resident,
    sequence: Sequence,
    prompt: &[u32],
    logits: &mut [f32],
) -> Result<usize, Refusal> {
    resident.prefill(sequence, prompt, LogitSink::Last(logits), &Cancel::default())?;
    Ok(prompt.len().div_ceil(resident.plan().prefill_chunk))
}

/// The lowest id among those with the greatest logit.
fn best(logits: &[f32]) -> Result<u32, Refusal> {
    if let Some(at) = logits.iter().position(|logit| !logit.is_finite()) {
        return Err(Refusal::new(
            Code::NonFiniteLogits,
            format!("logit {at}"),
            "a finite number",
            logits[at],
        ));
    }
    let best = logits.iter().enumerate().fold(0, |best, (i, v)| if *v > logits[best] { i } else { best });
    Ok(best as u32)
}

fn rate(tokens: usize, time: Duration) -> f64 {
    if tokens == 0 || time.is_zero() { 0.0 } else { tokens as f64 / time.as_secs_f64() }
}
