//! `residentk`: what a resident model takes, whether it fits, and whether this machine can hold one on the Metal family's
//! devices.
//!
//! Statuses are those of the ledger of [`tilewright_backend::ledger`]. A number out of every range is a wrong argument; one
//! that no model may have is a status.

use serde_json::{Value, json};
use tilewright_backend::execution::{SPLIT_KEYS_FROM, SPLIT_KEYS_PARTS, narrow_tile};
use tilewright_backend::ledger;
use tilewright_engine::DeviceRequest;
use tilewright_model::{Code, Refusal};

use crate::signature::Fields;
use crate::{Arguments, Function, Kind, Module, Param};

/// Layers of the largest model there may be.
pub(crate) const MOST_LAYERS: usize = 128;
/// The largest width, vocabulary or number of positions: products of these fit 64 bits.
const MOST: usize = 1 << 24;
/// Sizes of a head.
const HEAD_DIMS: [usize; 4] = [32, 64, 128, 256];
/// Rows of a prompt that go through together, at most.
const MOST_ROWS: usize = 2048;
/// Widths are multiples of this.
const WIDTH: usize = 32;

/// What a machine says of a session.
const PROBE: Fields = Fields {
    name: "ResidentSessionProbe",
    fields: &[
        ("kernels_compiled", Kind::Bool),
        ("device_present", Kind::Bool),
        ("session_possible", Kind::Bool),
        ("dispatch_budget", Kind::Int),
        ("resident_f32_elems", Kind::Int),
        ("status", Kind::Int),
    ],
};

/// Sizes of a model.
struct Dims {
    layers: usize,
    model: usize,
    heads: usize,
    kv_heads: usize,
    head: usize,
    inner: usize,
}

impl Dims {
    fn read(args: &Arguments) -> Result<Self, Refusal> {
        Ok(Self { layers: args.count("n_layers", 1, MOST_LAYERS)?, ..Self::of_a_layer(args)? })
    }

    /// One layer.
    fn of_a_layer(args: &Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            layers: 1,
            model: args.count("d_model", 1, 1 << 16)?,
            heads: args.count("h_q", 1, 1 << 10)?,
            kv_heads: args.count("h_kv", 1, 1 << 10)?,
            head: args.count("d_head", 1, 1 << 10)?,
            inner: args.count("d_ff", 1, 1 << 18)?,
        })
    }

    /// Whether kernels of the family take them.
    fn status(&self) -> u16 {
        let widths = [self.model, self.heads * self.head, self.inner];
        let fits = widths.iter().all(|width| width.is_multiple_of(WIDTH))
            && self.heads.is_multiple_of(self.kv_heads)
            && HEAD_DIMS.contains(&self.head);
        if fits { ledger::OK } else { ledger::UNSUPPORTED_ARCHITECTURE }
    }

    /// Weights of the layers, with norms of queries and keys where there are any.
    fn layer_weights(&self, qk_norm: bool) -> usize {
        let projections = self.model * self.head * (2 * self.heads + 2 * self.kv_heads);
        let norms = 2 * self.model + if qk_norm { 2 * self.head } else { 0 };
        self.layers * (projections + 3 * self.model * self.inner + norms)
    }
}

/// Keys and values of all layers.
const fn cache_elements(layers: usize, kv_heads: usize, head: usize, positions: usize) -> usize {
    2 * layers * kv_heads * head * positions
}

