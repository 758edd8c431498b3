//! Accesses inside their views.

use tilewright_tile::Launch;
use tilewright_tile::kernel;
use tilewright_tile::verify::Rule;

use super::{accepted, is, refused, small};

#[test]
fn a_coordinate_beyond_the_end_needs_a_guard() {
    let bare = small(|k| {
        let x = k.read::<f32>("x", [63]);
        let y = k.write::<f32>("y", [64]);
        y.set([k.thread()], x.at([k.thread()]));
    });
    refused(
        bare,
        is!(Rule::OutOfBounds { axis: 0, .. }),
        "coordinate thread of axis 0 is 0..=63, outside 0..63",
    );
    let guarded = small(|k| {
        let x = k.read::<f32>("x", [63]).guarded();
        let y = k.write::<f32>("y", [64]);
        y.set([k.thread()], x.at([k.thread()]));
    });
    accepted(guarded);
}

#[test]
fn a_coordinate_before_the_start_needs_a_guard() {
    let before = small(|k| {
        let x = k.read::<f32>("x", [64]);
        let y = k.write::<f32>("y", [64]);
        y.set([k.thread()], x.at([k.thread() - 1]));
    });
    refused(before, is!(Rule::OutOfBounds { .. }), "is -1..=62, outside 0..64");
}

#[test]
fn a_store_beyond_the_end_needs_a_guard() {
    let store = small(|k| k.write::<f32>("y", [63]).set([k.thread()], 1.0));
    refused(store, is!(Rule::OutOfBounds { .. }), "is 0..=63, outside 0..63");
}

#[test]
fn every_axis_is_checked() {
    let second = small(|k| {
        let x = k.read::<f32>("x", [64, 4]);
        let y = k.write::<f32>("y", [64]);
        y.set([k.thread()], x.at((k.thread(), 4)));
    });
    refused(second, is!(Rule::OutOfBounds { axis: 1, .. }), "coordinate 4 of axis 1 is 4, outside 0..4");
}

#[test]
fn a_guard_on_one_axis_does_not_cover_another() {
    let wrong_axis = small(|k| {
        let x = k.read::<f32>("x", [63, 4]).guarded_axes(&[1]);
        let y = k.write::<f32>("y", [64]);
        y.set([k.thread()], x.at((k.thread(), 0)));
    });
    refused(wrong_axis, is!(Rule::OutOfBounds { axis: 0, .. }), "of axis 0");
}

#[test]
fn a_mask_or_condition_bounds_what_it_compares() {
    let masked = |n: u32| {
        small(move |k| {
            let x = k.read::<f32>("x", [48]);
            let y = k.write::<f32>("y", [64]);
            let i = k.thread();
            y.set([i], x.at_if(i.lt(n), [i]));
        })
    };
    accepted(masked(48));
    refused(masked(49), is!(Rule::OutOfBounds { .. }), "is 0..=48, outside 0..48");
    let within = |n: u32| {
        small(move |k| {
            let y = k.write::<f32>("y", [48]);
            let i = k.thread();
            k.when((i + 1).le(n), || y.set([i], 1.0));
        })
    };
    accepted(within(48));
    refused(within(49), is!(Rule::OutOfBounds { .. }), "is 0..=48, outside 0..48");
}

#[test]
fn a_mask_on_one_load_does_not_cover_another() {
    let two = small(|k| {
        let (a, b) = (k.read::<f32>("a", [48]), k.read::<f32>("b", [32]));
        let y = k.write::<f32>("y", [64]);
        let i = k.thread();
        y.set([i], a.at_if(i.lt(48), [i]) + b.at_if(i.lt(48), [i]));
    });
    refused(two, is!(Rule::OutOfBounds { .. }), "load b[thread]");
}

#[test]
fn negations_and_conjunctions_bound_too() {
    let both = small(|k| {
        let y = k.write::<f32>("y", [8]);
        let i = k.thread();
        k.when(!i.ge(24) & i.ge(16), || y.set([i - 16], 1.0));
    });
    accepted(both);
    let either = small(|k| {
        let y = k.write::<f32>("y", [8]);
        let i = k.thread();
        k.when(i.lt(24) | i.ge(16), || y.set([i - 16], 1.0));
    });
    refused(either, is!(Rule::OutOfBounds { .. }), "is -16..=47");
}

