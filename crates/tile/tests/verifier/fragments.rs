//! Matrix fragments.

use tilewright_tile::verify::Rule;
use tilewright_tile::{Kernel, Scalar};

use super::{accepted, is, refused, small};

/// Copies an 8×8 tile at `(row, column)` of a `[rows, columns]` matrix by each of two SIMD groups.
fn copy(rows: u32, columns: u32, guarded: bool, scratch: bool) -> Kernel {
    small(move |k| {
        let x = k.read::<f32>("x", [rows, columns]).strides([8, 1]);
        let x = if guarded { x.guarded() } else { x };
        let edge = k.scratch::<f32>("edge", [2, 8, 8]);
        let x = if scratch { x.through(edge) } else { x };
        let y = k.write::<f32>("y", [16, 8]);
        let row = k.simd_group() * 8;
        y.set_fragment((row, 0), x.fragment((row, 0)));
    })
}

#[test]
fn a_fragment_lies_inside_its_view() {
    accepted(copy(16, 8, false, false));
    refused(copy(15, 8, false, false), is!(Rule::OutOfBounds { axis: 0, .. }), "is 0..=8, outside 0..8");
    refused(copy(16, 7, false, true), is!(Rule::OutOfBounds { axis: 1, .. }), "is 0, outside 0..0");
}

#[test]
fn a_fragment_at_an_edge_needs_scratch() {
    accepted(copy(15, 8, true, true));
    refused(
        copy(15, 8, true, false),
        is!(Rule::FragmentEdge { axis: 0, .. }),
        "can cross the edge of axis 0",
    );
}

#[test]
fn scratch_has_room_for_every_simd_group() {
    let with = |shape: [u32; 3]| {
        small(move |k| {
            let edge = k.scratch::<f32>("edge", shape);
            let x = k.read::<f32>("x", [15, 8]).guarded().through(edge);
            k.write::<f32>("y", [16, 8])
                .set_fragment((k.simd_group() * 8, 0), x.fragment((k.simd_group() * 8, 0)));
        })
    };
    accepted(with([2, 8, 8]));
    refused(with([1, 8, 8]), is!(Rule::FragmentScratch { .. }), "scratch edge must be shared f32[2, 8, 8]");
    refused(with([2, 8, 9]), is!(Rule::FragmentScratch { .. }), "row-major");
}

#[test]
fn scratch_is_shared_memory_of_the_same_type() {
    let device = small(|k| {
        let edge = k.read_write::<f32>("edge", [2, 8, 8]);
        let x = k.read::<f32>("x", [15, 8]).guarded().through(edge);
        k.write::<f32>("y", [16, 8])
            .set_fragment((k.simd_group() * 8, 0), x.fragment((k.simd_group() * 8, 0)));
    });
    refused(device, is!(Rule::Mistake(_)), "must be shared memory");
    let other = small(|k| {
        let edge = k.scratch::<f32>("edge", [2, 8, 8]);
        let x = k.read::<f32>("x", [15, 8]).stored(Scalar::F16).guarded().through(edge);
        k.write::<f32>("y", [16, 8])
            .set_fragment((k.simd_group() * 8, 0), x.fragment((k.simd_group() * 8, 0)));
    });
    refused(other, is!(Rule::FragmentScratch { .. }), "must be shared f16[2, 8, 8]");
}

#[test]
fn scratch_is_not_used_for_anything_else_meanwhile() {
    let used = small(|k| {
        let edge = k.scratch::<f32>("edge", [2, 8, 8]);
        let x = k.read::<f32>("x", [15, 8]).guarded().through(edge);
        edge.set((1 - k.simd_group(), 0, k.lane() / 4), 1.0);
        k.write::<f32>("y", [16, 8])
            .set_fragment((k.simd_group() * 8, 0), x.fragment((k.simd_group() * 8, 0)));
    });
    let findings = super::findings(used);
    assert!(findings.iter().any(|f| matches!(f.rule, Rule::ScratchShared { .. })), "{findings:?}");
}

#[test]
fn a_fragment_has_rows_and_columns() {
    let flat = small(|k| {
        let x = k.read::<f32>("x", [64]);
        let y = k.write::<f32>("y", [16, 8]);
        y.set_fragment((k.simd_group() * 8, 0), x.fragment([0]));
    });
    refused(flat, is!(Rule::FragmentRank { rank: 1 }), "at least two axes, not 1");
}

#[test]
fn a_fragments_columns_are_neighbours() {
    let columns = small(|k| {
        let x = k.read::<f32>("x", [8, 8]).strides([1, 8]);
        let y = k.write::<f32>("y", [16, 8]);
        y.set_fragment((k.simd_group() * 8, 0), x.fragment((0, 0)));
    });
    refused(columns, is!(Rule::FragmentStrides { .. }), "stride 1 on the last axis");
}

#[test]
fn lanes_agree_on_where_a_fragment_is() {
    let lanes = small(|k| {
        let x = k.read::<f32>("x", [64, 8]);
        let y = k.write::<f32>("y", [16, 8]);
        y.set_fragment((k.simd_group() * 8, 0), x.fragment((k.lane(), 0)));
    });
    refused(lanes, is!(Rule::LaneVaries { .. }), "lane differs between lanes");
}

