//! Reads the events of a stream: audio, text or unfinished images, then the end.

use bytes::Bytes;
use serde::Deserialize;

use super::{TaskDecoded, WireUsage};
use crate::chat::{
    GeneratedImage, ImageResponse, Modality, SpeechResponse, Task, TaskEvent, TaskResponse,
    TranscriptSegment,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_PARTS, MAX_RESPONSE_BYTES};
use crate::media::decoded;
use crate::protocol::image::{of_base64, of_images};
use crate::protocol::json::read_json;
use crate::protocol::lenient::{Float, Int, Object, Text};
use crate::protocol::speech::mime_of_format;
use crate::protocol::{Flow, Frame, codec, error_body, transcribe};
use crate::provider::Provider;

/// Reads the events of one stream.
#[derive(Debug)]
pub(crate) struct TaskDecoder {
    modality: Modality,
    mime_type: String,
    text: String,
    images: Vec<GeneratedImage>,
    /// How many images were requested.
    expected: usize,
    language: Option<String>,
    segments: Vec<TranscriptSegment>,
    /// What the response holds in memory.
    held: usize,
    done: Option<TaskDecoded>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Head<'a> {
    r#type: Text<'a>,
    object: Text<'a>,
    delta: Text<'a>,
    text: Text<'a>,
    audio: Text<'a>,
    audio_data: Text<'a>,
    b64: Text<'a>,
    b64_json: Text<'a>,
    output_format: Text<'a>,
    partial_image_index: Int,
    audio_language: Text<'a>,
    speaker: Text<'a>,
    start: Float,
    end: Float,
    usage: Object<WireUsage<'a>>,
    error: Option<&'a serde_json::value::RawValue>,
}

impl Head<'_> {
    /// Returns the image of an event.
    fn image(&self) -> Result<GeneratedImage> {
        let stated = self.output_format.non_empty().map(|format| format!("image/{format}"));
        let data = self.b64_json.non_empty();
        data.and_then(|data| of_base64(data, stated.as_deref()))
            .ok_or_else(|| Error::new(ErrorKind::Protocol, "the image of an event is not base64"))
    }
}

impl TaskDecoder {
    pub(crate) fn new(task: &Task) -> Self {
        let mime_type = match task {
            Task::Speech(request) => mime_of_format(request.format.as_deref()),
            Task::Image(_) => "",
            _ => "text/plain",
        };
        let expected = match task {
            Task::Image(request) => request.n.unwrap_or(1).max(1) as usize,
            _ => 0,
        };
        Self {
            modality: task.modality(),
            mime_type: mime_type.to_owned(),
            text: String::new(),
            images: Vec::new(),
            expected,
            language: None,
            segments: Vec::new(),
            held: 0,
            done: None,
        }
    }

    /// Returns the media type of the content.
    pub(crate) fn mime_type(&self) -> &str {
        &self.mime_type
    }

