//! Keeps what a model made: its bytes, and a file of them.

use std::io::Write as _;
use std::path::Path;

use crate::chat::{AudioPart, Choice, FilePart, ImagePart, ResponsePart, SpeechResponse};
use crate::error::{Error, ErrorKind, Result};
use crate::media::{decoded, extension_of, mime_of_bytes, pcm_rate, with_header};
use crate::secret::mask;

impl ImagePart {
    /// Returns the bytes of the image.
    ///
    /// # Errors
    ///
    /// Fails if the provider sent only a URL, or something that is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        bytes("image", &self.data, self.url.as_deref())
    }

    /// Writes the image to a file, which is replaced if it exists. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Fails if there are no [`bytes`](Self::bytes), or if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        write(path.as_ref(), &self.bytes()?)
    }

    /// Returns the usual file extension, without the dot.
    pub fn extension(&self) -> Option<&'static str> {
        extension(&self.mime_type, || self.bytes().ok())
    }
}

impl AudioPart {
    /// Returns the bytes of the audio, as the provider sent them.
    ///
    /// # Errors
    ///
    /// Fails if it is empty or not base64.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        bytes("audio", &self.data, None)
    }

    /// Writes the audio to a file, which is replaced if it exists. Returns the number of bytes.
    ///
    /// Raw samples (`audio/L16;rate=24000`, `audio/pcm16`) become a WAV file that players can read if the name ends in
    /// `.wav`. Their rate is that of the media type, else 24 kHz. They are 16 bits, one channel, little endian.
    ///
    /// # Errors
    ///
    /// Fails if there are no [`bytes`](Self::bytes), or if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        write(path.as_ref(), &self.file(path.as_ref())?)
    }

    /// Returns the content of a file of that name.
    fn file(&self, path: &Path) -> Result<Vec<u8>> {
        let bytes = self.bytes()?;
        let named_wav = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("wav"));
        // Some providers send a WAV file whatever the media type.
        let is_bare = mime_of_bytes(&bytes) != Some("audio/wav");
        let Some(rate) = pcm_rate(&self.mime_type).filter(|_| named_wav && is_bare) else {
            return Ok(bytes);
        };
        with_header(&bytes, rate).ok_or_else(|| {
            Error::new(ErrorKind::TooLarge, "the audio is longer than a WAV file can be")
        })
    }

    /// Returns the usual file extension, without the dot: `wav` for raw samples too.
    pub fn extension(&self) -> Option<&'static str> {
        match pcm_rate(&self.mime_type) {
            Some(_) => Some("wav"),
            None => extension(&self.mime_type, || self.bytes().ok()),
        }
    }
}

impl FilePart {
    /// Returns the content of the file.
    ///
    /// # Errors
    ///
    /// Fails if the provider sent only a URL, or something that is not base64.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        bytes("generated_file", &self.data, self.url.as_deref())
    }

    /// Writes the file, which is replaced if it exists. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Fails if there are no [`bytes`](Self::bytes), or if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        write(path.as_ref(), &self.bytes()?)
    }

    /// Returns the usual file extension, without the dot.
    pub fn extension(&self) -> Option<&'static str> {
        extension(&self.mime_type, || self.bytes().ok())
    }
}

impl ResponsePart {
    /// Returns whether it is an image, audio or a file.
    pub fn is_media(&self) -> bool {
        matches!(self, Self::Image(_) | Self::Audio(_) | Self::File(_))
    }

    /// Returns the media type of an image, audio or a file.
    pub fn mime_type(&self) -> Option<&str> {
        match self {
            Self::Image(part) => Some(&part.mime_type),
            Self::Audio(part) => Some(&part.mime_type),
            Self::File(part) => Some(&part.mime_type),
            _ => None,
        }
    }

