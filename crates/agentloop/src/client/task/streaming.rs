//! Reads speech and transcripts as they arrive.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::Response as HttpResponse;
use tokio::time::Instant;

use super::{complete, name};
use crate::chat::{RawParts, SpeechResponse, Task, TaskEvent, TaskResponse, Warning};
use crate::client::call::raw_parts;
use crate::client::limit::timed_out;
use crate::client::secrets::RequestSecrets;
use crate::error::{Error, ErrorKind, Result};
use crate::framing::SseReader;
use crate::limits::{MAX_BYTES_WITHOUT_EVENT, MAX_ERROR_BODY_BYTES};
use crate::models::Pricing;
use crate::protocol::task::{TaskDecoded, TaskDecoder, is_object, media_type};
use crate::protocol::{self, Flow, ReportedCost, codec};
use crate::provider::Target;
use crate::stream::TaskStream;
use crate::timeouts::Timeouts;
use crate::transport::Body;

/// Returns whether a response can be returned as it arrives: events, or the bytes of speech.
pub(super) fn is_streamed(task: &Task, response: &HttpResponse<Body>) -> bool {
    let mime = media_type(response.headers());
    let is_audio = mime.starts_with("audio/") || mime == "application/octet-stream";
    mime == "text/event-stream" || (matches!(task, Task::Speech(_)) && is_audio)
}

/// How the bytes are read.
enum Reading {
    Events(Box<(SseReader, TaskDecoder)>),
    /// The bytes are the audio, unless `held` turns out to be an error in JSON.
    Audio {
        has_begun: bool,
        held: Vec<u8>,
    },
}

impl Reading {
    fn audio() -> Self {
        Self::Audio { has_begun: false, held: Vec::new() }
    }
}

/// A response while it is read.
pub(super) struct TaskEvents {
    body: Body,
    reading: Reading,
    mime_type: String,
    queue: VecDeque<TaskEvent>,
    ended: bool,
    bytes_without_event: usize,
    target: Arc<Target>,
    request_id: Option<String>,
    warnings: Vec<Warning>,
    raw: Option<RawParts>,
    secrets: RequestSecrets,
    pricing: Pricing,
    /// Why reading ended. It follows the queued events.
    failed: Option<Error>,
    idle: Option<Duration>,
    total: Option<(Duration, Instant)>,
}

impl TaskEvents {
    pub(super) fn new(
        target: &Arc<Target>,
        task: &Task,
        response: HttpResponse<Body>,
        secrets: RequestSecrets,
        warnings: Vec<Warning>,
        pricing: Pricing,
    ) -> Self {
        let raw = task.include_raw().then(|| raw_parts(&response, &secrets));
        let mime = media_type(response.headers());
        let decoder = TaskDecoder::new(task);
        let usual = decoder.mime_type().to_owned();
        let (reading, mime_type) = match mime.as_str() {
            "text/event-stream" => (Reading::Events(Box::new((SseReader::new(), decoder))), usual),
            _ if mime.starts_with("audio/") => (Reading::audio(), mime),
            _ => (Reading::audio(), usual),
        };
        Self {
            request_id: protocol::request_id(response.headers()),
            body: response.into_body(),
            reading,
            mime_type,
            queue: VecDeque::new(),
            ended: false,
            bytes_without_event: 0,
            target: Arc::clone(target),
            warnings,
            raw,
            secrets,
            pricing,
            failed: None,
            idle: None,
            total: None,
        }
    }

    pub(super) fn with_timeouts(mut self, timeouts: &Timeouts, began: Instant) -> Self {
        self.idle = timeouts.idle;
        self.total = timeouts.total.and_then(|total| Some((total, began.checked_add(total)?)));
        self
    }

