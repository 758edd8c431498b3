//! Places of tensors and the published counts.

use super::*;
use tilewright_model::StoredType;

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
    // The published count has the norms of the layers in it, which here are bf16 numbers beside the pairs.
    let packed = Formats::uniform(&shape, Format::Pairs).packed(&shape);
    let norms = u64::from(shape.layers * 2 * (shape.hidden + shape.head_dim));
    assert_eq!(packed.vocabulary, 151_936 * 1_024);
    assert_eq!(packed.vocabulary + packed.layers + norms, 596_048_896);
}

#[test]
fn tensors_do_not_overlap_and_begin_at_multiples_of_16() {
    for sample in crate::shape::SAMPLES {
        let blocks = [Format::Q8_0, Format::Q4_0, Format::Q4_K, Format::Q6_K];
        let others = [Format::F32, Format::F16, Format::BF16, Format::Pairs, Format::INT8, Format::INT4];
        for format in others.into_iter().chain(blocks) {
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

#[test]
fn blocks_take_the_bytes_of_their_file_or_three_in_a_hundred_more() {
    for (format, stored, most) in [
        (Format::Q8_0, StoredType::Q8_0, 1.0),
        (Format::Q4_0, StoredType::Q4_0, 1.0),
        // Scales and minima in whole bytes instead of six bits.
        (Format::Q4_K, StoredType::Q4K, 4.625 / 4.5),
        (Format::Q6_K, StoredType::Q6K, 1.0),
    ] {
        let held = Slot::of_matrix([64, 1024], format).end() as f64;
        let filed = stored.bytes(64 * 1024) as f64;
        assert_eq!(held / filed, most, "{stored}");
        assert_eq!(Format::of_stored(stored), format);
    }
    // What the page of models says of kernels is what there is.
    for stored in StoredType::all().filter(|stored| stored.is_block()) {
        assert_eq!(Format::of_stored(stored).keeps(stored), stored.is_read_by_kernels(), "{stored}");
    }
}

#[test]
fn queries_keys_and_values_of_several_formats_are_pieces_that_cover_them() {
    let shape = Shape::STORIES;
    let qkv = [Format::Q4_K, Format::Q4_K, Format::Q6_K];
    let mixed = LayerFormats { qkv, ..LayerFormats::all(Format::Q4_K) };
    let pack = LayerPack::of(&shape, &mixed, Scalar::F32);
    let pieces: Vec<_> = pack.pieces(Tensor::Qkv).iter().map(|p| (p.first, p.rows, p.format)).collect();
    let values = shape.q_width() + shape.kv_width();
    assert_eq!(pieces, [(0, values, Format::Q4_K), (values, shape.kv_width(), Format::Q6_K)]);
    let all = ModelPack::new(&shape, &Formats::uniform(&shape, Format::Q4_K));
    for layer in 0..shape.layers {
        let (start, pack) = all.layer(layer);
        for tensor in Tensor::ALL.into_iter().filter(|t| t.extents(&shape)[0] > 0) {
            let at = start + pack.slot(tensor).offset + 5;
            assert_eq!(all.tensor_at(at), Some((layer as usize, tensor, 5)));
        }
    }
    assert_eq!(all.tensor_at(all.bytes()), None);
}
