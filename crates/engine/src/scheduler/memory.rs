//! How much memory keys and values may take.

use tilewright_backend::{DeviceKind, Paging};
use tilewright_cpu::Host;
use tilewright_model::{Code, Refusal};

use crate::Engine;

/// The bound, in what the device counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Budget {
    /// The device takes pages of so many positions as sequences grow.
    Pages {
        /// Positions of a page.
        page: usize,
        /// Pages there may be.
        most: usize,
        /// Bytes of a page.
        bytes: u64,
    },
    /// The device takes a sequence's whole room at once.
    Rooms {
        /// Positions there may be; `None` leaves it to the device.
        most: Option<usize>,
        /// Bytes of a position.
        bytes: u64,
    },
}

impl Budget {
    /// The bound for `bytes`.
    ///
    /// # Errors
    /// `device_option_invalid` when one context does not fit.
    pub(super) fn new(engine: &Engine, bytes: Option<u64>) -> Result<Self, Refusal> {
        let plan = engine.plan();
        let position = plan.kv_bytes_per_position.max(1);
        let paging = engine.resident().paging();
        // A page more than a context takes, for one that is being copied.
        let whole = match paging {
            Some(paging) => (plan.context.div_ceil(paging.page) + 1) as u64 * paging.bytes,
            None => plan.context as u64 * position,
        };
        if let Some(bytes) = bytes.filter(|bytes| *bytes < whole) {
            let what = format!("bytes for keys and values of {} positions", plan.context);
            return Err(Refusal::new(Code::DeviceOptionInvalid, what, format!("at least {whole}"), bytes));
        }
        let half = || match plan.device {
            DeviceKind::Cpu => Host::detect().available.map(|bytes| (bytes / 2).max(whole)),
            _ => None,
        };
        let bytes = bytes.or_else(half);
        Ok(match paging {
            Some(Paging { page, bytes: each, most, .. }) => {
                let asked = bytes.map(|bytes| usize::try_from(bytes / each.max(1)).unwrap_or(usize::MAX));
                let most = asked.into_iter().chain(most).min().unwrap_or(usize::MAX);
                Self::Pages { page, most, bytes: each }
            }
            None => Self::Rooms { most: bytes.map(|bytes| (bytes / position) as usize), bytes: position },
        })
    }

    /// The bound in bytes, if there is one.
    pub(super) fn limit(&self) -> Option<u64> {
        match *self {
            Self::Pages { most: usize::MAX, .. } => None,
            Self::Pages { most, bytes, .. } => Some(most as u64 * bytes),
            Self::Rooms { most, bytes } => most.map(|most| most as u64 * bytes),
        }
    }
}
