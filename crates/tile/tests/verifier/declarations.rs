//! Names, sizes, device limits, views inside their memory.

use tilewright_tile::ir::Access;
use tilewright_tile::verify::Rule;
use tilewright_tile::{Kernel, Launch, Scalar, kernel};

use super::{accepted, is, refused, small, unused};

fn empty(launch: Launch) -> Kernel {
    kernel("empty", launch, |_| {})
}

#[test]
fn threads_come_in_whole_simd_groups_up_to_1024() {
    for threads in [0, 1, 31, 33, 100, 1056, 2048] {
        let message = format!("{threads} threads a group");
        refused(empty(Launch::groups(1).threads(threads)), is!(Rule::Threads { .. }), &message);
    }
    for threads in [32, 64, 1024] {
        accepted(empty(Launch::groups(1).threads(threads)));
    }
}

#[test]
fn a_grid_has_groups_on_every_axis_and_not_too_many() {
    refused(empty(Launch::grid([0, 1, 1])), is!(Rule::Groups { axis: 0, .. }), "0 groups along axis 0");
    refused(empty(Launch::grid([1, 0, 1])), is!(Rule::Groups { axis: 1, .. }), "0 groups along axis 1");
    refused(
        empty(Launch::grid([1, 1, 65_536])),
        is!(Rule::Groups { axis: 2, .. }),
        "65536 groups along axis 2",
    );
}

#[test]
fn shared_memory_is_limited() {
    let shared = |elements: u32| {
        small(move |k| {
            k.scratch::<f32>("a", [elements]);
        })
    };
    refused(shared(8193), is!(Rule::SharedBytes { .. }), "32784 bytes of shared memory");
    accepted(shared(8192));
}

#[test]
fn bindings_are_limited() {
    let many = |n: u32| {
        small(move |k| {
            for i in 0..n {
                k.read::<f32>(&format!("p{i}"), [1]);
            }
        })
    };
    refused(many(32), is!(Rule::Parameters { count: 32, .. }), "32 parameters");
    accepted(many(31));
}

#[test]
fn names_are_words() {
    for name in ["", "1st", "a b", "a-b", "ä"] {
        let name = name.to_owned();
        let wrong = small(|k| {
            k.read::<f32>(&name, [1]);
        });
        refused(wrong, is!(Rule::Name { .. }), "is not a name");
    }
}

#[test]
fn names_are_used_once() {
    let twice = small(|k| {
        k.read::<f32>("a", [1]);
        k.scratch::<f32>("a", [1]);
    });
    refused(twice, is!(Rule::DuplicateName { .. }), "the name a is used twice");
}

#[test]
fn truth_values_are_not_kept_in_memory() {
    let stored = small(|k| {
        k.read::<f32>("a", [1]).stored(Scalar::Bool);
    });
    refused(stored, is!(Rule::Storage { .. }), "bool is not kept in memory");
}

#[test]
fn a_view_of_shared_memory_stays_inside_it() {
    let beyond = small(|k| {
        k.shared::<f32>("a", 16).view("rows", [4, 4]).offset(1u32);
    });
    refused(beyond, is!(Rule::ViewBeyondMemory { .. }), "reaches element 17 of 16");
    let strided = small(|k| {
        k.shared::<f32>("a", 16).view("rows", [4, 4]).strides([5, 1]);
    });
    refused(strided, is!(Rule::ViewBeyondMemory { .. }), "reaches element 19 of 16");
}

#[test]
fn a_view_of_a_buffer_stays_addressable() {
    let far = small(|k| {
        k.read::<f32>("a", [1 << 20, 1 << 20]).offset(1u32);
    });
    refused(far, is!(Rule::ViewTooFar { .. }), "beyond the 1099511627776 a device addresses");
}

#[test]
fn a_written_view_names_each_element_once() {
    let overlapping = small(|k| {
        k.write::<f32>("a", [4, 4]).strides([3, 1]);
    });
    refused(overlapping, is!(Rule::Overlapping { .. }), "different coordinates name one element");
    let broadcast = small(|k| {
        k.read::<f32>("a", [4, 4]).strides([0, 1]);
    });
    accepted(broadcast);
}

#[test]
fn views_of_one_buffer_have_one_element_type() {
    let mixed = small(|k| {
        let all = k.packed::<f32>("a", Access::Read);
        all.view("one", [4]);
        all.view("two", [4]).stored(Scalar::F16);
    });
    refused(mixed, is!(Rule::ElementType { .. }), "elements are f32 here and f16 in a");
}

#[test]
fn meaningless_uses_of_the_builder_are_refused_with_their_line() {
    let cases: Vec<(Kernel, &str)> = vec![
        (small(|k| unused(k.read::<f32>("a", [0]))), "length is not in 1..2^31"),
        (small(|k| unused(k.read::<f32>("a", [-1]))), "length is not in 1..2^31"),
        (small(|k| unused(k.read::<f32>("a", [1; 7]))), "view a has 7 axes, not 1 to 6"),
        (small(|k| unused(k.read::<f32>("a", [4]).at((0, 0)))), "view a has 1 axes, not 2"),
        (small(|k| unused(k.read::<f32>("a", [4]).slice(0).slice(0).at([0]))), "view a has 1 axes, not 3"),
        (small(|k| unused(k.read::<f32>("a", [4]).strides([1, 1]))), "view a has 1 axes and 2 strides"),
        (small(|k| unused(k.read::<f32>("a", [4]).guarded_axes(&[1]))), "cannot guard [1]"),
        (small(|k| unused(k.read::<f32>("a", [4]).limit(1, 2))), "view a has no axis 1 to limit"),
        (small(|k| unused(k.shared::<f32>("a", 0))), "shared array a is empty"),
        (small(|k| unused(k.group_axis(3))), "axes 0, 1 and 2, not 3"),
        (small(|k| unused(k.lane().shuffle_xor(32))), "32 names none of their bits"),
        (small(|k| unused(k.lane().shuffle_down(32))), "32 reaches none of them"),
        (small(|k| unused(k.lane().f32().bitcast::<u8>())), "a bitcast from f32 to u8 changes the size"),
        (small(|k| unused(k.lane() + u32::MAX)), "4294967295 does not fit an index"),
        (small(|k| k.each(k.range(0, 4).step(0), |_| {})), "a step of at least 1"),
        (small(|k| k.each(k.thread_strided(4, 0), |_| {})), "visits at least one index"),
        (
            small(|k| unused(k.fold(0..2, vec![0.0f32], |_, _| vec![0.0f32; 2]))),
            "carries 1 values but a pass gives 2",
        ),
        #[expect(clippy::reversed_empty_ranges, reason = "the mistake under test")]
        (small(|k| unused(k.argument("n", 3..=2))), "argument n has the empty range 3..=2"),
    ];
    for (kernel, message) in cases {
        refused(kernel, is!(Rule::Mistake(_)), message);
    }
    let here = super::findings(small(|k| unused(k.group_axis(3))));
    assert!(here[0].place.contains("declarations.rs"), "{}", here[0]);
}

#[test]
fn a_builder_can_refuse_what_it_cannot_write() {
    let kernel = small(|k| k.refuse("rows of 66 weights do not come in fours"));
    refused(kernel, is!(Rule::Mistake(_)), "rows of 66 weights do not come in fours");
}
