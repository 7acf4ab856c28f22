//! Converts requests to responses, without I/O.

use agentloop::protocol::serve::{
    self, Operation, ServedChat, ServedEmbed, ServedTask, read_chat, read_embed, read_task,
    route_task, shown_key, write_body, write_count, write_embed, write_models, write_task,
    write_task_event,
};
use agentloop::{
    ChatResponse, ChatStreamEvent, Error, ErrorKind, Protocol, Result, Task, TaskEvent,
    TaskResponse,
};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, Request, StatusCode};

use crate::fault::{Fault, parse_list};
use crate::model::{Model, NO_END, faults_of_id, hash};
use crate::reply::Reply;
use crate::simulator::{FAULT_HEADER, Simulator};
use crate::storage;
use crate::usage_style::UsageStyle;
use crate::{tasks, vectors};

/// The response header with the id of the request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The most unfinished images of a stream (OpenAI's API description: `PartialImages`).
const MAX_PARTIAL_IMAGES: u32 = 3;

impl Simulator {
    /// Responds to an HTTP request. Returns `None` if the connection closes without a response.
    ///
    /// - Responds to `POST …/chat/completions`, `POST …/embeddings` (also `…/api/embed` and `…/embed`), `GET …/models` and to their
    ///   counterparts in other protocols, and to `POST …/images/generations`, `…/images/edits`, `…/audio/speech`,
    ///   `…/audio/transcriptions`, `…/audio/translations`, `…/rerank`, `…/moderations` and `…/chat/moderations`. Other paths get the status 404, requests without a required key the status 401.
    /// - The faults of a request are those of its `x-sim-fault` header, else those in the id of the model, else those of
    ///   the scripted response, else the scheduled ones.
    ///
    /// ```
    /// use agentloop::Protocol;
    /// use agentloop_sim::Simulator;
    /// use bytes::Bytes;
    /// use http::Request;
    ///
    /// let body = r#"{"model": "echo", "messages": [{"role": "user", "content": "Hi"}]}"#;
    /// let request = Request::post("/v1/chat/completions").body(Bytes::from(body)).unwrap();
    /// let reply = Simulator::new().respond(Protocol::OpenAiChat, &request).unwrap();
    /// assert_eq!(reply.status, 200);
    /// ```
    pub fn respond(&self, protocol: Protocol, request: &Request<Bytes>) -> Option<Reply> {
        self.respond_with_style(protocol, request, UsageStyle::default())
    }

    /// Responds to an HTTP request, and reports usage as a certain provider does.
    pub(crate) fn respond_with_style(
        &self,
        protocol: Protocol,
        request: &Request<Bytes>,
        style: UsageStyle,
    ) -> Option<Reply> {
        let call = self.counters.call();
        self.recorder.record(call, protocol, request);
        self.reply(call, protocol, request, style)
            .unwrap_or_else(|error| Some(Reply::error(protocol, &error, &[])))
            .map(|mut reply| {
                if !reply.headers.contains_key(REQUEST_ID) {
                    let id = format!("req-{:016x}", hash(request.body()));
                    reply.insert(REQUEST_ID, &id);
                }
                reply
            })
    }

    /// Responds to a request of a batch, which can have the faults of its model.
    pub(crate) fn respond_to_row(
        &self,
        protocol: Protocol,
        request: &Request<Bytes>,
        style: UsageStyle,
    ) -> Option<Reply> {
        let chat = read_chat(protocol, path_of(request), request.body());
        let reply = chat.and_then(|chat| {
            let asked = or_faults_of_id(None, &chat.request.model)?;
            self.reply_chat(protocol, &chat, asked.as_deref(), &[], style)
        });
        reply.unwrap_or_else(|error| Some(Reply::error(protocol, &error, &[])))
    }

