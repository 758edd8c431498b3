//! A decode step whose launches overlap: five a layer, each of which reads its weights while the one before it still runs.
//!
//! On a fast GPU a launch of the staged step is over before it has told the next one so, and waits longer for its first
//! weights than it needs for all of them. Here norms are taken by the products that follow them, a head is normed, turned
//! and attended to in one launch, and every launch begins with what no other writes
//! ([`launch_barrier`](tilewright_tile::Builder::launch_barrier)). One sequence; vectors between launches are f32.
//!
//! The chosen id stays on the device: the last launch puts token and position of the next step into `control` and the
//! id into `ids`, so that a host may start many steps at once.

mod attention;
mod choose;
mod pipeline;
mod products;

pub use attention::{attention, fits};
pub use choose::choose;
pub use pipeline::{Step, overlapped};
pub use products::{down, gate_up, output, qkv, vocabulary};
