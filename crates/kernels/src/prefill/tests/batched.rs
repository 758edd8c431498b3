//! The batched prefill: budgets of every plan.

use crate::prefill::batched::MAX_ROWS;
use crate::prefill::{Batch, Path, Tier, batched};
use crate::shape::Shape;

#[test]
fn every_plan_takes_one_and_eight_a_layer_and_two_launches() {
    let shape = Shape::QWEN3_TINY;
    for path in Path::ALL {
        for tier in Tier::ALL {
            let pipeline = batched(&shape, &Batch::int8(16, path, tier)).unwrap_or_else(|e| panic!("{e}"));
            let pipeline = pipeline.verify().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(pipeline.dispatches(), 19, "{}", pipeline.name());
        }
    }
    let published = batched(&Shape::QWEN3_0_6B, &Batch::int8(MAX_ROWS, Path::Off, Tier::Original)).unwrap();
    assert_eq!(published.dispatches(), 227);
}

#[test]
fn plans_differ_in_the_text_of_the_kernels_they_name() {
    let kernels = |path, tier| -> Vec<String> {
        let pipeline = batched(&Shape::QWEN3_TINY, &Batch::int8(16, path, tier)).unwrap();
        pipeline.stages().iter().map(|stage| stage.kernel.name().to_owned()).collect()
    };
    let off = kernels(Path::Off, Tier::Original);
    assert!(off.contains(&"plain_attention_f32".to_owned()));
    assert!(
        kernels(Path::ParametricNativeDecode, Tier::Original).contains(&"plain_attention_f16".to_owned())
    );
    let mirrored = kernels(Path::GroupedMirror, Tier::Original);
    let alone = kernels(Path::Grouped, Tier::Original);
    assert!(mirrored.contains(&"prefill_heads_f32_mirrored_separate".to_owned()));
    assert!(alone.contains(&"prefill_heads_f32_cache_f16_separate".to_owned()));
    for tier in Tier::ALL {
        let products = kernels(Path::Grouped, tier);
        let named = products.iter().filter(|name| name.contains(&format!("matmul_{}", tier.name()))).count();
        // The 64-row tier is for one of the four products of each of two layers.
        assert_eq!(named, if tier == Tier::Bm64 { 2 } else { 8 }, "{products:?}");
    }
}
