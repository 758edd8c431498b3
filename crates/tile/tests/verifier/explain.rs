//! The verifier's reasons, as it tells them.

use tilewright_tile::verify::explain;
use tilewright_tile::{Launch, kernel, verify};

#[test]
fn every_access_barrier_loop_and_condition_is_explained() {
    let sums = kernel("sums", Launch::groups(3).threads(64), |k| {
        let x = k.read::<f32>("x", [170]).guarded();
        let length = k.argument("length", 0..=64);
        let y = k.write::<f32>("y", [3]);
        let row = k.scratch::<f32>("row", [64]);
        let thread = k.thread();
        row.set([thread], x.at([k.group_id() * 64 + thread]));
        k.barrier();
        let sum = k.fold(k.below(length), 0.0, |sum, i| sum + row.at([i]));
        k.when(thread.eq(0), || y.set([k.group_id()], sum));
    });
    let page = explain(&verify(sums).unwrap());
    let expected = [
        "kernel sums, 3x1x1 threadgroups of 64 threads",
        "  %2: f32 = load x[%1]",
        "      %1 is 0..=191, of 170: compared with the end",
        "  store row[thread] = %2",
        "      thread is 0..=63, of 64: inside",
        "  barrier",
        "      all threads come here: control is the same everywhere",
        "  %3 = loop %4 = 0..length step 1, %5 = 0.0:",
        "      the index starts at 0 and stays below 0..=64",
        "    %6: f32 = load row[%4]",
        "        %4 is 0..=63, of 64: inside",
        "  when %8:",
        "      the condition differs between lanes",
        "    store y[group.x] = %3",
        "        group.x is 0..=2, of 3: inside",
    ];
    assert_eq!(page.lines().collect::<Vec<_>>(), expected, "{page}");
}

#[test]
fn an_access_that_is_compared_at_both_ends_says_so() {
    let shifted = kernel("shifted", Launch::groups(1).threads(32), |k| {
        let x = k.read::<f32>("x", [16]).guarded();
        k.write::<f32>("y", [32]).set([k.thread()], x.at([k.thread() - 8]));
    });
    let page = explain(&verify(shifted).unwrap());
    assert!(page.contains("is -8..=23, of 16: compared with 0 and the end"), "{page}");
}
