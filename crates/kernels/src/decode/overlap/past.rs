//! The keys and values before a token, as a SIMD group takes them: eight positions at a time.

use tilewright_tile::{Builder, Scalar, Value, View};

use super::pages::Pages;
use crate::decode::options::{Layout, Options};
use crate::parts::HeadLanes;
use crate::parts::softmax::{State, UNSEEN};
use crate::shape::Shape;

/// Positions that a SIMD group takes at a time: what one waits for passes while it waits for the others.
pub(super) const KEYS: usize = 8;
/// Positions of a block of [`Layout::Fragments`].
pub(super) const BLOCK: u32 = 32;

/// Whether a cache can lie in a layout.
pub fn lies(shape: &Shape, layout: Layout, cache: Scalar) -> bool {
    match layout {
        Layout::Rows => true,
        Layout::Fragments => {
            matches!(shape.head_dim, 64 | 128)
                && matches!(cache, Scalar::F16 | Scalar::Bf16)
                && shape.capacity.is_multiple_of(BLOCK)
                && shape.capacity >= 4 * BLOCK
        }
    }
}

/// A view of the cache of one layer, `[kv_heads, 2, pages, units, positions, width]`: keys, then values of each head.
pub(super) fn cache<'k>(
    k: &'k Builder,
    shape: &Shape,
    options: &Options,
    lanes: &HeadLanes<'k>,
) -> View<'k, f32> {
    let &Shape { kv_heads, head_dim, .. } = shape;
    let pages = Pages::of(shape, options);
    let inside = pages.positions();
    let unit = unit(shape, options);
    let axes = match options.layout {
        Layout::Rows => [inside / unit, unit, head_dim],
        Layout::Fragments => [inside / BLOCK, 1, BLOCK * head_dim],
    };
    let of_head = u64::from(inside * head_dim);
    let strides = [
        2 * of_head,
        of_head,
        pages.stride(options.cache),
        u64::from(axes[1] * axes[2]),
        u64::from(axes[2]),
        1,
    ];
    let extents = [kv_heads, 2, pages.count(), axes[0], axes[1], axes[2]];
    let cache = k.read::<f32>("cache", extents).stored(options.cache).strides(strides);
    if options.layout == Layout::Rows { lanes.guard(cache, 6) } else { cache }
}

/// Its scales, `[kv_heads, 2, pages, units, positions]`.
pub(super) fn scales<'k>(k: &'k Builder, shape: &Shape, options: &Options) -> View<'k, f32> {
    let pages = Pages::of(shape, options);
    let (inside, unit) = (pages.positions(), unit(shape, options));
    let of_head = u64::from(inside);
    let strides = [2 * of_head, of_head, pages.stride(Scalar::F32), u64::from(unit), 1];
    let extents = [shape.kv_heads, 2, pages.count(), inside / unit, unit];
    k.read::<f32>("cache_scales", extents).strides(strides)
}

/// Positions of a unit of rows: a pass, where a page has a whole number of them.
const fn unit(shape: &Shape, options: &Options) -> u32 {
    if options.pages.is_some() { KEYS as u32 } else { shape.capacity }
}

/// Keys and values of one head.
#[derive(Clone, Copy)]
pub(super) struct Past<'k> {
    k: &'k Builder,
    layout: Layout,
    pages: Pages,
    /// Whether positions come in pages, and rows of a page in units.
    paged: bool,
    lanes: HeadLanes<'k>,
    head_dim: u32,
    keys: View<'k, f32>,
    values: View<'k, f32>,
    /// Of codes: `[2, pages, units, positions]`.
    scales: Option<View<'k, f32>>,
}

/// Eight positions: this lane's part of each key and value, and whether the position of this lane's score counts.
pub(super) struct Seen<'k> {
    keys: Vec<Vec<Value<'k, f32>>>,
    values: Vec<Vec<Value<'k, f32>>>,
    counts: Value<'k, bool>,
    /// Of codes: what those of the key and of the value of this lane's score are multiplied with.
    scales: Option<[Value<'k, f32>; 2]>,
}

