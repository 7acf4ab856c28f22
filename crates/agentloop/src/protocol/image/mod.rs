//! Images: OpenAI's form and its variants, and Google's two forms.

mod generate;
mod read;
mod write;

pub(super) use read::{Candidate, Metadata, decode, of_base64, of_images};
pub(super) use write::encode;
