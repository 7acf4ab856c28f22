//! Writes the media of messages.

use std::borrow::Cow;

use crate::chat::ContentPart;
use crate::media::{MediaKind, Medium, Refusal, Source};
use crate::protocol::Shown;
use crate::provider::Provider;

/// Returns where the provider takes a part of a tool's result.
pub(super) fn shown(part: &ContentPart, provider: &Provider) -> Shown {
    Shown::unless(|of_tool| {
        if of_tool {
            Some(format!("{} accepts media only in messages of the user", provider.name).into())
        } else {
            medium(part, provider).err()
        }
    })
}

/// Returns the bytes of an image or of audio in base64. The server takes both as `images`, and detects the type
/// (`openai/openai.go` puts `input_audio` there).
pub(super) fn medium<'a>(
    part: &'a ContentPart,
    provider: &Provider,
) -> Result<Cow<'a, str>, Refusal> {
    let name = &provider.name;
    let refused = || format!("{name} does not accept `{}` in this message", part.kind());
    let medium = Medium::of(part)?.ok_or_else(refused)?;
    if !matches!(medium.kind, MediaKind::Image | MediaKind::Audio) {
        return Err(format!("{name} does not accept {}", medium.kind.named()).into());
    }
    match medium.source {
        Source::Inline(data) => Ok(data.into_base64()),
        Source::Address(_) => {
            let kind = medium.kind.named();
            Err(Refusal::needs_bytes(format!("{name} does not accept {kind} by URL")))
        }
        Source::Id(_) => Err(format!("{name} has no uploaded files").into()),
    }
}