#[test]
fn a_loop_index_stays_below_its_end() {
    let over = |end: u32| {
        small(move |k| {
            let x = k.read::<f32>("x", [100]);
            let y = k.write::<f32>("y", [64]);
            let sum = k.fold(0..end, 0.0, |sum, i| sum + x.at([i]));
            y.set([k.thread()], sum);
        })
    };
    accepted(over(100));
    refused(over(101), is!(Rule::OutOfBounds { .. }), "is 0..=100, outside 0..100");
}

#[test]
fn neighbours_of_a_strided_index_are_inside_when_the_end_is_a_multiple() {
    let fours = |n: u32| {
        small(move |k| {
            let x = k.read::<f32>("x", [n]);
            let y = k.write::<f32>("y", [64]);
            let sum = k.fold(k.thread_strided(n, 4), 0.0, |sum, i| sum + x.at([i]));
            y.set([k.thread()], sum);
        })
    };
    accepted(fours(1000));
    refused(fours(1002), is!(Rule::OutOfBounds { .. }), "outside 0..1002");
}

#[test]
fn a_whole_loop_leaves_room_for_its_step() {
    let steps = |whole: bool| {
        small(move |k| {
            let x = k.read::<f32>("x", [100]);
            let y = k.write::<f32>("y", [64]);
            let range = k.range(0, 100).step(16);
            let range = if whole { range.whole() } else { range };
            y.set([k.thread()], k.fold(range, 0.0, |sum, i| sum + x.at([i + 15])));
        })
    };
    accepted(steps(true));
    refused(steps(false), is!(Rule::OutOfBounds { .. }), "is 15..=111, outside 0..100");
}

#[test]
fn a_run_time_limit_is_kept_by_a_loop_up_to_it() {
    let up_to = |slack: i32| {
        small(move |k| {
            let x = k.read::<f32>("x", [100]);
            let y = k.write::<f32>("y", [64]);
            let n = k.argument("n", 0..=100);
            // Without guards, so that only the proof counts.
            let x = x.limit(0, n).guarded_axes(&[]);
            y.set([k.thread()], k.fold(k.below(n), 0.0, |sum, i| sum + x.at([i + slack])));
        })
    };
    accepted(up_to(0));
    refused(up_to(1), is!(Rule::OutOfBounds { .. }), "is 1..=100");
}

#[test]
fn a_value_from_memory_is_bounded_by_a_clamp_only() {
    let row = |clamped: bool| {
        small(move |k| {
            let token = k.read::<i32>("token", [1]);
            let table = k.read::<f32>("table", [50, 64]);
            let y = k.write::<f32>("y", [64]);
            let row = token.at([0]);
            let row = if clamped { row.clamp(0, 49) } else { row };
            y.set([k.thread()], table.at((row, k.thread())));
        })
    };
    accepted(row(true));
    refused(row(false), is!(Rule::OutOfBounds { axis: 0, .. }), "is -2147483648..=2147483647, outside 0..50");
}

#[test]
fn an_argument_is_bounded_by_its_range() {
    let row = |most: i32| {
        small(move |k| {
            let n = k.argument("n", 0..=most);
            let x = k.read::<f32>("x", [10]);
            k.write::<f32>("y", [64]).set([k.thread()], x.at([n]));
        })
    };
    accepted(row(9));
    refused(row(10), is!(Rule::OutOfBounds { .. }), "coordinate n of axis 0 is 0..=10");
}

#[test]
fn threadgroups_are_bounded_by_the_launch() {
    let rows = |groups: u32| {
        kernel("rows", Launch::rows(groups).threads(64), |k| {
            k.write::<f32>("y", [7, 64]).set((k.group_id(), k.thread()), 0.0);
        })
    };
    accepted(rows(7));
    refused(rows(8), is!(Rule::OutOfBounds { axis: 0, .. }), "coordinate group.x of axis 0 is 0..=7");
}

#[test]
fn an_index_that_wraps_is_refused_even_under_a_guard() {
    let wraps = small(|k| {
        let x = k.read::<f32>("x", [100]).guarded();
        let n = k.argument("n", 0..=i32::MAX);
        k.write::<f32>("y", [64]).set([k.thread()], x.at([n * 2]));
    });
    refused(wraps, is!(Rule::IndexOverflow { .. }), "may have wrapped around");
    let clamped = small(|k| {
        let x = k.read::<f32>("x", [100]).guarded();
        let n = k.argument("n", 0..=i32::MAX);
        k.write::<f32>("y", [64]).set([k.thread()], x.at([(n + 1).clamp(0, 99)]));
    });
    refused(clamped, is!(Rule::IndexOverflow { .. }), "may have wrapped around");
}

