//! Prints responses as text. `chat` and `run` share it.

mod finish;
mod text;
mod thinking;

pub(crate) use self::finish::describe_incomplete;
pub(crate) use self::text::{TextRenderer, describe_hidden_part};
