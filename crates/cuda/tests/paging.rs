//! Pages of keys and values on a GPU: sequences that share them, grow over their ends, and find no more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test; what is skipped is said"
)]

mod common;

use common::{argmax, greedy_together, ids, present, resident, seeded};
use tilewright_backend::{Cancel, KvFormat, LogitSink, Resident, Sequence, Step};
use tilewright_cuda::{CudaModel, CudaOptions};
use tilewright_gate::seeded::{Preset, small};
use tilewright_model::{Code, Config, Family, WeightFormat};

const PAGE: usize = 256;
const CONTEXT: usize = 1500;

/// Every path that reads or writes a cache, by name.
fn ways() -> Vec<(&'static str, Config, CudaOptions)> {
    let ragged = Config { heads: 6, kv_heads: 3, vocab: 300, head_dim: 48, ..small(Family::Qwen2) };
    let halves = Config {
        head_dim: 64,
        heads: 6,
        kv_heads: 2,
        hidden: 224,
        intermediate: 352,
        vocab: 300,
        ..small(Family::Qwen2)
    };
    let wide = Config { layers: 3, vocab: 4096, bos: Some(1), eos: vec![2], ..Preset::Qwen3Small.config() };
    let staged = |kv, overlap| CudaOptions {
        weights: Some(if kv == KvFormat::F32 { WeightFormat::F32 } else { WeightFormat::Bf16 }),
        kv: Some(kv),
        overlap: Some(overlap),
        persistent: Some(false),
        ..CudaOptions::default()
    };
    let hopper = |options: CudaOptions| CudaOptions { hopper: Some(true), ..options };
    vec![
        ("f32", ragged.clone(), staged(KvFormat::F32, false)),
        ("f32, launches that overlap", ragged.clone(), staged(KvFormat::F32, true)),
        ("int8", ragged.clone(), staged(KvFormat::Int8, false)),
        ("int8, launches that overlap", ragged, staged(KvFormat::Int8, true)),
        ("Hopper", halves.clone(), hopper(staged(KvFormat::Bf16, false))),
        ("Hopper, launches that overlap", halves, hopper(staged(KvFormat::Bf16, true))),
        ("persistent", wide.clone(), CudaOptions::default()),
        ("Hopper, persistent", wide, hopper(CudaOptions::default())),
    ]
}

/// Does `work` on a model of every path that has pages.
fn each(seed: u64, mut work: impl FnMut(&str, &mut CudaModel)) {
    if !present() {
        return;
    }
    for (name, config, options) in ways() {
        let (_folder, checkpoint) = seeded(&config, seed);
        let options = CudaOptions { context: Some(CONTEXT), prefill_chunk: Some(200), ..options };
        let mut model = resident(&checkpoint, &options);
        let Some(paging) = model.paging() else {
            eprintln!("skipped: {name}: this GPU gives no addresses to pieces of memory");
            continue;
        };
        assert_eq!((paging.page, paging.used), (PAGE, 0), "{name}");
        eprintln!(
            "{name}: {:?}, {} bytes a page, at most {:?}",
            model.plan().kernels,
            paging.bytes,
            paging.most
        );
        work(name, &mut model);
        assert_eq!(used(&model), 0, "{name}: all is given back");
    }
}

fn used(model: &CudaModel) -> usize {
    model.paging().unwrap().used
}

/// A sequence that holds `ids`.
fn holding(model: &mut CudaModel, ids: &[u32]) -> Sequence {
    let sequence = model.create(CONTEXT).unwrap();
    model.prefill(sequence, ids, LogitSink::None, &Cancel::default()).unwrap();
    sequence
}

/// What becomes of a sequence: logits, ids, then keys and values of every layer.
#[derive(PartialEq)]
struct Seen {
    logits: Vec<f32>,
    ids: Vec<u32>,
    state: Vec<(Vec<f32>, Vec<f32>)>,
}

impl Seen {
    fn check(&self, want: &Self, what: &str) {
        assert!(self.logits.iter().all(|x| x.is_finite()), "{what}: logits");
        assert!(self.logits == want.logits, "{what}: logits");
        assert_eq!(self.ids, want.ids, "{what}: ids");
        assert!(self.state == want.state, "{what}: keys and values");
    }
}

