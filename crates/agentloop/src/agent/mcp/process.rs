//! Servers that run as child processes.

use std::ffi::OsStr;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::cancel::CancelToken;
use super::super::environment::child_environment;
use super::server::Program;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MCP_CLOSE_WAIT, MCP_STDERR_BYTES};
use crate::lock::lock;
use crate::processes::Family;

/// How long to wait for the rest of the standard error of a process that has ended.
const STDERR_WAIT: Duration = Duration::from_millis(200);

/// How long a process may take to end after a termination signal.
const TERMINATE_WAIT: Duration = Duration::from_millis(500);

/// The variable that marks the processes of a server.
const MARK: &str = "AGENTLOOP_MCP_SERVER";

/// A running process. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Process {
    cancel: CancelToken,
    has_ended: watch::Receiver<bool>,
    stderr: Stderr,
}

/// The end of the standard error of a process.
type Stderr = Arc<Mutex<Vec<u8>>>;

/// Starts a program.
pub(super) fn start(program: &Program) -> Result<(ChildStdout, ChildStdin, Process)> {
    let name = &program.command;
    let mut command = Command::new(name);
    command.args(&program.args);
    if !program.whole_environment {
        command.env_clear().envs(child_environment());
    }
    command.envs(program.env.iter().map(|(name, value)| (name, OsStr::new(value.expose()))));
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut tree = Tree(Family::new(&mut command, MARK));
    let failed = |why: &str| {
        Error::new(ErrorKind::Config, format!("starting the MCP server `{name}` failed: {why}"))
            .with_hint("check that the program is installed and on the PATH")
    };
    let mut child = command.spawn().map_err(|error| failed(&error.to_string()))?;
    tree.0.started(&child);
    let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
    let (Some(stdout), Some(stdin), Some(stderr)) = pipes else {
        return Err(failed("the process has no pipes"));
    };
    let cancel = CancelToken::new();
    let (ended, has_ended) = watch::channel(false);
    let kept = Stderr::default();
    tokio::spawn(supervise(child, tree, stderr, cancel.clone(), Arc::clone(&kept), ended));
    Ok((stdout, stdin, Process { cancel, has_ended, stderr: kept }))
}

/// The process and all of its descendants. Dropping it ends them, also when the runtime ends.
struct Tree(Family);

impl Drop for Tree {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// Waits until the process ends or is cancelled, and ends all processes that it has started.
async fn supervise(
    mut child: Child,
    tree: Tree,
    stderr: ChildStderr,
    cancel: CancelToken,
    kept: Stderr,
    ended: watch::Sender<bool>,
) {
    let mut reading = tokio::spawn(read_stderr(stderr, kept));
    // The closed standard input asks a server to end.
    if cancel.run_until_cancelled(child.wait()).await.is_none()
        && timeout(MCP_CLOSE_WAIT, child.wait()).await.is_err()
    {
        tree.0.terminate();
        if timeout(TERMINATE_WAIT, child.wait()).await.is_err() {
            // This fails only if the process has ended meanwhile.
            let _ = child.kill().await;
        }
    }
    drop(tree);
    // A descendant that could not be ended may keep the pipe open.
    let _ = timeout(STDERR_WAIT, &mut reading).await;
    reading.abort();
    ended.send_replace(true);
}

/// Reads the standard error, so the process never blocks on it, and keeps its end.
async fn read_stderr(mut stderr: ChildStderr, kept: Stderr) {
    let mut bytes = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut bytes).await {
        let mut kept = lock(&kept);
        kept.extend_from_slice(&bytes[..count]);
        let excess = kept.len().saturating_sub(MCP_STDERR_BYTES);
        kept.drain(..excess);
    }
}

impl Process {
    /// Ends the process and waits for its end.
    pub(super) async fn end(&self) {
        self.cancel.cancel();
        // The sender is dropped only with the task, and the task ends with the process.
        let _ = self.has_ended.clone().wait_for(|has_ended| *has_ended).await;
    }

    /// Returns the end of the standard error.
    pub(super) fn stderr(&self) -> String {
        let stderr = lock(&self.stderr);
        String::from_utf8_lossy(&stderr).trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
