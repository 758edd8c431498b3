//! Places of tensors and the published counts.

use super::*;

#[test]
fn the_published_layer_has_the_published_number_of_elements() {
    let shape = Shape::QWEN3_0_6B;
    assert_eq!(LayerPack::new(&shape, Format::F32).bytes(), 15_730_944 * 4);
    // Layers and embedding, packed: half of the f32 bytes.
    let bytes = |format: Format| {
        let embedding = Slot::of_matrix([shape.vocab, shape.hidden], format);
        LayerPack::new(&shape, format).bytes() * u64::from(shape.layers) + embedding.end()
    };
    assert_eq!((bytes(Format::F32), bytes(Format::Pairs)), (2_384_195_584, 1_192_097_792));
}

#[test]
fn tensors_do_not_overlap_and_begin_at_multiples_of_16() {
    for sample in crate::shape::SAMPLES {
        for format in [Format::F32, Format::F16, Format::BF16, Format::Pairs, Format::INT8, Format::INT4] {
            let pack = LayerPack::new(&sample.shape, format);
            let mut free = 0;
            for tensor in Tensor::ALL {
                let slot = pack.slot(tensor);
                assert!(slot.offset >= free && slot.offset.is_multiple_of(16), "{tensor:?} {slot:?}");
                free = slot.end();
            }
            assert!(pack.bytes() >= free && pack.bytes().is_multiple_of(16));
        }
    }
}
