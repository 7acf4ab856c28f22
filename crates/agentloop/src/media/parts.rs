//! Parts from files, bytes and URLs.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::chat::{AudioInput, ContentPart, FileInput, MediaFile, MediaUrl};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_FILE_BYTES;
use crate::media::{DataUrl, MediaKind, audio_format, settle};
use crate::regular_file::read_regular;

/// Every part has the JSON form of its kind: bytes become a data URL or base64, with the media type that is detected
/// from the bytes or the name. If neither determines it, that is an error, never a guess.
impl ContentPart {
    /// Creates an image part from a file. The file is read at once, up to [`MAX_FILE_BYTES`].
    ///
    /// ```no_run
    /// use agentloop::{ChatRequest, ContentPart};
    ///
    /// let request = ChatRequest::new("openai/gpt-4.1")
    ///     .user([ContentPart::text("What is this?"), ContentPart::image_path("cat.png")?]);
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is too large, or is not an image. The error names the path.
    pub fn image_path(path: impl AsRef<Path>) -> Result<Self> {
        let (bytes, mime) = read(path.as_ref(), MediaKind::Image)?;
        Ok(Self::image_url(DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// Creates an image part from bytes.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a known image format.
    pub fn image_bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
        let mime = known(MediaKind::Image, bytes.as_ref(), None)?;
        Ok(Self::image_url(DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// Creates an audio part from a file. The file is read at once, up to [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is too large, or is not audio. The error names the path.
    pub fn audio_path(path: impl AsRef<Path>) -> Result<Self> {
        let (bytes, mime) = read(path.as_ref(), MediaKind::Audio)?;
        Ok(Self::audio(STANDARD.encode(bytes), audio_format(&mime)))
    }

    /// Sound by its bytes.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a known audio format. Raw samples have no format: see [`audio`](Self::audio).
    pub fn audio_bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
        let mime = known(MediaKind::Audio, bytes.as_ref(), None)?;
        Ok(Self::audio(STANDARD.encode(bytes), audio_format(&mime)))
    }

    /// Creates an audio part from a URL, for providers that accept one.
    pub fn audio_url(url: impl Into<String>) -> Self {
        let input_audio = AudioInput { url: Some(url.into()), ..AudioInput::default() };
        Self::InputAudio { input_audio }
    }

    /// Creates a file part, for example from a PDF or a text. The file is read at once, up to [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is too large, or its media type cannot be determined from its bytes and its
    /// name. The error names the path.
    pub fn file_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (bytes, mime) = read(path, MediaKind::File)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::file(name, DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// Creates a file part from a name and bytes.
    ///
    /// # Errors
    ///
    /// Fails if neither determines the media type.
    pub fn file_bytes(filename: impl Into<String>, bytes: impl AsRef<[u8]>) -> Result<Self> {
        let filename = filename.into();
        let mime = known(MediaKind::File, bytes.as_ref(), Some(&filename))?;
        Ok(Self::file(filename, DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// Creates a file part from a URL.
    pub fn file_url(url: impl Into<String>) -> Self {
        let file = FileInput { file_url: Some(url.into()), ..FileInput::default() };
        Self::File { file, cache_control: None }
    }

    /// Creates a file part from the provider's id of an uploaded file.
    pub fn file_id(id: impl Into<String>) -> Self {
        let file = FileInput { file_id: Some(id.into()), ..FileInput::default() };
        Self::File { file, cache_control: None }
    }

    /// Creates a video part from a URL or a data URL.
    pub fn video_url(url: impl Into<String>) -> Self {
        Self::VideoUrl { video_url: MediaUrl { url: url.into() } }
    }

    /// Creates a video part from a file. The file is read at once, up to [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is too large, or is not a video. The error names the path.
    pub fn video_path(path: impl AsRef<Path>) -> Result<Self> {
        let (bytes, mime) = read(path.as_ref(), MediaKind::Video)?;
        Ok(Self::video_url(DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// Creates a video part from bytes.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a known video format.
    pub fn video_bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
        let mime = known(MediaKind::Video, bytes.as_ref(), None)?;
        Ok(Self::video_url(DataUrl::of_bytes(mime, bytes).to_string()))
    }
}

impl MediaFile {
    /// Creates a file from a file of the disk, which is read at once, up to [`MAX_FILE_BYTES`]. The name is that of the path, and the
    /// media type is derived from the bytes or the name, if they determine it.
    ///
    /// ```no_run
    /// use agentloop::{MediaFile, TranscribeRequest};
    ///
    /// let request = TranscribeRequest::new("openai/gpt-4o-transcribe", MediaFile::from_path("meeting.mp3")?);
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, is empty, or is too large. The error names the path.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (bytes, mime) = read(path, MediaKind::File)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(Self::new(name.unwrap_or_default(), bytes).mime_type(mime))
    }
}

/// Returns the media type of bytes, which must be of this kind.
fn known(kind: MediaKind, bytes: &[u8], name: Option<&str>) -> Result<String> {
    match settle(kind, bytes, None, name) {
        Ok(Some(mime)) => Ok(mime),
        Ok(None) => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the format of the bytes is unknown, so they cannot be sent as {}",
                kind.named()
            ),
        )
        .with_hint("use a data URL with the media type, or a file with a file extension")),
        Err(mime) => Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("the bytes are {mime}, not {}", kind.named()),
        )),
    }
}

/// Returns the bytes of a file and their media type.
fn read(path: &Path, kind: MediaKind) -> Result<(Vec<u8>, String)> {
    let about = |error: Error| {
        let text = format!("{}: {}", path.display(), error.message());
        let named = Error::new(error.kind(), text);
        match error.hint() {
            Some(hint) => named.with_hint(hint),
            None => named,
        }
    };
    let bytes = content(path).map_err(about)?;
    let mime = known(kind, &bytes, path.to_str()).map_err(about)?;
    Ok((bytes, mime))
}

fn content(path: &Path) -> Result<Vec<u8>> {
    let wrong = |what: String| Error::new(ErrorKind::InvalidRequest, what);
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => Error::new(ErrorKind::TooLarge, error.to_string()),
        _ => wrong(error.to_string()),
    };
    let bytes = read_regular(path, MAX_FILE_BYTES).map_err(failed)?;
    if bytes.is_empty() { Err(wrong("it is empty".to_owned())) } else { Ok(bytes) }
}
