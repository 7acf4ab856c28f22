//! Tests that measure their whole process: its memory, its open files.

use std::env;
use std::process::Command;
use std::thread;

/// Runs a test in a process of its own.
///
/// `cargo test` runs the tests of this program on threads of one process. There the test program starts itself again
/// with this test alone. `cargo nextest` starts a process for each test, so the test runs where it is.
pub(crate) fn own_process(test: impl FnOnce()) {
    let thread = thread::current();
    let name = thread.name().unwrap_or("main");
    // On the main thread tests run one after the other.
    if name == "main" || env::args().any(|argument| argument == "--exact") {
        return test();
    }
    let mut command = Command::new(env::current_exe().unwrap());
    let output = command.args([name, "--exact", "--nocapture"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
}
