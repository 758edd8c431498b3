//! Checkpoints written as GGUF and read back.

use std::path::{Path, PathBuf};

use crate::convert::{Quant, write_gguf, write_safetensors};
use crate::{ChatTemplate, Checkpoint, Config, Family, RopeScaling, Specials, StoredType, Tokenizer};

fn fixture(name: &str) -> Checkpoint {
    Checkpoint::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

fn stories() -> Checkpoint {
    Checkpoint::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/stories-qwen3")).unwrap()
}

fn written(checkpoint: &Checkpoint, quant: Option<Quant>, dir: &Path) -> PathBuf {
    let path = dir.join("model.gguf");
    write_gguf(checkpoint, &path, quant, false, &mut |_, _| {}).unwrap();
    path
}

/// The names of all fixtures.
fn fixtures() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let names = entries.filter(|entry| entry.path().join("config.json").is_file());
    let names: Vec<_> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(names.len() >= 8, "{names:?}");
    names
}

/// The same facts as `config`, as far as the format states them.
fn same(config: &Config, of: &Config) {
    let head = of.head_dim;
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs());
    assert!(close(&config.rope.inv_freq(head), &of.rope.inv_freq(head)), "{:?}", config.rope);
    let known = Config {
        rope: of.rope.clone(),
        stored: of.stored,
        bos: of.bos,
        family: of.family,
        eos: of.eos.clone(),
        ..config.clone()
    };
    assert_eq!(&known, of);
}

#[test]
fn every_fixture_is_the_same_model_again() {
    for name in fixtures() {
        let dir = tempfile::tempdir().unwrap();
        let source = fixture(&name);
        let path = written(&source, None, dir.path());
        for at in [path.as_path(), dir.path()] {
            let read = Checkpoint::open(at).unwrap();
            same(read.config(), source.config());
            let (mut expected, mut got) = (Vec::new(), Vec::new());
            let _ = source
                .parameters()
                .map(|_, tensor| expected.push((tensor.name.to_owned(), tensor.to_f32().unwrap())));
            let _ = read
                .parameters()
                .map(|_, tensor| got.push((tensor.name.to_owned(), tensor.to_f32().unwrap())));
            assert!(got == expected, "{name}");
            assert_eq!(
                read.stop_set().ids().collect::<Vec<_>>(),
                source.stop_set().ids().collect::<Vec<_>>()
            );
        }
    }
}

/// Factors of the frequencies as a tensor, and rows of queries and keys in another order.
#[test]
fn what_is_stored_otherwise_is_brought_back() {
    let dir = tempfile::tempdir().unwrap();
    let source = fixture("llama3-rope-scaling");
    let read = Checkpoint::open(&written(&source, None, dir.path())).unwrap();
    assert!(matches!(read.config().rope.scaling, RopeScaling::Factors(_)), "{:?}", read.config().rope);
    assert_eq!(read.config().family, Family::Llama);
    let (there, back) = (source.parameters(), read.parameters());
    assert_eq!(back.layers[0].q.interleaved, Some(32));
    assert_ne!(there.layers[0].q.bytes, back.layers[0].q.bytes);
    assert_eq!(there.layers[0].v.bytes, back.layers[0].v.bytes);
}

#[test]
fn the_tokenizer_and_the_template_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let source = stories();
    let read = Checkpoint::open(&written(&source, Some(Quant::Q8_0), dir.path())).unwrap();
    assert_eq!(read.parameters().layers[0].q.stored, StoredType::Q8_0);
    assert_eq!(read.chat_template().map(|(text, _)| text), source.chat_template().map(|(text, _)| text));
    let (ours, theirs) =
        (Tokenizer::from_checkpoint(&read).unwrap(), Tokenizer::from_checkpoint(&source).unwrap());
    for text in ["", "Once upon a time, there's 1234 Bären — 日本語\n\n  x\r\n<|im_end|>", "  a  b\tc"]
    {
        for specials in [Specials::Parse, Specials::Plain] {
            assert_eq!(
                ours.encode(text, specials).unwrap(),
                theirs.encode(text, specials).unwrap(),
                "{text:?}"
            );
        }
    }
    assert_eq!((ours.named(), ours.prefix()), (theirs.named(), theirs.prefix()));
    assert_eq!(ours.vocab_size(), theirs.vocab_size());
    ChatTemplate::from_checkpoint(&read, &ours).unwrap().unwrap();
}

