//! Draws on the terminal: Markdown as it arrives, a status line while the command waits, and a last line about the response.
//!
//! - Escape sequences are written only to a terminal, and not if `TERM` is `dumb` or not set. `NO_COLOR` disables colours only.
//! - The status line is on stderr and is removed before anything else is written.
//! - Nothing here queries the terminal, because a terminal that does not reply would block the command.

mod highlight;
pub(crate) mod image;
pub(crate) mod last_line;
mod live;
pub(crate) mod markdown;
mod options;
pub(crate) mod status;
mod style;
pub(crate) mod terminal;
pub(crate) mod width;
mod wrap;

pub(crate) use self::options::{Options, ThinkingMode};
