//! What can go wrong, on demand.

mod parse;
mod schedule;

use std::fmt;

pub(crate) use parse::{parse_list, serde_list};
pub use schedule::Faults;

/// One thing that goes wrong with an answer.
///
/// Faults are asked for in the `x-sim-fault` header of a request, after a `!` in the model's id
/// (`sim/echo!status=429`), by a turn of a [`Script`](crate::Script), or by a schedule ([`Faults`]). The
/// written form is the same everywhere; several are joined by `;`, and what modifies a fault follows it:
///
/// | written | what happens |
/// |---|---|
/// | `status=429` | an error of that status; then `retry-after=2`, `code=…`, `message=…` |
/// | `cut-bytes=120` | the body ends after so many bytes; then `reset`: the connection breaks |
/// | `cut-events=3` | the stream ends after so many events; then `reset` |
/// | `stall-events=2` | after so many events nothing comes any more, and the stream does not end |
/// | `malformed-events=1` | after so many events comes one that is no JSON |
/// | `error-events=2` | after so many events comes an error, and the stream ends (the status is 200) |
/// | `error-first` | the same as `error-events=0` |
/// | `drip` | one byte at a time |
/// | `body=200000000` | a body of so many bytes that is no answer |
/// | `wrong-length` | the body is shorter than its `content-length` says |
/// | `html` | a web page in place of the answer (with `status=502`: of that status) |
/// | `refuse` | no answer at all: the connection closes |
///
/// Events are counted as they stand on the wire, where the first may bring nothing but the id.
/// A whole answer has no events: there `cut-events` and `stall-events` happen in the middle of the body,
/// and `malformed-events` and `error-events` take the place of it, whatever their number.
///
/// ```
/// use agentloop_sim::Fault;
///
/// let fault: Fault = "status=429;retry-after=2".parse()?;
/// assert_eq!(fault, Fault::status(429).with_retry_after("2"));
/// assert_eq!(fault.to_string(), "status=429;retry-after=2");
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// An error of that status.
    Status {
        /// The HTTP status.
        status: u16,
        /// The `retry-after` header, as it is written.
        retry_after: Option<String>,
        /// The error's code.
        code: Option<String>,
        /// The error's text.
        message: Option<String>,
    },
    /// The body ends after so many bytes.
    CutBytes(usize, Cut),
    /// The stream ends after so many events.
    CutEvents(usize, Cut),
    /// After so many events nothing comes any more, and the stream does not end.
    StallEvents(usize),
    /// After so many events comes one that is no JSON.
    MalformedEvents(usize),
    /// After so many events comes an error.
    ErrorEvents(usize),
    /// One byte at a time.
    Drip,
    /// A body of so many bytes that is no answer.
    Body(u64),
    /// The body is shorter than its `content-length` says.
    WrongLength,
    /// A web page in place of the answer.
    Html,
    /// No answer at all.
    Refuse,
}

/// How a body ends too early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cut {
    /// As if it were complete: nothing but its content shows that it is not.
    #[default]
    End,
    /// The connection breaks.
    Reset,
}

impl Fault {
    /// An error of that status.
    pub fn status(status: u16) -> Self {
        Self::Status { status, retry_after: None, code: None, message: None }
    }

    /// The same, with a `retry-after` header. Only an error of a status has one.
    #[must_use]
    pub fn with_retry_after(mut self, wait: impl Into<String>) -> Self {
        if let Self::Status { retry_after, .. } = &mut self {
            *retry_after = Some(wait.into());
        }
        self
    }

    /// The same, with an error code. Only an error of a status has one.
    #[must_use]
    pub fn with_code(mut self, word: impl Into<String>) -> Self {
        if let Self::Status { code, .. } = &mut self {
            *code = Some(word.into());
        }
        self
    }

    /// Whether the answer is not even begun, so that the model has nothing to do.
    pub(crate) fn replaces_answer(&self) -> bool {
        matches!(self, Self::Status { .. } | Self::Body(_) | Self::Html | Self::Refuse)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = |how: &Cut| if *how == Cut::Reset { ";reset" } else { "" };
        match self {
            Self::Status { status, retry_after, code, message } => {
                write!(f, "status={status}")?;
                let more = [("retry-after", retry_after), ("code", code), ("message", message)];
                for (name, value) in more {
                    if let Some(value) = value {
                        write!(f, ";{name}={value}")?;
                    }
                }
                Ok(())
            }
            Self::CutBytes(bytes, how) => write!(f, "cut-bytes={bytes}{}", cut(how)),
            Self::CutEvents(events, how) => write!(f, "cut-events={events}{}", cut(how)),
            Self::StallEvents(events) => write!(f, "stall-events={events}"),
            Self::MalformedEvents(events) => write!(f, "malformed-events={events}"),
            Self::ErrorEvents(events) => write!(f, "error-events={events}"),
            Self::Drip => f.write_str("drip"),
            Self::Body(bytes) => write!(f, "body={bytes}"),
            Self::WrongLength => f.write_str("wrong-length"),
            Self::Html => f.write_str("html"),
            Self::Refuse => f.write_str("refuse"),
        }
    }
}
