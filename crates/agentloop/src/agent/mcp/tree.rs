//! The processes of a server: the one that we start, and whatever it starts.
//!
//! A server runs in a process group of its own, and the variable [`MARK`] in its environment marks it and its descendants. Ending
//! the tree kills the group and, on Linux, every process that carries the mark: what started a session of its own has left the
//! group. A process that has left the group and has also cleared its environment is out of reach.
//!
//! A watcher, a shell that waits for the end of a pipe from us, ends the tree when this process cannot: when it is killed, or
//! exits while its runtime is busy.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};

/// The variable that marks the processes of a server.
const MARK: &str = "AGENTLOOP_MCP_SERVER";

/// How often processes with the mark are looked for: one may start another while it is looked for.
const MAX_ROUNDS: usize = 8;

/// What the watcher does: it waits until the pipe ends without a word, then kills the group and what carries the mark.
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

/// The processes of one server.
#[derive(Debug)]
pub(super) struct Tree {
    mark: String,
    /// The id of the first process, which is the id of its group.
    group: Option<u32>,
    /// The pipe whose end the watcher waits for.
    watcher: Option<(Child, ChildStdin)>,
}

impl Tree {
    /// Prepares a command to be the first process of a tree.
    pub(super) fn new(command: &mut Command) -> Self {
        // Not a secret, only unlikely to occur twice.
        let mark = format!("{:016x}-{}", crate::hash::random(), std::process::id());
        command.env(MARK, &mark);
        // In a group of its own an interrupt at the terminal does not reach it: that is for the run to handle.
        #[cfg(unix)]
        command.process_group(0);
        Self { mark, group: None, watcher: None }
    }

    /// Watches over the first process, which has been started.
    pub(super) fn began(&mut self, child: &Child) {
        self.group = child.id();
        self.watcher = self.group.and_then(|group| watcher(group, &self.mark));
    }

    /// Asks the processes of the group to end.
    pub(super) fn ask(&self) {
        signal(self.group, Signal::Ask);
    }

    /// Ends every process of the tree.
    pub(super) async fn end(mut self) {
        signal(self.group, Signal::Kill);
        for _ in 0..MAX_ROUNDS {
            if !kill_marked(&format!("{MARK}={}", self.mark)) {
                break;
            }
        }
        if let Some((mut watcher, mut pipe)) = self.watcher.take() {
            // It fails only when the watcher is gone.
            let _ = pipe.write_all(b"ended\n").await;
            drop(pipe);
            let _ = watcher.wait().await;
        }
    }
}

#[cfg(unix)]
fn watcher(group: u32, mark: &str) -> Option<(Child, ChildStdin)> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", WATCH, "agentloop-watcher", &group.to_string(), &format!("{MARK}={mark}")])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    // Without a shell the tree still ends with its connection.
    let mut child = command.spawn().ok()?;
    let pipe = child.stdin.take()?;
    Some((child, pipe))
}

#[cfg(not(unix))]
fn watcher(_: u32, _: &str) -> Option<(Child, ChildStdin)> {
    None
}

/// How a process is made to end.
#[derive(Clone, Copy)]
enum Signal {
    Ask,
    Kill,
}

#[cfg(unix)]
fn signal(group: Option<u32>, signal: Signal) {
    use rustix::process::{Pid, Signal as Number, kill_process_group};

    let number = match signal {
        Signal::Ask => Number::TERM,
        Signal::Kill => Number::KILL,
    };
    let group = group.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(group) = group {
        // It fails only when no process of the group is left.
        let _ = kill_process_group(group, number);
    }
}

/// There are no groups here: the first process is killed by its handle.
#[cfg(not(unix))]
fn signal(_: Option<u32>, _: Signal) {}

/// Kills the processes whose environment has the mark, and returns whether there were any.
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
        // The environments of other users' processes cannot be read, and are none of ours.
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