#[test]
fn a_division_and_remainder_are_as_exact_as_the_thread() {
    let split = |columns: u32| {
        small(move |k| {
            let y = k.write::<f32>("y", [4, 16]);
            y.set((k.thread() / columns, k.thread() % columns), 0.0);
        })
    };
    accepted(split(16));
    refused(split(15), is!(Rule::OutOfBounds { axis: 0, .. }), "is 0..=4, outside 0..4");
}

#[test]
fn a_carried_index_is_not_assumed_to_stay() {
    let walks = small(|k| {
        let x = k.read::<f32>("x", [100]);
        let n = k.argument("n", 0..=1000);
        let (_, sum) = k.fold(k.below(n), (0, 0.0), |(at, sum), _| (at + 1, sum + x.at([at])));
        k.write::<f32>("y", [64]).set([k.thread()], sum);
    });
    refused(walks, is!(Rule::OutOfBounds { .. } | Rule::IndexOverflow { .. }), "coordinate");
}

#[test]
fn a_guarded_vector_is_inside_or_outside_as_a_whole() {
    let fours = |n: u32| {
        small(move |k| {
            let x = k.read::<f32>("x", [n]).guarded();
            let y = k.write::<f32>("y", [256]);
            y.set4([k.thread() * 4], x.at4([k.thread() * 4]));
        })
    };
    accepted(fours(100));
    refused(fours(101), is!(Rule::Straddles { .. }), "4 elements at");
}

#[test]
fn a_vector_lies_at_a_multiple_of_its_length() {
    let rows = |width: u32| {
        small(move |k| {
            let x = k.read::<f32>("x", [64, width]);
            let y = k.write::<f32>("y", [256]);
            y.set4([k.thread() * 4], x.at4((k.thread(), 0)));
        })
    };
    accepted(rows(8));
    refused(rows(7), is!(Rule::Misaligned { width: 4, .. }), "stride 7 of axis 0 is not");
    let shifted = small(|k| {
        let x = k.read::<f32>("x", [300]);
        let y = k.write::<f32>("y", [256]);
        y.set4([k.thread() * 4], x.at4([k.thread() * 4 + 2]));
    });
    refused(shifted, is!(Rule::Misaligned { .. }), "coordinate");
    let offset = small(|k| {
        let x = k.read::<f32>("x", [300]).offset(2u32);
        let y = k.write::<f32>("y", [256]);
        y.set4([k.thread() * 4], x.at4([k.thread() * 4]));
    });
    refused(offset, is!(Rule::Misaligned { .. }), "offset 2 is not");
}

#[test]
fn a_vector_needs_neighbouring_elements() {
    let strided = small(|k| {
        let x = k.read::<f32>("x", [256]).strides([2]);
        let y = k.write::<f32>("y", [256]);
        y.set4([k.thread() * 4], x.at4([k.thread() * 4]));
    });
    refused(strided, is!(Rule::Strided { stride: 2 }), "stride 1 on the last axis, not 2");
}

#[test]
fn a_read_view_is_not_written_and_a_write_view_is_not_read() {
    let written = small(|k| k.read::<f32>("x", [64]).set([k.thread()], 0.0));
    refused(written, is!(Rule::AccessMode { .. }), "view x is declared read");
    let read = small(|k| {
        let y = k.write::<f32>("y", [64]);
        let v = y.at([k.thread()]);
        k.write::<f32>("z", [64]).set([k.thread()], v);
    });
    refused(read, is!(Rule::AccessMode { .. }), "view y is declared write");
}

#[test]
fn a_limit_is_the_same_for_all_threads_and_within_its_axis() {
    let varies = small(|k| {
        let x = k.read::<f32>("x", [64]).limit(0, k.thread());
        k.write::<f32>("y", [64]).set([k.thread()], x.at([k.thread()]));
    });
    refused(varies, is!(Rule::LimitVaries { .. }), "the limit thread of axis 0 differs");
    let beyond = small(|k| {
        let x = k.read::<f32>("x", [64]).limit(0, k.argument("n", 0..=65));
        k.write::<f32>("y", [64]).set([k.thread()], x.at([k.thread()]));
    });
    refused(beyond, is!(Rule::LimitRange { .. }), "the limit n of axis 0 is 0..=65, not within 0..=64");
}
