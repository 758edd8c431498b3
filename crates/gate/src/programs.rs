//! What each benchmark runs.

use tilewright_model::{Code, Finding, Refusal};

use crate::report::Workload;

#[cfg(test)]
mod tests;

/// Sequences of a batch have one of so many prompts.
const PROMPTS: usize = 4;
/// Tokens of the document that a chunk is chosen on, and those chosen after it.
pub const TUNING: [usize; 2] = [2048, 8];
/// Tokens of the long document, and those chosen after it.
pub const DOCUMENT: [usize; 2] = [4096, 1024];
/// What the name of a run on the first of them begins with; its chunk follows.
pub(crate) const TUNING_NAME: &str = "tuning, chunk ";
/// The name of a run on the second.
pub(crate) const LONG: &str = "long document";
/// Where ids are from that stand for no text.
const SYNTHETIC: &str = "synthetic ids";
/// The same, of another sequence than the first, whose number follows.
const SEQUENCE: &str = "synthetic ids, sequence ";
/// Rows of the chunks tried.
pub const CHUNKS: [usize; 4] = [128, 256, 512, 1024];

/// Ids that stand for no text: id `i` of sequence `s` is `(1000 + 7919 i + 104729 s) mod vocab`.
pub fn synthetic(vocab: usize, sequence: usize, count: usize) -> Vec<u32> {
    (0..count).map(|i| ((1000 + 7919 * i + 104_729 * sequence) % vocab) as u32).collect()
}

/// Ids of so many sequences that stand for no text: four by turns.
pub(crate) fn by_turns(vocab: usize, sequences: usize, count: usize) -> Vec<Vec<u32>> {
    (0..sequences).map(|sequence| synthetic(vocab, sequence % PROMPTS, count)).collect()
}

/// Whether the ids of a workload are those of its source, as far as that can be told: of a text there are its name and hash.
pub(crate) fn is_of_its_source(workload: &Workload, vocab: usize) -> bool {
    let (source, ids, count) = (workload.source.as_str(), &workload.ids, workload.given_ids());
    if source == SYNTHETIC {
        return *ids == by_turns(vocab, ids.len(), count);
    }
    if let Some(sequence) = source.strip_prefix(SEQUENCE) {
        return sequence.parse().is_ok_and(|sequence| *ids == [synthetic(vocab, sequence, count)]);
    }
    let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    source.rsplit_once(", SHA-256 ").is_some_and(|(name, hash)| !name.is_empty() && is_hash(hash))
}

/// What is the same for every workload of a run.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Ids there are.
    pub vocab: usize,
    /// Rows of a prefill chunk.
    pub chunk: usize,
}

impl Common {
    fn workload(&self, name: String, [depth, prompt, steps]: [usize; 3]) -> Workload {
        Workload {
            name,
            depth,
            prompt,
            steps,
            given: false,
            chunk: self.chunk,
            source: SYNTHETIC.to_owned(),
            ids: vec![synthetic(self.vocab, 0, depth + prompt)],
        }
    }

    /// Prompts (`pp512`) and runs of single tokens (`tg128`), each after every depth (`@ d1024`); a run of single tokens
    /// after nothing begins after one token, which is not timed.
    pub fn usual(&self, prompts: &[usize], runs: &[usize], depths: &[usize]) -> Vec<Workload> {
        let mut workloads = Vec::new();
        for &depth in depths {
            let after = if depth == 0 { String::new() } else { format!(" @ d{depth}") };
            for &prompt in prompts.iter().filter(|prompt| **prompt > 0) {
                workloads.push(self.workload(format!("pp{prompt}{after}"), [depth, prompt, 0]));
            }
            for &steps in runs.iter().filter(|steps| **steps > 0) {
                workloads.push(self.workload(format!("tg{steps}{after}"), [depth.max(1), 0, steps]));
            }
        }
        workloads
    }

    /// A prompt and the tokens after it, for every pair of lengths: `8/16`.
    pub fn end_to_end(&self, prompts: &[usize], outputs: &[usize]) -> Vec<Workload> {
        let pairs = prompts.iter().flat_map(|prompt| outputs.iter().map(move |output| (*prompt, *output)));
        pairs
            .filter(|(prompt, output)| *prompt > 0 && *output > 0)
            .map(|(prompt, output)| self.workload(format!("{prompt}/{output}"), [0, prompt, output - 1]))
            .collect()
    }

    /// One forward of a given token at a fixed position, again and again.
    pub fn fixed_context(&self, contexts: &[usize]) -> Vec<Workload> {
        let one = |&context: &usize| {
            let mut workload = self.workload(format!("context {context}"), [context, 0, 1]);
            workload.given = true;
            workload.ids = vec![synthetic(self.vocab, 0, context + 1)];
            workload
        };
        contexts.iter().map(one).collect()
    }

    /// Steps of several sequences at once, which begin with four prompts by turns.
    pub fn batch(&self, sizes: &[usize], depth: usize, steps: usize) -> Vec<Workload> {
        let one = |&size: &usize| {
            let mut workload = self.workload(format!("batch {size}"), [depth, 0, steps]);
            workload.ids = by_turns(self.vocab, size, depth);
            workload
        };
        sizes.iter().filter(|size| **size > 0).map(one).collect()
    }

    /// The document that a chunk is chosen on, once for every chunk.
    pub fn tuning(&self, document: &Document) -> Vec<Workload> {
        let [prompt, outputs] = TUNING;
        let one = |chunk| {
            let workload = self.workload(format!("{TUNING_NAME}{chunk}"), [0, prompt, outputs - 1]);
            Workload { chunk, source: document.source.clone(), ids: vec![document.ids.clone()], ..workload }
        };
        CHUNKS.into_iter().map(one).collect()
    }

    /// The long document, with the chunk that was chosen.
    pub fn document(&self, document: Document, chunk: usize) -> Workload {
        let [prompt, outputs] = DOCUMENT;
        let workload = self.workload(LONG.to_owned(), [0, prompt, outputs - 1]);
        Workload { chunk, source: document.source, ids: vec![document.ids], ..workload }
    }
}

/// A prompt with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Where the ids are from: synthetic, or a file's name and hash.
    pub source: String,
    /// The ids.
    pub ids: Vec<u32>,
}

impl Document {
    /// Ids that stand for no text; another `sequence` is another document.
    pub fn synthetic(vocab: usize, sequence: usize, count: usize) -> Self {
        Self { source: format!("{SEQUENCE}{sequence}"), ids: synthetic(vocab, sequence, count) }
    }

    /// The first `count` ids of a text.
    ///
    /// # Errors
    /// `request_invalid` when it has fewer.
    pub fn of(source: String, mut ids: Vec<u32>, count: usize) -> Result<Self, Refusal> {
        if ids.len() < count {
            let what = format!("tokens of {source}");
            return Err(Refusal::new(Code::RequestInvalid, what, format!("{count} or more"), ids.len()));
        }
        ids.truncate(count);
        Ok(Self { source, ids })
    }
}

/// Two documents that must differ.
///
/// # Errors
/// `request_invalid` when one is the other's beginning.
pub fn distinct(tuning: &Document, document: &Document) -> Result<(), Refusal> {
    let same = tuning.source == document.source || document.ids.starts_with(&tuning.ids);
    let finding = || Finding::new("document", "another one than the chunk is chosen on", &document.source);
    Refusal::check(Code::RequestInvalid, if same { vec![finding()] } else { Vec::new() })
}
