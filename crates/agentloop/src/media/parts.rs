//! Parts from files, bytes and addresses.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::chat::{AudioInput, ContentPart, FileInput, MediaUrl};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_FILE_BYTES;
use crate::media::{DataUrl, MediaKind, audio_format, settle};

/// Every part is in the JSON form that its kind always has: bytes stand in it as a data URL or in base64, with the media
/// type that the bytes or the name tell. A type that neither tells is an error, never a guess.
impl ContentPart {
    /// The image in a file. The file is read at once, up to [`MAX_FILE_BYTES`].
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
    /// When the file cannot be read, is too large, or is no image; the error names the path.
    pub fn image_path(path: impl AsRef<Path>) -> Result<Self> {
        let (bytes, mime) = read(path.as_ref(), MediaKind::Image)?;
        Ok(Self::image_url(DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// An image by its bytes.
    ///
    /// # Errors
    ///
    /// When the bytes do not tell that they are an image.
    pub fn image_bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
        let mime = known(MediaKind::Image, bytes.as_ref(), None)?;
        Ok(Self::image_url(DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// The sound in a file. The file is read at once, up to [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is too large, or holds no sound; the error names the path.
    pub fn audio_path(path: impl AsRef<Path>) -> Result<Self> {
        let (bytes, mime) = read(path.as_ref(), MediaKind::Audio)?;
        Ok(Self::audio(STANDARD.encode(bytes), audio_format(&mime)))
    }

    /// Sound by its bytes.
    ///
    /// # Errors
    ///
    /// When the bytes do not tell that they are sound. Bare samples never do: see [`audio`](Self::audio).
    pub fn audio_bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
        let mime = known(MediaKind::Audio, bytes.as_ref(), None)?;
        Ok(Self::audio(STANDARD.encode(bytes), audio_format(&mime)))
    }

    /// Sound by its address, for hosts that take one.
    pub fn audio_url(url: impl Into<String>) -> Self {
        let input_audio = AudioInput { url: Some(url.into()), ..AudioInput::default() };
        Self::InputAudio { input_audio }
    }

    /// A file: a PDF, a text, a table. It is read at once, up to [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    ///
    /// When it cannot be read, is too large, or neither its bytes nor its name tell its media type; the error names the
    /// path.
    pub fn file_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (bytes, mime) = read(path, MediaKind::File)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::file(name, DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// A file by its name and its bytes.
    ///
    /// # Errors
    ///
    /// When neither tells its media type.
    pub fn file_bytes(filename: impl Into<String>, bytes: impl AsRef<[u8]>) -> Result<Self> {
        let filename = filename.into();
        let mime = known(MediaKind::File, bytes.as_ref(), Some(&filename))?;
        Ok(Self::file(filename, DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// A file by its address.
    pub fn file_url(url: impl Into<String>) -> Self {
        let file = FileInput { file_url: Some(url.into()), ..FileInput::default() };
        Self::File { file, cache_control: None }
    }

    /// A file that was uploaded to the provider, by the provider's id.
    pub fn file_id(id: impl Into<String>) -> Self {
        let file = FileInput { file_id: Some(id.into()), ..FileInput::default() };
        Self::File { file, cache_control: None }
    }

    /// A video by its address, or as a data URL.
    pub fn video_url(url: impl Into<String>) -> Self {
        Self::VideoUrl { video_url: MediaUrl { url: url.into() } }
    }

    /// The video in a file. The file is read at once, up to [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is too large, or is no video; the error names the path.
    pub fn video_path(path: impl AsRef<Path>) -> Result<Self> {
        let (bytes, mime) = read(path.as_ref(), MediaKind::Video)?;
        Ok(Self::video_url(DataUrl::of_bytes(mime, bytes).to_string()))
    }

    /// A video by its bytes.
    ///
    /// # Errors
    ///
    /// When the bytes do not tell that they are a video.
    pub fn video_bytes(bytes: impl AsRef<[u8]>) -> Result<Self> {
        let mime = known(MediaKind::Video, bytes.as_ref(), None)?;
        Ok(Self::video_url(DataUrl::of_bytes(mime, bytes).to_string()))
    }
}

/// The media type of bytes, which must be of that kind.
fn known(kind: MediaKind, bytes: &[u8], name: Option<&str>) -> Result<String> {
    match settle(kind, bytes, None, name) {
        Ok(Some(mime)) => Ok(mime),
        Ok(None) => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the bytes do not tell what they are, so that they cannot be sent as {}",
                kind.named()
            ),
        )
        .with_hint("give a data URL with the media type, or a file with a name that ends in it")),
        Err(mime) => Err(Error::new(
            ErrorKind::InvalidRequest,
            format!("the bytes are {mime}, not {}", kind.named()),
        )),
    }
}

/// The bytes of a file and their media type.
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
    let failed = |error: std::io::Error| wrong(error.to_string());
    // Looked at before it is opened: opening a pipe could wait for ever.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    let mut bytes = Vec::new();
    let most = MAX_FILE_BYTES as u64 + 1;
    File::open(path).map_err(failed)?.take(most).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() {
        0 => Err(wrong("it is empty".to_owned())),
        1..=MAX_FILE_BYTES => Ok(bytes),
        _ => Err(Error::new(
            ErrorKind::TooLarge,
            format!("it is larger than {MAX_FILE_BYTES} bytes"),
        )),
    }
}
