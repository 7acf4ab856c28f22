//! The process tree of a server: the process that the library starts, and all of its descendants.
//!
//! A server runs in its own process group, and the environment variable [`MARK`] marks it and its descendants. Ending the tree
//! kills the group and, on Linux, every process with the mark, because a process that started its own session has left the
//! group. A process that has left the group and has cleared its environment cannot be ended.
//!
//! A watcher ends the tree if this process cannot, because it was killed or exits while its runtime is busy. The watcher is a
//! shell that waits for the end of a pipe from this process.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};

/// The variable that marks the processes of a server.
const MARK: &str = "AGENTLOOP_MCP_SERVER";

/// The number of searches for processes with the mark. A process may start another one during a search.
const MAX_ROUNDS: usize = 8;

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
    mark: String,
    /// The id of the first process, which is the id of its group.
    group: Option<u32>,
    /// The watcher and the pipe that it reads.
    watcher: Option<(Child, ChildStdin)>,
}

impl Tree {
    /// Prepares a command to be the first process of a tree.
    pub(super) fn new(command: &mut Command) -> Self {
        // The mark is not a secret. It only has to be unique.
        let mark = format!("{:016x}-{}", crate::hash::random(), std::process::id());
        command.env(MARK, &mark);
        // An interrupt at the terminal does not reach a separate group. The run handles it.
        #[cfg(unix)]
        command.process_group(0);
        Self { mark, group: None, watcher: None }
    }

    /// Starts the watcher for the first process.
    pub(super) fn watch(&mut self, child: &Child) {
        self.group = child.id();
        self.watcher = self.group.and_then(|group| start_watcher(group, &self.mark));
    }

    /// Sends a termination signal to the processes of the group.
    pub(super) fn terminate(&self) {
        send_signal(self.group, Signal::Terminate);
    }

    /// Ends every process of the tree.
    pub(super) async fn end(mut self) {
        send_signal(self.group, Signal::Kill);
        for _ in 0..MAX_ROUNDS {
            if !kill_marked(&format!("{MARK}={}", self.mark)) {
                break;
            }
        }
        if let Some((mut watcher, mut pipe)) = self.watcher.take() {
            // This fails only if the watcher has ended.
            let _ = pipe.write_all(b"ended\n").await;
            drop(pipe);
            let _ = watcher.wait().await;
        }
    }
}

#[cfg(unix)]
fn start_watcher(group: u32, mark: &str) -> Option<(Child, ChildStdin)> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", WATCH, "agentloop-watcher", &group.to_string(), &format!("{MARK}={mark}")])
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
fn start_watcher(_: u32, _: &str) -> Option<(Child, ChildStdin)> {
    None
}

/// A signal that ends a process.
#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

#[cfg(unix)]
fn send_signal(group: Option<u32>, signal: Signal) {
    use rustix::process::{Pid, Signal as Number, kill_process_group};

    let number = match signal {
        Signal::Terminate => Number::TERM,
        Signal::Kill => Number::KILL,
    };
    let group = group.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(group) = group {
        // This fails only if no process of the group is left.
        let _ = kill_process_group(group, number);
    }
}

/// Does nothing: there are no process groups. The first process is killed through its handle.
#[cfg(not(unix))]
fn send_signal(_: Option<u32>, _: Signal) {}

/// Kills the processes whose environment contains the mark. Returns whether there were any.
#[cfg(target_os = "linux")]
fn kill_marked(mark: &str) -> bool {
    use rustix::process::{Pid, Signal as Number, kill_process};

    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let mut found = false;
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        // The environment of another user's process cannot be read. Such a process is not part of the tree.
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            found |= kill_process(id, Number::KILL).is_ok();
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
fn kill_marked(_: &str) -> bool {
    false
}
