//! The server's side of images, speech, transcripts, rankings and moderations, in OpenAI's form (rankings in Cohere's).

mod read;
mod write;

use std::borrow::Cow;

use bytes::Bytes;
use http::Method;

pub use self::read::read_task;
pub use self::write::{write_task, write_task_event};
use crate::chat::{Modality, Task};

/// A request of another modality that a server received.
///
/// ```
/// use agentloop::protocol::serve::{TaskForm, read_task};
///
/// let body = br#"{"model":"tts-1","input":"Hello","voice":"alloy","stream_format":"sse"}"#;
/// let served = read_task("/v1/audio/speech", "application/json", &body.to_vec().into())?;
/// assert_eq!((served.task.model(), served.form, served.stream), ("tts-1", TaskForm::Usual, true));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServedTask {
    /// The request. Fields that the library does not know are in its `extra_body`.
    pub task: Task,
    /// How the response is to be written.
    pub form: TaskForm,
    /// Whether the client asked for events.
    pub stream: bool,
}

/// The form of the response to a task.
///
/// ```
/// use agentloop::protocol::serve::{TaskForm, write_task};
/// use agentloop::{TaskResponse, TranscribeResponse};
///
/// let mut response = TranscribeResponse::new("m", "lab");
/// response.text = "Hello".to_owned();
/// let response = TaskResponse::Transcribe(response);
/// assert_eq!(write_task(&response, TaskForm::Text, 0).body, "Hello");
/// assert_eq!(write_task(&response, TaskForm::Usual, 0).body, r#"{"text":"Hello"}"#);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskForm {
    /// The usual JSON; for speech the audio itself.
    #[default]
    Usual,
    /// A transcript with everything that is known about it.
    Verbose,
    /// A transcript as plain text.
    Text,
    /// A transcript as subtitles in SubRip. It is empty if the transcript has no times: see [`TranscribeResponse::srt`].
    ///
    /// [`TranscribeResponse::srt`]: crate::TranscribeResponse::srt
    Srt,
    /// A transcript as subtitles in WebVTT. It is empty if the transcript has no times: see [`TranscribeResponse::vtt`].
    ///
    /// [`TranscribeResponse::vtt`]: crate::TranscribeResponse::vtt
    Vtt,
}

/// The body of a response, and its media type.
///
/// ```
/// use agentloop::protocol::serve::{TaskForm, write_task};
/// use agentloop::{SpeechResponse, TaskResponse};
///
/// let mut response = SpeechResponse::new("m", "lab");
/// response.mime_type = "audio/wav".to_owned();
/// let served = write_task(&TaskResponse::Speech(response), TaskForm::Usual, 0);
/// assert_eq!(served.content_type, "audio/wav");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedBody {
    /// The value of the `content-type` header.
    pub content_type: Cow<'static, str>,
    /// The body.
    pub body: Bytes,
}

/// Returns the modality that a path is for, or `None` for any other path.
///
/// ```
/// use agentloop::Modality;
/// use agentloop::protocol::serve::route_task;
/// use http::Method;
///
/// assert_eq!(route_task(&Method::POST, "/v1/images/edits"), Some(Modality::Image));
/// assert_eq!(route_task(&Method::POST, "/v1/chat/completions"), None);
/// ```
pub fn route_task(method: &Method, path: &str) -> Option<Modality> {
    const PATHS: [(&str, Modality); 7] = [
        ("/images/generations", Modality::Image),
        ("/images/edits", Modality::Image),
        ("/audio/speech", Modality::Speech),
        ("/audio/transcriptions", Modality::Transcription),
        ("/audio/translations", Modality::Transcription),
        ("/rerank", Modality::Rerank),
        ("/moderations", Modality::Moderation),
    ];
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let found = PATHS.iter().find(|(known, _)| path.ends_with(known));
    let found = found.filter(|_| method == Method::POST);
    found.map(|(_, modality)| *modality)
}
