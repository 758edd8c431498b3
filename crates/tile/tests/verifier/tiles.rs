//! Tiles of 64×64, made by four SIMD groups.

use tilewright_tile::schedule::{Backend, ScheduleError};
use tilewright_tile::testing::{examples, zoo};
use tilewright_tile::verify::Rule;
use tilewright_tile::{Builder, Kernel, Launch, Scalar, Schedule, Value, View, kernel, verify};

use super::{accepted, findings, is, refused};

/// A kernel of so many threads with one array of shared memory for all views of tiles, filled.
fn with(threads: u32, body: impl for<'k> FnOnce(&'k Builder, View<'k, f32>)) -> Kernel {
    kernel("tiles", Launch::groups(1).threads(threads), |k| {
        let x = k.scratch::<f32>("x", [64, 64]);
        k.each(k.thread_strided(4096, 1), |i| x.set((i / 64, i % 64), i.f32()));
        k.barrier();
        body(k, x);
    })
}

/// Writes a tile where its factors were, and that to memory.
fn end<'k>(k: &'k Builder, x: View<'k, f32>, tile: Value<'k, tilewright_tile::Tile>) {
    k.barrier();
    x.set_tile(tile);
    k.barrier();
    let y = k.write::<f32>("y", [64, 64]);
    k.each(k.thread_strided(4096, 1), |i| y.set((i / 64, i % 64), x.at((i / 64, i % 64))));
}

#[test]
fn a_tile_has_its_threads() {
    accepted(with(128, |k, x| end(k, x, k.tile(1.0).multiply_tiles(x, x))));
    let wide = with(256, |k, x| end(k, x, k.tile(1.0).multiply_tiles(x, x)));
    refused(wide, is!(Rule::TileThreads { .. }), "made by 4 SIMD groups, and the kernel has 8");
}

#[test]
fn factors_and_results_are_whole_tiles_of_shared_memory() {
    let multiplied = |view: for<'k> fn(&'k Builder) -> View<'k, f32>| {
        kernel("multiplied", Launch::groups(1).threads(128), |k| {
            let x = view(k);
            k.tile(0.0).multiply_tiles(x, x);
        })
    };
    for (view, name) in [
        (
            (|k| k.read::<f32>("device", [64, 64])) as for<'k> fn(&'k Builder) -> View<'k, f32>,
            "device must be shared f32, f16 or bf16[64, 64]",
        ),
        (|k| k.scratch::<f32>("narrow", [64, 63]), "narrow must"),
        (|k| k.scratch::<f32>("flat", [4096]), "flat must"),
        (|k| k.shared::<f32>("wides", 4160).view("wide", [64, 64]).strides([65, 1]), "wide must"),
        (|k| k.shared::<f32>("moves", 4100).view("moved", [64, 64]).offset(2u32), "moved must"),
        (|k| k.scratch::<f32>("guarded", [64, 64]).guarded(), "guarded must"),
    ] {
        refused(multiplied(view), is!(Rule::TileView { .. }), name);
    }
    let narrow =
        with(128, |k, _| k.scratch::<f32>("half", [64, 64]).stored(Scalar::F16).set_tile(k.tile(0.0)));
    refused(narrow, is!(Rule::TileView { .. }), "half must be shared f32[64, 64]");
}

#[test]
fn products_of_one_kernel_are_of_one_kind() {
    let both = with(128, |k, x| {
        let straight = k.tile(0.0).multiply_tiles(x, x);
        end(k, x, straight.multiply_tiles_transposed(x, x));
    });
    refused(both, is!(Rule::TileMixed), "all or none transposed");
    let types = with(128, |k, x| {
        let half = k.scratch::<f32>("half", [64, 64]).stored(Scalar::F16);
        k.each(k.thread_strided(4096, 1), |i| half.set((i / 64, i % 64), 0.0));
        k.barrier();
        end(k, x, k.tile(0.0).multiply_tiles(x, half));
    });
    refused(types, is!(Rule::TileMixed), "factors of one type");
}

/// A device adds to a tile where it is: what it was before is gone.
#[test]
fn a_tile_is_used_once_and_in_its_block() {
    let twice = with(128, |k, x| {
        let tile = k.tile(0.0);
        let product = tile.multiply_tiles(x, x);
        k.barrier();
        x.set_tile(tile);
        end(k, x, product);
    });
    refused(twice, is!(Rule::TileReused { .. }), "is used 2 times");
    let again = with(128, |k, x| {
        let tile = k.tile(0.0);
        k.each(k.below(3), |_| {
            k.barrier();
            x.set_tile(tile);
            k.barrier();
        });
    });
    refused(again, is!(Rule::TileReused { .. }), "in another block");
    let swapped = with(128, |k, x| {
        let (a, b) = k.fold(k.below(3), (k.tile(0.0), k.tile(1.0)), |(a, b), _| (b.multiply_tiles(x, x), a));
        end(k, x, a);
        k.barrier();
        x.set_tile(b);
    });
    refused(swapped, is!(Rule::TileMoved), "changes places");
}

#[test]
fn all_threads_come_to_a_tile() {
    let some = with(128, |k, x| k.when(k.simd_group().lt(2), || x.set_tile(k.tile(0.0))));
    refused(some, is!(Rule::Divergent { .. }), "when");
    let lanes = with(128, |k, x| {
        k.each(k.range(k.lane(), 64), |_| {
            x.set_tile(k.tile(0.0));
        });
    });
    refused(lanes, is!(Rule::Divergent { .. }), "loop");
}

/// No barrier is in a product or a store: one stands between it and what other threads do with the elements.
#[test]
fn every_barrier_around_a_tile_is_missed() {
    for storage in [Scalar::F32, Scalar::F16] {
        let kernel = zoo::tiles(storage);
        accepted(kernel.clone());
        let barriers = tilewright_tile::testing::mutate::mutants(&kernel)
            .filter(|mutant| mutant.removed.starts_with("barrier"))
            .map(|mutant| {
                let found = findings(mutant.kernel);
                assert!(
                    found.iter().all(|f| matches!(f.rule, Rule::SharedRace { .. })),
                    "{}",
                    mutant.removed
                );
            });
        assert_eq!(barriers.count(), 3);
    }
    let unwritten = kernel("unwritten", Launch::groups(1).threads(128), |k| {
        let x = k.scratch::<f32>("x", [64, 64]);
        end(k, x, k.tile(0.0).multiply_tiles(x, x));
    });
    refused(unwritten, is!(Rule::Uninitialized { .. }), "x");
}

#[test]
fn a_schedule_of_tensor_operations_wants_products_of_tiles_and_no_others() {
    let tiles = verify(zoo::tiles(Scalar::F32)).unwrap();
    let fragments = verify(examples::gemm(40, 64, 48)).unwrap();
    let schedule = |backend| Schedule { backend, ..Schedule::default() };
    schedule(Backend::TensorOps).check(&tiles).unwrap();
    schedule(Backend::Simdgroup).check(&fragments).unwrap();
    for (backend, kernel) in [
        (Backend::TensorOps, &fragments),
        (Backend::Simdgroup, &tiles),
        (Backend::SimdgroupInline, &tiles),
        (Backend::Elementwise, &tiles),
    ] {
        let errors = schedule(backend).check(kernel).unwrap_err();
        assert!(matches!(errors[..], [ScheduleError::Backend { .. }]), "{backend}: {errors:?}");
    }
}
