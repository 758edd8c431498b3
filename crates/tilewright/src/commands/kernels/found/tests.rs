//! What the verifier does not accept is refused by name.

use tilewright_tile::{Launch, kernel};

use super::{Code, accepted};

#[test]
fn a_kernel_that_stores_past_the_end_is_refused() {
    let kernel = kernel("past_the_end", Launch::groups(1).threads(64), |k| {
        k.write::<f32>("y", [63]).set([k.thread()], 1.0);
    });
    let refusal = accepted(kernel).map(|_| ()).unwrap_err();
    assert_eq!(refusal.code(), Code::KernelRejected);
    assert!(refusal.to_string().contains("past_the_end"), "{refusal}");
}
