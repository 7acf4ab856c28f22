//! Commands that send every row of a file: `batch` and `embed`.
//!
//! `input` reads the rows, `text` selects the text of a row, `engine` sends them, `results` writes what came back and reads it
//! again for `--resume`, `progress` and `estimate` describe the amount of work and its cost.

mod engine;
mod estimate;
mod input;
mod progress;
mod results;
#[cfg(test)]
mod tests;
mod text;

pub(in crate::command) use self::engine::{Engine, Job, Limits, Pending, Sent, Spent, is_fatal};
pub(in crate::command) use self::estimate::{Estimate, Responses};
pub(in crate::command) use self::input::{Format, Row, Source};
pub(in crate::command) use self::progress::{Progress, format_usd};
pub(in crate::command) use self::results::{Done, Head, Line, Outcome, Results, hash_row};
pub(in crate::command) use self::text::TextOf;
