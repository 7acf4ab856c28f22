//! Speech: OpenAI's form and its variants, and Google's form.

mod read;
mod write;

pub(super) use read::{decode, mime_of_format};
pub(super) use write::encode;