#[test]
fn lanes_agree_on_what_fills_a_fragment() {
    let filled = small(|k| {
        let y = k.write::<f32>("y", [16, 8]);
        let value = k.fragment(1.0).scale(k.lane().f32());
        y.set_fragment((k.simd_group() * 8, 0), value);
    });
    refused(filled, is!(Rule::LaneVaries { .. }), "differs between lanes");
}

#[test]
fn a_fragment_is_not_touched_by_some_lanes() {
    let some = small(|k| {
        let x = k.read::<f32>("x", [8, 8]);
        let y = k.write::<f32>("y", [16, 8]);
        k.when(k.lane().lt(8), || y.set_fragment((k.simd_group() * 8, 0), x.fragment((0, 0))));
    });
    refused(some, is!(Rule::Divergent { .. }), "the lanes of a SIMD group may not all get here");
}

#[test]
fn factors_have_one_type_and_the_sum_is_f32() {
    let mixed = small(|k| {
        let a = k.read::<f32>("a", [8, 8]).stored(Scalar::F16);
        let b = k.read::<f32>("b", [8, 8]);
        let y = k.write::<f32>("y", [16, 8]);
        let product = k.fragment(0.0).multiply_add(a.factor((0, 0)), b.factor((0, 0)));
        y.set_fragment((k.simd_group() * 8, 0), product);
    });
    refused(mixed, is!(Rule::Type { .. }), "the right factor is f32x8x8, not f16x8x8");
    let integers = small(|k| {
        let a = k.read::<f32>("a", [8, 8]).stored(Scalar::I8);
        let y = k.write::<f32>("y", [16, 8]);
        let product = k.fragment(0.0).multiply_add(a.factor((0, 0)), a.factor((0, 0)));
        y.set_fragment((k.simd_group() * 8, 0), product);
    });
    refused(integers, is!(Rule::Type { .. }), "i8x8x8");
}

#[test]
fn a_scalar_write_is_not_loaded_as_a_fragment_without_a_barrier() {
    let bridge = |barrier: bool| {
        small(move |k| {
            let a = k.scratch::<f32>("a", [16, 8]);
            let y = k.write::<f32>("y", [16, 8]);
            let row = k.simd_group() * 8;
            a.set((row + k.lane() / 4, k.lane() % 4 * 2), 1.0);
            a.set((row + k.lane() / 4, k.lane() % 4 * 2 + 1), 1.0);
            if barrier {
                k.simd_barrier();
            }
            y.set_fragment((row, 0), a.fragment((row, 0)));
        })
    };
    accepted(bridge(true));
    refused(bridge(false), is!(Rule::SharedRace { .. }), "the write of a by another thread");
}

#[test]
fn a_stored_fragment_is_not_read_without_a_barrier() {
    let bridge = |barrier: bool| {
        small(move |k| {
            let a = k.scratch::<f32>("a", [16, 8]);
            let y = k.write::<f32>("y", [64]);
            let row = k.simd_group() * 8;
            a.set_fragment((row, 0), k.fragment(1.0));
            if barrier {
                k.simd_barrier();
            }
            y.set([k.thread()], a.at((row + k.lane() / 4, k.lane() % 4)));
        })
    };
    accepted(bridge(true));
    refused(bridge(false), is!(Rule::SharedRace { .. }), "the write of a by another thread");
}

#[test]
fn a_loaded_fragment_is_not_overwritten_without_a_barrier() {
    let overwrite = small(|k| {
        let a = k.scratch::<f32>("a", [16, 8]);
        let y = k.write::<f32>("y", [16, 8]);
        let row = k.simd_group() * 8;
        a.set_fragment((row, 0), k.fragment(1.0));
        k.simd_barrier();
        y.set_fragment((row, 0), a.fragment((row, 0)));
        a.set((row, k.lane() % 8), 1.0);
    });
    let findings = super::findings(overwrite);
    assert!(findings.iter().all(|f| matches!(f.rule, Rule::SharedRace { .. })), "{findings:?}");
}

#[test]
fn two_simd_groups_do_not_store_one_fragment() {
    let same = small(|k| k.write::<f32>("y", [8, 8]).set_fragment((0, 0), k.fragment(0.0)));
    refused(same, is!(Rule::DeviceRace { .. }), "may write the same element of y");
    let overlapping = small(|k| {
        k.write::<f32>("y", [16, 8]).set_fragment((k.simd_group() * 7, 0), k.fragment(0.0));
    });
    refused(overlapping, is!(Rule::DeviceRace { .. }), "may write the same element of y");
}

#[test]
fn a_buffer_written_by_fragments_is_not_read_by_fragments() {
    let both = small(|k| {
        let x = k.read_write::<f32>("x", [16, 8]);
        let row = k.simd_group() * 8;
        x.set_fragment((row, 0), x.fragment((row, 0)));
    });
    let findings = super::findings(both);
    assert!(findings.iter().any(|f| matches!(f.rule, Rule::FragmentReadWrite { .. })), "{findings:?}");
}