impl<'k> Past<'k> {
    /// Head `kv` of a [`cache`], with the [`scales`] of codes.
    pub(super) fn of(
        k: &'k Builder,
        shape: &Shape,
        options: &Options,
        cache: View<'k, f32>,
        scales: Option<View<'k, f32>>,
        kv: Value<'k, i32>,
    ) -> Self {
        let of_head = cache.slice(kv);
        Self {
            k,
            layout: options.layout,
            pages: Pages::of(shape, options),
            paged: options.pages.is_some(),
            lanes: HeadLanes::new(k, shape.head_dim),
            head_dim: shape.head_dim,
            keys: of_head.slice(0),
            values: of_head.slice(1),
            scales: scales.map(|scales| scales.slice(kv)),
        }
    }

    /// The passes that taker `taker` of `takers` has over `position` positions, but for the first: what [`read`](Self::read)
    /// wants to know, the first and then every one.
    pub(super) fn passes(
        &self,
        taker: Value<'k, i32>,
        takers: u32,
        position: Value<'k, i32>,
    ) -> (Value<'k, i32>, tilewright_tile::build::Range<'k>) {
        let (first, step, end) = match self.layout {
            Layout::Rows => (taker * KEYS as u32, takers * KEYS as u32, position),
            // A pair of fours.
            Layout::Fragments => (taker, takers, (position + 15) / 16 * 2),
        };
        (first, self.k.range(first + step, end).step(step))
    }

    /// Reads a pass, of which somebody has made sure, or not, that its first position is before `position`.
    pub(super) fn read(&self, pass: Value<'k, i32>, position: Value<'k, i32>, sure: bool) -> Seen<'k> {
        match self.layout {
            Layout::Rows => self.rows(pass, position, sure),
            Layout::Fragments => self.fragments(pass, position),
        }
    }

    fn rows(&self, first: Value<'k, i32>, position: Value<'k, i32>, sure: bool) -> Seen<'k> {
        // A pass lies in one unit, which alone is no page's end.
        let (page, unit, before) = match self.paged {
            true => {
                let (page, unit) = self.pages.unit(self.k, first / KEYS as u32, KEYS as u32);
                (page, unit, self.k.i32(0))
            }
            false => (self.k.i32(0), self.k.i32(0), first),
        };
        let row = |n: Value<'k, i32>| if self.paged { n } else { before + n };
        let of = |view: View<'k, f32>, n: u32| match (n, sure) {
            (0, true) => self.lanes.load(view, before),
            _ => self.lanes.load_if((first + n).lt(position), view, row(self.k.i32(n as i32))),
        };
        let read = |view: View<'k, f32>| {
            let unit = view.slice(page).slice(unit);
            (0..KEYS as u32).map(|n| of(unit, n)).collect()
        };
        let key = self.k.lane() / 4;
        let counts = (first + key).lt(position);
        let (keys, values) = (read(self.keys), read(self.values));
        let scales =
            self.scales.map(|scales| [0, 1].map(|which| scales.at_if(counts, (which, page, unit, row(key)))));
        Seen { keys, values, counts, scales }
    }

    /// Two fours: positions 2q, 2q + 1, 2q + 8 and 2q + 9 of 16, which lie together, of two neighbouring q.
    fn fragments(&self, pair: Value<'k, i32>, position: Value<'k, i32>) -> Seen<'k> {
        let (dim, lane) = (self.head_dim, self.k.lane());
        let (page, block) = self.pages.unit(self.k, pair / 4, BLOCK);
        let tile = pair / 2 % 2;
        let count = dim / 32;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        // What is read beyond the past is a number, and weighs nothing.
        let read = |view: View<'k, f32>, at: Value<'k, i32>| view.at4((page, block, 0, at)).parts();
        for four in 0..2 {
            let q = pair % 2 * 2 + four;
            let of_lane = lane * count;
            let first = tile * (16 * dim) + of_lane / 16 * 256 + of_lane / 4 % 4 * 8 + of_lane / 2 % 2 * 4;
            // Rows r and r + 8 of two neighbouring elements.
            let pairs = |r: u32| {
                let at = first + (q * 2 + r) * 32;
                (0..count / 2).map(|n| read(self.keys, at + n * 4)).collect::<Vec<_>>()
            };
            let both = [pairs(0), pairs(1)];
            for upper in [0, 2] {
                keys.extend(both.iter().map(|r| r.iter().flat_map(|x| [x[upper], x[upper + 1]]).collect()));
            }
            let parts: Vec<_> = (0..count / 2)
                .map(|n| (lane / 8 + n * 4) * 512 + tile * 256 + (lane % 8 * 4 + q) * 8)
                .map(|at| [read(self.values, at), read(self.values, at + 4)])
                .collect();
            for upper in 0..2 {
                for r in 0..2 {
                    values.push(parts.iter().flat_map(|x| [x[upper][r], x[upper][r + 2]]).collect());
                }
            }
        }
        let key = lane / 4;
        let q = pair % 2 * 2 + key / 4;
        let at = pair / 2 * 16 + q * 2 + key % 2 + key / 2 % 2 * 8;
        Seen { keys, values, counts: at.lt(position), scales: None }
    }

    /// The element of a value that a lane holds as its `n`-th.
    pub(super) fn element(&self, n: u32) -> Value<'k, i32> {
        match self.layout {
            Layout::Rows => self.lanes.element(n),
            Layout::Fragments => {
                let lane = self.k.lane();
                (lane / 8 + n / 2 * 4) * 16 + lane % 8 + n % 2 * 8
            }
        }
    }
}

