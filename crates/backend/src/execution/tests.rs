//! Every rule of resolution.

use super::*;

const NO_MIRROR_MSL: ExecutionRequest =
    ExecutionRequest { attention: Attention::GroupedNoMirror, gemm: Gemm::MslParity };

fn resolve(attention: Attention, gemm: Gemm, linked: &Linked) -> ExecutionPlan {
    ExecutionPlan::resolve(ExecutionRequest { attention, gemm }, linked)
}

fn parts(plan: &ExecutionPlan) -> (Attention, KvContract, DecodeRoute) {
    (plan.attention().unwrap(), plan.kv_contract(), plan.decode())
}

/// Every set of attention kernels.
fn linked() -> impl Iterator<Item = Linked> {
    [(false, false), (false, true), (true, false), (true, true)].into_iter().map(
        |(grouped, parametric_native_decode)| Linked { grouped, parametric_native_decode, ..Linked::ALL },
    )
}

#[test]
fn grouped_without_mirror_and_msl_parity_resolve_to_themselves_when_all_kernels_are_there() {
    let plan = ExecutionPlan::resolve(NO_MIRROR_MSL, &Linked::ALL);
    assert_eq!(parts(&plan), (Attention::GroupedNoMirror, KvContract::PackedF16, DecodeRoute::Native));
    assert_eq!(plan.gemm(), ByRole::all(Gemm::MslParity));
    assert!(plan.differences(NO_MIRROR_MSL).is_empty());
}

#[test]
fn without_grouped_the_same_request_takes_parametric_native_decode() {
    let plan = ExecutionPlan::resolve(NO_MIRROR_MSL, &Linked { grouped: false, ..Linked::ALL });
    let expected = (Attention::ParametricNativeDecode, KvContract::PackedF16, DecodeRoute::Native);
    assert_eq!(parts(&plan), expected);
    assert_eq!(plan.differences(NO_MIRROR_MSL).len(), 1);
}

#[test]
fn without_both_the_same_request_is_off_with_the_caches_of_off() {
    let linked = Linked { grouped: false, parametric_native_decode: false, ..Linked::ALL };
    let plan = ExecutionPlan::resolve(NO_MIRROR_MSL, &linked);
    assert_eq!(parts(&plan), (Attention::Off, KvContract::NaturalF32, DecodeRoute::Legacy));
    assert_eq!(plan.gemm(), ByRole::all(Gemm::MslParity), "products do not give way with attention");
}

#[test]
fn grouped_with_mirror_fills_both_caches_and_decodes_as_before() {
    let plan = resolve(Attention::Grouped, Gemm::Original, &Linked::ALL);
    assert_eq!(parts(&plan), (Attention::Grouped, KvContract::Mirrored, DecodeRoute::Legacy));
    let none = resolve(Attention::Grouped, Gemm::Original, &Linked { grouped: false, ..Linked::ALL });
    assert_eq!(parts(&none), (Attention::Off, KvContract::NaturalF32, DecodeRoute::Legacy));
}

#[test]
fn a_tier_missing_for_one_role_gives_way_for_that_role_alone() {
    let missing = ByRole { accum: false, ..ByRole::all(true) };
    let linked = Linked { msl_parity: missing, ..Linked::ALL };
    let plan = ExecutionPlan::resolve(NO_MIRROR_MSL, &linked);
    let expected = ByRole { accum: Gemm::SplitK, ..ByRole::all(Gemm::MslParity) };
    assert_eq!(plan.gemm(), expected);
    assert_eq!(plan.attention(), Some(Attention::GroupedNoMirror));
    assert_eq!(
        plan.differences(NO_MIRROR_MSL),
        ["accum products splitk: no kernel of msl_parity fits the model"]
    );
}

#[test]
fn a_role_goes_down_the_chain_to_what_is_there() {
    let none = ByRole::all(false);
    let linked = Linked { msl_parity: none, splitk: none, vecload4: none, ..Linked::ALL };
    let plan = ExecutionPlan::resolve(NO_MIRROR_MSL, &linked);
    assert_eq!(plan.gemm(), ByRole { qkv: Gemm::Bm64, accum: Gemm::Original, swiglu: Gemm::Original });
    let plan = ExecutionPlan::resolve(NO_MIRROR_MSL, &Linked { bm64: false, ..linked });
    assert_eq!(plan.gemm(), ByRole::all(Gemm::Original));
}

