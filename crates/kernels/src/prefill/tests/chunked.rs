//! The chunked prefill: budgets, refusals, where chunks lie.

use tilewright_tile::Scalar;
use tilewright_tile::schedule::{Backend, ScheduleError};

use crate::prefill::chunked::PrefillError;
use crate::prefill::{Attention, Chunk, ChunkedPrefill, Options, Piece, Progress, pieces};
use crate::shape::Shape;

fn options(rows: u32) -> Options {
    Options::by_matrices(Chunk::new(rows, Scalar::F32))
}

#[test]
fn budgets_of_the_published_model_are_the_published_ones() {
    let prefill = ChunkedPrefill::new(&Shape::QWEN3_0_6B, &options(512)).unwrap();
    let verified = |pipeline: tilewright_tile::Pipeline| pipeline.verify().unwrap_or_else(|e| panic!("{e}"));
    let (next, last) = (verified(prefill.chunk(false)), verified(prefill.chunk(true)));
    assert_eq!((next.dispatches(), last.dispatches()), (301, 309));
    for (tokens, chunks) in [(4096, 8), (1, 1), (512, 1), (513, 2), (1300, 3)] {
        let budget = |piece: Piece| if piece.last { last.dispatches() } else { next.dispatches() };
        let total: usize = pieces(0, tokens, 512).map(budget).sum();
        assert_eq!(total, chunks * 309 - 8 * (chunks - 1), "{tokens}");
    }
    assert_eq!(verified(prefill.logits().unwrap()).dispatches(), 3);
}

#[test]
fn eleven_stages_a_layer_in_the_published_order() {
    let shape = Shape::QWEN3_TINY;
    for attention in Attention::ALL {
        let prefill = ChunkedPrefill::new(&shape, &options(8).attention(attention)).unwrap();
        let pipeline = prefill.chunk(true);
        let stages: Vec<&str> = pipeline.stages().iter().map(|s| s.name.as_str()).collect();
        assert_eq!(stages.len(), 1 + 11 * shape.layers as usize);
        let names = [
            "input_norm.0",
            "qkv.0",
            "heads.0",
            "attention.0",
            "output.0",
            "attention_residual.0",
            "post_norm.0",
            "gate_up.0",
            "swiglu.0",
            "down.0",
            "mlp_residual.0",
        ];
        assert_eq!(stages[1..12], names);
        let first = prefill.chunk(false);
        assert_eq!(first.stages().last().unwrap().name, "heads.1");
    }
}

#[test]
fn a_chunk_has_1_to_4096_rows() {
    let shape = Shape::QWEN3_TINY;
    for rows in [1, 64, 4096] {
        ChunkedPrefill::new(&shape, &options(rows)).unwrap();
    }
    for rows in [0, 4097] {
        let error = ChunkedPrefill::new(&shape, &options(rows)).unwrap_err();
        assert_eq!(error, PrefillError::Rows { rows });
        assert_eq!(error.to_string(), format!("a chunk of {rows} rows; it must have 1 to 4096"));
    }
}

#[test]
fn backends_without_an_emitter_are_refused_by_name() {
    let backend = Backend::Nax;
    let error = ChunkedPrefill::new(&Shape::QWEN3_TINY, &Options { backend, ..options(64) }).unwrap_err();
    assert_eq!(error, PrefillError::Projections(vec![ScheduleError::NotEmitted { backend }]));
    assert_eq!(error.to_string(), "projections: backend nax is not emitted");
    let options = Options { backend: Backend::Elementwise, ..options(64) };
    let error = ChunkedPrefill::new(&Shape::QWEN3_TINY, &options).unwrap_err();
    assert!(
        error.to_string().contains("elementwise is asked for, and the kernel has 16 products of fragments")
    );
}

/// E70: the four projections are of whole tiles, 64 × 64 × 64; all else is as before.
#[test]
fn projections_on_tensor_operations_are_products_of_whole_tiles() {
    for storage in [Scalar::F32, Scalar::F16, Scalar::Bf16] {
        let options = Options::by_matrices(Chunk::new(512, storage));
        let on_tensors = options.on_tensor_operations();
        assert_eq!((on_tensors.backend, on_tensors.depth.columns()), (Backend::TensorOps, 64));
        let names = |options: &Options| {
            let chunk = ChunkedPrefill::new(&Shape::QWEN3_0_6B, options).unwrap().chunk(true);
            let chunk = chunk.verify().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(chunk.dispatches(), 309);
            let names = chunk.stages().iter().map(|stage| stage.kernel.name().to_owned());
            names.collect::<std::collections::BTreeSet<_>>()
        };
        let (before, after) = (names(&options), names(&on_tensors));
        let others: Vec<_> = after.difference(&before).collect();
        let roles = ["down", "gate_up", "output", "qkv"];
        assert_eq!(others.len(), 4, "{others:?}");
        for (name, role) in others.into_iter().zip(roles) {
            assert_eq!(*name, format!("prefill_tensor_matmul_{role}_{storage}"));
        }
    }
}

#[test]
fn pieces_cover_a_prompt_once_and_end_with_it() {
    let piece = |start, valid, last| Piece { start, valid, last };
    assert_eq!(
        pieces(5, 7, 3).collect::<Vec<_>>(),
        [piece(5, 3, false), piece(8, 3, false), piece(11, 1, true)]
    );
    assert_eq!(pieces(0, 6, 3).collect::<Vec<_>>(), [piece(0, 3, false), piece(3, 3, true)]);
    assert_eq!(pieces(9, 0, 3).count(), 0);
}

#[test]
fn only_the_last_chunk_of_a_prompt_can_be_projected() {
    let mut progress = Progress::default();
    assert_eq!(progress.project(), Err(PrefillError::NothingToProject { position: 0 }));
    for piece in pieces(0, 9, 4) {
        progress.ran(&piece);
        assert_eq!(progress.project().is_ok(), piece.last);
    }
    assert_eq!(progress.position(), 9);
    // A second call goes on where the first ended.
    progress.ran(&pieces(9, 7, 4).next().unwrap());
    let error = progress.project().unwrap_err();
    assert!(error.to_string().starts_with("no logits after position 13"), "{error}");
}
