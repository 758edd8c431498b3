//! Rotation against float64.

use tilewright_backend::Numerics;
use tilewright_model::{Rope, RopeScaling};

use super::RopeTable;
use crate::rows::Rows;
use crate::simd::Isa;

fn native(rope: &Rope, head_dim: usize) -> RopeTable {
    RopeTable::new(rope, head_dim, Rows { isa: Isa::detect(), numerics: Numerics::Native })
}

#[test]
fn rotation_is_that_of_complex_numbers_at_every_position() {
    let rope = Rope { theta: 10_000.0, scaling: RopeScaling::None };
    let mut table = native(&rope, 8);
    table.reach(40_000);
    for position in [0, 1, 255, 256, 39_999] {
        let mut head: Vec<f32> = (1..=8).map(|i| i as f32).collect();
        table.rotate(position, &mut head);
        for (i, f) in rope.inv_freq(8).iter().enumerate() {
            let (sin, cos) = (position as f64 * f).sin_cos();
            let (re, im) = ((i + 1) as f64, (i + 5) as f64);
            let (x, y) = (re * cos - im * sin, im * cos + re * sin);
            assert!((f64::from(head[i]) - x).abs() <= 1e-6, "position {position}, lane {i}");
            assert!((f64::from(head[i + 4]) - y).abs() <= 1e-6, "position {position}, lane {}", i + 4);
        }
    }
}

#[test]
fn growing_in_steps_gives_the_same_table() {
    let rope = Rope { theta: 1e6, scaling: RopeScaling::Linear { factor: 4.0 } };
    let (mut once, mut often) = (native(&rope, 32), native(&rope, 32));
    once.reach(1000);
    (0..1000).for_each(|n| often.reach(n));
    assert_eq!(once.rows, often.rows);
}
