//! A decode step whose launches overlap: five a layer, each of which reads its weights while the one before it still runs.
//!
//! On a fast GPU a launch of the staged step is over before it has told the next one so, and waits longer for its first
//! weights than it needs for all of them. Here norms are taken by the products that follow them, a head is normed, turned
//! and attended to in one launch, and every launch begins with what no other writes
//! ([`launch_barrier`](tilewright_tile::Builder::launch_barrier)). One sequence; vectors between launches are f32.
//!
//! A step has two halves. The first, [`step`], goes from `control` to `logits` and writes neither cache nor `control`: so
//! position, angles, old keys and values are among what its launches begin with. The second, [`end`], appends the new
//! keys and values, and chooses: token and position of the next step go to `control` and the id to `ids`, so that a host may
//! start many steps at once. Neither half may begin before the other has ended; the first launch of each waits for that.
//!
//! A cache in i8 has a second part, `cache_scales` `[layers, kv_heads, 2, capacity]` in f32, and the token's keys and values
//! likewise `fresh_scales`. Of a cache in pages, each page has that for its positions, and a layer's are found in all of them.

mod append;
mod attention;
mod choose;
mod codes;
mod pages;
mod past;
mod pipeline;
mod products;

pub use append::append;
pub use attention::attention;
pub use choose::{candidates, choose};
pub use past::lies;
pub use pipeline::{end, step, step_of};
pub use products::{down, fits, gate_up, output, qkv, qkv_rows, vocabulary};
