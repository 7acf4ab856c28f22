//! Prints responses as text. `chat` and `run` share it.

mod finish;
mod media;
mod text;
mod thinking;

pub(crate) use self::finish::describe_incomplete;
pub(crate) use self::media::{save_media, show_media};
pub(crate) use self::text::{TextRenderer, describe_hidden_part};
