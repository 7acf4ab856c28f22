//! Images, sound, video and files: bytes in place, or an address with a media type that is known.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::unescaped;
use crate::error::{Error, ErrorKind, Result};
use crate::request::{AudioInput, FileInput};

/// Bytes, or where they are.
#[derive(Debug, Serialize)]
pub(super) enum Media<'a> {
    #[serde(rename = "inlineData", rename_all = "camelCase")]
    Inline { mime_type: Cow<'a, str>, data: Cow<'a, str> },
    #[serde(rename = "fileData", rename_all = "camelCase")]
    File {
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
        file_uri: Cow<'a, str>,
    },
}

/// Media types by the ends of names.
const BY_NAME: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("webp", "image/webp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("bmp", "image/bmp"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("svg", "image/svg+xml"),
    ("avif", "image/avif"),
    ("pdf", "application/pdf"),
    ("json", "application/json"),
    ("txt", "text/plain"),
    ("md", "text/markdown"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("xml", "text/xml"),
    ("rtf", "text/rtf"),
    ("py", "text/x-python"),
    ("js", "text/javascript"),
    ("mp4", "video/mp4"),
    ("m4v", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("mov", "video/quicktime"),
    ("avi", "video/avi"),
    ("flv", "video/x-flv"),
    ("webm", "video/webm"),
    ("wmv", "video/wmv"),
    ("3gp", "video/3gpp"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("aac", "audio/aac"),
    ("aiff", "audio/aiff"),
    ("aif", "audio/aiff"),
    ("ogg", "audio/ogg"),
    ("oga", "audio/ogg"),
    ("opus", "audio/opus"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
];

/// The media type that a name or an address tells.
fn by_name(name: &str) -> Option<&'static str> {
    let path = name.split(['?', '#']).next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    let (_, end) = file.rsplit_once('.')?;
    BY_NAME.iter().find(|(known, _)| known.eq_ignore_ascii_case(end)).map(|(_, mime)| *mime)
}

/// Videos that the host plays by the address of their page.
fn is_video_page(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next().unwrap_or_default().to_ascii_lowercase();
    matches!(
        host.trim_start_matches("www."),
        "youtube.com" | "m.youtube.com" | "music.youtube.com" | "youtu.be"
    )
}

/// A file that was uploaded to the host, which knows its media type.
fn is_uploaded(url: &str) -> bool {
    let name = url.split(['?', '#']).next().unwrap_or_default();
    let mut steps = name.rsplit('/');
    let last = steps.next().unwrap_or_default();
    !last.is_empty() && !last.contains('.') && steps.next() == Some("files")
}

/// What stands at an address, or in a data URL.
pub(super) fn at<'a>(url: &'a str, mime: Option<&'a str>, what: &str) -> Result<Media<'a>> {
    if url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return in_data_url(url, mime, what);
    }
    let known = mime.or_else(|| is_video_page(url).then_some("video/mp4")).or_else(|| by_name(url));
    if known.is_none() && !is_uploaded(url) {
        return Err(unknown(what, "its address"));
    }
    Ok(Media::File { mime_type: known.map(Cow::Borrowed), file_uri: Cow::Borrowed(url) })
}

fn in_data_url<'a>(url: &'a str, mime: Option<&'a str>, what: &str) -> Result<Media<'a>> {
    let Some((head, data)) = url[5..].split_once(',') else {
        return Err(Error::new(ErrorKind::InvalidRequest, format!("{what} is no data URL")));
    };
    let named = head.split(';').next().filter(|mime| !mime.is_empty());
    let mime = named.or(mime).ok_or_else(|| unknown(what, "its data URL"))?;
    let encoded = head.to_ascii_lowercase().ends_with(";base64");
    let data = if encoded { Cow::Borrowed(data) } else { STANDARD.encode(unescaped(data)).into() };
    Ok(Media::Inline { mime_type: Cow::Borrowed(mime), data })
}

pub(super) fn audio(audio: &AudioInput) -> Result<Media<'_>> {
    if audio.data.starts_with("data:") {
        return in_data_url(&audio.data, None, "the audio");
    }
    if audio.format.is_empty() {
        return Err(unknown("the audio", "its format"));
    }
    let mime_type = if audio.format.contains('/') {
        Cow::Borrowed(audio.format.as_str())
    } else {
        Cow::Owned(format!("audio/{}", audio.format))
    };
    Ok(Media::Inline { mime_type, data: Cow::Borrowed(&audio.data) })
}

pub(super) fn file(file: &FileInput) -> Result<Media<'_>> {
    let named = file.filename.as_deref().and_then(by_name);
    let mime = file.mime_type.as_deref().or(named);
    if let Some(data) = &file.file_data {
        if data.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
            return in_data_url(data, mime, "the file");
        }
        let mime = mime.ok_or_else(|| unknown("the file", "its name"))?;
        return Ok(Media::Inline { mime_type: mime.into(), data: Cow::Borrowed(data) });
    }
    if let Some(url) = &file.file_url {
        return at(url, mime, "the file");
    }
    if let Some(id) = &file.file_id {
        // The host knows the media type of what was uploaded to it.
        let mime_type = mime.or_else(|| by_name(id)).map(Cow::Borrowed);
        return Ok(Media::File { mime_type, file_uri: Cow::Borrowed(id) });
    }
    Err(Error::new(ErrorKind::InvalidRequest, "the file has no content, no address and no id"))
}

fn unknown(what: &str, place: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{what} has a media type that {place} does not tell"),
    )
    .with_hint("send it as a `file` part with a `mime_type`, or as a data URL")
}
