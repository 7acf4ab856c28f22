//! What is left when all is over.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long anything on this machine may take before the test has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Tests of this binary that run at the same time would see each other's files.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a test by itself, and counts tasks and open files before and after.
pub(crate) fn leaving_nothing(test: impl AsyncFnOnce()) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // What a runtime opens with its first socket is its own.
    runtime.block_on(async { tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap() });
    let before = open_files();
    runtime.block_on(test());
    let began = Instant::now();
    let tasks = || runtime.metrics().num_alive_tasks();
    while (tasks() > 0 || open_files() > before) && began.elapsed() < PATIENCE {
        runtime.block_on(async { tokio::time::sleep(Duration::from_millis(5)).await });
    }
    assert_eq!(tasks(), 0, "tasks are left");
    assert_eq!(open_files(), before, "files or sockets are left open");
}

fn open_files() -> usize {
    // Where there is no such folder there is nothing to count.
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
