//! `metaldispatch.contract`: the numbers of the Metal decode family.

use serde_json::json;
use tilewright_backend::ledger;

use crate::resident::MOST_LAYERS;
use crate::{Function, Kind, Module, Param};

pub(crate) fn module() -> Module {
    Module {
        name: "metaldispatch.contract",
        functions: vec![
            Function::new(
                "metaldispatch_dispatch_budget",
                "Launches from a token to the next.",
                vec![Param::new("n_layers", Kind::Int)],
                Kind::Int,
                |args, _| Ok(json!(ledger::dispatch_budget(args.count("n_layers", 1, MOST_LAYERS)?))),
            ),
            Function::new(
                "metaldispatch_status_name",
                "The name of a status; that of 630 for a number that is none.",
                vec![Param::new("code", Kind::Int)],
                Kind::String,
                |args, _| Ok(json!(ledger::status_name(args.int("code")))),
            ),
        ],
    }
}
