//! Pages: zero, aligned, writable, and refused where there are none.

use super::Pages;

#[test]
fn memory_is_zero_aligned_and_writable() {
    for len in [0, 1, 1000, 1 << 20] {
        let mut pages = Pages::<u32>::zeroed(len).unwrap();
        assert_eq!(pages.len(), len);
        assert_eq!(pages.as_ptr().align_offset(64), 0);
        assert!(pages.iter().all(|v| *v == 0));
        pages.fill(7);
        assert!(pages.iter().all(|v| *v == 7));
    }
}

#[test]
fn impossible_sizes_are_refused() {
    let refusal = Pages::<u64>::zeroed(usize::MAX / 4).err().unwrap();
    assert_eq!(refusal.code().name(), "out_of_memory");
}
