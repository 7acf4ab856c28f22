//! The guard: this program between its owner and `llama-server`.
//!
//! Its stdin is a pipe from the owner. When the pipe closes, because the owner has closed it or has ended in any way, the guard kills
//! `llama-server` and everything in its process group. If the guard itself is killed, its owner does that.

use std::io::{Write as _, copy, sink, stderr, stdin};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use agentloop::internal::kill_group;

/// The first argument of a guard.
pub(super) const WORD: &str = "__guard-of-llama-server";

/// How soon a guard notices that the server has ended.
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs a guard, if this process was started as one. The arguments are a file to remove at the end, the program and its arguments.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != WORD {
        return None;
    }
    let (file, program) = (args.next()?, args.next()?);
    // `killall agentloop` must not end the guard together with its owner.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(c"llama-guard");
    let code = run(Command::new(program).args(args)).unwrap_or_else(|error| {
        let _ = writeln!(stderr(), "{error}");
        Some(127)
    });
    // A server of one model has none.
    let _ = std::fs::remove_file(file);
    if code.is_none() {
        kill_group(Some(std::process::id()));
    }
    Some(ExitCode::from(code.unwrap_or(0)))
}

/// Runs the server to its end, and returns its exit code, or to the end of the owner.
fn run(command: &mut Command) -> std::io::Result<Option<u8>> {
    // The owner reads both outputs from one pipe.
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::from(stderr())).spawn()?;
    let (sender, owner) = channel::<()>();
    // The owner writes nothing, so reading ends when the pipe closes.
    std::thread::spawn(move || (copy(&mut stdin(), &mut sink()), drop(sender)));
    while owner.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
        }
    }
    child.kill()?;
    child.wait().map(|_| None)
}
