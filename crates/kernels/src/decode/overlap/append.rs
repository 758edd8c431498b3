//! The cache's new entries at the end of a step.

use tilewright_tile::{Kernel, Launch, kernel};

use super::codes::{self, has_scales};
use super::past::{BLOCK, extents, places};
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
        let [heads, two, rows, width] = extents(shape, options.layout);
        let cache = k.write::<f32>("cache", [layers, heads, two, rows, width]).stored(options.cache);
        let scales = has_scales(options.cache).then(|| {
            let [heads, two, positions] = codes::extents(shape);
            let fresh = k.read::<f32>("fresh_scales", [layers, kv_heads, 2]);
            (fresh, k.write::<f32>("cache_scales", [layers, heads, two, positions]))
        });
        let (kv, layer, d) = (k.group_axis(0), k.group_axis(1), k.thread());

        k.launch_barrier();
        let position = control.position(k.i32(0));
        if let Some((fresh, scales)) = scales {
            let writes = d.eq(0);
            for which in 0..2i32 {
                scales.set_if(writes, (layer, kv, which, position), fresh.at((layer, kv, which)));
            }
        }
        let put = |which: i32, row, place| {
            let keep = || cache.set((layer, kv, which, row, place), fresh.at((layer, kv, which, d)));
            if threads == head_dim { keep() } else { k.when(d.lt(head_dim), keep) }
        };
        match options.layout {
            Layout::Rows => {
                put(0, position, d);
                put(1, position, d);
            }
            Layout::Fragments => {
                let [key, value] = places(position % BLOCK, d, head_dim);
                put(0, position / BLOCK, key);
                put(1, position / BLOCK, value);
            }
        }
    })
}
