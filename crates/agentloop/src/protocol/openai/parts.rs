//! Media as URLs.

use std::borrow::Cow;

use crate::media::{DataUrl, Medium, Refusal, Source};
use crate::provider::Provider;
use crate::provider::quirks::ImageInput;

/// Returns the URL, or a data URL with its media type.
pub(in crate::protocol) fn url(medium: Medium<'_>) -> Result<Cow<'_, str>, Refusal> {
    let data = match medium.source {
        Source::Address(url) | Source::Id(url) => return Ok(Cow::Borrowed(url)),
        Source::Inline(data) => data,
    };
    let mime = medium.mime.ok_or_else(|| {
        Refusal::unknown_type(&format!("the {}", medium.kind), "its name and content")
    })?;
    Ok(match medium.written {
        Some(written) if data.mime() == Some(mime.as_ref()) => Cow::Borrowed(written),
        _ => Cow::Owned(DataUrl::of_base64(mime, data.base64()).to_string()),
    })
}

/// Returns the URL of an image, in a form that the provider takes.
pub(in crate::protocol) fn image<'a>(
    medium: Medium<'a>,
    provider: &Provider,
) -> Result<Cow<'a, str>, Refusal> {
    let name = &provider.name;
    match (provider.quirks.images, &medium.source) {
        (ImageInput::DataOnly, Source::Address(_)) => {
            Err(Refusal::needs_bytes(format!("{name} accepts images only as data, not by URL")))
        }
        _ => url(medium),
    }
}