    /// Reads up to the first event. An error before that fails the call.
    pub(super) async fn read_ahead(&mut self) -> Result<()> {
        while self.queue.is_empty() && !self.ended {
            self.step().await;
        }
        match self.failed.take_if(|_| self.queue.is_empty()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns the stream of the events.
    pub(super) fn into_stream(self) -> TaskStream {
        let mime_type = self.mime_type.clone();
        let events = unfold(Some(self), |state| async {
            let mut state = state?;
            loop {
                if let Some(event) = state.queue.pop_front() {
                    return Some((Ok(event), Some(state)));
                }
                if let Some(error) = state.failed.take() {
                    let error = state.secrets.hide(name(error, &state.target));
                    return Some((Err(error), None));
                }
                if state.ended {
                    return None;
                }
                state.step().await;
            }
        });
        TaskStream::new(mime_type, events)
    }

    /// Reads the next bytes. The result is in the queue, or the reason why there is none.
    async fn step(&mut self) {
        let done = match self.next_bytes().await {
            Some(bytes) => bytes.and_then(|bytes| self.bytes(bytes)),
            None => self.end_of_body(),
        };
        if let Err(error) = done {
            self.ended = true;
            self.failed = Some(error.with_request_id(self.request_id.clone()).with_began(true));
        }
    }

    async fn next_bytes(&mut self) -> Option<Result<Bytes>> {
        let idle = self.idle.map(|idle| (idle, Instant::now().checked_add(idle)));
        let next = self.body.next();
        let (stage, limit, at) = match (idle, self.total) {
            (Some((idle, Some(at))), total) if total.is_none_or(|(_, end)| at < end) => {
                ("the next part of the response", idle, at)
            }
            (_, Some((total, end))) => ("the complete response", total, end),
            _ => return next.await,
        };
        match tokio::time::timeout_at(at, next).await {
            Ok(next) => next,
            Err(_) => Some(Err(timed_out(stage, limit))),
        }
    }

    fn bytes(&mut self, bytes: Bytes) -> Result<()> {
        if let Some(raw) = &mut self.raw {
            raw.push(&bytes);
        }
        let Self { reading, queue, target, .. } = self;
        let before = queue.len();
        match reading {
            Reading::Audio { has_begun, held } => {
                // No audio format begins with a brace; raw samples may, and are longer than an error.
                let may_be_error = !*has_begun && (!held.is_empty() || bytes.starts_with(b"{"));
                if may_be_error && held.len() + bytes.len() <= MAX_ERROR_BODY_BYTES {
                    held.extend_from_slice(&bytes);
                    return Ok(());
                }
                for data in [Bytes::from(std::mem::take(held)), bytes] {
                    if !data.is_empty() {
                        *has_begun = true;
                        queue.push_back(TaskEvent::Audio { data });
                    }
                }
                return Ok(());
            }
            Reading::Events(both) => {
                let (reader, decoder) = &mut **both;
                let flow = reader.feed(&bytes, &mut |frame| {
                    decoder.frame(&target.provider, &frame, &mut |event| queue.push_back(event))
                })?;
                if flow == Flow::Done {
                    return self.finish();
                }
            }
        }
        self.bytes_without_event = if self.queue.len() > before {
            0
        } else {
            self.bytes_without_event.saturating_add(bytes.len())
        };
        if self.bytes_without_event > MAX_BYTES_WITHOUT_EVENT {
            let message = format!(
                "the stream has more than {MAX_BYTES_WITHOUT_EVENT} bytes without an event"
            );
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        Ok(())
    }

    fn end_of_body(&mut self) -> Result<()> {
        let Self { reading, queue, target, .. } = self;
        if let Reading::Events(both) = reading {
            let (reader, decoder) = &mut **both;
            reader.finish(&mut |frame| {
                decoder.frame(&target.provider, &frame, &mut |event| queue.push_back(event))
            })?;
        }
        self.finish()
    }

    /// Adds the last event.
    fn finish(&mut self) -> Result<()> {
        self.ended = true;
        let decoded = match &mut self.reading {
            Reading::Events(both) => both.1.finish()?,
            Reading::Audio { has_begun: false, held } if held.is_empty() => {
                return Err(Error::new(ErrorKind::Protocol, "the audio is empty"));
            }
            Reading::Audio { held, .. } if is_object(held) => {
                let provider = &self.target.provider;
                let codec = codec(provider.protocol);
                return Err(codec.decode_error_in_response(&provider.name, held));
            }
            Reading::Audio { held, .. } => {
                if !held.is_empty() {
                    let data = Bytes::from(std::mem::take(held));
                    self.queue.push_back(TaskEvent::Audio { data });
                }
                let mut response = SpeechResponse::default();
                response.mime_type.clone_from(&self.mime_type);
                let response = TaskResponse::Speech(response);
                TaskDecoded { response, cost: ReportedCost::Absent }
            }
        };
        let (id, raw) = (self.request_id.take(), self.raw.take());
        let warnings = std::mem::take(&mut self.warnings);
        let response = complete(decoded, &self.target, id, warnings, raw, &self.pricing);
        self.queue.push_back(TaskEvent::Done { response: Box::new(response) });
        Ok(())
    }
}