fn state(model: &CudaModel, sequence: Sequence) -> Vec<(Vec<f32>, Vec<f32>)> {
    (0..model.config().layers).map(|layer| model.copy_kv(sequence, layer)).collect()
}

/// Goes on with a prompt, single steps, steps of several and greedy ones of both kinds.
fn go_on(model: &mut CudaModel, sequence: Sequence, ids: &[u32]) -> Seen {
    let vocab = model.config().vocab;
    let mut logits = vec![f32::NAN; vocab];
    let (prompt, steps) = ids.split_at(ids.len() / 2);
    model.prefill(sequence, prompt, LogitSink::Last(&mut logits), &Cancel::default()).unwrap();
    let mut all = logits.clone();
    for (n, &token) in steps.iter().enumerate() {
        let step = [Step { sequence, token }];
        match n % 2 {
            0 => model.decode(&step, &mut logits).unwrap(),
            _ => model.decode_together(&step, &mut logits).unwrap(),
        }
        all.extend_from_slice(&logits);
    }
    let mut chosen = model.run(sequence, argmax(&logits), 12, &[]).unwrap();
    let step = Step { sequence, token: chosen[11] };
    chosen.extend(greedy_together(model, &[step], 20, &[]).unwrap().remove(0));
    Seen { logits: all, ids: chosen, state: state(model, sequence) }
}

/// Two sequences that begin alike go on as if each were alone, whichever goes first and whether or not the other has ended.
#[test]
fn forks_go_on_as_if_alone() {
    each(31, |name, model| {
        let vocab = model.config().vocab;
        let (prompt, late) = (ids(600, vocab), ids(900, vocab));
        let (mine, other) = (&late[610..690], &late[700..780]);
        for len in [PAGE, 2 * PAGE, 600, 300, 17] {
            let mut alone = |tokens: &[u32], held: usize| {
                let sequence = holding(model, &prompt[..held]);
                let seen = go_on(model, sequence, tokens);
                model.release(sequence);
                seen
            };
            let (want, want_other) = (alone(mine, len), alone(other, 600));
            let what = format!("{name}, {len} positions");
            // From a running sequence, which goes on after the fork; then it ends, and the fork's fork goes on.
            let source = holding(model, &prompt);
            assert_eq!(used(model), 3, "{what}");
            let fork = model.fork(source, len, len + 200).unwrap().unwrap();
            let copied = usize::from(!len.is_multiple_of(PAGE));
            assert_eq!((used(model), model.len(fork)), (3 + copied, len), "{what}");
            let second = model.fork(fork, len, CONTEXT).unwrap().unwrap();
            go_on(model, fork, mine).check(&want, &format!("{what}: fork"));
            go_on(model, source, other).check(&want_other, &format!("{what}: source"));
            model.release(source);
            assert!(state(model, fork) == want.state, "{what}: the fork, after the source has ended");
            model.release(fork);
            go_on(model, second, mine).check(&want, &format!("{what}: fork of an ended sequence"));
            model.release(second);
            assert_eq!(used(model), 0, "{what}");
        }
        let gone = holding(model, &prompt[..3]);
        assert_eq!(model.fork(gone, 4, 10).unwrap(), None, "{name}: longer than what is held");
        model.release(gone);
        assert_eq!(model.fork(gone, 1, 10).unwrap(), None, "{name}: an ended sequence");
    });
}

/// Writing to a page that another sequence has changes nothing for that one.
#[test]
fn a_sequence_cut_short_writes_to_no_page_of_another() {
    each(32, |name, model| {
        let vocab = model.config().vocab;
        let (prompt, late) = (ids(600, vocab), ids(900, vocab));
        let other = &late[700..780];
        let alone = holding(model, &prompt[..100]);
        let want = go_on(model, alone, other);
        model.release(alone);
        let source = holding(model, &prompt);
        let fork = model.fork(source, 2 * PAGE, CONTEXT).unwrap().unwrap();
        let before = state(model, fork);
        model.truncate(source, 100);
        assert_eq!(used(model), 2, "{name}: two pages are the fork's, one of them both's");
        go_on(model, source, other).check(&want, name);
        assert_eq!(used(model), 3, "{name}: the first page was copied");
        assert!(state(model, fork) == before, "{name}: the fork");
        model.release(fork);
        model.release(source);
    });
}

