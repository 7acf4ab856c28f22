//! Failures of a command, their messages and their exit codes.

use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

use agentloop::ErrorKind;

use crate::notes::Notes;

/// The provider failed, or its response is not complete.
const EXIT_RESPONSE: u8 = 1;
/// The user has to change the command line, the configuration or the input.
const EXIT_USAGE: u8 = 2;
/// The run waits for approval.
const EXIT_WAITING: u8 = 3;
/// Interrupted with Ctrl-C: 128 plus the number of the signal, as in shells.
const EXIT_INTERRUPTED: u8 = 130;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library returned an error.
    Call(agentloop::Error),
    /// The command line or the input is wrong.
    Input { message: String, hint: Option<String> },
    /// The response is truncated, filtered or incomplete.
    Response(String),
    /// The run waits for approval. The hint states how to continue it.
    Waiting { message: String, hint: String },
    /// The failure is already printed on stdout, as data.
    Shown,
    /// Writing to stdout failed.
    Output(io::Error),
    /// The runtime could not be started.
    Runtime(io::Error),
    /// The process cannot open enough files.
    OpenFiles { can: usize, needs: usize, error: io::Error },
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl Failure {
    /// Creates a failure for wrong input.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input { message: message.into(), hint: None }
    }

    /// Creates a failure for wrong input, with a hint about what to do.
    pub(crate) fn input_with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input { message: message.into(), hint: Some(hint.into()) }
    }

    /// Creates a failure for a file that cannot be used.
    pub(crate) fn file(path: &Path, why: impl fmt::Display) -> Self {
        Self::input(format!("{}: {why}", path.display()))
    }

    /// Adds what the user may have meant to the hint, if nothing was sent.
    pub(crate) fn with_guess(self, guess: Option<String>) -> Self {
        let Some(guess) = guess else { return self };
        let joined = |hint: Option<&str>| match hint.filter(|hint| !hint.is_empty()) {
            Some(hint) => format!("{guess}; {hint}"),
            None => guess.clone(),
        };
        match self {
            Self::Call(error) if is_unsent(&error) => {
                let hint = joined(error.hint());
                Self::Call(error.with_hint(hint))
            }
            Self::Input { message, hint } => {
                Self::Input { message, hint: Some(joined(hint.as_deref())) }
            }
            other => other,
        }
    }

    /// Returns what happened, in one line.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Call(error) => error.to_string(),
            Self::Input { message, .. } | Self::Waiting { message, .. } => message.clone(),
            Self::Response(message) => message.clone(),
            Self::Shown | Self::Interrupted => "interrupted".to_owned(),
            Self::Output(error) | Self::Runtime(error) | Self::OpenFiles { error, .. } => {
                error.to_string()
            }
        }
    }

    /// Prints the failure on stderr and returns the exit code.
    pub(crate) fn report(self, notes: Notes) -> ExitCode {
        let code = match self {
            Self::Call(error) => {
                // The field of the library is an option here.
                let hint = error.hint().map(|hint| hint.replace("set `lenient`", "use --lenient"));
                let hint = hint.map(|hint| add_command(&error, hint));
                notes.print_error(&error.to_string(), hint.as_deref());
                exit_code(&error)
            }
            Self::Input { message, hint } => {
                notes.print_error(&message, hint.as_deref());
                EXIT_USAGE
            }
            Self::Response(message) => {
                notes.print_error(&message, None);
                EXIT_RESPONSE
            }
            Self::Waiting { message, hint } => {
                notes.print_error(&message, Some(&hint));
                EXIT_WAITING
            }
            Self::Shown => EXIT_RESPONSE,
            // The reader closed the pipe because it has enough: `agentloop models | head` is not a failure.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Output(error) => {
                notes.print_error(&format!("cannot write to stdout: {error}"), None);
                EXIT_RESPONSE
            }
            Self::Runtime(error) => {
                notes.print_error(&format!("cannot start the async runtime: {error}"), None);
                EXIT_RESPONSE
            }
            Self::OpenFiles { can, needs, error } => {
                let message = format!(
                    "the process can open only {can} more files, but needs {needs}: {error}"
                );
                notes.print_error(&message, Some("raise the limit of open files (`ulimit -n`)"));
                EXIT_RESPONSE
            }
            Self::Interrupted => {
                notes.begin_line();
                notes.print_error("interrupted", None);
                EXIT_INTERRUPTED
            }
        };
        ExitCode::from(code)
    }
}

/// Returns the exit code of a library error: whether the user has to change something, or the provider failed.
fn exit_code(error: &agentloop::Error) -> u8 {
    if is_unsent(error) { EXIT_USAGE } else { EXIT_RESPONSE }
}

/// Adds the command that stores a key to the hint about a variable that is not set.
fn add_command(error: &agentloop::Error, hint: String) -> String {
    match error.provider() {
        Some(provider) if error.kind() == ErrorKind::MissingKey && hint.starts_with("set ") => {
            format!("store a key with `agentloop setup {provider}`, or {hint}")
        }
        _ => hint,
    }
}

/// Returns whether an error was found before anything was sent.
pub(crate) fn is_unsent(error: &agentloop::Error) -> bool {
    match error.kind() {
        ErrorKind::MissingKey
        | ErrorKind::UnknownProvider
        | ErrorKind::MissingModel
        | ErrorKind::Config => true,
        // An error without a status does not come from a provider.
        ErrorKind::InvalidRequest | ErrorKind::Unsupported => error.status().is_none(),
        _ => false,
    }
}

impl From<agentloop::Error> for Failure {
    fn from(error: agentloop::Error) -> Self {
        Self::Call(error)
    }
}

/// Converts I/O errors of stdout. All other I/O errors are converted where they happen.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
