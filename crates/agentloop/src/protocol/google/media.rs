//! Media of a message: their bytes, or where they are.

use std::borrow::Cow;

use serde::Serialize;

use crate::chat::ContentPart;
use crate::media::{MediaKind, Medium, Refusal, Source, is_uploaded, is_video_page};

/// Bytes, or where they are, as generateContent names them.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(in crate::protocol) enum Media<'a> {
    #[serde(rename = "inlineData", rename_all = "camelCase")]
    Inline { mime_type: Cow<'a, str>, data: Cow<'a, str> },
    #[serde(rename = "fileData", rename_all = "camelCase")]
    File { mime_type: Option<Cow<'a, str>>, file_uri: Cow<'a, str> },
}

/// Returns the medium that a part is, and its kind; `None` for a part of another kind.
pub(in crate::protocol) fn media(
    part: &ContentPart,
) -> Result<Option<(MediaKind, Media<'_>)>, Refusal> {
    let Some(medium) = Medium::of(part)? else { return Ok(None) };
    let unknown = |place: &str| Refusal::unknown_type(&format!("the {}", medium.kind), place);
    let kind = medium.kind;
    let media = match medium.source {
        Source::Inline(data) => Media::Inline {
            mime_type: medium.mime.ok_or_else(|| unknown("its content"))?,
            data: data.into_base64(),
        },
        Source::Address(url) => {
            let page = || is_video_page(url).then_some(Cow::Borrowed("video/mp4"));
            let mime_type = medium.mime.clone().or_else(page);
            if mime_type.is_none() && !is_uploaded(url) {
                return Err(unknown("its URL"));
            }
            Media::File { mime_type, file_uri: Cow::Borrowed(url) }
        }
        // The provider knows the media types of the files that were uploaded to it.
        Source::Id(id) => Media::File { mime_type: medium.mime, file_uri: Cow::Borrowed(id) },
    };
    Ok(Some((kind, media)))
}