/// Over the ends of pages by every call that appends, and the bits of one prompt.
#[test]
fn sequences_take_pages_as_they_grow() {
    each(33, |name, model| {
        let vocab = model.config().vocab;
        let prompt = ids(250, vocab);
        let grown = [0, 1, 2, 3].map(|_| holding(model, &prompt));
        assert_eq!(used(model), 4, "{name}");
        // 300 tokens one by one, by runs of the device, beside a mate, by runs of several.
        let mut logits = vec![f32::NAN; 2 * vocab];
        let mut token = 5;
        let mut single = Vec::new();
        for n in 0..300 {
            model.decode(&[Step { sequence: grown[0], token }], &mut logits[..vocab]).unwrap();
            token = argmax(&logits[..vocab]);
            single.push(token);
            assert_eq!(used(model), 3 + (250 + n + 1_usize).div_ceil(PAGE), "{name}: step {n}");
        }
        assert_eq!(model.run(grown[1], 5, 300, &[]).unwrap(), single, "{name}: runs");
        assert_eq!(used(model), 2 + 2 * 3, "{name}: runs");
        let mate = holding(model, &prompt[..9]);
        let mut steps = [5, 5].map(|token| Step { sequence: grown[2], token });
        steps[1].sequence = mate;
        let mut beside = Vec::new();
        for _ in 0..300 {
            model.decode_together(&steps, &mut logits).unwrap();
            for (step, logits) in steps.iter_mut().zip(logits.chunks(vocab)) {
                step.token = argmax(logits);
            }
            beside.push(steps[0].token);
        }
        model.release(mate);
        let mate = holding(model, &prompt[..9]);
        let steps = [grown[3], mate].map(|sequence| Step { sequence, token: 5 });
        assert_eq!(greedy_together(model, &steps, 300, &[]).unwrap()[0], beside, "{name}: runs of several");
        model.release(mate);
        assert_eq!(used(model), 4 * 3, "{name}");
        assert!(state(model, grown[2]) == state(model, grown[3]), "{name}: the state of several");
        // A prompt over many pages, in chunks that end nowhere near theirs, and at once.
        let long = ids(1300, vocab);
        grown.into_iter().for_each(|sequence| model.release(sequence));
        let whole = holding(model, &long);
        let cut = model.create(CONTEXT).unwrap();
        for part in long.chunks(431) {
            model.prefill(cut, part, LogitSink::None, &Cancel::default()).unwrap();
        }
        assert_eq!(used(model), 2 * 6, "{name}");
        assert!(state(model, whole) == state(model, cut), "{name}: a prompt in parts");
        model.release(whole);
        model.release(cut);
    });
}

/// Where memory is taken at once nothing is shared, pages lie closer together, and every bit is the same.
#[test]
fn without_pages_every_bit_is_the_same() {
    if !present() {
        return;
    }
    for (name, config, options) in ways() {
        let (_folder, checkpoint) = seeded(&config, 36);
        let (prompt, late) = (ids(600, config.vocab), ids(900, config.vocab));
        let seen = [None, Some(false)].map(|pages| {
            let options = CudaOptions { context: Some(CONTEXT), pages, ..options.clone() };
            let mut model = resident(&checkpoint, &options);
            let sequence = holding(&mut model, &prompt);
            if pages.is_some() {
                assert_eq!(model.paging(), None, "{name}");
                assert_eq!(model.fork(sequence, PAGE, CONTEXT).unwrap(), None, "{name}");
            }
            go_on(&mut model, sequence, &late[700..900])
        });
        seen[0].check(&seen[1], name);
    }
}

