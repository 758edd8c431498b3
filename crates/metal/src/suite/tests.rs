//! What is skipped where.

use tilewright_backend::DeviceKind;

use super::*;

#[test]
fn kernels_of_tiles_are_skipped_by_name_where_there_are_no_tensor_operations() {
    let facts = |tensor_operations| Facts {
        kind: DeviceKind::Metal,
        name: "some GPU".to_owned(),
        memory: None,
        largest_buffer: 1 << 30,
        threadgroup_memory: 32 << 10,
        tensor_operations,
    };
    let kernels = catalogue::kernels(&Shape::QWEN3_TINY);
    let skipped = |facts: &Facts| -> Vec<&str> {
        let lacking = kernels.iter().filter(|(_, kernel)| lacks(facts, kernel).is_some());
        lacking.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(skipped(&facts(true)), [] as [&str; 0]);
    let without = skipped(&facts(false));
    assert!(without.len() >= 14 && without.len() * 5 < kernels.len(), "{without:?}");
    assert!(without.iter().all(|name| name.contains("tensor")), "{without:?}");
}
