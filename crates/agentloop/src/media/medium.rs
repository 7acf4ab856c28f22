//! A part of a message as a medium: what it is, and where its bytes are.

use std::borrow::Cow;

use super::data_url::is_data_url;
use super::name::{essence, extension_of};
use super::{DataUrl, MediaKind, Refusal, mime_of_name};
use crate::chat::{AudioInput, ContentPart, FileInput};

/// Where the bytes of a medium are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source<'a> {
    /// A URL: `https://…`, or another one that the provider knows.
    Address(&'a str),
    /// Here.
    Inline(DataUrl<'a>),
    /// The id of a file that was uploaded to the provider.
    Id(&'a str),
}

/// A medium in a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Medium<'a> {
    /// The kind, by its media type, else by the kind of the part.
    pub(crate) kind: MediaKind,
    pub(crate) source: Source<'a>,
    /// The media type, if it is known: stated, detected from the bytes, or derived from the name.
    pub(crate) mime: Option<Cow<'a, str>>,
    /// The file's name.
    pub(crate) name: Option<&'a str>,
    /// The data URL as it was written, if it was one.
    pub(crate) written: Option<&'a str>,
}

impl<'a> Medium<'a> {
    /// Returns the medium of a part, or `None` for a part of another kind.
    ///
    /// # Errors
    ///
    /// Fails if the part is a medium without content.
    pub(crate) fn of(part: &'a ContentPart) -> Result<Option<Self>, Refusal> {
        match part {
            ContentPart::ImageUrl { image_url, .. } => Self::at(MediaKind::Image, &image_url.url),
            ContentPart::VideoUrl { video_url } => Self::at(MediaKind::Video, &video_url.url),
            ContentPart::InputAudio { input_audio } => Self::audio(input_audio),
            ContentPart::File { file, .. } => Self::file(file),
            ContentPart::Image(image) => {
                Self::made(MediaKind::Image, &image.mime_type, &image.data, image.url.as_deref())
            }
            ContentPart::Audio(audio) => {
                Self::made(MediaKind::Audio, &audio.mime_type, &audio.data, None)
            }
            ContentPart::GeneratedFile(file) => {
                let kind = MediaKind::of_mime(&file.mime_type);
                let made = Self::made(kind, &file.mime_type, &file.data, file.url.as_deref())?;
                Ok(made.map(|made| Self { name: file.name.as_deref(), ..made }))
            }
            _ => Ok(None),
        }
    }

    fn at(kind: MediaKind, url: &'a str) -> Result<Option<Self>, Refusal> {
        if !is_data_url(url) {
            let mime = mime_of_name(url).map(Cow::Borrowed);
            return Ok(Some(Self { mime, ..Self::new(kind, Source::Address(url)) }));
        }
        let data = DataUrl::parse(url)
            .ok_or_else(|| Refusal::new(format!("the {kind} is not a data URL")))?;
        let mime = data.known_mime().map(|mime| Cow::Owned(mime.into_owned()));
        Ok(Some(Self { mime, written: Some(url), ..Self::new(kind, Source::Inline(data)) }))
    }

    fn new(kind: MediaKind, source: Source<'a>) -> Self {
        Self { kind, source, mime: None, name: None, written: None }
    }

    fn audio(audio: &'a AudioInput) -> Result<Option<Self>, Refusal> {
        if let Some(url) = audio.url.as_deref().filter(|_| audio.data.is_empty()) {
            let mut medium = Self::at(MediaKind::Audio, url)?;
            if let (Some(medium), false) = (&mut medium, audio.format.is_empty()) {
                medium.mime = Some(audio_mime(&audio.format));
            }
            return Ok(medium);
        }
        if is_data_url(&audio.data) {
            return Self::at(MediaKind::Audio, &audio.data);
        }
        if audio.data.is_empty() {
            return Err(Refusal::new("the audio has neither `data` nor `url`"));
        }
        let stated = (!audio.format.is_empty()).then(|| audio_mime(&audio.format));
        let data = DataUrl::of_base64(stated.clone().unwrap_or_default(), audio.data.as_str());
        let mime = stated.or_else(|| data.seen_mime().map(Cow::Borrowed));
        Ok(Some(Self { mime, ..Self::new(MediaKind::Audio, Source::Inline(data)) }))
    }

    fn file(file: &'a FileInput) -> Result<Option<Self>, Refusal> {
        let name = file.filename.as_deref();
        let stated = file.mime_type.as_deref().filter(|mime| !mime.is_empty());
        let by_name = || name.and_then(mime_of_name);
        let (source, mime) = if let Some(content) = &file.file_data {
            let data = match DataUrl::parse(content) {
                Some(data) => data,
                None if is_data_url(content) => {
                    return Err(Refusal::new("the file is not a data URL"));
                }
                // Base64 without its wrapper.
                None => DataUrl::of_base64(stated.unwrap_or_default(), content.as_str()),
            };
            // A generic media type is as good as none.
            let mime = match data.mime().filter(|mime| !mime.ends_with("/octet-stream")) {
                Some(mime) => Some(Cow::Owned(mime.to_owned())),
                None => {
                    let seen = || data.seen_mime();
                    stated
                        .or_else(by_name)
                        .or_else(seen)
                        .or(data.mime())
                        .map(|mime| mime.to_owned().into())
                }
            };
            (Source::Inline(data), mime)
        } else if let Some(url) = &file.file_url {
            if is_data_url(url) {
                return Ok(Self::at(MediaKind::File, url)?.map(|medium| Self {
                    kind: medium.mime.as_deref().map_or(MediaKind::File, MediaKind::of_mime),
                    name,
                    ..medium
                }));
            }
            let mime = stated.or_else(by_name).or_else(|| mime_of_name(url));
            (Source::Address(url), mime.map(Cow::Borrowed))
        } else if let Some(id) = &file.file_id {
            (Source::Id(id), stated.or_else(by_name).map(Cow::Borrowed))
        } else {
            return Err(Refusal::new(
                "the file has neither `file_data` nor `file_url` nor `file_id`",
            ));
        };
        let kind = mime.as_deref().map_or(MediaKind::File, MediaKind::of_mime);
        let written = file.file_data.as_deref().filter(|content| is_data_url(content));
        Ok(Some(Self { kind, source, mime, name, written }))
    }

    /// Returns the medium of a generated part.
    fn made(
        kind: MediaKind,
        mime: &'a str,
        data: &'a str,
        url: Option<&'a str>,
    ) -> Result<Option<Self>, Refusal> {
        // `image/*` means that the type is not known.
        let stated = Some(mime).filter(|mime| !mime.is_empty() && !mime.ends_with('*'));
        match url {
            Some(url) if data.is_empty() => {
                let medium = Self::at(kind, url)?;
                Ok(medium
                    .map(|at| Self { mime: stated.map(Cow::Borrowed).or(at.mime.clone()), ..at }))
            }
            _ if data.is_empty() => Err(Refusal::new(format!("the {kind} has no content"))),
            _ => {
                let data = DataUrl::of_base64(stated.unwrap_or_default(), data);
                let mime = stated.or_else(|| data.seen_mime()).map(Cow::Borrowed);
                Ok(Some(Self { mime, ..Self::new(kind, Source::Inline(data)) }))
            }
        }
    }

    /// Returns the media type without parameters, in lower case and in its usual spelling.
    pub(crate) fn essence(&self) -> Option<Cow<'static, str>> {
        let mime = essence(self.mime.as_deref()?).to_ascii_lowercase();
        Some(match mime.as_str() {
            "image/jpg" | "image/pjpeg" => Cow::Borrowed("image/jpeg"),
            "image/x-png" => Cow::Borrowed("image/png"),
            "application/x-pdf" => Cow::Borrowed("application/pdf"),
            _ => Cow::Owned(mime),
        })
    }

    /// Returns the name of the file, or one that matches its type if it has none.
    pub(crate) fn file_name(&self) -> Option<Cow<'a, str>> {
        let made_up = || Some(format!("file.{}", extension_of(self.mime.as_deref()?)?).into());
        self.name.map(Cow::Borrowed).or_else(made_up)
    }
}

/// Returns the media type of a short format name.
fn audio_mime(format: &str) -> Cow<'_, str> {
    match format {
        format if format.contains('/') => Cow::Borrowed(format),
        "mp3" => Cow::Borrowed("audio/mpeg"),
        "m4a" => Cow::Borrowed("audio/mp4"),
        format => Cow::Owned(format!("audio/{format}")),
    }
}

/// Returns whether a URL can be fetched by anyone.
pub(crate) fn is_remote(url: &str) -> bool {
    let starts = |scheme: &str| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("https://") || starts("http://")
}

/// Returns whether a URL is a video page that a provider may play.
pub(crate) fn is_video_page(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next().unwrap_or_default().to_ascii_lowercase();
    matches!(
        host.trim_start_matches("www."),
        "youtube.com" | "m.youtube.com" | "music.youtube.com" | "youtu.be"
    )
}

/// Returns whether a URL is a file that was uploaded to a provider, which knows its media type.
pub(crate) fn is_uploaded(url: &str) -> bool {
    let name = url.split(['?', '#']).next().unwrap_or_default();
    let mut steps = name.rsplit('/');
    let last = steps.next().unwrap_or_default();
    !last.is_empty() && !last.contains('.') && steps.next() == Some("files")
}