/// A call that finds no page is refused before any work.
#[test]
fn without_memory_nothing_changes() {
    each(34, |name, model| {
        let vocab = model.config().vocab;
        let prompt = ids(600, vocab);
        let (one, two) = (holding(model, &prompt[..PAGE]), holding(model, &prompt[..250]));
        let (before, before_two) = (state(model, one), state(model, two));
        model.limit_pages(2);
        let mut logits = vec![f32::NAN; 2 * vocab];
        let step = |sequence| Step { sequence, token: 3 };
        let cancel = Cancel::default();
        let refused = [
            model.decode(&[step(one)], &mut logits[..vocab]).map(drop),
            model.decode_together(&[step(one), step(two)], &mut logits).map(drop),
            model.prefill(one, &prompt, LogitSink::None, &cancel),
            model.prefill(two, &prompt[..50], LogitSink::Last(&mut logits[..vocab]), &cancel),
            model.run(one, 3, 20, &[]).map(drop),
            model.run(two, 3, 20, &[]).map(drop),
            greedy_together(model, &[step(one), step(two)], 20, &[]).map(drop),
            model.hidden(one, &prompt[..5], &mut |_, _| (), &cancel),
            model.fork(one, 5, 100).map(drop),
        ];
        for (index, refused) in refused.into_iter().enumerate() {
            assert_eq!(refused.map_err(|refusal| refusal.code()), Err(Code::OutOfMemory), "{name}: {index}");
        }
        assert_eq!((model.len(one), model.len(two), used(model)), (PAGE, 250, 2), "{name}");
        assert!(state(model, one) == before && state(model, two) == before_two, "{name}");
        // A fork that copies nothing is possible, and room within a page.
        let fork = model.fork(one, PAGE, 300).unwrap().unwrap();
        model.decode(&[step(two)], &mut logits[..vocab]).unwrap();
        model.release(fork);
        model.limit_pages(3);
        model.decode(&[step(one)], &mut logits[..vocab]).unwrap();
        model.truncate(one, PAGE);
        assert_eq!(used(model), 2, "{name}");
        model.limit_pages(1000);
        model.release(one);
        model.release(two);
    });
}

/// There is no page for all the steps that a call could take, but the last one has room.
#[test]
fn greedy_steps_go_on_as_far_as_the_pages_take_them() {
    each(36, |name, model| {
        let prompt = ids(250, model.config().vocab);
        let (one, two, fresh) = (holding(model, &prompt), holding(model, &prompt), holding(model, &prompt));
        let step = |sequence| Step { sequence, token: 3 };
        let want = model.run(fresh, 3, 6, &[]).unwrap();
        model.truncate(fresh, 250);
        // One alone may be decoded by another kernel there.
        let want_so = greedy_together(model, &[step(fresh)], 6, &[]).unwrap();
        model.release(fresh);
        model.limit_pages(2);
        let ids = model.greedy(one, 3, 20, &[]).unwrap();
        assert!(ids.is_empty() || ids == want, "{name}: {ids:?} instead of {want:?}");
        assert_eq!(model.len(one), 250 + ids.len(), "{name}");
        model.truncate(one, 250);
        assert_eq!(model.run(one, 3, 6, &[]).unwrap(), want, "{name}");
        assert_eq!(greedy_together(model, &[step(two)], 6, &[]).unwrap(), want_so, "{name}");
        assert_eq!(used(model), 2, "{name}");
        let refusal = model.run(one, 3, 1, &[]).unwrap_err();
        assert_eq!((refusal.code(), model.len(one)), (Code::OutOfMemory, 256), "{name}");
        model.limit_pages(1000);
        [one, two].into_iter().for_each(|s| model.release(s));
    });
}

/// A prompt that is cancelled keeps what it has finished, and gives back what it was made ready for.
#[test]
fn a_cancelled_prompt_gives_its_pages_back() {
    each(35, |name, model| {
        let prompt = ids(1000, model.config().vocab);
        let sequence = model.create(CONTEXT).unwrap();
        let cancel = Cancel::default();
        let mut each = |row: usize, _: &[f32]| {
            if row == 0 {
                cancel.cancel();
            }
        };
        let refused = model.prefill(sequence, &prompt, LogitSink::Each(&mut each), &cancel).unwrap_err();
        assert_eq!((refused.code(), model.len(sequence)), (Code::Cancelled, 200), "{name}");
        assert_eq!(used(model), 1, "{name}");
        model.release(sequence);
    });
}
