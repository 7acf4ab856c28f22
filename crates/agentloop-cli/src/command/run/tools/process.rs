//! Runs a process for a tool: with a time limit, bounded output, and without anything that outlives it.

use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use agentloop::internal::Family;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};
use tokio::time::timeout;

/// How much of an output is kept, in bytes: half of its start and half of its end.
pub(super) const MAX_OUTPUT: usize = 60_000;

/// How long to wait for the rest of the output of a process that has ended. A process that it started may have the pipe.
const REST_WAIT: Duration = Duration::from_millis(500);

/// The variable that marks a process and everything that it starts.
const MARK: &str = "AGENTLOOP_TOOL_PROCESS";

/// A process that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a command, and ends it with everything that it started: when it has ended, when the time is over, or when the future
/// is dropped. Returns `None` if the time was over.
pub(super) async fn run(
    mut command: Command,
    input: Option<Vec<u8>>,
    limit: Duration,
) -> io::Result<Option<Finished>> {
    let mut family = Family::new(&mut command, MARK);
    command
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    family.started(&child);
    let family = Owned(family);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut out, mut error) = (Tail::default(), Tail::default());
    let ended = timeout(limit, async {
        let mut read = pin!(async { tokio::join!(out.read(stdout), error.read(stderr)) });
        let mut write = pin!(write(stdin, input.unwrap_or_default()));
        let (mut has_read, mut has_written) = (false, false);
        let status = loop {
            tokio::select! {
                status = child.wait() => break status,
                _ = &mut read, if !has_read => has_read = true,
                // The process need not read its input.
                () = &mut write, if !has_written => has_written = true,
            }
        };
        if !has_read && timeout(REST_WAIT, &mut read).await.is_err() {
            family.0.kill();
            let _ = timeout(REST_WAIT, &mut read).await;
        }
        status
    })
    .await;
    drop(family);
    match ended {
        Err(_) => Ok(None),
        Ok(status) => Ok(Some(Finished {
            status: status?,
            stdout: out.into_text(),
            stderr: error.into_text(),
        })),
    }
}

async fn write(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        // A process that closes its input does not need it.
        let _ = stdin.write_all(&input).await;
        let _ = stdin.shutdown().await;
    }
}

/// A process and everything that it has started. It ends when this is dropped.
#[derive(Debug)]
struct Owned(Family);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// The start and the end of an output.
#[derive(Debug, Default)]
struct Tail {
    start: Vec<u8>,
    end: VecDeque<u8>,
    left_out: u64,
}

impl Tail {
    /// Reads an output to its end, in bounded memory.
    async fn read(&mut self, from: Option<impl AsyncRead + Unpin>) {
        let Some(mut from) = from else { return };
        let mut buffer = vec![0; 8_192];
        // An error of reading ends the output.
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            self.push(&buffer[..read]);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = (MAX_OUTPUT / 2).saturating_sub(self.start.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.start.extend_from_slice(first);
        self.end.extend(rest);
        let over = self.end.len().saturating_sub(MAX_OUTPUT / 2);
        self.end.drain(..over);
        self.left_out += over as u64;
    }

    fn into_text(self) -> String {
        let mut bytes = self.start;
        if self.left_out > 0 {
            bytes.extend(format!("\n[{} bytes are left out]\n", self.left_out).bytes());
        }
        bytes.extend(self.end);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
