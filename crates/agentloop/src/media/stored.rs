//! Files that a provider stores.

use std::path::Path;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{mime_of_bytes, mime_of_name};
use crate::chat::{ContentPart, FileInput};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_UPLOAD_BYTES;
use crate::regular_file::read_regular;

/// A file that a provider stores.
///
/// [`part`](Self::part) returns a part of a message that refers to it, so the bytes are not sent with every request.
///
/// ```
/// use agentloop::{ChatRequest, ContentPart, media::FileUpload};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = agentloop::AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let files = ai.files("sim")?;
/// let file = files.upload(FileUpload::new("notes.txt", "Buy milk.")).await?;
/// let request = ChatRequest::new("sim/echo").user([ContentPart::text("Summarize."), file.part()]);
/// # let _ = request;
/// files.delete(&file.id).await?;
/// # Ok(())
/// # }
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StoredFile {
    /// The provider.
    pub provider: String,
    /// The provider's id of the file.
    pub id: String,
    /// The URI by which requests refer to it, where that differs from the id (Gemini).
    pub uri: Option<String>,
    /// The name of the file.
    pub name: Option<String>,
    /// The media type.
    pub mime_type: Option<String>,
    /// The size in bytes.
    pub bytes: Option<u64>,
    /// When it was uploaded, in seconds since 1970.
    pub created: Option<i64>,
    /// When the provider deletes it, in seconds since 1970.
    pub expires: Option<i64>,
    /// What it is for, in the provider's words.
    pub purpose: Option<String>,
    /// Whether it can be used.
    pub state: FileState,
    /// Whether its content can be downloaded, if the provider reports it.
    pub downloadable: Option<bool>,
}

/// Whether a stored file can be used.
///
/// ```
/// use agentloop::media::FileState;
///
/// assert_eq!(FileState::default(), FileState::Ready);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileState {
    /// It can be used.
    #[default]
    Ready,
    /// The provider processes it, for example a video. It can be used later.
    Processing,
    /// The provider could not process it.
    Failed,
}

impl StoredFile {
    /// Returns a part of a message that refers to the file.
    pub fn part(&self) -> ContentPart {
        let file = FileInput {
            file_id: Some(self.uri.clone().unwrap_or_else(|| self.id.clone())),
            // Protocols distinguish images from documents. A provider that does not report the type has the name.
            mime_type: self
                .mime_type
                .clone()
                .or_else(|| self.name.as_deref().and_then(mime_of_name).map(str::to_owned)),
            ..FileInput::default()
        };
        ContentPart::File { file, cache_control: None }
    }
}

/// A file to upload.
///
/// ```
/// use agentloop::media::FileUpload;
///
/// let upload = FileUpload::new("report.pdf", &b"%PDF-1.7"[..]).purpose("user_data");
/// assert_eq!(upload.mime_type, "application/pdf");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileUpload {
    /// The name of the file.
    pub name: String,
    /// The media type.
    pub mime_type: String,
    /// The content.
    pub content: Bytes,
    /// What it is for, in the provider's words. Absent means the provider's usual purpose.
    pub purpose: Option<String>,
}

impl FileUpload {
    /// Creates an upload of bytes. The media type is that of the name, else of the content, else `application/octet-stream`.
    pub fn new(name: impl Into<String>, content: impl Into<Bytes>) -> Self {
        let (name, content) = (name.into(), content.into());
        let mime = mime_of_name(&name).or_else(|| mime_of_bytes(&content));
        let mime_type = mime.unwrap_or("application/octet-stream").to_owned();
        Self { name, mime_type, content, purpose: None }
    }

    /// Reads a file. The upload has the last part of the path as its name.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is larger than [`MAX_UPLOAD_BYTES`].
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |error: std::io::Error| {
            let message = format!("cannot read {}: {error}", path.display());
            Error::new(ErrorKind::InvalidRequest, message).with_source(error)
        };
        let content = read_regular(path, MAX_UPLOAD_BYTES).map_err(failed)?;
        let name = path.file_name().map_or_else(|| "file".into(), |name| name.to_string_lossy());
        let upload = Self::new(name, content);
        upload.check_size()?;
        Ok(upload)
    }

    setters! {
        /// Sets the media type.
        mime_type(self, mime_type: impl Into<String>) => self.mime_type = mime_type.into();

        /// Sets what the file is for, in the provider's words, for example `batch`.
        purpose(purpose: impl Into<String>);
    }

    pub(crate) fn check_size(&self) -> Result<()> {
        if self.content.len() <= MAX_UPLOAD_BYTES {
            return Ok(());
        }
        let message = format!("{} is larger than {MAX_UPLOAD_BYTES} bytes", self.name);
        Err(Error::new(ErrorKind::TooLarge, message))
    }
}

// Shows the size of the content, not the content.
shown! {
    FileUpload: self {
        name: self.name,
        mime_type: self.mime_type,
        bytes: self.content.len(),
        purpose: self.purpose,
    }
}
