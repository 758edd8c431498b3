//! The probes do the work they count.

use super::*;

/// Timing proves nothing here; that the kernels compute what they claim to does.
#[test]
fn probes_do_the_work_they_count() {
    let memory = vec![[1f32; LANES]; 64];
    for isa in Isa::available() {
        assert_eq!(isa.run(Read(&memory)), (64 * LANES) as f32, "{}", isa.name());
        // x = x / 2 + 1 from 1: 1.5, 1.75, 1.875.
        let sum = isa.run(MultiplyAdd::<6> { rounds: 3 });
        assert_eq!(sum, 1.875 * (6 * LANES) as f32, "{}", isa.name());
    }
}

#[test]
fn threads_get_work_of_their_own() {
    let seen = std::sync::Mutex::new(Vec::new());
    together(3, |i| {
        seen.lock().unwrap().push(i);
        0.0
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2]);
}
