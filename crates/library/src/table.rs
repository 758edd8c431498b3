//! The table of modules.

use std::sync::LazyLock;

use crate::{Module, contract, decode, policy, reference, resident, rope};

/// Every module, by name.
pub fn modules() -> &'static [Module] {
    static MODULES: LazyLock<Vec<Module>> = LazyLock::new(|| {
        vec![
            contract::module(),
            decode::steps(),
            decode::prefill(),
            policy::module(),
            resident::contract(),
            resident::probe(),
            reference::module(),
            rope::module(),
        ]
    });
    &MODULES
}