fn ints<const N: usize>(names: [&'static str; N]) -> Vec<Param> {
    names.into_iter().map(|name| Param::new(name, Kind::Int)).collect()
}

/// A function that gives a whole number.
fn number(
    name: &'static str,
    about: &'static str,
    params: Vec<Param>,
    run: impl Fn(&Arguments) -> Result<usize, Refusal> + Send + Sync + 'static,
) -> Function {
    Function::new(name, about, params, Kind::Int, move |args, _| Ok(json!(run(args)?)))
}

/// A function that says yes or no.
fn question(
    name: &'static str,
    about: &'static str,
    params: Vec<Param>,
    run: impl Fn(&Arguments) -> Result<bool, Refusal> + Send + Sync + 'static,
) -> Function {
    Function::new(name, about, params, Kind::Bool, move |args, _| Ok(json!(run(args)?)))
}

/// Threadgroups that a step's keys are split among.
fn parts(keys: usize) -> usize {
    if keys >= SPLIT_KEYS_FROM { SPLIT_KEYS_PARTS as usize } else { 1 }
}

/// Cores and heads, which have to make sense; how many there are changes no number here.
fn cores(args: &Arguments) -> Result<(), Refusal> {
    args.count("n_cores", 1, 1 << 16)?;
    args.count("h_q", 1, 1 << 10).map(drop)
}

pub(crate) fn contract() -> Module {
    let layers = |args: &Arguments| args.count("n_layers", 1, MOST_LAYERS);
    Module {
        name: "residentk.contract",
        functions: vec![
            number(
                "residentk_cache_elements",
                "Elements of the keys and values of all layers.",
                ints(["n_layers", "h_kv", "d_head", "max_ctx"]),
                move |args| {
                    let [kv_heads, head] =
                        [args.count("h_kv", 1, 1 << 10)?, args.count("d_head", 1, 1 << 10)?];
                    Ok(cache_elements(layers(args)?, kv_heads, head, args.count("max_ctx", 1, MOST)?))
                },
            ),
            number(
                "residentk_context_check",
                "The status of a prompt and a reply in a context: 620, or 627 when they do not fit.",
                ints(["n_prompt", "n_new", "max_ctx"]),
                |args| {
                    let [prompt, new] = [args.count("n_prompt", 0, MOST)?, args.count("n_new", 0, MOST)?];
                    let fits = prompt + new <= args.count("max_ctx", 1, MOST)?;
                    Ok(usize::from(if fits { ledger::OK } else { ledger::CONTEXT_FULL }))
                },
            ),
            number(
                "residentk_dims_check",
                "The status of a layer's sizes: 620, or 632 when no kernel of the family takes them.",
                ints(["d_model", "h_q", "h_kv", "d_head", "d_ff"]),
                |args| Ok(usize::from(Dims::of_a_layer(args)?.status())),
            ),
            number(
                "residentk_dispatch_budget",
                "Launches from a token to the next.",
                ints(["n_layers"]),
                move |args| Ok(ledger::dispatch_budget(layers(args)?)),
            ),
            number(
                "residentk_dispatch_budget_deep",
                "The same where keys are split among threadgroups.",
                ints(["n_layers"]),
                move |args| Ok(ledger::dispatch_budget_deep(layers(args)?)),
            ),
            question(
                "residentk_prefill_gemm_use_narrow_tile",
                "Whether products over so many rows of a prompt take the narrow tile, where no tier is asked for.",
                ints(["m_rows"]),
                |args| Ok(narrow_tile(args.count("m_rows", 1, MOST_ROWS)?)),
            ),
            question(
                "residentk_scalars_ok",
                "Whether the epsilon of norms and the scale of attention are finite and above 0.",
                vec![Param::new("eps", Kind::Float), Param::new("scale", Kind::Float)],
                |args| {
                    Ok(["eps", "scale"]
                        .iter()
                        .all(|name| args.float(name) > 0.0 && args.float(name).is_finite()))
                },
            ),
            number(
                "residentk_splitk_max_n_splits",
                "The most threadgroups that the keys of a step are split among; the same for every number of cores and heads.",
                ints(["n_cores", "h_q"]),
                |args| cores(args).map(|()| SPLIT_KEYS_PARTS as usize),
            ),
            number(
                "residentk_splitk_policy",
                "Threadgroups that so many keys are split among: 1 when they are not.",
                ints(["n_keys", "n_cores", "h_q"]),
                |args| cores(args).and_then(|()| Ok(parts(args.count("n_keys", 0, MOST)?))),
            ),
            question(
                "residentk_splitk_should_split",
                "Whether a step splits so many keys.",
                ints(["n_keys"]),
                |args| Ok(parts(args.count("n_keys", 0, MOST)?) > 1),
            ),
            Function::new(
                "residentk_status_name",
                "The name of a status; the ledger is metaldispatch's.",
                ints(["code"]),
                Kind::String,
                |args, _| Ok(json!(ledger::status_name(args.int("code")))),
            ),
            number(
                "residentk_weight_elems",
                "Weights of a model: embedding, layers, norms and, where it is not tied (0), the head.",
                [
                    ints(["n_layers", "d_model", "h_q", "h_kv", "d_head", "d_ff", "vocab", "tied"]),
                    vec![Param::or("qk_norm", Kind::Bool, true)],
                ]
                .concat(),
                |args| {
                    let dims = Dims::read(args)?;
                    let matrix = args.count("vocab", 1, MOST)? * dims.model;
                    let matrices = matrix * (2 - args.count("tied", 0, 1)?);
                    Ok(matrices + dims.layer_weights(args.flag("qk_norm")) + dims.model)
                },
            ),
        ],
    }
}

pub(crate) fn probe() -> Module {
    Module {
        name: "residentk.probe",
        functions: vec![
            question(
                "resident_available",
                "Whether this machine has an Apple GPU that is used.",
                Vec::new(),
                |_| Ok(device().is_ok()),
            ),
            question(
                "resident_gpu_kernels_compiled",
                "Whether this build has the device metal.",
                Vec::new(),
                |_| Ok(kernels_compiled()),
            ),
            Function::new(
                "resident_session_probe",
                "What a session of a model would take: launches a token, and weights of the layers and cache in elements.",
                ints(["n_layers", "d_model", "h_q", "h_kv", "d_head", "d_ff", "max_ctx"]),
                Kind::Struct(&PROBE),
                |args, _| session_probe(args),
            ),
        ],
    }
}

/// Why there is no Apple GPU, if there is none.
fn device() -> Result<(), Refusal> {
    DeviceRequest::Metal.choose().map(drop)
}

/// A build without the device says so, whatever the machine has.
fn kernels_compiled() -> bool {
    !matches!(device(), Err(refusal) if refusal.code() == Code::ShaderToolchainAbsent)
}

fn session_probe(args: &Arguments) -> Result<Value, Refusal> {
    let dims = Dims::read(args)?;
    let positions = args.count("max_ctx", 1, MOST)?;
    let cache = cache_elements(dims.layers, dims.kv_heads, dims.head, positions);
    let elements = dims.layer_weights(true) + cache;
    let status = match (dims.status(), device()) {
        (ledger::OK, Err(refusal)) => ledger::status_of(&refusal),
        (status, _) => status,
    };
    Ok(json!({
        "kernels_compiled": kernels_compiled(),
        "device_present": device().is_ok(),
        "session_possible": status == ledger::OK,
        "dispatch_budget": ledger::dispatch_budget(dims.layers),
        "resident_f32_elems": elements,
        "status": status,
    }))
}
