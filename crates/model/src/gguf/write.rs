//! Writing the header of a GGUF file.

use super::header::ALIGNMENT;
use crate::StoredType;

/// A header being put together.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    metadata: Vec<u8>,
    keys: u64,
    described: Vec<u8>,
    tensors: u64,
    end: usize,
}

impl Writer {
    fn key(&mut self, key: &str, kind: u32) -> &mut Vec<u8> {
        self.keys += 1;
        put_text(&mut self.metadata, key);
        self.metadata.extend(kind.to_le_bytes());
        &mut self.metadata
    }

    pub(crate) fn u32(&mut self, key: &str, value: usize) {
        self.key(key, 4).extend((value as u32).to_le_bytes());
    }

    pub(crate) fn f32(&mut self, key: &str, value: f64) {
        self.key(key, 6).extend((value as f32).to_le_bytes());
    }

    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        self.key(key, 7).push(value.into());
    }

    pub(crate) fn text(&mut self, key: &str, value: &str) {
        put_text(self.key(key, 8), value);
    }

    fn list(&mut self, key: &str, kind: u32, count: usize) -> &mut Vec<u8> {
        let metadata = self.key(key, 9);
        metadata.extend(kind.to_le_bytes());
        metadata.extend((count as u64).to_le_bytes());
        metadata
    }

    pub(crate) fn texts<'t>(&mut self, key: &str, values: impl ExactSizeIterator<Item = &'t str>) {
        let metadata = self.list(key, 8, values.len());
        values.for_each(|value| put_text(metadata, value));
    }

    pub(crate) fn i32s(&mut self, key: &str, values: &[i32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.list(key, 5, values.len()).extend(bytes);
    }

    pub(crate) fn f32s(&mut self, key: &str, values: &[f32]) {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.list(key, 6, values.len()).extend(bytes);
    }

    /// Describes the tensor whose data come next, `shape` outermost first. Gives the zeros that have to be written before
    /// the data.
    pub(crate) fn tensor(&mut self, name: &str, shape: &[usize], stored: StoredType) -> usize {
        let start = self.end.next_multiple_of(ALIGNMENT);
        let padding = start - self.end;
        self.tensors += 1;
        put_text(&mut self.described, name);
        self.described.extend((shape.len() as u32).to_le_bytes());
        self.described.extend(shape.iter().rev().flat_map(|n| (*n as u64).to_le_bytes()));
        self.described.extend(stored.gguf_number().unwrap_or_default().to_le_bytes());
        self.described.extend((start as u64).to_le_bytes());
        self.end = start + stored.bytes(shape.iter().product());
        padding
    }

    /// Bytes of all data.
    pub(crate) fn data_bytes(&self) -> usize {
        self.end
    }

    /// The header, with the zeros before the data.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3u32.to_le_bytes());
        file.extend(self.tensors.to_le_bytes());
        file.extend(self.keys.to_le_bytes());
        file.extend(self.metadata);
        file.extend(self.described);
        file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
        file
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}
