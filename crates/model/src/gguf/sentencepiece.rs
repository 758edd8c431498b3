//! SentencePiece vocabularies: tokens with scores instead of merges.
//!
//! There the neighbours are merged whose union is the token with the highest score. Stated as merges: every way in which
//! a token is made of two others, in the order of the token's score.

use std::collections::BTreeMap;

use crate::Finding;

/// Longest token, in bytes; published ones have up to some fifty.
const LONGEST: usize = 512;

/// Ways of making a token that there may be for each, on average; published vocabularies have about two.
const WAYS: usize = 32;

/// The merges of `tokens`, each with its id and score, best first.
pub(super) fn merges<'t>(
    tokens: &[(u32, &'t str, f64)],
    findings: &mut Vec<Finding>,
) -> Vec<(&'t str, &'t str)> {
    let ids: BTreeMap<&str, u32> = tokens.iter().map(|(id, text, _)| (*text, *id)).collect();
    let mut merges = Vec::new();
    for (id, text, score) in tokens {
        if text.len() > LONGEST {
            findings.push(Finding::new(
                "tokenizer.ggml.tokens",
                format!("tokens of at most {LONGEST} bytes"),
                format!("{} bytes of id {id}", text.len()),
            ));
            return Vec::new();
        }
        let mut ways: Vec<_> = text
            .char_indices()
            .skip(1)
            .filter_map(|(at, _)| {
                let (left, right) = text.split_at(at);
                Some((*ids.get(left)?, *ids.get(right)?, left, right))
            })
            .collect();
        ways.sort_unstable();
        merges.extend(ways.into_iter().map(|(_, _, left, right)| (*score, *id, left, right)));
        if merges.len() > WAYS * tokens.len() {
            let expected = format!("at most {WAYS} ways of making a token of two others, on average");
            findings.push(Finding::new("tokenizer.ggml.tokens", expected, "more"));
            return Vec::new();
        }
    }
    // Stable, so that ways of making one token keep their order.
    merges.sort_by(|(a, a_id, ..), (b, b_id, ..)| b.total_cmp(a).then(a_id.cmp(b_id)));
    merges.into_iter().map(|(_, _, left, right)| (left, right)).collect()
}
