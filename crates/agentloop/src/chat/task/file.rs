//! A file that is uploaded with a request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::MAX_FILE_BYTES;

/// A file that is sent with a request: an image to edit, or audio to transcribe. It has bytes, or the URL that the provider fetches.
///
/// In JSON the bytes are base64. [`from_path`](Self::from_path) reads a file.
///
/// ```
/// use agentloop::MediaFile;
///
/// let file = MediaFile::new("hello.wav", &b"RIFF"[..]);
/// assert_eq!(serde_json::to_string(&file)?, r#"{"filename":"hello.wav","data":"UklGRg=="}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MediaFile {
    /// The name of the file. Some providers derive the format from its extension.
    pub filename: Option<String>,
    /// The media type, for example `audio/wav`. If it is absent, it is derived from the bytes or the name.
    pub mime_type: Option<String>,
    /// The content. Empty if there is only a `url`.
    #[serde(default, with = "base64_bytes", skip_serializing_if = "Bytes::is_empty")]
    pub data: Bytes,
    /// The URL of the content, for providers that accept one.
    pub url: Option<String>,
}

impl MediaFile {
    /// Creates a file of these bytes.
    pub fn new(filename: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self { filename: Some(filename.into()), data: data.into(), ..Self::default() }
    }

    /// Creates a reference to a file that the provider fetches.
    pub fn from_url(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), ..Self::default() }
    }

    setters! {
        /// Sets the media type.
        mime_type(mime_type: impl Into<String>);
    }
}

shown! {
    MediaFile: self {
        filename: self.filename,
        mime_type: self.mime_type,
        bytes: self.data.len(),
        url: self.url.is_some(),
    }
}

/// Bytes as base64.
pub(super) mod base64_bytes {
    use super::{Bytes, Deserialize, Deserializer, Engine, MAX_FILE_BYTES, STANDARD, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &Bytes,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Bytes, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        // Four characters are three bytes.
        if text.len() / 4 > MAX_FILE_BYTES / 3 + 1 {
            let message = format!("the file is larger than {MAX_FILE_BYTES} bytes");
            return Err(serde::de::Error::custom(message));
        }
        STANDARD.decode(text.as_bytes()).map(Bytes::from).map_err(serde::de::Error::custom)
    }
}