    /// Returns the bytes of an image, audio or a file.
    ///
    /// # Errors
    ///
    /// Fails if the part is of another kind, or if the provider sent only a URL.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        match self {
            Self::Image(part) => part.bytes(),
            Self::Audio(part) => part.bytes(),
            Self::File(part) => part.bytes(),
            other => Err(not_media(other)),
        }
    }

    /// Writes an image, audio or a file to `path` and returns the number of bytes.
    ///
    /// ```
    /// use agentloop::{ImagePart, ResponsePart};
    ///
    /// let image = ImagePart::new("image/png", "iVBORw0KGgo=");
    /// let part = ResponsePart::Image(image);
    /// let path = std::env::temp_dir().join(format!("agentloop.{}", part.extension().unwrap_or("bin")));
    /// assert_eq!(part.save(&path)?, 8);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the part is of another kind, if the provider sent only a URL, or if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        match self {
            Self::Image(part) => part.save(path),
            Self::Audio(part) => part.save(path),
            Self::File(part) => part.save(path),
            other => Err(not_media(other)),
        }
    }

    /// Writes an image, audio or a file to a new file at `path`, and returns the number of bytes, or `None` if the path
    /// exists already. A symbolic link counts as existing, even if it is broken: it is not followed.
    ///
    /// # Errors
    ///
    /// When the part is of another kind, the provider sent only a URL, or the file cannot be written.
    pub fn save_new(&self, path: impl AsRef<Path>) -> Result<Option<usize>> {
        let path = path.as_ref();
        let bytes = match self {
            Self::Audio(part) => part.file(path)?,
            other => other.bytes()?,
        };
        let mut file = match std::fs::File::create_new(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(unwritten(path, error)),
        };
        file.write_all(&bytes).map_err(|error| unwritten(path, error))?;
        Ok(Some(bytes.len()))
    }

    /// Returns the usual file extension, without the dot.
    pub fn extension(&self) -> Option<&'static str> {
        match self {
            Self::Image(part) => part.extension(),
            Self::Audio(part) => part.extension(),
            Self::File(part) => part.extension(),
            _ => None,
        }
    }
}

impl Choice {
    /// Returns the images, audio and files, in order.
    pub fn media(&self) -> impl Iterator<Item = &ResponsePart> {
        self.content.iter().filter(|part| part.is_media())
    }
}

impl SpeechResponse {
    /// Writes the audio to a file, which is replaced if it exists. Returns the number of bytes.
    ///
    /// ```no_run
    /// use agentloop::{AgentLoop, SpeechRequest};
    ///
    /// # async fn example() -> agentloop::Result<()> {
    /// let ai = AgentLoop::from_env();
    /// let speech = ai.speak(SpeechRequest::new("openai/gpt-4o-mini-tts", "Hello").voice("coral")).await?;
    /// speech.save("hello.mp3")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        write(path.as_ref(), &self.audio)
    }

    /// Returns the usual file extension, without the dot.
    pub fn extension(&self) -> Option<&'static str> {
        extension(&self.mime_type, || Some(self.audio.to_vec()))
    }
}

fn not_media(part: &ResponsePart) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("a `{}` part is not an image, audio or a file", part.kind()),
    )
}

fn bytes(kind: &str, data: &str, url: Option<&str>) -> Result<Vec<u8>> {
    if !data.is_empty() {
        return decoded(data).map_err(|error| {
            Error::new(ErrorKind::Protocol, format!("the `{kind}` part: {}", error.message()))
        });
    }
    Err(match url {
        Some(url) => Error::new(
            ErrorKind::Unsupported,
            format!("the `{kind}` part has no bytes, only the URL {}", mask::media_url(url)),
        )
        .with_hint("download the `url` of the part"),
        None => Error::new(ErrorKind::Unsupported, format!("the `{kind}` part is empty")),
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<usize> {
    std::fs::write(path, bytes).map_err(|error| unwritten(path, error))?;
    Ok(bytes.len())
}

fn unwritten(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Other, format!("{} cannot be written: {error}", path.display()))
        .with_source(error)
}

/// Returns the extension of the media type, else of the detected type of the bytes.
fn extension(mime: &str, bytes: impl Fn() -> Option<Vec<u8>>) -> Option<&'static str> {
    extension_of(mime).or_else(|| extension_of(mime_of_bytes(&bytes()?)?))
}
