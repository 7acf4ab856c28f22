//! Why a command ended early, and with which exit code.

use std::io;
use std::process::ExitCode;

use agentloop::ErrorKind;

use crate::notes::Notes;

/// The provider failed, or its answer cannot be used as a whole one.
const EXIT_ANSWER: u8 = 1;
/// The command line, the configuration or the input has to be changed.
const EXIT_USAGE: u8 = 2;
/// The run waits for somebody's word.
const EXIT_WAITING: u8 = 3;
/// Stopped with Ctrl-C: 128 and the number of the signal, as shells count.
const EXIT_INTERRUPTED: u8 = 130;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library says so.
    Call(agentloop::Error),
    /// The command line or the input is wrong.
    Input { message: String, hint: Option<String> },
    /// The answer is there, but cut, filtered or failed.
    Answer(String),
    /// The run waits, and this is how it goes on.
    Waiting { message: String, hint: String },
    /// The failure stands on stdout already, as data.
    Shown,
    /// stdout cannot be written.
    Output(io::Error),
    /// The runtime could not be started.
    Runtime(io::Error),
    /// Not enough files can be opened.
    OpenFiles { can: usize, needs: usize, error: io::Error },
    /// Ctrl-C.
    Interrupted,
}

impl Failure {
    /// The input is wrong.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input { message: message.into(), hint: None }
    }

    /// The input is wrong, and this is what to do.
    pub(crate) fn input_with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Input { message: message.into(), hint: Some(hint.into()) }
    }

    /// Says it on stderr, and gives the code to exit with.
    pub(crate) fn report(self, notes: Notes) -> ExitCode {
        let code = match self {
            Self::Call(error) => {
                notes.error(&error.to_string(), error.hint());
                exit_code(&error)
            }
            Self::Input { message, hint } => {
                notes.error(&message, hint.as_deref());
                EXIT_USAGE
            }
            Self::Answer(message) => {
                notes.error(&message, None);
                EXIT_ANSWER
            }
            Self::Waiting { message, hint } => {
                notes.error(&message, Some(&hint));
                EXIT_WAITING
            }
            Self::Shown => EXIT_ANSWER,
            // The reader has what it wanted: `agentloop models | head` is no failure.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Output(error) => {
                notes.error(&format!("stdout cannot be written: {error}"), None);
                EXIT_ANSWER
            }
            Self::Runtime(error) => {
                notes.error(&format!("the runtime cannot be started: {error}"), None);
                EXIT_ANSWER
            }
            Self::OpenFiles { can, needs, error } => {
                let message =
                    format!("only {can} more files can be opened, {needs} are needed: {error}");
                notes.error(&message, Some("raise the limit of open files (`ulimit -n`)"));
                EXIT_ANSWER
            }
            Self::Interrupted => {
                notes.end_line();
                EXIT_INTERRUPTED
            }
        };
        ExitCode::from(code)
    }
}

/// Who has to act: the provider, or the user before anything was sent.
fn exit_code(error: &agentloop::Error) -> u8 {
    match error.kind() {
        ErrorKind::MissingKey
        | ErrorKind::UnknownProvider
        | ErrorKind::MissingModel
        | ErrorKind::Config => EXIT_USAGE,
        // Without a status no provider has seen it.
        ErrorKind::InvalidRequest | ErrorKind::Unsupported if error.status().is_none() => {
            EXIT_USAGE
        }
        _ => EXIT_ANSWER,
    }
}

impl From<agentloop::Error> for Failure {
    fn from(error: agentloop::Error) -> Self {
        Self::Call(error)
    }
}

/// The only I/O errors that are not told apart where they happen are those of stdout.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
