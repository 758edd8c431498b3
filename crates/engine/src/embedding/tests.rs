//! Pooled hidden states over a device that says what it was given.

use super::*;
use crate::fake;

fn embed(ids: &[u32], pooling: Pooling, chunk: usize) -> Result<Vec<f32>, Refusal> {
    let (engine, watch) = fake::engine(50, &[], |_| vec![0.0; 50]);
    let mut embedding = Embedding::new(&engine, ids.to_vec(), pooling)?;
    let vector = loop {
        if let Some(vector) = embedding.advance(chunk, &Cancel::default())? {
            break vector;
        }
    };
    drop(embedding);
    assert_eq!(watch.alive(), 0);
    Ok(vector)
}

/// Of unit length.
fn unit(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let length = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    values.iter().map(|v| v / length).collect()
}

#[test]
fn the_last_state_or_the_mean_of_all_however_they_came() {
    let ids = [3, 1, 4, 1, 5];
    let state = |len: usize, token: u32| (0..32).map(move |h| (h * len) as f64 + f64::from(token));
    let last = unit(state(5, 5));
    let mean = unit((0..32).map(|h| (1..=5).map(|n| (h * n) as f64 + f64::from(ids[n - 1])).sum::<f64>()));
    for (pooling, expected) in [(Pooling::Last, last), (Pooling::Mean, mean)] {
        for chunk in [1, 2, 5, 9] {
            let vector = embed(&ids, pooling, chunk).unwrap();
            assert!(
                vector.iter().zip(&expected).all(|(v, e)| (f64::from(*v) - e).abs() <= 1e-6),
                "{pooling:?}, {chunk}: {vector:?}"
            );
        }
    }
}

#[test]
fn no_ids_and_ids_without_a_token_are_refused() {
    for ids in [&[][..], &[50]] {
        assert_eq!(embed(ids, Pooling::Last, 4).unwrap_err().code(), Code::RequestInvalid);
    }
}
