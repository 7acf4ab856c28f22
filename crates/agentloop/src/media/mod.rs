//! Images, audio, video and files: their types, their sources, and how they are sent.
//!
//! - [`mime_of_bytes`] and [`mime_of_name`] detect a media type, and never guess one.
//! - [`DataUrl`] reads and writes `data:` URLs.
//! - [`FileUpload`] and [`StoredFile`] are files that a provider stores; see [`AgentLoop::files`](crate::AgentLoop::files).
//! - [`MediaOptions`] sets whether the client may download remote media for providers that need their bytes.
//!
//! Parts are made with [`ContentPart::image_path`](crate::ContentPart::image_path) and its siblings, and what a model made is
//! kept with [`ResponsePart::save`](crate::ResponsePart::save).

mod data_url;
pub(crate) mod medium;
pub(crate) mod name;
mod parts;
mod refusal;
mod save;
mod sniff;
mod stored;
mod wav;

pub use data_url::DataUrl;
pub(crate) use data_url::decoded;
pub(crate) use medium::{Medium, Source, is_uploaded, is_video_page};
pub(crate) use name::audio_format;
pub use name::{extension_of, mime_of_name};
pub(crate) use refusal::Refusal;
pub use sniff::mime_of_bytes;
pub use stored::{FileState, FileUpload, StoredFile};
pub(crate) use wav::{pcm_rate, with_header};

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::chat::{Download, MediaOptions};

/// The kind of a medium, as far as providers distinguish them.
///
/// ```
/// use agentloop::media::MediaKind;
///
/// assert_eq!(MediaKind::of_mime("image/png"), MediaKind::Image);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaKind {
    /// Something to look at.
    Image,
    /// Something to listen to.
    Audio,
    /// Something to watch.
    Video,
    /// Something to read, or anything else.
    File,
}

impl MediaKind {
    /// Returns the kind of a media type.
    pub fn of_mime(mime: &str) -> Self {
        match mime.split('/').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "image" => Self::Image,
            "audio" => Self::Audio,
            "video" => Self::Video,
            _ => Self::File,
        }
    }

    /// Returns the name with its article, for messages.
    pub(crate) fn named(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Audio => "audio",
            Self::Video => "a video",
            Self::File => "a file",
        }
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::File => "file",
        })
    }
}

/// Returns the media type of a medium of this kind: as detected from its bytes, else as stated, else as derived from
/// its name.
///
/// Returns `Err` with the type if the bytes are certainly of another kind, and `Ok(None)` if nothing determines it.
pub(crate) fn settle(
    kind: MediaKind,
    bytes: &[u8],
    stated: Option<&str>,
    name: Option<&str>,
) -> Result<Option<String>, String> {
    let fits = |mime: &&str| kind == MediaKind::File || MediaKind::of_mime(mime) == kind;
    // A generic media type is as good as none.
    let stated = stated.filter(|mime| !mime.is_empty() && !mime.ends_with("/octet-stream"));
    let called = stated.filter(fits).or_else(|| name.and_then(mime_of_name).filter(fits));
    let Some(seen) = mime_of_bytes(bytes) else {
        return match (called, stated) {
            (Some(called), _) => Ok(Some(called.to_owned())),
            (None, Some(stated)) => Err(stated.to_owned()),
            (None, None) => Ok(None),
        };
    };
    // Text is all that can be seen of a drawing in SVG, of a table, of a page.
    if seen == "text/plain" {
        return match called {
            Some(called) if kind == MediaKind::File || called.starts_with("image/svg") => {
                Ok(Some(called.to_owned()))
            }
            _ if kind == MediaKind::File => Ok(Some(seen.to_owned())),
            _ => Err(stated.filter(|stated| !fits(stated)).unwrap_or(seen).to_owned()),
        };
    }
    if fits(&seen) {
        return Ok(Some(seen.to_owned()));
    }
    // Containers that can hold audio alone or video.
    let holds_both = matches!(seen, "video/mp4" | "video/webm" | "audio/ogg" | "video/x-matroska");
    match called {
        Some(called) if holds_both => Ok(Some(called.to_owned())),
        _ => Err(seen.to_owned()),
    }
}

#[cfg(test)]
mod tests;
