//! The gate: what is about to be timed, compared with the float64 reference.
//!
//! Prompts and steps go by the paths that will be timed. Where the device then chooses ids by itself, for many steps in a
//! call, they must be those of the logits compared here.
//!
//! The reference shares no arithmetic with a device. Of int8 and int4 weights it takes the rounded values as they are
//! held, since rounding weights is what those formats are; everything after that is its own.

use std::ops::Range;
use std::thread::ScopedJoinHandle;

use tilewright_backend::{Cancel, LogitSink, Plan, Resident, Sequence, Step};
use tilewright_cpu::matmul::Matrix;
use tilewright_cpu::pool::Pool;
use tilewright_cpu::simd::Isa;
use tilewright_engine::sampling::argmax;
use tilewright_model::reference::{Reference, top};
use tilewright_model::tolerance::Tolerance;
use tilewright_model::{Checkpoint, Refusal, StoredType, WeightFormat};

use crate::oracle::{Oracle, Truth};
use crate::precision::tolerance;
use crate::report::{CacheCheck, Check, Compared, Point, Precision, Workload, rms};

#[cfg(test)]
mod tests;

/// The reference of a checkpoint, its matrices as `plan` holds them.
///
/// # Errors
/// `non_finite_weight`.
pub fn reference(checkpoint: &Checkpoint, plan: &Plan) -> Result<Reference, Refusal> {
    let lossless = |stored| match plan.weights {
        WeightFormat::F32 => true,
        WeightFormat::Bf16 => stored == StoredType::Bf16,
        WeightFormat::F16 => stored == StoredType::F16,
        WeightFormat::Int8 | WeightFormat::Int4 => false,
        // Blocks are what is stored, and floats beside them are held as exactly.
        WeightFormat::Gguf => true,
    };
    let (pool, isa) = (Pool::new(plan.threads.max(1)), Isa::detect());
    let parameters = checkpoint.parameters().try_map(|_, tensor| {
        if tensor.shape.len() == 1 || lossless(tensor.stored) {
            return tensor.to_f64();
        }
        let (rows, cols) = (tensor.rows(), tensor.row_len());
        let read = |rows: Range<usize>, out: &mut [f32]| tensor.rows_f32(rows, out);
        let matrix = Matrix::pack(&pool, isa, plan.weights, (rows, cols), &read)?;
        let mut row = vec![0.0; cols];
        let mut values = Vec::with_capacity(tensor.elements());
        for index in 0..rows {
            matrix.row_f32(index, &mut row);
            values.extend(row.iter().map(|w| f64::from(*w)));
        }
        Ok(values)
    })?;
    Ok(Reference::from_parts(checkpoint.config().clone(), parameters))
}

/// The id of the greatest logit, the lowest of equals.
pub(crate) fn greatest(logits: &[f32]) -> u32 {
    argmax(logits) as u32
}

/// What is said of sequences that should be one.
pub(crate) const APART: &str = "sequences of the same ids chose different tokens";

/// What a workload's comparison found.
#[derive(Debug, Default)]
pub struct Checked {
    /// In order: sequence by sequence, position by position.
    pub checks: Vec<Check>,
    /// Of each sequence whose prompt was taken in once more, the comparison after that.
    pub replays: Vec<Check>,
    /// What is wrong; empty when the gate is passed.
    pub faults: Vec<String>,
}

/// Sequences of the same ids, which the reference runs once.
struct Group<'a> {
    ids: &'a [u32],
    truth: Box<dyn Truth + 'a>,
    /// The reference's logits of the prompt positions that are compared.
    prompt: Vec<f64>,
    members: Vec<usize>,
}