    fn reply(
        &self,
        call: u64,
        protocol: Protocol,
        request: &Request<Bytes>,
        style: UsageStyle,
    ) -> Result<Option<Reply>> {
        let asked = match request.headers().get(FAULT_HEADER) {
            Some(value) => Some(parse_list(value.to_str().unwrap_or("unreadable"))?),
            None => None,
        };
        let scheduled = self.faults.of_call(call);
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        if let Some(stored) = storage::route(protocol, method, uri, headers) {
            self.check_key(request)?;
            return match self.replace(protocol, asked.as_deref().unwrap_or(scheduled), false) {
                Some(replaced) => Ok(replaced),
                None => self.reply_storage(protocol, stored, request, style).map(Some),
            };
        }
        if route_task(request.method(), request.uri().path()).is_some() {
            self.check_key(request)?;
            let content_type = request.headers().get(CONTENT_TYPE);
            let content_type = content_type.and_then(|value| value.to_str().ok());
            let served =
                read_task(path_of(request), content_type.unwrap_or_default(), request.body())?;
            let asked = or_faults_of_id(asked, served.task.model())?;
            return self.reply_task(protocol, &served, asked.as_deref().unwrap_or(scheduled));
        }
        match self.operation(protocol, request) {
            Ok(Operation::Chat) => {
                let mut chat = read_chat(protocol, path_of(request), request.body())?;
                chat.include_usage |= style.is_always_streamed;
                let asked = or_faults_of_id(asked, &chat.request.model)?;
                self.reply_chat(protocol, &chat, asked.as_deref(), scheduled, style)
            }
            Ok(Operation::Embed) => {
                let embed = read_embed(protocol, path_of(request), request.body())?;
                let asked = or_faults_of_id(asked, &embed.request.model)?;
                let faults = asked.as_deref().unwrap_or(scheduled);
                self.reply_json(protocol, faults, || self.embed(&embed))
            }
            Ok(Operation::Count) => {
                let chat = read_chat(protocol, path_of(request), request.body())?;
                let asked = or_faults_of_id(asked, &chat.request.model)?;
                let faults = asked.as_deref().unwrap_or(scheduled);
                self.reply_json(protocol, faults, || {
                    // Counting tokens does not use up a scripted response.
                    let turn = self.model.next_turn(&chat.request, |_| true)?;
                    let events = Model::perform(&turn, &chat.request)?;
                    let usage = &last_response(&events)?.usage;
                    Ok(write_count(protocol, usage.prompt_tokens.unwrap_or(0)))
                })
            }
            other => {
                let faults = asked.as_deref().unwrap_or(scheduled);
                self.reply_json(protocol, faults, || {
                    other.map(|_| write_models(protocol, &Model::list()))
                })
            }
        }
    }

    /// Returns a complete response, unless a fault replaces it.
    fn reply_json(
        &self,
        protocol: Protocol,
        faults: &[Fault],
        body: impl FnOnce() -> Result<Bytes>,
    ) -> Result<Option<Reply>> {
        match self.replace(protocol, faults, false) {
            Some(replaced) => Ok(replaced),
            None => Ok(Some(Reply::json(protocol, body()?, faults))),
        }
    }

    /// Returns the operation of a request, after checking the key.
    fn operation(&self, protocol: Protocol, request: &Request<Bytes>) -> Result<Operation> {
        let path = request.uri().path();
        let operation = serve::route(protocol, request.method(), path, request.headers());
        let Some(operation) = operation else {
            let message = format!("the simulator does not serve {} {path}", request.method());
            let status = StatusCode::NOT_FOUND.as_u16();
            return Err(Error::new(ErrorKind::NotFound, message).with_status(status));
        };
        self.check_key(request)?;
        Ok(operation)
    }

