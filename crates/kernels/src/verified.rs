//! Kernels that are verified once, however many layers share them.

use std::sync::Arc;

use tilewright_tile::{Kernel, Rejection, Verified, verify};

/// Verified kernels by what they are for.
pub(crate) struct Kernels<K>(Vec<(K, Arc<Verified>)>);

impl<K: PartialEq> Kernels<K> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The kernel for `key`, built and verified when it is first asked for.
    pub(crate) fn of(&mut self, key: K, build: impl FnOnce() -> Kernel) -> Result<Arc<Verified>, Rejection> {
        if let Some((_, kernel)) = self.0.iter().find(|(of, _)| *of == key) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(verify(build())?);
        self.0.push((key, Arc::clone(&kernel)));
        Ok(kernel)
    }
}
