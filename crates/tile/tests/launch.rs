//! What a launch says of threadgroups side by side.

use tilewright_tile::{Kernel, Launch, emit, ir, kernel, verify};

fn copy(launch: Launch) -> Kernel {
    kernel("copy", launch, |k| {
        let x = k.read::<f32>("x", [64]);
        let y = k.write::<f32>("y", [64]);
        y.set([k.item()], x.at([k.item()]));
    })
}

#[test]
fn a_threadgroup_alone_on_its_core_is_told_to_the_compiler() {
    let usual = copy(Launch::groups(2).threads(32));
    let alone = copy(Launch::groups(2).threads(32).alone());
    assert!(ir::print(&usual).starts_with("kernel copy groups 2x1x1 threads 32\n"));
    assert!(ir::print(&alone).starts_with("kernel copy groups 2x1x1 threads 32 alone\n"));
    let cuda = |kernel: Kernel| emit::cuda(&verify(kernel).unwrap());
    let msl = |kernel: Kernel| emit::msl(&verify(kernel).unwrap());
    assert!(cuda(usual.clone()).contains("__launch_bounds__(32) copy"));
    assert!(cuda(alone.clone()).contains("__launch_bounds__(32, 1) copy"));
    // Metal has no such wish: a pipeline's limit is on the threads of one threadgroup.
    assert_eq!(msl(usual), msl(alone));
}
