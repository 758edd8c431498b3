//! Sequences decoded step by step through a pipeline in the interpreter.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_kernels::decode::{Goal, Options, staged};
use tilewright_kernels::{Format, Formats, Shape, host};
use tilewright_model::Checkpoint;
use tilewright_shim::{Compiler, Language, Order, Staged};
use tilewright_tile::Pipeline;
use tilewright_tile::interp::{BufferId, Memory};
use tilewright_tile::pipeline::Runner;

use super::Left;

/// Weights and tables of a model in the interpreter's memory.
pub struct Loaded {
    pub memory: Memory,
    pub buffers: BTreeMap<String, BufferId>,
}

impl Loaded {
    pub fn new(checkpoint: &Checkpoint, shape: &Shape, format: Format) -> Self {
        Self::of(checkpoint, shape, &Formats::uniform(shape, format))
    }

    /// Matrices in several formats.
    pub fn of(checkpoint: &Checkpoint, shape: &Shape, formats: &Formats) -> Self {
        let weights =
            host::weights(&checkpoint.parameters(), shape, formats, |t| t.to_f32()).unwrap().resources;
        let mut memory = Memory::new();
        let mut buffers = BTreeMap::new();
        for (name, bytes) in weights {
            buffers.insert(name.to_owned(), memory.bytes(bytes));
        }
        let rotary = host::rotary(&checkpoint.config().rope, shape);
        buffers.insert("rotary".to_owned(), memory.f32(&rotary));
        Self { memory, buffers }
    }
}

/// A decode step, its memory, and what it has given so far.
pub struct Session {
    pub loaded: Loaded,
    pub shape: Shape,
    pub options: Options,
    runner: Runner,
    /// Compiled text that takes the interpreter's place.
    texts: Option<Staged>,
    steps: usize,
    logits: Vec<Vec<f32>>,
}

impl Session {
    /// A session that computes logits in every step.
    pub fn new(checkpoint: &Checkpoint, shape: Shape, options: Options) -> Self {
        Self::of(Loaded::new(checkpoint, &shape, options.weights), shape, options, Goal::Logits)
    }

    /// A session on loaded weights.
    pub fn of(loaded: Loaded, shape: Shape, options: Options, goal: Goal) -> Self {
        Self::by(loaded, shape, options, pipeline(&shape, &options, goal), None)
    }

    /// A session that runs another pipeline of the same resources.
    pub fn through(loaded: Loaded, shape: Shape, options: Options, pipeline: Pipeline) -> Self {
        Self::by(loaded, shape, options, pipeline, None)
    }

    /// A session that runs the texts of one language. Its cache holds NaN where nothing was written.
    pub fn compiled(
        mut loaded: Loaded,
        shape: Shape,
        options: Options,
        goal: Goal,
        texts: (&Compiler, Language),
    ) -> Self {
        let elements = shape.layers * options.sequences * shape.kv_width() * shape.capacity;
        for name in ["keys", "values"] {
            let nan = vec![0xff; (elements * options.cache.bytes()) as usize];
            loaded.buffers.insert(name.to_owned(), loaded.memory.bytes(nan));
        }
        Self::by(loaded, shape, options, pipeline(&shape, &options, goal), Some(texts))
    }

    fn by(
        mut loaded: Loaded,
        shape: Shape,
        options: Options,
        pipeline: Pipeline,
        texts: Option<(&Compiler, Language)>,
    ) -> Self {
        let pipeline = Arc::new(pipeline.verify().unwrap_or_else(|e| panic!("{e}")));
        let texts = texts.map(|(compiler, language)| {
            Staged::compile(compiler, language, &pipeline).unwrap_or_else(|error| panic!("{error}"))
        });
        let runner = Runner::new(&pipeline, &mut loaded.memory, |name| loaded.buffers.get(name).copied());
        for name in ["keys", "values", "control", "logits", "next", "top", "ids"] {
            if let Some(buffer) = runner.buffer(name) {
                loaded.buffers.insert(name.to_owned(), buffer);
            }
        }
        let logits = vec![Vec::new(); options.sequences as usize];
        Self { loaded, shape, options, runner, texts, steps: 0, logits }
    }

    /// One token of each sequence, at the position that follows; logits of each sequence, empty without.
    pub fn step(&mut self, tokens: &[u32]) -> Vec<Vec<f32>> {
        let position = self.steps as i32;
        self.step_at(&tokens.iter().map(|&token| (token, position)).collect::<Vec<_>>())
    }

    /// One token of each sequence, each at its own position.
    pub fn step_at(&mut self, tokens: &[(u32, i32)]) -> Vec<Vec<f32>> {
        assert_eq!(tokens.len(), self.options.sequences as usize);
        let words: Vec<u8> =
            tokens.iter().flat_map(|&(t, p)| [t as i32, p]).flat_map(i32::to_le_bytes).collect();
        self.loaded.memory.data_mut(self.loaded.buffers["control"]).copy_from_slice(&words);
        self.again()
    }

    /// Another step of what the control buffer says.
    pub fn again(&mut self) -> Vec<Vec<f32>> {
        let memory = &mut self.loaded.memory;
        match &self.texts {
            None => {
                self.runner.run(memory, &[]).unwrap_or_else(|fault| panic!("{fault}"));
            }
            Some(texts) => {
                let order = Order::ALL[self.steps % 2];
                texts.run(&self.runner, memory, &[], order).unwrap_or_else(|error| panic!("{error}"));
            }
        }
        self.steps += 1;
        let Some(&logits) = self.loaded.buffers.get("logits") else { return Vec::new() };
        let all = memory.read_f32(logits, self.options.activations);
        let rows: Vec<Vec<f32>> = all.chunks(self.shape.vocab as usize).map(<[f32]>::to_vec).collect();
        for (kept, row) in self.logits.iter_mut().zip(&rows) {
            kept.extend(row);
        }
        rows
    }

    /// The ids chosen by the last step.
    pub fn next(&self) -> Vec<i32> {
        let next = self.loaded.memory.read_i32(self.loaded.buffers["next"]);
        next.into_iter().map(Option::unwrap).collect()
    }

    /// What sequence `sequence` has left behind.
    pub fn left(&self, sequence: usize) -> Left {
        let cache = |name: &str| {
            let all = self.loaded.memory.read_f32(self.loaded.buffers[name], self.options.cache);
            valid(&all, &self.shape, self.options.sequences as usize, sequence, self.steps)
        };
        Left { logits: self.logits[sequence].clone(), keys: cache("keys"), values: cache("values") }
    }
}

fn pipeline(shape: &Shape, options: &Options, goal: Goal) -> Pipeline {
    staged("session", shape, options, goal).unwrap_or_else(|e| panic!("{e}"))
}

/// The first `positions` entries of every layer and head of a cache; the rest must not have been written.
pub fn valid(
    all: &[f32],
    shape: &Shape,
    sequences: usize,
    sequence: usize,
    positions: usize,
) -> Vec<Vec<f32>> {
    let head = shape.capacity as usize * shape.head_dim as usize;
    let written = positions * shape.head_dim as usize;
    let layer = |layer: &[f32]| {
        let heads = layer.chunks(head).skip(sequence * shape.kv_heads as usize).take(shape.kv_heads as usize);
        heads
            .flat_map(|head| {
                assert!(head[written..].iter().all(|x| x.is_nan()), "an entry of the future is written");
                head[..written].to_vec()
            })
            .collect()
    };
    all.chunks(head * shape.kv_heads as usize * sequences).map(layer).collect()
}