/// A split file is opened by any of its parts or by its folder, and no part may be missing.
#[test]
fn parts_of_a_split_file_are_one_model() {
    use super::header;
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(written(&fixture("qwen3-tiny"), None, dir.path())).unwrap();
    let expected = Checkpoint::open(dir.path()).unwrap().digest();
    std::fs::remove_file(dir.path().join("model.gguf")).unwrap();
    let header = header::read(&whole).unwrap();
    let half = header.tensors.len() / 2;
    for (number, tensors) in [&header.tensors[..half], &header.tensors[half..]].into_iter().enumerate() {
        let (mut writer, mut data) = (super::write::Writer::default(), Vec::new());
        if number == 0 {
            for (key, value) in header.metadata.iter() {
                match value {
                    super::metadata::Value::Text(text) => writer.text(key, text),
                    super::metadata::Value::Scalar(json) if json.is_f64() => {
                        writer.f32(key, json.as_f64().unwrap());
                    }
                    super::metadata::Value::Scalar(json) => {
                        writer.u32(key, json.as_u64().unwrap() as usize);
                    }
                    super::metadata::Value::List { .. } => {}
                }
            }
        }
        writer.u32("split.no", number);
        writer.u32("split.count", 2);
        writer.u32("split.tensors.count", header.tensors.len());
        for tensor in tensors {
            let padding = writer.tensor(tensor.name, &tensor.shape, tensor.stored);
            data.resize(data.len() + padding, 0);
            data.extend_from_slice(&whole[tensor.range.clone()]);
        }
        let name = format!("model-{:05}-of-00002.gguf", number + 1);
        std::fs::write(dir.path().join(name), [writer.finish(), data].concat()).unwrap();
    }
    let second = dir.path().join("model-00002-of-00002.gguf");
    for path in [dir.path(), &dir.path().join("model-00001-of-00002.gguf"), &second] {
        assert_eq!(Checkpoint::open(path).unwrap().digest(), expected);
    }
    let read = std::fs::read(&second).unwrap();
    std::fs::remove_file(&second).unwrap();
    let refusal = Checkpoint::open(dir.path()).unwrap_err();
    assert_eq!(refusal.code(), crate::Code::CheckpointNotFound);
    std::fs::write(dir.path().join("other-00002-of-00002.gguf"), read).unwrap();
    assert_eq!(Checkpoint::open(dir.path()).unwrap_err().code(), crate::Code::CheckpointNotFound);
}

/// From GGUF to the published form: blocks become the f32 they stand for.
#[test]
fn the_published_form_is_the_same_model() {
    for (name, quant) in
        [("qwen2-bias", None), ("llama-d64-odd-heads", Some(Quant::Q8_0)), ("qwen3-yarn", None)]
    {
        let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let source = Checkpoint::open(&written(&fixture(name), quant, dir.path())).unwrap();
        write_safetensors(&source, out.path(), false, &mut |_, _| {}).unwrap();
        let read = Checkpoint::open(out.path()).unwrap();
        same(read.config(), source.config());
        for (a, b) in read.tensors().zip(source.tensors()) {
            assert_eq!((a.name, a.to_f32().unwrap()), (b.name, b.to_f32().unwrap()), "{name}");
        }
        assert!(
            write_safetensors(&source, out.path(), false, &mut |_, _| {}).is_err(),
            "nothing is replaced"
        );
        write_safetensors(&source, out.path(), true, &mut |_, _| {}).unwrap();
    }
}
