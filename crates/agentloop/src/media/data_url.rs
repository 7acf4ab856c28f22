//! `data:` URLs.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::{Error, ErrorKind, Result};
use crate::percent;

/// Base64 with or without its padding.
const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How many characters of base64 are decoded to detect the media type.
const HEAD: usize = 4096;

/// The content and the media type of a `data:` URL.
///
/// ```
/// use agentloop::media::DataUrl;
///
/// let url = DataUrl::parse("data:image/png;base64,iVBORw0KGgo=").unwrap();
/// assert_eq!(url.mime(), Some("image/png"));
/// assert_eq!(url.bytes()?, b"\x89PNG\r\n\x1a\n");
/// assert_eq!(url.to_string(), "data:image/png;base64,iVBORw0KGgo=");
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataUrl<'a> {
    mime: Cow<'a, str>,
    is_base64: bool,
    data: Cow<'a, str>,
}

impl<'a> DataUrl<'a> {
    /// Reads a data URL; `None` for anything else.
    pub fn parse(url: &'a str) -> Option<Self> {
        if !is_data_url(url) {
            return None;
        }
        let (head, data) = url.get(5..)?.split_once(',')?;
        let (mime, is_base64) = match head.rsplit_once(';') {
            Some((mime, last)) if last.trim().eq_ignore_ascii_case("base64") => (mime, true),
            _ => (head, head.trim().eq_ignore_ascii_case("base64")),
        };
        let mime = if is_base64 && mime == head { "" } else { mime };
        Some(Self { mime: Cow::Borrowed(mime), is_base64, data: Cow::Borrowed(data) })
    }

    /// Creates the data URL of these bytes.
    pub fn of_bytes(mime: impl Into<Cow<'a, str>>, bytes: impl AsRef<[u8]>) -> Self {
        Self::of_base64(mime, STANDARD.encode(bytes))
    }

    /// Creates a data URL from base64.
    pub fn of_base64(mime: impl Into<Cow<'a, str>>, data: impl Into<Cow<'a, str>>) -> Self {
        Self { mime: mime.into(), is_base64: true, data: data.into() }
    }

    /// Returns the media type that it states, with parameters.
    pub fn mime(&self) -> Option<&str> {
        Some(self.mime.trim()).filter(|mime| !mime.is_empty() && !mime.starts_with(';'))
    }

    /// Returns the media type: as stated, else as detected from the bytes.
    pub fn known_mime(&self) -> Option<Cow<'_, str>> {
        match self.mime() {
            Some(mime) => Some(Cow::Borrowed(mime)),
            None => self.seen_mime().map(Cow::Borrowed),
        }
    }

    /// Returns the media type detected from the bytes.
    pub(crate) fn seen_mime(&self) -> Option<&'static str> {
        if !self.is_base64 {
            return super::mime_of_bytes(&percent::decode(&self.data));
        }
        let head: Vec<u8> =
            self.data.bytes().filter(|byte| !byte.is_ascii_whitespace()).take(HEAD).collect();
        super::mime_of_bytes(&TOLERANT.decode(head).ok()?)
    }

    /// Returns the content in base64.
    pub fn base64(&self) -> Cow<'_, str> {
        if self.is_base64 {
            Cow::Borrowed(&self.data)
        } else {
            Cow::Owned(STANDARD.encode(percent::decode(&self.data)))
        }
    }

    /// Converts it into the content in base64.
    pub(crate) fn into_base64(self) -> Cow<'a, str> {
        if self.is_base64 {
            self.data
        } else {
            Cow::Owned(STANDARD.encode(percent::decode(&self.data)))
        }
    }

    /// Returns the content.
    ///
    /// # Errors
    ///
    /// Fails if it claims to be base64 and is not.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        if self.is_base64 {
            decoded(&self.data)
        } else {
            Ok(percent::decode(&self.data).into_owned())
        }
    }
}

impl fmt::Display for DataUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base64 = if self.is_base64 { ";base64" } else { "" };
        write!(f, "data:{}{base64},{}", self.mime, self.data)
    }
}

/// Returns whether it is a data URL, valid or not.
pub(crate) fn is_data_url(url: &str) -> bool {
    url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// Decodes base64, with or without padding and line breaks.
pub(crate) fn decoded(text: &str) -> Result<Vec<u8>> {
    let wrong = |error| {
        Error::new(ErrorKind::InvalidRequest, format!("the data is not base64: {error}"))
            .with_source(error)
    };
    if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        return TOLERANT.decode(text).map_err(wrong);
    }
    TOLERANT.decode(text).map_err(wrong)
}