/// Compares `model` on `workload` with `reference` at every point of the workload.
///
/// # Errors
/// Whatever the device refuses.
pub fn validate(
    model: &mut dyn Resident,
    reference: &dyn Oracle,
    precision: &Precision,
    workload: &Workload,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Checked, Refusal> {
    let (row, scaled) = tolerance(&precision.weights, &precision.activations, &precision.kv)
        .unwrap_or((Tolerance::F32_STATE, false));
    let judge = Judge { workload, tolerance: row, scaled, vocab: model.config().vocab };
    let points = workload.points();
    let total = points.len() * workload.ids.len();
    let (start, count) = (workload.start(), workload.ids.len());

    let mut groups: Vec<Group<'_>> = Vec::new();
    for (member, ids) in workload.ids.iter().enumerate() {
        match groups.iter_mut().find(|group| group.ids == ids) {
            Some(group) => group.members.push(member),
            None => {
                let mut truth = reference.sequence();
                let rows = points.iter().filter(|point| point.position <= start && point.logits).count();
                let prompt = if start > 0 { truth.extend(&ids[..start], rows)? } else { Vec::new() };
                groups.push(Group { ids, truth, prompt, members: vec![member] });
            }
        }
    }

    let mut sequences = Vec::with_capacity(count);
    let mut checks: Vec<Vec<Check>> = vec![Vec::new(); count];
    let mut replays: Vec<Option<Check>> = vec![None; count];
    let mut tokens = vec![0; count];
    for group in &groups {
        for &member in &group.members {
            let mut sequence = model.create(workload.room())?;
            checks[member] = judge.prompt(model, sequence, member, group, &points)?;
            if workload.is_replayed() {
                // Steps follow the prompt as it will be timed.
                model.release(sequence);
                sequence = model.create(workload.room())?;
                replays[member] = judge.replay(model, sequence, member, group, &points)?;
            }
            sequences.push((member, sequence));
            tokens[member] = match workload.given {
                true => group.ids[start],
                false => {
                    let last = replays[member].as_ref().or(checks[member].last());
                    last.and_then(|check| check.chosen).unwrap_or(0)
                }
            };
            progress(checks.iter().map(Vec::len).sum(), total);
        }
    }
    sequences.sort_unstable();
    let sequences: Vec<Sequence> = sequences.into_iter().map(|(_, sequence)| sequence).collect();

    let mut faults: Vec<String> = checks.iter().flatten().flat_map(Check::faults).collect();
    faults.extend(
        replays.iter().flatten().flat_map(Check::faults).map(|fault| format!("by one call, {fault}")),
    );
    let mut logits = vec![0.0; count * judge.vocab];
    for point in points.iter().filter(|point| point.position > start) {
        if !faults.is_empty() {
            break;
        }
        step(model, &sequences, &tokens, &mut logits)?;
        for group in &mut groups {
            let token = tokens[group.members[0]];
            if group.members.iter().any(|member| tokens[*member] != token) {
                faults.push(format!("{}: {APART}", workload.name));
                break;
            }
            let want = group.truth.extend(&[token], 1)?;
            for &member in &group.members {
                let got = &logits[member * judge.vocab..][..judge.vocab];
                let cache = judge.cache(model, sequences[member], &*group.truth, point);
                let check = judge.check(member, point, Some((got, &want)), cache);
                faults.extend(check.faults());
                tokens[member] = check.chosen.unwrap_or(0);
                checks[member].push(check);
            }
        }
        progress(checks.iter().map(Vec::len).sum(), total);
    }
    sequences.iter().for_each(|sequence| model.release(*sequence));
    Ok(Checked { checks: checks.concat(), replays: replays.into_iter().flatten().collect(), faults })
}

/// One token for each sequence, by the path that will be timed.
pub(crate) fn step(
    model: &mut dyn Resident,
    sequences: &[Sequence],
    tokens: &[u32],
    logits: &mut [f32],
) -> Result<(), Refusal> {
    let steps: Vec<Step> =
        sequences.iter().zip(tokens).map(|(&sequence, &token)| Step { sequence, token }).collect();
    if steps.len() == 1 { model.decode(&steps, logits) } else { model.decode_together(&steps, logits) }
}

/// What a comparison needs besides the two sides.
struct Judge<'a> {
    workload: &'a Workload,
    tolerance: Tolerance,
    scaled: bool,
    vocab: usize,
}

