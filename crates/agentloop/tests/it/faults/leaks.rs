//! Nothing remains open after all calls have ended.

use std::time::{Duration, Instant};

use crate::support::own_process::own_process;

/// How long anything on this machine may take before the test has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a test in a process of its own, and counts tasks and open files before and after.
pub(crate) fn leaving_nothing(test: impl AsyncFnOnce()) {
    own_process(|| counted(test));
}

fn counted(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // A runtime opens some files with its first socket.
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
    // Without such a folder there is nothing to count.
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