    /// Reads a frame and passes the event that it has to `emit`.
    pub(crate) fn frame(
        &mut self,
        provider: &Provider,
        frame: &Frame<'_>,
        emit: &mut impl FnMut(TaskEvent),
    ) -> Result<Flow> {
        let data = frame.data.trim_ascii();
        if data.is_empty() || data == b"[DONE]" {
            return Ok(Flow::Continue);
        }
        let head: Head<'_> = read_json(data)?;
        let name = head.r#type.non_empty().or(head.object.non_empty()).unwrap_or(frame.event);
        let failed = head.error.is_some_and(|error| !matches!(error.get(), "null" | "{}"));
        if failed || name == "error" || (name.is_empty() && error_body::is_bare_error(data)) {
            let codec = codec(provider.protocol);
            return Err(codec.decode_error_in_response(&provider.name, data));
        }
        match name {
            "speech.audio.delta" | "audio.tts.chunk" if self.modality == Modality::Speech => {
                let data = head.audio.non_empty().or(head.audio_data.non_empty());
                if let Some(data) = data.or(head.b64.non_empty()) {
                    let bytes = decoded(data).map_err(|_| {
                        Error::new(ErrorKind::Protocol, "the audio of an event is not base64")
                    })?;
                    emit(TaskEvent::Audio { data: Bytes::from(bytes) });
                }
            }
            "speech.audio.done" if self.modality == Modality::Speech => {
                let usage = head.usage.0.unwrap_or_default();
                let mut response = SpeechResponse::default();
                response.mime_type.clone_from(&self.mime_type);
                response.usage = usage.tokens();
                let response = TaskResponse::Speech(response);
                self.done = Some(TaskDecoded { response, cost: usage.cost() });
                return Ok(Flow::Done);
            }
            "transcript.text.delta" | "transcription.text.delta"
                if self.modality == Modality::Transcription =>
            {
                let delta = head.delta.non_empty().or(head.text.non_empty()).unwrap_or_default();
                // As in a complete response, the space before the first word is left out.
                let delta = if self.text.is_empty() { delta.trim_start() } else { delta };
                if !delta.is_empty() {
                    self.hold(delta.len())?;
                    self.text.push_str(delta);
                    emit(TaskEvent::Text { text: delta.to_owned() });
                }
            }
            "transcription.language" if self.modality == Modality::Transcription => {
                self.language = head.audio_language.non_empty().map(str::to_owned);
            }
            "transcript.text.segment" | "transcription.segment"
                if self.modality == Modality::Transcription =>
            {
                if let (Some(start), Some(end)) = (head.start.0, head.end.0) {
                    let text = head.text.0.unwrap_or_default();
                    let mut segment = TranscriptSegment::new(text, start, end);
                    segment.speaker = head.speaker.non_empty().map(str::to_owned);
                    let speaker = segment.speaker.as_ref().map_or(0, String::len);
                    self.hold(size_of_val(&segment) + segment.text.len() + speaker)?;
                    if self.segments.len() == MAX_PARTS {
                        let message = format!("the transcript has more than {MAX_PARTS} segments");
                        return Err(Error::new(ErrorKind::TooLarge, message));
                    }
                    self.segments.push(segment.clone());
                    emit(TaskEvent::Segment { segment });
                }
            }
            "transcript.text.done" | "transcription.done"
                if self.modality == Modality::Transcription =>
            {
                let wire: transcribe::Wire<'_> = read_json(data)?;
                let has_text = wire.text.0.is_some();
                let (mut response, cost) = wire.response();
                if !has_text {
                    response.text = std::mem::take(&mut self.text);
                }
                response.language = response.language.or_else(|| self.language.take());
                if response.segments.is_empty() {
                    response.segments = std::mem::take(&mut self.segments);
                }
                let response = TaskResponse::Transcribe(response);
                self.done = Some(TaskDecoded { response, cost });
                return Ok(Flow::Done);
            }
            "image_generation.partial_image" | "image_edit.partial_image"
                if self.modality == Modality::Image =>
            {
                let (index, image) = (head.partial_image_index.unsigned(), head.image()?);
                emit(TaskEvent::Image { index: index.unwrap_or(0), image: Box::new(image) });
            }
            "image_generation.completed" | "image_edit.completed"
                if self.modality == Modality::Image =>
            {
                let image = head.image()?;
                self.hold(size_of_val(&image) + image.part.data.len())?;
                self.images.push(image);
                let usage = head.usage.0.unwrap_or_default();
                // Each image has an event of its own; the usage is that of the last one.
                if self.images.len() == self.expected {
                    let response = TaskResponse::Image(ImageResponse {
                        images: std::mem::take(&mut self.images),
                        usage: usage.tokens().map(of_images),
                        ..ImageResponse::default()
                    });
                    self.done = Some(TaskDecoded { response, cost: usage.cost() });
                    return Ok(Flow::Done);
                }
            }
            // Unknown events are ignored.
            _ => {}
        }
        Ok(Flow::Continue)
    }

    /// Returns the response at the end of the stream.
    ///
    /// # Errors
    ///
    /// When the provider has not signalled the end.
    pub(crate) fn finish(&mut self) -> Result<TaskDecoded> {
        self.done.take().ok_or_else(crate::stream::ended_early)
    }

    /// Counts what the response holds.
    fn hold(&mut self, bytes: usize) -> Result<()> {
        self.held = self.held.saturating_add(bytes);
        if self.held <= MAX_RESPONSE_BYTES {
            return Ok(());
        }
        let message = format!("the response is larger than {MAX_RESPONSE_BYTES} bytes");
        Err(Error::new(ErrorKind::TooLarge, message))
    }
}
