//! `llmk.reference`: steps of a decoder in float64 on flat lists, to compare with.

use serde_json::json;
use tilewright_backend::ledger;
use tilewright_model::{Code, Refusal};

use crate::arguments::invalid;
use crate::{Arguments, Function, Kind, Module, Param};

/// Elements of a list at most.
const MOST: usize = 1 << 24;

fn floats(name: &'static str) -> Param {
    Param::new(name, Kind::Floats)
}

fn int(name: &'static str) -> Param {
    Param::new(name, Kind::Int)
}

/// The check of a function's sizes: 620 when `fits` says so, else 626.
fn dims_check(
    name: &'static str,
    params: Vec<Param>,
    fits: impl Fn(&[usize]) -> bool + Send + Sync + 'static,
) -> Function {
    let names: Vec<&str> = params.iter().map(|param| param.name).collect();
    let about = "The status of lists of these lengths: 620, or 626 when they do not fit.";
    Function::new(name, about, params, Kind::Int, move |args, _| {
        let sizes: Vec<usize> =
            names.iter().map(|name| args.count(name, 0, MOST)).collect::<Result<_, _>>()?;
        Ok(json!(if fits(&sizes) { ledger::OK } else { Code::UploadLength.number() }))
    })
}

/// A list of as many elements as `len` says.
fn list(args: &Arguments, name: &str, len: usize) -> Result<Vec<f64>, Refusal> {
    let values = args.floats(name);
    if values.len() == len {
        return Ok(values);
    }
    Err(invalid(name, format!("{len} numbers"), values.len()))
}

pub(crate) fn module() -> Module {
    Module {
        name: "llmk.reference",
        functions: vec![
            Function::new(
                "greedy_argmax_flat",
                "The index of the greatest number; of equals the lowest.",
                vec![floats("logits")],
                Kind::Int,
                |args, _| {
                    let logits = args.floats("logits");
                    let better = |best: usize, at: usize| if logits[at] > logits[best] { at } else { best };
                    let found = (0..logits.len()).reduce(better);
                    found.map(|at| json!(at)).ok_or_else(|| invalid("logits", "at least one number", 0))
                },
            ),
            dims_check("greedy_argmax_dims_check", vec![int("n")], |sizes| sizes[0] > 0),
            Function::new(
                "kv_cache_append_flat",
                "A cache [positions, width] with a row at a position.",
                vec![floats("cache"), floats("row"), int("position")],
                Kind::Floats,
                |args, _| {
                    let (mut cache, row) = (args.floats("cache"), args.floats("row"));
                    if row.is_empty() || !cache.len().is_multiple_of(row.len()) {
                        let expected = format!("a multiple of the row's {} numbers", row.len());
                        return Err(invalid("cache", expected, cache.len()));
                    }
                    let rows = cache.len() / row.len();
                    let start = args.count("position", 0, rows.saturating_sub(1))? * row.len();
                    if let Some(place) = cache.get_mut(start..start + row.len()) {
                        place.copy_from_slice(&row);
                    }
                    Ok(json!(cache))
                },
            ),
            dims_check(
                "kv_cache_append_dims_check",
                vec![int("n_cache"), int("width"), int("position")],
                |sizes| sizes[1] > 0 && sizes[0].is_multiple_of(sizes[1]) && sizes[2] < sizes[0] / sizes[1],
            ),
            Function::new(
                "gemv_transposed_parallel_flat",
                "x · w, where w is [n_in, n_out] as converted checkpoints hold it; summed in the order of inputs.",
                vec![floats("w"), floats("x"), int("n_in"), int("n_out")],
                Kind::Floats,
                |args, _| {
                    let [n_in, n_out] = [args.count("n_in", 1, 1 << 12)?, args.count("n_out", 1, 1 << 12)?];
                    let (w, x) = (list(args, "w", n_in * n_out)?, list(args, "x", n_in)?);
                    let mut y = vec![0.0; n_out];
                    for (x, row) in x.iter().zip(w.chunks_exact(n_out)) {
                        y.iter_mut().zip(row).for_each(|(y, w)| *y += x * w);
                    }
                    Ok(json!(y))
                },
            ),
            dims_check(
                "gemv_transposed_parallel_dims_check",
                vec![int("n_w"), int("n_x"), int("n_in"), int("n_out")],
                |sizes| {
                    let [n_w, n_x, n_in, n_out] = [sizes[0], sizes[1], sizes[2], sizes[3]];
                    n_in > 0 && n_out > 0 && n_x == n_in && n_in.checked_mul(n_out) == Some(n_w)
                },
            ),
            Function::new(
                "residual_add_flat",
                "The sums of two lists, element by element.",
                vec![floats("x"), floats("y")],
                Kind::Floats,
                |args, _| {
                    let x = args.floats("x");
                    let y = list(args, "y", x.len())?;
                    Ok(json!(x.iter().zip(y).map(|(x, y)| x + y).collect::<Vec<_>>()))
                },
            ),
            dims_check("residual_add_dims_check", vec![int("n_x"), int("n_y")], |sizes| sizes[0] == sizes[1]),
        ],
    }
}