/// Where elements of the position `at` of a block lie: a key's and a value's element `d`.
pub(super) fn places<'k>(at: Value<'k, i32>, d: Value<'k, i32>, head_dim: u32) -> [Value<'k, i32>; 2] {
    let (tile, row) = (at / 16, at % 16);
    let key = (tile * (16 * head_dim) + row % 8 * 32 + row / 8 * 2)
        + (d / 16 * 256 + d / 4 % 4 * 8 + d / 2 % 2 * 4 + d % 2);
    let value =
        (tile * 256 + row % 8 / 2 * 8 + row / 8 * 4 + row % 2) + (d / 16 * 512 + d % 8 * 32 + d % 16 / 8 * 2);
    [key, value]
}

/// One pass seen by a SIMD group that holds `query`. Of the state the sum is this lane's part of four times the whole.
pub(super) fn see<'k>(
    k: &'k Builder,
    (most, sum, mixed): State<'k>,
    query: &[Value<'k, f32>],
    seen: Seen<'k>,
) -> State<'k> {
    let products = seen.keys.iter().map(|key| {
        let products = query.iter().zip(key);
        products.fold(k.f32(0.0), |sum, (&q, &x)| sum.fma(q, x))
    });
    // Lanes share the work of adding up: each fold halves the keys that a lane has a sum of. Lane 4n keeps that of key n.
    let mut sums: Vec<_> = products.collect();
    for bit in [16u32, 8, 4] {
        let upper = (k.lane() / bit % 2).eq(1);
        let (low, high) = sums.split_at(sums.len() / 2);
        let fold = |(&low, &high): (&Value<'k, f32>, &Value<'k, f32>)| {
            let (keep, give) = (upper.select(high, low), upper.select(low, high));
            keep + give.shuffle_xor(bit)
        };
        sums = low.iter().zip(high).map(fold).collect();
    }
    let score = [2, 1].into_iter().fold(sums[0], |sum, bits| sum + sum.shuffle_xor(bits));
    let score = seen.scales.map_or(score, |[of_key, _]| score * of_key);
    let score = seen.counts.select(score, UNSEEN);

    let next = most.max(score.simd_max());
    let (old, weight) = ((most - next).exp(), (score - next).exp());
    let of_codes = seen.scales.map_or(weight, |[_, of_value]| weight * of_value);
    let weights: Vec<_> = (0..KEYS as i32).map(|key| of_codes.from_lane(key * 4)).collect();
    let mix = |(part, mixed): (usize, Value<'k, f32>)| {
        let of_values = weights.iter().zip(&seen.values);
        of_values.fold(mixed * old, |mixed, (&weight, value)| mixed.fma(weight, value[part]))
    };
    (next, weight.fma(sum, old), mixed.into_iter().enumerate().map(mix).collect())
}
