//! Processes that the library and the command start, and all of their descendants.
//!
//! Such a process runs in its own process group, and an environment variable marks it and its descendants. Ending the family
//! kills the group and, on Linux, every process with the mark, because a process that started its own session has left the
//! group. A process that has left the group and has cleared its environment cannot be ended.

use std::ffi::OsStr;
use std::path::PathBuf;

use tokio::process::{Child, Command};

/// The number of searches for processes with the mark. A process may start another one during a search.
const MAX_ROUNDS: usize = 8;

/// Returns a program by its place in an absolute folder of `path`, which is that of the variable `PATH`. A folder that depends on
/// where this program was started could be anyone's.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A process and its descendants.
#[derive(Debug)]
pub struct Family {
    /// The variable that marks the processes, with its value.
    mark: String,
    /// The id of the first process, which is the id of its group.
    group: Option<u32>,
}

impl Family {
    /// Prepares a command to be the first process. `variable` marks the processes.
    pub fn new(command: &mut Command, variable: &str) -> Self {
        // The mark is not a secret. It only has to be unique.
        let mark = format!("{:016x}-{}", crate::hash::random(), std::process::id());
        command.env(variable, &mark);
        // An interrupt at the terminal does not reach a separate group.
        #[cfg(unix)]
        command.process_group(0);
        Self { mark: format!("{variable}={mark}"), group: None }
    }

    /// Remembers the first process, whose id is that of its group.
    pub fn started(&mut self, child: &Child) {
        self.group = child.id();
    }

    /// Sends a termination signal to the processes of the group.
    #[cfg(feature = "mcp")]
    pub(crate) fn terminate(&self) {
        send_signal(self.group, Signal::Terminate);
    }

    /// Kills the processes.
    pub fn kill(&self) {
        kill_group(self.group);
        for _ in 0..MAX_ROUNDS {
            if !kill_marked(&self.mark) {
                break;
            }
        }
    }
}

/// Kills the processes of a group.
pub fn kill_group(group: Option<u32>) {
    send_signal(group, Signal::Kill);
}

/// A signal that ends a process.
#[derive(Clone, Copy)]
enum Signal {
    #[cfg(feature = "mcp")]
    Terminate,
    Kill,
}

#[cfg(unix)]
fn send_signal(group: Option<u32>, signal: Signal) {
    use rustix::process::{Pid, Signal as Number, kill_process_group};

    let number = match signal {
        #[cfg(feature = "mcp")]
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
        // The environment of another user's process cannot be read. Such a process is not one of them.
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
