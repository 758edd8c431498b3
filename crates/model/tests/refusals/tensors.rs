//! Tensors against the configuration, and weights that no device may load.

use serde_json::json;
use tilewright_model::{Checkpoint, Code, Refusal};

use crate::build::{Folder, Stored, changed, config, whats};

/// A stored tensor by name.
fn named<'a>(tensors: &'a mut [Stored], name: &str) -> &'a mut Stored {
    tensors.iter_mut().find(|t| t.name == name).unwrap()
}

const UP: &str = "model.layers.0.mlp.up_proj.weight";
const NORM: &str = "model.norm.weight";
const HEAD: &str = "lm_head.weight";

#[test]
fn a_missing_tensor_is_named() {
    let refusal = Folder::valid().with_tensors(|t| t.retain(|t| t.name != UP)).refused(Code::TensorMismatch);
    assert_eq!(whats(&refusal), [UP]);
}

#[test]
fn an_unknown_tensor_is_named() {
    for name in ["model.layers.0.self_attn.o_proj.bias", "model.layers.1.input_layernorm.weight", "extra"] {
        let folder = Folder::valid().with_tensors(|t| t.push(Stored::new(name, &[32])));
        assert_eq!(whats(&folder.refused(Code::TensorMismatch)), [name]);
    }
}

#[test]
fn a_name_from_a_file_does_not_command_the_terminal() {
    let folder = Folder::valid().with_tensors(|t| t.push(Stored::new("evil\u{1b}[31mname\u{9b}", &[32])));
    let text = folder.refused(Code::TensorMismatch).to_string();
    assert!(text.contains(r"evil\u{1b}[31mname\u{9b}"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn a_misshaped_tensor_is_named_with_both_shapes() {
    let refusal = Folder::valid().with_tensors(|t| *named(t, UP) = Stored::new(UP, &[32, 64]));
    let refusal = refusal.refused(Code::TensorMismatch);
    let finding = &refusal.findings()[0];
    assert_eq!((&*finding.what, &*finding.expected, &*finding.got), (UP, "[64, 32]", "[32, 64]"));
}

#[test]
fn a_mistyped_tensor_is_named() {
    for dtype in ["I16", "U16", "F64"] {
        let elements = if dtype == "F64" { 8 } else { 32 };
        let folder = Folder::valid().with_tensors(|t| {
            named(t, NORM).dtype = dtype;
            named(t, NORM).shape = vec![elements];
        });
        assert_eq!(whats(&folder.refused(Code::TensorMismatch)), [NORM]);
    }
}

#[test]
fn every_mismatch_is_listed_and_layers_are_one_finding() {
    let config = changed(config(), "num_hidden_layers", Some(json!(3)));
    let folder = Folder::valid().with("config.json", config.to_string()).with_tensors(|t| {
        t.retain(|t| t.name != NORM);
        t.push(Stored::new("extra", &[1]));
    });
    let refusal = folder.refused(Code::TensorMismatch);
    let whats = whats(&refusal);
    assert!(whats.contains(&"model.layers.*.mlp.up_proj.weight in layers 1-2"), "{refusal}");
    assert_eq!(whats.len(), 11 + 2, "{refusal}");
}

#[test]
fn names_without_the_prefix_are_not_guessed() {
    let folder = Folder::valid().with_tensors(|tensors| {
        for t in tensors {
            t.name = t.name.trim_start_matches("model.").to_owned();
        }
    });
    let refusal = folder.refused(Code::TensorMismatch);
    assert!(whats(&refusal).contains(&"embed_tokens.weight"), "{refusal}");
    assert!(whats(&refusal).contains(&"model.embed_tokens.weight"), "{refusal}");
}

#[test]
fn buffers_of_old_exports_are_known() {
    let inv_freq = Stored::new("model.layers.0.self_attn.rotary_emb.inv_freq", &[8]);
    Folder::valid().with_tensors(|t| t.push(inv_freq)).open().unwrap();
}

#[test]
fn a_tied_head_that_is_stored_must_be_the_embedding() {
    let with_head = |change: fn(&mut Stored)| {
        Folder::valid().with_tensors(|tensors| {
            let mut head = Stored { name: HEAD.to_owned(), ..tensors[0].clone() };
            change(&mut head);
            tensors.push(head);
        })
    };
    let checkpoint = with_head(|_| {}).open().unwrap();
    assert!(checkpoint.parameters().head.is_none());
    let refusal = with_head(|head| head.bytes[100] ^= 1).refused(Code::TiedHeadDiffers);
    assert!(refusal.findings()[0].got.contains("row 1"), "{refusal}");
    with_head(|head| head.dtype = "F16").refused(Code::TiedHeadDiffers);
    with_head(|head| *head = Stored::new(HEAD, &[32, 8])).refused(Code::TensorMismatch);
}

#[test]
fn an_untied_head_is_a_tensor_like_any_other() {
    let untied = changed(config(), "tie_word_embeddings", Some(json!(false))).to_string();
    let folder = Folder::valid().with("config.json", untied);
    assert_eq!(whats(&folder.clone().refused(Code::TensorMismatch)), [HEAD]);
    let checkpoint = folder.with_tensors(|t| t.push(Stored::new(HEAD, &[8, 32]))).open().unwrap();
    assert!(checkpoint.parameters().head.is_some());
}

#[test]
fn a_weight_that_is_not_finite_is_refused_by_every_conversion() {
    for bits in [0x7f80u16, 0xff80, 0x7fc0] {
        let checkpoint = Folder::valid()
            .with_tensors(|t| {
                named(t, UP).bytes[2 * (32 * 5 + 7)..][..2].copy_from_slice(&bits.to_le_bytes());
            })
            .open()
            .unwrap();
        let up = &checkpoint.parameters().layers[0].up;
        let (mut narrow, mut wide) = (vec![0.0; 64], vec![0.0; 64]);
        let refusals: [Refusal; 5] = [
            up.to_f32().unwrap_err(),
            up.to_f64().unwrap_err(),
            up.rows_f32(4..6, &mut narrow).unwrap_err(),
            up.rows_f64(5..7, &mut wide).unwrap_err(),
            up.check_finite(0..64).unwrap_err(),
        ];
        for refusal in refusals {
            assert_eq!(
                (refusal.code(), whats(&refusal)[0]),
                (Code::NonFiniteWeight, &*format!("{UP}[5, 7]"))
            );
        }
        up.rows_f32(0..2, &mut narrow).unwrap();
        up.check_finite(0..5).unwrap();
    }
}

#[test]
fn a_spoilt_norm_is_named_by_its_index() {
    let spoil = |t: &mut Vec<Stored>| named(t, NORM).bytes[6..8].copy_from_slice(&0x7fc0u16.to_le_bytes());
    let checkpoint: Checkpoint = Folder::valid().with_tensors(spoil).open().unwrap();
    let refusal = checkpoint.parameters().final_norm.to_f32().unwrap_err();
    assert_eq!(whats(&refusal), ["model.norm.weight[3]"]);
}
