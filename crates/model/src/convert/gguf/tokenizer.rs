//! The tokenizer as metadata: the way back from [`crate::gguf::texts`].

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::facts::inexact;
use crate::gguf::pre::Pre;
use crate::gguf::texts::{TEMPLATE, TokenType};
use crate::gguf::write::Writer;
use crate::{Checkpoint, Refusal, Tokenizer};

/// Writes the keys of the tokenizer and of the chat template.
///
/// # Errors
/// `inexact_conversion` for a tokenizer that the format cannot state, those of [`Tokenizer::from_checkpoint`].
pub(super) fn write(checkpoint: &Checkpoint, writer: &mut Writer) -> Result<(), Refusal> {
    if let Some((template, _)) = checkpoint.chat_template() {
        writer.text(TEMPLATE, template);
    }
    stops(checkpoint, writer)?;
    let Some(text) = checkpoint.tokenizer_json() else {
        writer.text("tokenizer.ggml.model", "none");
        return Ok(());
    };
    let tokenizer = Tokenizer::from_checkpoint(checkpoint)?;
    let file: Json = serde_json::from_slice(text).unwrap_or_default();
    let mut tokens: Vec<(String, TokenType)> =
        (0..checkpoint.config().vocab).map(|id| (format!("[PAD{id}]"), TokenType::Unused)).collect();
    let mut set = |id: Option<u64>, text: &str, kind: TokenType| {
        if let Some(slot) = id.and_then(|id| tokens.get_mut(id as usize)) {
            *slot = (text.to_owned(), kind);
        }
    };
    let byte_fallback = file["model"]["byte_fallback"] == true;
    let is_byte =
        |text: &str| byte_fallback && text.len() == 6 && text.starts_with("<0x") && text.ends_with('>');
    for (text, id) in file["model"]["vocab"].as_object().into_iter().flatten() {
        set(id.as_u64(), text, if is_byte(text) { TokenType::Byte } else { TokenType::Normal });
    }
    for added in file["added_tokens"].as_array().into_iter().flatten() {
        let text = added["content"].as_str().unwrap_or_default();
        let kind = match added["special"] == true {
            true if byte_fallback && text == "<unk>" => TokenType::Unknown,
            true => TokenType::Control,
            false => TokenType::UserDefined,
        };
        set(added["id"].as_u64(), text, kind);
    }
    let merges = merges(&file);
    if byte_fallback {
        sentence_piece(&file, &tokens, &merges, writer)?;
    } else {
        byte_level(&file, &merges, writer)?;
    }
    writer.texts("tokenizer.ggml.tokens", tokens.iter().map(|(text, _)| text.as_str()));
    let kinds: Vec<i32> = tokens.iter().map(|(_, kind)| *kind as i32).collect();
    writer.i32s("tokenizer.ggml.token_type", &kinds);
    let named = tokenizer.named();
    let ids = [("bos", &named.bos), ("unknown", &named.unk), ("padding", &named.pad)];
    for (key, text) in ids {
        if let Some(id) = text.as_ref().and_then(|text| tokenizer.id_of(text)) {
            writer.u32(&format!("tokenizer.ggml.{key}_token_id"), id as usize);
        }
    }
    let bos = named.bos.as_ref().and_then(|text| tokenizer.id_of(text));
    match tokenizer.prefix() {
        [] => writer.flag("tokenizer.ggml.add_bos_token", false),
        [first] if Some(*first) == bos => writer.flag("tokenizer.ggml.add_bos_token", true),
        other => {
            return Err(inexact(
                "post_processor",
                "at most the bos_token before a text",
                &format!("{other:?}"),
            ));
        }
    }
    Ok(())
}

/// The ids that end a text: the format has three places.
fn stops(checkpoint: &Checkpoint, writer: &mut Writer) -> Result<(), Refusal> {
    let ids: Vec<u32> = checkpoint.stop_set().ids().collect();
    if ids.len() > 3 {
        return Err(inexact("eos_token_id", "at most three ids", &ids.len().to_string()));
    }
    for (key, id) in ["eos", "eot", "eom"].iter().zip(ids) {
        writer.u32(&format!("tokenizer.ggml.{key}_token_id"), id as usize);
    }
    Ok(())
}

/// Every merge as two texts.
fn merges(file: &Json) -> Vec<(&str, &str)> {
    let merges = file["model"]["merges"].as_array().into_iter().flatten();
    merges
        .filter_map(|merge| match merge {
            Json::String(text) => text.split_once(' '),
            pair => Some((pair[0].as_str()?, pair[1].as_str()?)),
        })
        .collect()
}

fn byte_level(file: &Json, merges: &[(&str, &str)], writer: &mut Writer) -> Result<(), Refusal> {
    let Some(pre) = Pre::of(&file["pre_tokenizer"], file["model"]["ignore_merges"] == true) else {
        return Err(inexact(
            "pre_tokenizer",
            "one that GGUF has a name for",
            &crate::json::show(&file["pre_tokenizer"]),
        ));
    };
    // Composing characters is left out by the format; texts are nearly always composed already.
    if !file["normalizer"].is_null() && file["normalizer"]["type"] != "NFC" {
        return Err(inexact("normalizer", "none or NFC", &crate::json::show(&file["normalizer"])));
    }
    writer.text("tokenizer.ggml.model", "gpt2");
    writer.text("tokenizer.ggml.pre", pre.names[0]);
    let merges: Vec<String> = merges.iter().map(|(left, right)| format!("{left} {right}")).collect();
    writer.texts("tokenizer.ggml.merges", merges.iter().map(String::as_str));
    Ok(())
}

/// A token's score is the rank of the first merge that makes it, from above.
fn sentence_piece(
    file: &Json,
    tokens: &[(String, TokenType)],
    merges: &[(&str, &str)],
    writer: &mut Writer,
) -> Result<(), Refusal> {
    let mut ranks = BTreeMap::new();
    for (rank, (left, right)) in merges.iter().enumerate() {
        ranks.entry(format!("{left}{right}")).or_insert(rank);
    }
    let last = merges.len() as f32;
    let score = |(text, kind): &(String, TokenType)| match (kind, ranks.get(text)) {
        (TokenType::Normal | TokenType::UserDefined, Some(rank)) => -(*rank as f32),
        (TokenType::Normal | TokenType::UserDefined, None) => -last - 1.0,
        _ => 0.0,
    };
    let steps = file["normalizer"]["normalizers"].as_array().into_iter().flatten();
    let prepends = steps.clone().any(|step| step["type"] == "Prepend");
    let scheme = &file["pre_tokenizer"]["prepend_scheme"];
    let marks = file["pre_tokenizer"]["type"] == "Metaspace" && scheme != "never";
    writer.text("tokenizer.ggml.model", "llama");
    writer.flag("tokenizer.ggml.add_space_prefix", prepends || marks);
    writer.f32s("tokenizer.ggml.scores", &tokens.iter().map(score).collect::<Vec<_>>());
    Ok(())
}
