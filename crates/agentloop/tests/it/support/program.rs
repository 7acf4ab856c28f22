//! Programs that tests write and start. The tests of several crates use this file.

#![allow(dead_code, reason = "only some features start programs")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program that can be started, and its folder.
///
/// Another process writes the file. If a thread of this process did, and another thread started a process in that moment, the process would
/// have the file open until it runs its own program, and the file could not be started ("Text file busy").
pub(crate) fn write_program(path: impl AsRef<Path>, text: &str) {
    let mut command = Command::new("sh");
    let script = r#"mkdir -p "${0%/*}" && cat > "$0" && chmod 755 "$0""#;
    command.args(["-c", script]).arg(path.as_ref());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}
