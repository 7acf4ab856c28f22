//! A server that is a process of ours.

use std::ffi::OsStr;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::cancel::CancelToken;
use super::environment::passed_on;
use super::server::Program;
use super::tree::Tree;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MCP_CLOSE_WAIT, MCP_STDERR_BYTES};

/// How long the last words of a process that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How long a process that was asked to end may take.
const ASKED_WAIT: Duration = Duration::from_millis(500);

/// Keeps a process. When it is dropped, the process ends.
#[derive(Debug)]
pub(super) struct Process {
    cancel: CancelToken,
    over: watch::Receiver<bool>,
    said: Said,
}

/// The end of what the process wrote to its standard error.
type Said = Arc<Mutex<Vec<u8>>>;

/// Starts the program.
pub(super) fn start(program: &Program) -> Result<(ChildStdout, ChildStdin, Process)> {
    let name = &program.command;
    let mut command = Command::new(name);
    command.args(&program.args);
    if !program.whole_environment {
        command.env_clear().envs(passed_on());
    }
    command.envs(program.env.iter().map(|(name, value)| (name, OsStr::new(value.expose()))));
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut tree = Tree::new(&mut command);
    let failed = |why: &str| {
        Error::new(ErrorKind::Config, format!("the MCP server `{name}` cannot be started: {why}"))
            .with_hint("is it installed, and on the PATH?")
    };
    let mut child = command.spawn().map_err(|error| failed(&error.to_string()))?;
    tree.began(&child);
    let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
    let (Some(stdout), Some(stdin), Some(stderr)) = pipes else {
        return Err(failed("it has no pipes"));
    };
    let cancel = CancelToken::new();
    let (ended, over) = watch::channel(false);
    let said = Said::default();
    tokio::spawn(keep(child, tree, stderr, cancel.clone(), Arc::clone(&said), ended));
    Ok((stdout, stdin, Process { cancel, over, said }))
}

/// Waits until the process has ended, or shall end, and ends everything that it has started.
async fn keep(
    mut child: Child,
    tree: Tree,
    stderr: ChildStderr,
    cancel: CancelToken,
    said: Said,
    ended: watch::Sender<bool>,
) {
    let mut listening = tokio::spawn(listen(stderr, said));
    // Its standard input is closed by then, which asks a server to end.
    if cancel.stops(child.wait()).await.is_none()
        && timeout(MCP_CLOSE_WAIT, child.wait()).await.is_err()
    {
        tree.ask();
        if timeout(ASKED_WAIT, child.wait()).await.is_err() {
            // It fails only when the process has ended meanwhile.
            let _ = child.kill().await;
        }
    }
    tree.end().await;
    // A process out of reach may still hold the pipe.
    let _ = timeout(LAST_WORDS, &mut listening).await;
    listening.abort();
    ended.send_replace(true);
}

/// Reads what it writes, so that it never waits for a reader, and keeps the end of it.
async fn listen(mut stderr: ChildStderr, said: Said) {
    let mut bytes = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut bytes).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&bytes[..count]);
        let over = said.len().saturating_sub(MCP_STDERR_BYTES);
        said.drain(..over);
    }
}

impl Process {
    /// Ends the process, and waits until it has.
    pub(super) async fn end(&self) {
        self.cancel.cancel();
        // The sender goes only with the task, and with the task the process.
        let _ = self.over.clone().wait_for(|over| *over).await;
    }

    /// The end of what it wrote to its standard error.
    pub(super) fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
