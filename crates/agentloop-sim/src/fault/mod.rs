//! Simulated faults.

mod parse;
mod schedule;

use std::fmt;

pub(crate) use parse::{parse_list, serde_list};
pub use schedule::Faults;

/// A simulated fault of a response.
///
/// There are four ways to simulate a fault: a response of a script ([`Turn::with_fault`](crate::Turn::with_fault)), a schedule
/// ([`Faults`]), the id of the model after a `!` (`sim/echo!status=429`), and the request header `x-sim-fault`. The text form is
/// the same everywhere. Separate several faults by `;`. Options of a fault follow it:
///
/// | text | effect |
/// |---|---|
/// | `status=429` | fails with this HTTP status; options: `retry-after=2`, `code=…`, `message=…` |
/// | `cut-bytes=120` | ends the body after 120 bytes; with `reset` the connection breaks |
/// | `cut-events=3` | ends the stream after 3 events; with `reset` the connection breaks |
/// | `stall-events=2` | sends nothing after 2 events, and keeps the stream open |
/// | `malformed-events=1` | sends an event that is not JSON after 1 event |
/// | `error-events=2` | sends an error event after 2 events and ends the stream (the HTTP status is 200) |
/// | `error-first` | is short for `error-events=0` |
/// | `drip` | sends the body one byte at a time |
/// | `body=200000000` | sends a body of 200,000,000 bytes that is not a response |
/// | `wrong-length` | sends a body that is shorter than its `content-length` |
/// | `html` | sends a web page instead of a response; with `status=502` it has that status |
/// | `refuse` | closes the connection without a response |
///
/// Events are those of the wire. The first may contain only the id. A complete response has no events: `cut-events` and
/// `stall-events` apply to the middle of its body, `malformed-events` and `error-events` replace the body.
///
/// ```
/// use agentloop_sim::{Cut, Fault};
///
/// let fault: Fault = "status=429;retry-after=2".parse()?;
/// assert_eq!(fault, Fault::status(429).with_retry_after("2"));
/// let fault: Fault = "cut-events=3".parse()?;
/// assert_eq!(fault, Fault::CutEvents(3, Cut::End));
/// let fault = Fault::status(429).with_retry_after("2");
/// assert_eq!(fault.to_string(), "status=429;retry-after=2");
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Fails with an HTTP status.
    Status {
        /// The HTTP status.
        status: u16,
        /// The value of the `retry-after` header.
        retry_after: Option<String>,
        /// The code of the error.
        code: Option<String>,
        /// The message of the error.
        message: Option<String>,
    },
    /// Ends the body after this many bytes.
    CutBytes(usize, Cut),
    /// Ends the stream after this many events.
    CutEvents(usize, Cut),
    /// Sends nothing after this many events, and keeps the stream open.
    StallEvents(usize),
    /// Sends an event that is not JSON after this many events.
    MalformedEvents(usize),
    /// Sends an error event after this many events, and ends the stream.
    ErrorEvents(usize),
    /// Sends the body one byte at a time.
    Drip,
    /// Sends a body of this many bytes that is not a response.
    Body(u64),
    /// Sends a body that is shorter than its `content-length`.
    WrongLength,
    /// Sends a web page instead of a response.
    Html,
    /// Closes the connection without a response.
    Refuse,
}

/// How a body ends too early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cut {
    /// The body ends normally. Only its content shows that it is truncated.
    #[default]
    End,
    /// The connection breaks.
    Reset,
}

impl Fault {
    /// Creates a fault that fails with an HTTP status.
    pub fn status(status: u16) -> Self {
        Self::Status { status, retry_after: None, code: None, message: None }
    }

    /// Sets the `retry-after` header of a [`Fault::Status`]. Other faults are unchanged.
    #[must_use]
    pub fn with_retry_after(mut self, wait: impl Into<String>) -> Self {
        if let Self::Status { retry_after, .. } = &mut self {
            *retry_after = Some(wait.into());
        }
        self
    }

    /// Sets the error code of a [`Fault::Status`]. Other faults are unchanged.
    #[must_use]
    pub fn with_code(mut self, value: impl Into<String>) -> Self {
        if let Self::Status { code, .. } = &mut self {
            *code = Some(value.into());
        }
        self
    }

    /// Sets the error message of a [`Fault::Status`]. Other faults are unchanged.
    #[must_use]
    pub fn with_message(mut self, text: impl Into<String>) -> Self {
        if let Self::Status { message, .. } = &mut self {
            *message = Some(text.into());
        }
        self
    }

    /// Returns whether the fault replaces the response completely.
    pub(crate) fn is_replacing(&self) -> bool {
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
