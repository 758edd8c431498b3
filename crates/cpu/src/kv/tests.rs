//! What the cache keeps and forgets.

use half::f16;
use tilewright_model::Config;

use super::{BLOCK, Count, Element, KvCache, Layout, SEGMENT};
use crate::simd::Isa;
use crate::testing::config;

fn layout(layers: usize, kv_heads: usize, head_dim: usize) -> Layout {
    Layout::new(&Config { layers, kv_heads, head_dim, ..config() })
}

/// A value that f16 holds exactly and that no other place has.
fn mark(layer: usize, head: usize, position: usize, i: usize) -> f32 {
    (layer * 1000 + head * 300 + position % 250 + i) as f32
}

fn stores_and_copies<E: Element>() {
    let (layers, heads, dim, len) = (2, 3, 24, SEGMENT + BLOCK + 1);
    let mut cache = KvCache::<E>::new(layout(layers, heads, dim), Count::default());
    cache.reach(0, len).unwrap();
    for layer in 0..layers {
        for position in 0..len {
            for (head, mut to) in cache.heads_mut(layer, position / SEGMENT).unwrap().enumerate() {
                let key: Vec<f32> = (0..dim).map(|i| mark(layer, head, position, i)).collect();
                let value: Vec<f32> = key.iter().map(|k| -k).collect();
                to.store(Isa::detect(), position % SEGMENT, &key, &value);
            }
        }
    }
    for layer in 0..layers {
        let (keys, values) = cache.copy(layer, len);
        assert_eq!(keys.len(), heads * len * dim);
        for (index, (k, v)) in keys.iter().zip(&values).enumerate() {
            let (head, position, i) = (index / (len * dim), index / dim % len, index % dim);
            assert_eq!(*k, mark(layer, head, position, i), "layer {layer}, head {head}, {position}, {i}");
            assert_eq!(*v, -k);
        }
    }
}

#[test]
fn what_is_stored_is_copied_out() {
    stores_and_copies::<f32>();
    stores_and_copies::<f16>();
}

#[test]
fn memory_follows_the_length() {
    let mut cache = KvCache::<f32>::new(layout(1, 1, 16), Count::default());
    let taken = |cache: &KvCache<f32>| cache.segments.len();
    for (positions, segments) in [(0, 0), (1, 1), (SEGMENT, 1), (SEGMENT + 1, 2), (10 * SEGMENT, 10)] {
        cache.reach(0, positions).unwrap();
        assert_eq!(taken(&cache), segments, "{positions} positions");
    }
    cache.truncate(2 * SEGMENT + 1);
    assert_eq!(taken(&cache), 3);
    cache.truncate(0);
    assert_eq!(taken(&cache), 0);
}

/// Writes `value` to every key and value at `position`.
fn write(cache: &mut KvCache<f32>, position: usize, value: f32) {
    cache.reach(position, position + 1).unwrap();
    for mut head in cache.heads_mut(0, position / SEGMENT).unwrap() {
        head.store(Isa::detect(), position % SEGMENT, &[value; 16], &[value; 16]);
    }
}

#[test]
fn caches_that_begin_alike_share_segments_and_never_see_each_other_write() {
    let count = Count::default();
    let mut first = KvCache::<f32>::new(layout(1, 1, 16), count.clone());
    (0..2 * SEGMENT).for_each(|position| write(&mut first, position, position as f32));
    assert_eq!(count.get(), 2);
    let mut second = first.fork(SEGMENT + 5).unwrap();
    assert_eq!(count.get(), 3, "the whole segment is shared, the other copied");
    write(&mut second, SEGMENT + 5, -1.0);
    assert_eq!(count.get(), 3);
    first.truncate(3);
    write(&mut first, 3, -2.0);
    assert_eq!(count.get(), 3, "the first segment was copied, the other given back");
    let (first_keys, _) = first.copy(0, 4);
    let (second_keys, _) = second.copy(0, SEGMENT + 6);
    assert_eq!((first_keys[2 * 16], first_keys[3 * 16]), (2.0, -2.0));
    assert_eq!((second_keys[3 * 16], second_keys[(SEGMENT + 4) * 16]), (3.0, (SEGMENT + 4) as f32));
    assert_eq!(second_keys[(SEGMENT + 5) * 16], -1.0);
    drop((first, second));
    assert_eq!(count.get(), 0);
}
