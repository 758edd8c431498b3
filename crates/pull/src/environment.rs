//! The hub that the environment names, by the variables that programs of Hugging Face read.

use std::time::Duration;
use std::{env, fmt};

use tilewright_model::{Code, Refusal, hub_cache_folder, hub_home_folder};

use crate::Hub;
use crate::client::redacted;

/// The hub where `HF_ENDPOINT` names none.
const PUBLIC: &str = "https://huggingface.co";

impl Hub {
    /// `HF_ENDPOINT`; `HF_TOKEN`, else the token that was stored by a login, unless `HF_HUB_DISABLE_IMPLICIT_TOKEN` is set; the
    /// cache that `HF_HUB_CACHE`, `HF_HOME` or the home folder names.
    ///
    /// # Errors
    /// [`Code::FileUnwritable`] where the environment names no folder; [`Code::RequestInvalid`] under `HF_HUB_OFFLINE`.
    pub fn from_environment() -> Result<Self, Refusal> {
        if is_on("HF_HUB_OFFLINE") {
            let refusal = Refusal::new(Code::RequestInvalid, "HF_HUB_OFFLINE", "unset, to download", "set");
            return Err(refusal.with_remedy("Unset HF_HUB_OFFLINE and run the command again."));
        }
        let cache = hub_cache_folder().ok_or_else(|| {
            let expected = "HF_HOME, or a home folder";
            Refusal::new(Code::FileUnwritable, "cache of Hugging Face", expected, "neither")
                .with_remedy("Set HF_HOME to a directory that can be written.")
        })?;
        let stored = || hf_hub::Cache::new(hub_home_folder()?.join("hub")).token();
        Ok(Self {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| PUBLIC.to_owned()),
            token: variable("HF_TOKEN")
                .or_else(|| if is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN") { None } else { stored() }),
            cache,
            pause: Duration::from_secs(1),
        })
    }
}

/// A variable without space around it; an empty one is as good as none.
fn variable(name: &str) -> Option<String> {
    let text = env::var(name).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Whether a switch is on, by the words that those programs take for it.
fn is_on(name: &str) -> bool {
    variable(name)
        .is_some_and(|text| matches!(text.to_ascii_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE"))
}

impl fmt::Debug for Hub {
    /// Without the token, nor what else is nobody's to read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, token, cache, pause } = self;
        f.debug_struct("Hub")
            .field("endpoint", &redacted(endpoint))
            .field("token", &token.as_ref().map(|_| "…"))
            .field("cache", cache)
            .field("pause", pause)
            .finish()
    }
}