impl Judge<'_> {
    /// Takes in a sequence's first tokens piece by piece and compares at every point on the way.
    fn prompt(
        &self,
        model: &mut dyn Resident,
        sequence: Sequence,
        member: usize,
        group: &Group<'_>,
        points: &[Point],
    ) -> Result<Vec<Check>, Refusal> {
        let mut checks = Vec::new();
        let mut want = group.prompt.chunks_exact(self.vocab);
        // Rows of the piece since the last point with a comparison of the cache.
        let mut from = 0;
        let mut waiting: Vec<&Point> = Vec::new();
        for point in points.iter().filter(|point| point.position <= self.workload.start()) {
            waiting.push(point);
            if point.cache.is_none() {
                continue;
            }
            let piece = &group.ids[from..point.position];
            let mut rows: Vec<Vec<f32>> = Vec::new();
            let wanted: Vec<usize> =
                waiting.iter().filter(|point| point.logits).map(|point| point.position - from - 1).collect();
            let mut keep = |row: usize, logits: &[f32]| {
                if wanted.contains(&row) {
                    rows.push(logits.to_vec());
                }
            };
            let cancel = Cancel::default();
            match wanted.as_slice() {
                [] => model.prefill(sequence, piece, LogitSink::None, &cancel)?,
                [last] if last + 1 == piece.len() => {
                    let mut logits = vec![0.0; self.vocab];
                    model.prefill(sequence, piece, LogitSink::Last(&mut logits), &cancel)?;
                    rows.push(logits);
                }
                _ => model.prefill(sequence, piece, LogitSink::Each(&mut keep), &cancel)?,
            }
            let mut rows = rows.iter();
            for point in waiting.drain(..) {
                let logits = if point.logits { rows.next().zip(want.next()) } else { None };
                let cache = self.cache(model, sequence, &*group.truth, point);
                checks.push(self.check(
                    member,
                    point,
                    logits.map(|(got, want)| (got.as_slice(), want)),
                    cache,
                ));
            }
            from = point.position;
        }
        Ok(checks)
    }

    /// Takes in a sequence's first tokens as they will be timed, depth and prompt each by one call, and compares after them.
    fn replay(
        &self,
        model: &mut dyn Resident,
        sequence: Sequence,
        member: usize,
        group: &Group<'_>,
        points: &[Point],
    ) -> Result<Option<Check>, Refusal> {
        let (depth, start) = (self.workload.depth, self.workload.start());
        let mut logits = vec![0.0; self.vocab];
        for piece in [&group.ids[..depth], &group.ids[depth..start]] {
            if !piece.is_empty() {
                model.prefill(sequence, piece, LogitSink::Last(&mut logits), &Cancel::default())?;
            }
        }
        let Some(point) = points.iter().find(|point| point.position == start) else { return Ok(None) };
        let want = group.prompt.len().saturating_sub(self.vocab);
        let compared = point.logits.then_some((logits.as_slice(), &group.prompt[want..]));
        let cache = self.cache(model, sequence, &*group.truth, point);
        Ok(Some(self.check(member, point, compared, cache)))
    }

    /// Keys and values of every layer, where the point asks for them.
    fn cache(
        &self,
        model: &dyn Resident,
        sequence: Sequence,
        truth: &dyn Truth,
        point: &Point,
    ) -> Option<CacheCheck> {
        let from = point.cache?;
        let (layers, heads, width) =
            (model.config().layers, model.config().kv_heads, model.config().head_dim);
        let range = from * width..point.position * width;
        let (row, scaled) = (self.tolerance, self.scaled);
        let compare = |got: Vec<f32>, want: Vec<&[f64]>| {
            let want: Vec<f64> = want.iter().flat_map(|head| &head[range.clone()]).copied().collect();
            Compared::of(&got, &want, row, scaled)
        };
        // A layer is compared while the next one is copied.
        let parts = std::thread::scope(|scope| {
            let of_layer = |layer: usize| {
                let (keys, values) = model.copy_kv_from(sequence, layer, from);
                let (want_keys, want_values): (Vec<_>, Vec<_>) =
                    (0..heads).map(|head| truth.kv(layer, head)).unzip();
                scope.spawn(move || (compare(keys, want_keys), compare(values, want_values)))
            };
            let layers: Vec<_> = (0..layers).map(of_layer).collect();
            layers.into_iter().map(ScopedJoinHandle::join).collect::<Result<Vec<_>, _>>()
        });
        let parts = parts.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut check = CacheCheck { from, keys: Compared::NONE, values: Compared::NONE };
        for (keys, values) in parts {
            (check.keys, check.values) = (check.keys.and(keys), check.values.and(values));
        }
        Some(check)
    }

    fn check(
        &self,
        member: usize,
        point: &Point,
        logits: Option<(&[f32], &[f64])>,
        cache: Option<CacheCheck>,
    ) -> Check {
        let mut check = Check {
            workload: self.workload.name.clone(),
            sequence: member,
            position: point.position,
            logits: None,
            chosen: None,
            reference: None,
            lead: None,
            cache,
        };
        if let Some((got, want)) = logits {
            let (chosen, (reference, _)) = (greatest(got), top(want));
            let unit = if self.scaled { rms(want) } else { 1.0 };
            check.logits = Some(Compared::of(got, want, self.tolerance, self.scaled));
            check.chosen = Some(chosen);
            check.reference = Some(reference);
            check.lead = Some((want[reference as usize] - want[chosen as usize]) / unit);
        }
        check
    }
}
