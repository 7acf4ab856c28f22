//! Keeps what a model made: its bytes, and a file of them.

use std::io::Write as _;
use std::path::Path;

use crate::chat::{AudioPart, Choice, FilePart, ImagePart, ResponsePart};
use crate::error::{Error, ErrorKind, Result};
use crate::media::{decoded, extension_of, mime_of_bytes, pcm_rate, with_header};
use crate::secret::mask;

impl ImagePart {
    /// The image.
    ///
    /// # Errors
    ///
    /// When the provider sent only an address, or something that is no base64.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        bytes("image", &self.data, self.url.as_deref())
    }

    /// Writes the image to a file, in place of one that may be there; how many bytes it is.
    ///
    /// # Errors
    ///
    /// When there are no [`bytes`](Self::bytes), or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        write(path.as_ref(), &self.bytes()?)
    }

    /// The usual end of such a file's name, without its point.
    pub fn extension(&self) -> Option<&'static str> {
        extension(&self.mime_type, || self.bytes().ok())
    }
}

impl AudioPart {
    /// The sound, as it came.
    ///
    /// # Errors
    ///
    /// When it is no base64, or empty.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        bytes("audio", &self.data, None)
    }

    /// Writes the sound to a file, in place of one that may be there; how many bytes it is.
    ///
    /// Bare samples (`audio/L16;rate=24000`, `audio/pcm16`) become a WAV file that players know when the name ends in
    /// `.wav`. Their rate is what the media type says, else 24 kHz; they are of 16 bits, in one channel, the low byte
    /// first.
    ///
    /// # Errors
    ///
    /// When there are no [`bytes`](Self::bytes), or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        write(path.as_ref(), &self.file(path.as_ref())?)
    }

    /// Returns the content of a file of that name.
    fn file(&self, path: &Path) -> Result<Vec<u8>> {
        let bytes = self.bytes()?;
        let named_wav = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("wav"));
        // Some send a whole WAV file whatever they call it.
        let is_bare = mime_of_bytes(&bytes) != Some("audio/wav");
        let Some(rate) = pcm_rate(&self.mime_type).filter(|_| named_wav && is_bare) else {
            return Ok(bytes);
        };
        with_header(&bytes, rate).ok_or_else(|| {
            Error::new(ErrorKind::TooLarge, "the sound is longer than a WAV file can be")
        })
    }

    /// The usual end of such a file's name, without its point: `wav` for bare samples too.
    pub fn extension(&self) -> Option<&'static str> {
        match pcm_rate(&self.mime_type) {
            Some(_) => Some("wav"),
            None => extension(&self.mime_type, || self.bytes().ok()),
        }
    }
}

impl FilePart {
    /// The file's content.
    ///
    /// # Errors
    ///
    /// When the provider sent only an address, or something that is no base64.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        bytes("generated_file", &self.data, self.url.as_deref())
    }

    /// Writes the file, in place of one that may be there; how many bytes it is.
    ///
    /// # Errors
    ///
    /// When there are no [`bytes`](Self::bytes), or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        write(path.as_ref(), &self.bytes()?)
    }

    /// The usual end of such a file's name, without its point.
    pub fn extension(&self) -> Option<&'static str> {
        extension(&self.mime_type, || self.bytes().ok())
    }
}

impl ResponsePart {
    /// Whether it is an image, sound or a file.
    pub fn is_media(&self) -> bool {
        matches!(self, Self::Image(_) | Self::Audio(_) | Self::File(_))
    }

    /// The media type of an image, sound or a file.
    pub fn mime_type(&self) -> Option<&str> {
        match self {
            Self::Image(part) => Some(&part.mime_type),
            Self::Audio(part) => Some(&part.mime_type),
            Self::File(part) => Some(&part.mime_type),
            _ => None,
        }
    }

    /// The bytes of an image, sound or a file.
    ///
    /// # Errors
    ///
    /// When the part is of another kind, or the provider sent only an address.
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
    /// When the part is of another kind, the provider sent only an address, or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<usize> {
        match self {
            Self::Image(part) => part.save(path),
            Self::Audio(part) => part.save(path),
            Self::File(part) => part.save(path),
            other => Err(not_media(other)),
        }
    }

    /// Writes an image, audio or a file to a new file at `path`, and returns how many bytes it is; `None` if something is
    /// there already. A link counts as something, also one that leads nowhere: it is not followed.
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

    /// The usual end of the name of such a file, without its point.
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
    /// The images, sounds and files, in order.
    pub fn media(&self) -> impl Iterator<Item = &ResponsePart> {
        self.content.iter().filter(|part| part.is_media())
    }
}

fn not_media(part: &ResponsePart) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("a `{}` part is no image, sound or file", part.kind()),
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
            format!("the `{kind}` part has no bytes, only the address {}", mask::media_url(url)),
        )
        .with_hint("fetch the part's `url`"),
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

/// What the media type says, else what the bytes do.
fn extension(mime: &str, bytes: impl Fn() -> Option<Vec<u8>>) -> Option<&'static str> {
    extension_of(mime).or_else(|| extension_of(mime_of_bytes(&bytes()?)?))
}
