//! Programs that print credentials.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CREDENTIAL_PROGRAM_WAIT, MAX_CREDENTIAL_BODY_BYTES};
use crate::processes::{Family, find_program};

/// The variable that marks the processes of a program.
const MARK: &str = "AGENTLOOP_CREDENTIAL_PROGRAM";

/// A program that prints credentials.
pub(super) struct Program<'a> {
    /// The program, for errors.
    pub(super) name: &'a str,
    /// What a person can do if it fails.
    pub(super) hint: &'a str,
    /// Its place, which is absolute.
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<&'a OsStr>,
    /// Environment variables that are set for it.
    pub(super) variables: &'a [(&'a str, &'a str)],
}

/// Returns a program by its place in a folder of `PATH`.
pub(super) fn find(name: &str, environment: Environment<'_>) -> Option<PathBuf> {
    find_program(name, environment.variable("PATH")?.as_ref())
}

impl Program<'_> {
    /// Starts the program, and returns what it prints.
    ///
    /// - It is started without a shell, in a folder of the system, and without input. Its standard error is ignored.
    /// - What it prints is limited ([`MAX_CREDENTIAL_BODY_BYTES`]), and so is its time ([`CREDENTIAL_PROGRAM_WAIT`]).
    /// - Dropping the future ends it with everything that it has started, and so does every error.
    ///
    /// # Errors
    ///
    /// When it cannot be started, fails, prints too much or takes too long.
    pub(super) async fn run(self) -> Result<Vec<u8>> {
        let Self { name, hint, path, arguments, variables } = self;
        let failed = |why: &str| {
            let message = format!("{name} returned no credentials: {why}");
            Error::new(ErrorKind::Auth, message).with_hint(hint)
        };
        let mut command = Command::new(path);
        command
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(if cfg!(windows) { "C:\\" } else { "/" })
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut family = Family::new(&mut command, MARK);
        let child = command.spawn().map_err(|error| failed(&error.to_string()))?;
        family.started(&child);
        let mut running = Running { child, family, has_succeeded: false };
        let exchange = async {
            let stdout = running.child.stdout.take().ok_or_else(|| failed("it has no output"))?;
            let mut output = Vec::new();
            let most = MAX_CREDENTIAL_BODY_BYTES as u64 + 1;
            let mut stdout = stdout.take(most);
            stdout.read_to_end(&mut output).await.map_err(|_| failed("its output ended"))?;
            if output.len() > MAX_CREDENTIAL_BODY_BYTES {
                return Err(failed("it printed too much"));
            }
            match running.child.wait().await {
                Ok(status) if status.success() => {
                    running.has_succeeded = true;
                    Ok(output)
                }
                Ok(status) => Err(failed(&status.to_string())),
                Err(error) => Err(failed(&error.to_string())),
            }
        };
        match timeout(CREDENTIAL_PROGRAM_WAIT, exchange).await {
            Ok(output) => output,
            Err(_) => {
                let message =
                    format!("{name} returned no credentials within {CREDENTIAL_PROGRAM_WAIT:?}");
                Err(Error::new(ErrorKind::Timeout, message).with_hint(hint))
            }
        }
    }
}

/// A program that runs. Dropping it ends it with everything that it has started, unless it has succeeded: it may then have
/// left a process behind on purpose, such as an agent that keeps a sign-in.
struct Running {
    child: Child,
    family: Family,
    has_succeeded: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_succeeded {
            self.family.kill();
        }
    }
}