#[test]
fn a_request_is_never_raised_to_a_tier_before_it() {
    for (n, &asked) in [Gemm::Original, Gemm::Bm64, Gemm::Vecload4, Gemm::SplitK].iter().enumerate() {
        let plan = resolve(Attention::Off, asked, &Linked::ALL);
        assert_eq!(plan.gemm().qkv, asked, "{n}");
        assert!(plan.differences(ExecutionRequest { attention: Attention::Off, gemm: asked }).is_empty());
    }
}

#[test]
fn bm64_is_a_tier_of_the_projection_alone() {
    let plan = resolve(Attention::Off, Gemm::Bm64, &Linked::ALL);
    assert_eq!(plan.gemm(), ByRole { qkv: Gemm::Bm64, accum: Gemm::Original, swiglu: Gemm::Original });
}

#[test]
fn what_is_derived_follows_what_was_resolved_for_every_request_and_every_set_of_kernels() {
    for linked in linked() {
        for &attention in Attention::ALL {
            for &gemm in Gemm::ALL {
                let plan = resolve(attention, gemm, &linked);
                let got = plan.attention().unwrap();
                assert_eq!((plan.kv_contract(), plan.decode()), (got.kv_contract(), got.decode()));
                assert!(plan.is_resolved() && plan.is_consistent());
                assert_ne!(plan, ExecutionPlan::UNRESOLVED);
                let there = match attention {
                    Attention::Off => true,
                    Attention::Grouped | Attention::GroupedNoMirror => linked.grouped,
                    Attention::ParametricNativeDecode => linked.parametric_native_decode,
                };
                assert_eq!(got == attention, there, "honoured exactly where its kernels are");
            }
        }
    }
}

#[test]
fn the_sentinel_and_contradictions_are_not_resolved_and_resolving_again_recovers() {
    assert_eq!(ExecutionPlan::UNRESOLVED.check(), Err(PlanFault::Unresolved));
    let gemm = ByRole::all(Gemm::Original);
    for &attention in Attention::ALL {
        for &kv in KvContract::ALL {
            for &decode in DecodeRoute::ALL {
                let mut plan = ExecutionPlan::forged(Some(attention), gemm, kv, decode);
                let fits = kv == attention.kv_contract() && decode == attention.decode();
                assert_eq!(plan.is_consistent(), fits);
                assert_eq!(plan.check(), if fits { Ok(attention) } else { Err(PlanFault::Contradictory) });
                plan = resolve(attention, Gemm::Original, &Linked::ALL);
                assert_eq!(plan.check(), Ok(attention));
            }
        }
    }
}

#[test]
fn names_are_read_back() {
    for &attention in Attention::ALL {
        assert_eq!(attention.name().parse(), Ok(attention));
    }
    for &gemm in Gemm::ALL {
        assert_eq!(gemm.name().parse(), Ok(gemm));
    }
    assert!("steel".parse::<Attention>().unwrap_err().contains("grouped_no_mirror"));
    assert_eq!(KvContract::PackedF16.to_string(), "packed_f16");
    assert_eq!(DecodeRoute::Native.to_string(), "native");
}

#[test]
fn a_plan_is_shown_role_by_role_only_where_roles_differ() {
    let plan = ExecutionPlan::resolve(NO_MIRROR_MSL, &Linked::ALL);
    let text = "attention grouped_no_mirror, products msl_parity, cache packed_f16, decode native";
    assert_eq!(plan.to_string(), text);
    let plan = resolve(Attention::Off, Gemm::Bm64, &Linked::ALL);
    let text =
        "attention off, products qkv bm64 accum original swiglu original, cache natural_f32, decode legacy";
    assert_eq!(plan.to_string(), text);
    assert_eq!(ExecutionPlan::UNRESOLVED.to_string(), "unresolved");
}
