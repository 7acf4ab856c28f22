//! The process tree of a server: the process that the library starts, and all of its descendants.
//!
//! [`Family`] ends them.
//!
//! A watcher ends the tree if this process cannot, because it was killed or exits while its runtime is busy. The watcher is a
//! shell that waits for the end of a pipe from this process.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};

use crate::processes::Family;

/// The variable that marks the processes of a server.
const MARK: &str = "AGENTLOOP_MCP_SERVER";

/// The script of the watcher: if the pipe ends without a message, it kills the group and the processes with the mark.
const WATCH: &str = r#"
read -r word && [ "$word" = ended ] && exit
kill -KILL -- "-$1" 2>/dev/null
for environment in /proc/[0-9]*/environ; do
  if grep -aqs "$2" "$environment" 2>/dev/null; then
    pid=${environment#/proc/}
    kill -KILL "${pid%/environ}" 2>/dev/null
  fi
done
"#;

/// The process tree of one server.
#[derive(Debug)]
pub(super) struct Tree {
    family: Family,
    /// The watcher and the pipe that it reads.
    watcher: Option<(Child, ChildStdin)>,
}

impl Tree {
    /// Prepares a command to be the first process of a tree.
    pub(super) fn new(command: &mut Command) -> Self {
        Self { family: Family::new(command, MARK), watcher: None }
    }

    /// Starts the watcher for the first process.
    pub(super) fn watch(&mut self, child: &Child) {
        let group = self.family.started(child);
        self.watcher = group.and_then(|group| start_watcher(group, &self.family));
    }

    /// Sends a termination signal to the processes of the group.
    pub(super) fn terminate(&self) {
        self.family.terminate();
    }

    /// Ends every process of the tree.
    pub(super) async fn end(mut self) {
        self.family.kill();
        if let Some((mut watcher, mut pipe)) = self.watcher.take() {
            // This fails only if the watcher has ended.
            let _ = pipe.write_all(b"ended\n").await;
            drop(pipe);
            let _ = watcher.wait().await;
        }
    }
}

#[cfg(unix)]
fn start_watcher(group: u32, family: &Family) -> Option<(Child, ChildStdin)> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", WATCH, "agentloop-watcher", &group.to_string(), family.mark()])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    // Without a shell there is no watcher. The tree still ends with its connection.
    let mut child = command.spawn().ok()?;
    let pipe = child.stdin.take()?;
    Some((child, pipe))
}

#[cfg(not(unix))]
fn start_watcher(_: u32, _: &Family) -> Option<(Child, ChildStdin)> {
    None
}
