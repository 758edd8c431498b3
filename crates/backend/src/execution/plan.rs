//! The resolved plan.

use std::fmt;

use super::names::{Attention, DecodeRoute, Gemm, KvContract};
use super::request::{ByRole, ExecutionRequest, Linked};

/// Tiers, each followed by what takes its place, to the one that is always there. Only who asks for the first begins with it.
const CHAIN: [Gemm; 6] =
    [Gemm::TensorOps, Gemm::MslParity, Gemm::SplitK, Gemm::Vecload4, Gemm::Bm64, Gemm::Original];

/// What was resolved. Only [`ExecutionPlan::resolve`] makes one that may run; the last two fields follow from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExecutionPlan {
    attention: Option<Attention>,
    gemm: ByRole<Gemm>,
    kv_contract: KvContract,
    decode: DecodeRoute,
}

/// Why a plan may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanFault {
    /// Nothing was resolved.
    Unresolved,
    /// Caches or decode step are not those of the attention.
    Contradictory,
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unresolved => "the plan was not resolved",
            Self::Contradictory => "caches and decode step are not those of the attention",
        })
    }
}

impl ExecutionPlan {
    /// The sentinel of a session that has no plan. Nothing resolves to it.
    pub const UNRESOLVED: Self = Self {
        attention: None,
        gemm: ByRole::all(Gemm::Original),
        kv_contract: KvContract::NaturalF32,
        decode: DecodeRoute::Legacy,
    };

    /// Resolves a request against the kernels there are. It always succeeds: what is absent gives way as the module
    /// says, and [`differences`](Self::differences) tells where.
    pub fn resolve(request: ExecutionRequest, linked: &Linked) -> Self {
        let parametric = match linked.parametric_native_decode {
            true => Attention::ParametricNativeDecode,
            false => Attention::Off,
        };
        let attention = match request.attention {
            Attention::Grouped | Attention::GroupedNoMirror if linked.grouped => request.attention,
            Attention::GroupedNoMirror | Attention::ParametricNativeDecode => parametric,
            Attention::Grouped | Attention::Off => Attention::Off,
        };
        Self::of(attention, resolve_gemm(request.gemm, linked))
    }

    /// The plan of an attention: caches and decode step follow.
    const fn of(attention: Attention, gemm: ByRole<Gemm>) -> Self {
        Self {
            attention: Some(attention),
            gemm,
            kv_contract: attention.kv_contract(),
            decode: attention.decode(),
        }
    }

    /// A plan whose parts may contradict one another, to show that such a plan is not run.
    #[doc(hidden)]
    pub const fn forged(
        attention: Option<Attention>,
        gemm: ByRole<Gemm>,
        kv_contract: KvContract,
        decode: DecodeRoute,
    ) -> Self {
        Self { attention, gemm, kv_contract, decode }
    }

    /// The attention; `None` in the sentinel.
    pub const fn attention(&self) -> Option<Attention> {
        self.attention
    }

    /// The tier of each kind of product.
    pub const fn gemm(&self) -> ByRole<Gemm> {
        self.gemm
    }

    /// The caches a prompt fills.
    pub const fn kv_contract(&self) -> KvContract {
        self.kv_contract
    }

    /// The decode step.
    pub const fn decode(&self) -> DecodeRoute {
        self.decode
    }

    /// Whether caches and decode step are those of the attention, derived anew; true for the sentinel.
    pub fn is_consistent(&self) -> bool {
        self.attention.is_none_or(|attention| *self == Self::of(attention, self.gemm))
    }

    /// Whether it may run.
    pub fn is_resolved(&self) -> bool {
        self.check().is_ok()
    }

    /// The attention, if the plan may run.
    ///
    /// # Errors
    /// The sentinel, or a plan that contradicts itself.
    pub fn check(&self) -> Result<Attention, PlanFault> {
        let attention = self.attention.ok_or(PlanFault::Unresolved)?;
        if self.is_consistent() { Ok(attention) } else { Err(PlanFault::Contradictory) }
    }

    /// What is not as asked for, one line each.
    pub fn differences(&self, request: ExecutionRequest) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(attention) = self.attention.filter(|got| *got != request.attention) {
            lines.push(format!("attention {attention}: no kernel of {} fits the model", request.attention));
        }
        for (role, got) in self.gemm.named() {
            // That tier is meant for one role alone.
            let expected = match (request.gemm, role) {
                (Gemm::Bm64, "accum" | "swiglu") => Gemm::Original,
                (asked, _) => asked,
            };
            if got != expected {
                lines.push(format!("{role} products {got}: no kernel of {expected} fits the model"));
            }
        }
        lines
    }
}

fn resolve_gemm(asked: Gemm, linked: &Linked) -> ByRole<Gemm> {
    let start = CHAIN.iter().position(|tier| *tier == asked).unwrap_or(0);
    let first = ByRole::all(None::<Gemm>);
    let found = CHAIN[start..].iter().fold(first, |found, &tier| {
        found.zip(linked.tier(tier)).map(|(found, there)| found.or(there.then_some(tier)))
    });
    found.map(|tier| tier.unwrap_or(Gemm::Original))
}

impl fmt::Display for ExecutionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(attention) = self.attention else { return f.write_str("unresolved") };
        let ByRole { qkv, accum, swiglu } = self.gemm;
        write!(f, "attention {attention}, products ")?;
        match qkv == accum && accum == swiglu {
            true => write!(f, "{qkv}")?,
            false => write!(f, "qkv {qkv} accum {accum} swiglu {swiglu}")?,
        }
        write!(f, ", cache {}, decode {}", self.kv_contract, self.decode)
    }
}