    fn check_key(&self, request: &Request<Bytes>) -> Result<()> {
        match &self.key {
            Some(key) if shown_key(request.headers()) != Some(key.expose()) => {
                let message = "the key is missing or wrong";
                let status = StatusCode::UNAUTHORIZED.as_u16();
                Err(Error::new(ErrorKind::Auth, message)
                    .with_status(status)
                    .with_code("invalid_api_key"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the response of another modality, unless a fault replaces it.
    fn reply_task(
        &self,
        protocol: Protocol,
        served: &ServedTask,
        faults: &[Fault],
    ) -> Result<Option<Reply>> {
        if let Some(replaced) = self.replace(protocol, faults, served.stream) {
            return Ok(replaced);
        }
        let response = tasks::perform(served)?;
        self.counters.task(response.usage());
        let (content_type, body) = if served.stream {
            ("text/event-stream".into(), events_of(&served.task, response))
        } else {
            let written = write_task(&response, served.form, 0);
            (written.content_type, written.body)
        };
        let mut reply = Reply::json(protocol, body, faults);
        reply.insert(CONTENT_TYPE, &content_type);
        Ok(Some(reply))
    }

    fn reply_chat(
        &self,
        protocol: Protocol,
        chat: &ServedChat,
        asked: Option<&[Fault]>,
        scheduled: &[Fault],
        style: UsageStyle,
    ) -> Result<Option<Reply>> {
        // A fault that is not part of the scripted response does not use up the response.
        let turn = self.model.next_turn(&chat.request, |turn| match asked {
            Some(asked) => is_replacing(asked),
            None => turn.faults.is_empty() && is_replacing(scheduled),
        });
        let faults = match (asked, &turn) {
            (Some(asked), _) => asked,
            (None, Ok(turn)) if !turn.faults.is_empty() => &turn.faults,
            _ => scheduled,
        };
        if let Some(replaced) = self.replace(protocol, faults, chat.stream) {
            return Ok(replaced);
        }
        let turn = turn.as_ref().map_err(Error::clone)?;
        let mut events = Model::perform(turn, &chat.request)?;
        self.counters.chat(&last_response(&events)?.usage);
        style.apply(&mut events);
        let response = last_response(&events)?;
        // The id is that of the response, so it is the same for a stream and a complete response.
        let id = format!("req-{}", response.id);
        let mut reply = if chat.stream {
            Reply::stream(protocol, chat.framing, events, chat.include_usage, faults)
        } else {
            Reply::json(protocol, write_body(protocol, response), faults)
        };
        reply.insert(REQUEST_ID, &id);
        Ok(Some(reply))
    }

    fn embed(&self, served: &ServedEmbed) -> Result<Bytes> {
        let response = vectors::embed(served)?;
        let usage = response.usage.unwrap_or_default();
        self.counters.embed(usage.prompt_tokens);
        Ok(write_embed(&response, served.form))
    }

    /// Returns the reply that replaces the response, if a fault does so. `Some(None)` closes the connection without a response.
    fn replace(&self, protocol: Protocol, faults: &[Fault], stream: bool) -> Option<Option<Reply>> {
        if !faults.is_empty() {
            self.counters.fault();
        }
        if faults.contains(&Fault::Refuse) {
            return Some(None);
        }
        Reply::fault(protocol, faults, stream).map(Some)
    }
}

/// Returns the events of a response: text by words, audio by kilobytes, images after as many unfinished ones as were requested.
fn events_of(task: &Task, mut response: TaskResponse) -> Bytes {
    let mut body = Vec::new();
    let mut write = |event: &TaskEvent| body.extend_from_slice(&write_task_event(event, 0));
    match &mut response {
        TaskResponse::Image(response) => {
            let Task::Image(request) = task else { return body.into() };
            for index in 0..request.partial_images.unwrap_or(0).min(MAX_PARTIAL_IMAGES) {
                if let Some(image) = response.images.first() {
                    let (index, image) = (index.into(), Box::new(image.clone()));
                    write(&TaskEvent::Image { index, image });
                }
            }
        }
        TaskResponse::Transcribe(response) => {
            for word in response.text.split_inclusive(' ') {
                write(&TaskEvent::Text { text: word.to_owned() });
            }
            for segment in &response.segments {
                write(&TaskEvent::Segment { segment: segment.clone() });
            }
        }
        TaskResponse::Speech(response) => {
            let mut audio = std::mem::take(&mut response.audio);
            while !audio.is_empty() {
                let data = audio.split_to(audio.len().min(1024));
                write(&TaskEvent::Audio { data });
            }
        }
        _ => {}
    }
    write(&TaskEvent::Done { response: Box::new(response) });
    body.into()
}

/// Returns whether one of the faults replaces the response.
fn is_replacing(faults: &[Fault]) -> bool {
    faults.iter().any(Fault::is_replacing)
}

/// Returns the response at the end of its events.
fn last_response(events: &[ChatStreamEvent]) -> Result<&ChatResponse> {
    match events.last() {
        Some(ChatStreamEvent::MessageDone { response }) => Ok(response),
        _ => Err(Error::new(ErrorKind::Other, NO_END)),
    }
}

/// Returns the faults of the header, else those in the id of the model.
fn or_faults_of_id(asked: Option<Vec<Fault>>, model: &str) -> Result<Option<Vec<Fault>>> {
    match (asked, faults_of_id(model)) {
        (None, Some(written)) => parse_list(written).map(Some),
        (asked, _) => Ok(asked),
    }
}

/// Returns the path and the query of a request. Some protocols name the model and the stream there.
fn path_of(request: &Request<Bytes>) -> &str {
    request.uri().path_and_query().map_or("/", |path| path.as_str())
}
