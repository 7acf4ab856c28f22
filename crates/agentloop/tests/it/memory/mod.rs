//! Much at once: nothing lost, order kept, memory flat.
//!
//! What is measured is the memory of the whole process, so each test has one of its own.

mod embeddings;
mod load;

use crate::support::own_process::own_process;

/// Runs a test that measures memory, in a process of its own.
fn alone<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    own_process(|| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(test());
    });
}

/// The memory of this process, in bytes.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}
