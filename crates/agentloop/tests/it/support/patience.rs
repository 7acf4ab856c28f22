//! How tests wait for other tasks, threads and processes. The tests of all crates use this file.

#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for anything before it fails.
///
/// It is far longer than what is waited for takes on a machine that is busy with other work, so only what never happens reaches it.
/// Nothing is gained by a shorter limit: a test that passes does not wait for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until something is so. Time passes also while tokio's clock is paused.
///
/// # Panics
///
/// After [`PATIENCE`], with `what` was waited for.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::task::spawn_blocking(|| thread::sleep(PAUSE)).await.unwrap();
    }
}

/// Waits on this thread until something is so.
///
/// # Panics
///
/// After [`PATIENCE`], with `what` was waited for.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        thread::sleep(PAUSE);
    }
}

/// Waits for the output of a future.
///
/// # Panics
///
/// After [`PATIENCE`], with `what` was waited for.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let output = tokio::time::timeout(PATIENCE, future).await;
    output.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}
