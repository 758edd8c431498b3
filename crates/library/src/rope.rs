//! `attnk.rope`: rotary frequencies, tables of them, and the rotation, in float64.
//!
//! Elements `i` and `i + d_head / 2` of a head form a pair. A table is `[positions, d_head / 2]`.

use serde_json::{Value, json};
use tilewright_model::{Refusal, Rope, RopeScaling};

use crate::arguments::invalid;
use crate::signature::Fields;
use crate::{Arguments, Function, Kind, Module, Param};

/// Elements of a table at most.
const MOST: usize = 1 << 20;

/// Cosines and sines of every position and pair.
const TABLE: Fields = Fields { name: "RopeTable", fields: &[("cos", Kind::Floats), ("sin", Kind::Floats)] };

fn params(first: &[(&'static str, Kind)], more: &[(&'static str, Kind)]) -> Vec<Param> {
    first.iter().chain(more).map(|(name, kind)| Param::new(name, *kind)).collect()
}

/// What every frequency is made of.
const BASE: [(&str, Kind); 2] = [("d_head", Kind::Int), ("theta", Kind::Float)];
/// The numbers of Llama 3's stretching.
const LLAMA3: [(&str, Kind); 4] = [
    ("factor", Kind::Float),
    ("low_freq_factor", Kind::Float),
    ("high_freq_factor", Kind::Float),
    ("original_max_positions", Kind::Int),
];
const FACTORS: [(&str, Kind); 1] = [("factors", Kind::Floats)];

type Scaling = fn(&Arguments) -> Result<RopeScaling, Refusal>;

fn plain(_: &Arguments) -> Result<RopeScaling, Refusal> {
    Ok(RopeScaling::None)
}

fn llama3(args: &Arguments) -> Result<RopeScaling, Refusal> {
    let (low, high) = (args.positive("low_freq_factor")?, args.positive("high_freq_factor")?);
    if high <= low {
        return Err(invalid("high_freq_factor", format!("more than low_freq_factor ({low})"), high));
    }
    Ok(RopeScaling::Llama3 {
        factor: args.positive("factor")?,
        low_freq_factor: low,
        high_freq_factor: high,
        original_max_positions: args.count("original_max_positions", 1, 1 << 24)?,
    })
}

fn factors(args: &Arguments) -> Result<RopeScaling, Refusal> {
    let (divisors, pairs) = (args.floats("factors"), head(args)? / 2);
    if divisors.len() != pairs || divisors.iter().any(|divisor| *divisor <= 0.0) {
        return Err(invalid("factors", format!("{pairs} numbers above 0"), format!("{divisors:?}")));
    }
    Ok(RopeScaling::Factors(divisors))
}

fn head(args: &Arguments) -> Result<usize, Refusal> {
    let head = args.count("d_head", 2, 1 << 12)?;
    if head.is_multiple_of(2) { Ok(head) } else { Err(invalid("d_head", "an even number", head)) }
}

fn frequencies(args: &Arguments, scaling: Scaling) -> Result<Vec<f64>, Refusal> {
    Ok(Rope { theta: args.positive("theta")?, scaling: scaling(args)? }.inv_freq(head(args)?))
}

fn inv_freq(name: &'static str, about: &'static str, params: Vec<Param>, scaling: Scaling) -> Function {
    Function::new(name, about, params, Kind::Floats, move |args, _| Ok(json!(frequencies(args, scaling)?)))
}

fn table(name: &'static str, about: &'static str, params: Vec<Param>, scaling: Scaling) -> Function {
    let positions = Param::new("n_positions", Kind::Int);
    let params = std::iter::once(positions).chain(params).collect();
    Function::new(name, about, params, Kind::Struct(&TABLE), move |args, _| {
        let frequencies = frequencies(args, scaling)?;
        let positions = args.count("n_positions", 1, MOST / frequencies.len())?;
        let angles = || (0..positions).flat_map(|p| frequencies.iter().map(move |f| p as f64 * f));
        let (cos, sin): (Vec<f64>, Vec<f64>) = angles().map(|angle| (angle.cos(), angle.sin())).unzip();
        Ok(json!({"cos": cos, "sin": sin}))
    })
}

/// Turns every head of `x` by the angles of one position, forwards or (`sign` −1) back.
fn turned(args: &Arguments, sign: f64) -> Result<Value, Refusal> {
    let (mut x, cos, sin) = (args.floats("x"), args.floats("cos"), args.floats("sin"));
    if cos.is_empty() || cos.len() != sin.len() || !x.len().is_multiple_of(2 * cos.len()) {
        let expected = "heads of twice as many numbers as cos, and as many of sin";
        let got = format!("{} numbers, {} of cos and {} of sin", x.len(), cos.len(), sin.len());
        return Err(invalid("x", expected, got));
    }
    for head in x.chunks_exact_mut(2 * cos.len()) {
        let (left, right) = head.split_at_mut(cos.len());
        for ((l, r), (cos, sin)) in left.iter_mut().zip(right).zip(cos.iter().zip(&sin)) {
            let sin = sign * sin;
            (*l, *r) = (*l * cos - *r * sin, *r * cos + *l * sin);
        }
    }
    Ok(json!(x))
}

pub(crate) fn module() -> Module {
    let row = || params(&[("x", Kind::Floats), ("cos", Kind::Floats), ("sin", Kind::Floats)], &[]);
    let turn = |name, about, sign: f64| {
        Function::new(name, about, row(), Kind::Floats, move |args, _| turned(args, sign))
    };
    Module {
        name: "attnk.rope",
        functions: vec![
            inv_freq("rope_inv_freq", "Angular frequencies of a head's pairs.", params(&BASE, &[]), plain),
            inv_freq(
                "rope_inv_freq_llama3",
                "The same, stretched as Llama 3 does.",
                params(&BASE, &LLAMA3),
                llama3,
            ),
            table("rope_table", "Cosines and sines.", params(&BASE, &[]), plain),
            table(
                "rope_table_llama3",
                "The same, stretched as Llama 3 does.",
                params(&BASE, &LLAMA3),
                llama3,
            ),
            table(
                "rope_table_freq_factors",
                "The same, with a divisor for each frequency.",
                params(&BASE, &FACTORS),
                factors,
            ),
            turn("rope_apply", "Heads turned by one row of a table.", 1.0),
            turn("rope_inverse", "Heads turned back.", -1.0),
        ],
    }
}
