//! Nothing remains open after all calls have ended.

use crate::support::own_process::own_process;
use crate::support::patience::until;

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
    let tasks = || runtime.metrics().num_alive_tasks();
    runtime.block_on(until("all tasks end", async || tasks() == 0));
    runtime.block_on(until("files and sockets are closed", async || open_files() <= before));
}

fn open_files() -> usize {
    // Without such a folder there is nothing to count.
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
