//! Reading the compiler's log.

use super::{Usage, usage};

#[test]
fn registers_stack_spills_and_shared_memory_are_read() {
    let log = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n\
        ptxas info    : Function properties for gemm\n    \
        8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
        ptxas info    : Used 128 registers, used 1 barriers, 8 bytes cumulative stack size, 5120 bytes smem\n";
    assert_eq!(usage(log), Some(Usage { registers: 128, shared: 5120, stack: 8, spilled: 12 }));
    assert_eq!(usage("nothing was said"), None);
}
