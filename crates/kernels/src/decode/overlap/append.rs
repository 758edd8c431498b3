//! The cache's new entries at the end of a step.

use tilewright_tile::{Kernel, Launch, Scalar, kernel};

use super::codes::has_scales;
use super::pages::Pages;
use super::past::{BLOCK, places};
use super::products::{lying, named};
use crate::decode::control::Control;
use crate::decode::options::{Concerns, Layout, Options};
use crate::shape::Shape;

/// Keys and values of the token, `fresh` of every layer, to the cache at its position.
pub fn append(shape: &Shape, options: &Options) -> Kernel {
    let &Shape { layers, kv_heads, head_dim, .. } = shape;
    let concerns = Concerns { cache: true, ..Concerns::default() };
    let name = named(&lying("append", options), options, concerns);
    let threads = head_dim.next_multiple_of(32);
    kernel(name, Launch::grid([kv_heads, layers, 1]).threads(threads), |k| {
        let control = Control::read(k, shape, 1);
        let fresh = k.read::<f32>("fresh", [layers, kv_heads, 2, head_dim]).stored(options.cache);
        let pages = Pages::of(shape, options);
        let (inside, count) = (pages.positions(), pages.count());
        let axes = match options.layout {
            Layout::Rows => [inside, head_dim],
            Layout::Fragments => [inside / BLOCK, BLOCK * head_dim],
        };
        let extents = [layers, kv_heads, 2, count, axes[0], axes[1]];
        let of_head = u64::from(inside * head_dim);
        let (of_layer, page) = (2 * u64::from(kv_heads) * of_head, pages.stride(options.cache));
        let strides = [of_layer, 2 * of_head, of_head, page, u64::from(axes[1]), 1];
        let cache = k.write::<f32>("cache", extents).stored(options.cache).strides(strides);
        let scales = has_scales(options.cache).then(|| {
            let fresh = k.read::<f32>("fresh_scales", [layers, kv_heads, 2]);
            let (of_layer, of_head) = (u64::from(2 * kv_heads * inside), u64::from(inside));
            let strides = [of_layer, 2 * of_head, of_head, pages.stride(Scalar::F32), 1];
            let scales = k.write::<f32>("cache_scales", [layers, kv_heads, 2, count, inside]);
            (fresh, scales.strides(strides))
        });
        let (kv, layer, d) = (k.group_axis(0), k.group_axis(1), k.thread());

        k.launch_barrier();
        let position = control.position(k.i32(0));
        let (page, at) = pages.place(k, position);
        if let Some((fresh, scales)) = scales {
            let writes = d.eq(0);
            for which in 0..2i32 {
                scales.set_if(writes, (layer, kv, which, page, at), fresh.at((layer, kv, which)));
            }
        }
        let put = |which: i32, row, place| {
            let keep = || cache.set((layer, kv, which, page, row, place), fresh.at((layer, kv, which, d)));
            if threads == head_dim { keep() } else { k.when(d.lt(head_dim), keep) }
        };
        match options.layout {
            Layout::Rows => {
                put(0, at, d);
                put(1, at, d);
            }
            Layout::Fragments => {
                let [key, value] = places(at % BLOCK, d, head_dim);
                put(0, at / BLOCK, key);
                put(1, at / BLOCK, value);
            }
        }
    })
}
