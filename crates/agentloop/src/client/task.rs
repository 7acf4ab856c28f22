//! Calls of the modalities beside chats and embeddings.

mod streaming;

use std::sync::Arc;

use http::Response as HttpResponse;
use tokio::time::Instant;

use self::streaming::TaskEvents;
use super::authorize::Outgoing;
use super::call::{raw_parts, warn_unused_fallbacks};
use super::limit::{Limit, shorter};
use super::secrets::RequestSecrets;
use super::{AgentLoop, Inner, wrong_response};
use crate::chat::{
    ImageRequest, ImageResponse, ModerateRequest, ModerateResponse, RawParts, RerankRequest,
    RerankResponse, SpeechRequest, SpeechResponse, Task, TaskResponse, TranscribeRequest,
    TranscribeResponse, Warning,
};
use crate::error::{Error, ErrorKind, Result};
use crate::history::depth;
use crate::limits::MAX_BODY_BYTES;
use crate::middleware::{Request, Response};
use crate::models::Pricing;
use crate::protocol::task::TaskDecoded;
use crate::protocol::{self, codec, restrict};
use crate::provider::{Registry, Target};
use crate::stream::{ImageStream, SpeechStream, TaskStream, TranscribeStream};
use crate::transport::Body;

impl AgentLoop {
    /// Generates images, or edits the images of the request.
    ///
    /// ```
    /// use agentloop::{AgentLoop, ImageRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let response = ai.image(ImageRequest::new("sim/image", "A lighthouse at dusk")).await?;
    /// assert_eq!(response.images[0].part.mime_type, "image/png");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider has no image API, if the call fails, or if no image is returned.
    pub async fn image(&self, request: ImageRequest) -> Result<ImageResponse> {
        match self.task(Task::Image(request)).await? {
            TaskResponse::Image(response) => Ok(response),
            _ => Err(wrong_response()),
        }
    }

    /// Generates or edits images, and returns unfinished ones as they arrive.
    ///
    /// Unfinished images are requested if the request sets [`partial_images`](ImageRequest::partial_images). Otherwise, and if the
    /// provider does not stream, all images arrive at once.
    ///
    /// # Errors
    ///
    /// Fails if an error occurs before the first image. Later errors are in the stream.
    pub async fn image_stream(&self, request: ImageRequest) -> Result<ImageStream> {
        self.task_stream(Task::Image(request)).await.map(ImageStream::new)
    }

    /// Turns text into speech and waits for all of it.
    ///
    /// ```
    /// use agentloop::{AgentLoop, SpeechRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let speech = ai.speak(SpeechRequest::new("sim/speech", "Good morning").voice("a").format("wav")).await?;
    /// assert_eq!(speech.mime_type, "audio/wav");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider has no speech API, if the call fails, or if the audio is empty or cut off.
    pub async fn speak(&self, request: SpeechRequest) -> Result<SpeechResponse> {
        match self.task(Task::Speech(request)).await? {
            TaskResponse::Speech(response) => Ok(response),
            _ => Err(wrong_response()),
        }
    }

    /// Turns text into speech and returns it as it arrives. If the provider does not stream, all of it arrives at once.
    ///
    /// # Errors
    ///
    /// Fails if an error occurs before the first audio. Later errors are in the stream.
    pub async fn speak_stream(&self, request: SpeechRequest) -> Result<SpeechStream> {
        self.task_stream(Task::Speech(request)).await.map(SpeechStream::new)
    }

    /// Turns speech into text and waits for all of it.
    ///
    /// ```
    /// use agentloop::{AgentLoop, MediaFile, TranscribeRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let audio = MediaFile::new("a.wav", &b"RIFF\0\0\0\0WAVE"[..]);
    /// let response = ai.transcribe(TranscribeRequest::new("sim/transcribe", audio)).await?;
    /// assert!(!response.text.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider has no transcription API, or if the call fails.
    pub async fn transcribe(&self, request: TranscribeRequest) -> Result<TranscribeResponse> {
        match self.task(Task::Transcribe(request)).await? {
            TaskResponse::Transcribe(response) => Ok(response),
            _ => Err(wrong_response()),
        }
    }

    /// Turns speech into text and returns it as it arrives. If the provider does not stream, all of it arrives at once.
    ///
    /// # Errors
    ///
    /// Fails if an error occurs before the first text. Later errors are in the stream.
    pub async fn transcribe_stream(&self, request: TranscribeRequest) -> Result<TranscribeStream> {
        self.task_stream(Task::Transcribe(request)).await.map(TranscribeStream::new)
    }

    /// Sorts documents by how well they match a query.
    ///
    /// ```
    /// use agentloop::{AgentLoop, RerankRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let request = RerankRequest::new("sim/rerank", "the capital of Norway", ["Rome", "Oslo is the capital of Norway"]);
    /// let response = ai.rerank(request).await?;
    /// assert_eq!(response.results[0].index, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider has no rerank API, if there are no documents, if the call fails, or if the provider names a document that the
    /// request does not have.
    pub async fn rerank(&self, request: RerankRequest) -> Result<RerankResponse> {
        match self.task(Task::Rerank(request)).await? {
            TaskResponse::Rerank(response) => Ok(response),
            _ => Err(wrong_response()),
        }
    }

    /// Checks content for harm.
    ///
    /// ```
    /// use agentloop::{AgentLoop, ModerateRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let response = ai.moderate(ModerateRequest::new("sim/moderation", ["Good morning"])).await?;
    /// assert!(!response.is_flagged());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider has no moderation API, if there is no input, if the call fails, or if a result is missing.
    pub async fn moderate(&self, request: ModerateRequest) -> Result<ModerateResponse> {
        match self.task(Task::Moderate(request)).await? {
            TaskResponse::Moderate(response) => Ok(response),
            _ => Err(wrong_response()),
        }
    }

    /// Sends a request of any modality and waits for its response.
    ///
    /// [`image`](Self::image), [`speak`](Self::speak) and the other methods return the type of their modality. This one is for programs
    /// that pass requests on.
    ///
    /// ```
    /// use agentloop::{AgentLoop, RerankRequest, Task, TaskResponse};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> agentloop::Result<()> {
    /// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    /// let response = ai.task(Task::Rerank(RerankRequest::new("sim/rerank", "Oslo", ["Rome", "Oslo"]))).await?;
    /// assert!(matches!(response, TaskResponse::Rerank(_)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails as the method of the modality does.
    pub async fn task(&self, mut task: Task) -> Result<TaskResponse> {
        depth::check_fields("extra_body", task.extra_body_mut())?;
        match self.run(Request::Task(Arc::new(task))).await? {
            Response::Task(response) => Ok(*response),
            _ => Err(wrong_response()),
        }
    }

    /// Sends a request of any modality and returns its response as it arrives. A modality that has no pieces has only its last event.
    ///
    /// # Errors
    ///
    /// Fails if an error occurs before the first content. Later errors are in the stream.
    pub async fn task_stream(&self, mut task: Task) -> Result<TaskStream> {
        depth::check_fields("extra_body", task.extra_body_mut())?;
        match self.run(Request::TaskStream(Arc::new(task))).await? {
            Response::TaskStream(events) => Ok(events),
            // A middleware may have the whole response already.
            Response::Task(response) => Ok(TaskStream::from_response(*response)),
            _ => Err(wrong_response()),
        }
    }
}

/// Returns the provider and the model of a task. Fails if the provider does not serve the modality.
pub(crate) fn resolve_task(
    registry: &Registry,
    task: &Task,
    known: Option<Arc<Target>>,
) -> Result<Arc<Target>> {
    let target = match known {
        Some(known) => known,
        None => registry.resolve(task.model())?,
    };
    let (provider, modality) = (&target.provider, task.modality());
    if provider.serves.has(modality) {
        return Ok(target);
    }
    let serving = registry.providers().filter(|row| row.serves.has(modality));
    let names: Vec<&str> = serving.map(|row| row.name.as_ref()).collect();
    let message = format!("{} has no {modality} API", provider.name);
    Err(Error::new(ErrorKind::Unsupported, message)
        .with_hint(format!("use a provider that has one: {}", names.join(", ")))
        .with_provider(provider.name.as_ref())
        .with_model(&target.model))
}

impl Inner {
    /// Makes a call and reads its response to the end.
    pub(super) async fn task(
        &self,
        task: &Task,
        target: Option<Arc<Target>>,
    ) -> Result<TaskResponse> {
        let target = resolve_task(&self.registry, task, target)?;
        let timeouts = task.timeouts().unwrap_or(self.timeouts);
        let limit = Limit::new("the response", shorter(timeouts.first_content, timeouts.total));
        let named = |error: Error| name(error, &target);
        let (outgoing, warnings) = self.encode_task(&target, task, false).map_err(named)?;
        let secrets = outgoing.secrets.clone();
        let call = async {
            let response =
                self.send(&target.provider, outgoing, &timeouts, limit.deadline()).await?;
            self.read_task(&target, task, response, &secrets, warnings).await
        };
        limit.within(call).await.map_err(|error| named(secrets.hide(error)))
    }

    /// Makes a call and reads its response up to the first content.
    pub(super) async fn task_stream(
        &self,
        task: &Task,
        target: Option<Arc<Target>>,
    ) -> Result<TaskStream> {
        let target = resolve_task(&self.registry, task, target)?;
        let timeouts = task.timeouts().unwrap_or(self.timeouts);
        let began = Instant::now();
        let limit = match timeouts.first_content {
            Some(first) if timeouts.total.is_none_or(|total| first < total) => {
                Limit::since("the first content", Some(first), began)
            }
            _ => Limit::since("the complete response", timeouts.total, began),
        };
        let named = |error: Error| name(error, &target);
        let (outgoing, warnings) = self.encode_task(&target, task, true).map_err(named)?;
        let secrets = outgoing.secrets.clone();
        let first = async {
            let response =
                self.send(&target.provider, outgoing, &timeouts, limit.deadline()).await?;
            if !streaming::is_streamed(task, &response) {
                let whole = self.read_task(&target, task, response, &secrets, warnings).await?;
                return Ok(TaskStream::from_response(whole));
            }
            let (pricing, known) = (self.pricing(&target, task.access(), None), warnings.clone());
            let secrets = secrets.clone();
            let mut events = TaskEvents::new(&target, task, response, secrets, warnings, pricing)
                .with_timeouts(&timeouts, began);
            events.read_ahead().await?;
            Ok(events.into_stream().with_warnings(known))
        };
        limit.within(first).await.map_err(|error| named(secrets.hide(error)))
    }

    fn encode_task<'a>(
        &'a self,
        target: &'a Target,
        task: &Task,
        stream: bool,
    ) -> Result<(Outgoing<'a>, Vec<Warning>)> {
        let provider = &target.provider;
        codec(provider.protocol).check_compiled()?;
        let encoded = protocol::task::encode(provider, &target.model, task, stream)?;
        restrict::check_strict(task.is_strict(), &encoded.warnings)?;
        let (outgoing, mut warnings) =
            self.http_request(target, encoded, task.access(), task.extra_headers())?;
        warnings.extend(warn_unused_fallbacks(task.fallbacks()));
        Ok((outgoing, warnings))
    }

    /// Reads a complete response.
    async fn read_task(
        &self,
        target: &Target,
        task: &Task,
        response: HttpResponse<Body>,
        secrets: &RequestSecrets,
        warnings: Vec<Warning>,
    ) -> Result<TaskResponse> {
        let request_id = protocol::request_id(response.headers());
        let raw = task.include_raw().then(|| raw_parts(&response, secrets));
        let (head, body) = response.into_parts();
        let body = body.collect(MAX_BODY_BYTES).await?;
        let decode = || protocol::task::decode(&target.provider, task, &head.headers, &body);
        let decoded = self
            .long_work
            .for_bytes(body.len())
            .run(decode)
            .map_err(|error| error.with_request_id(request_id.clone()).with_began(true))?;
        let raw = raw.map(|mut raw| {
            raw.push(&body);
            raw
        });
        Ok(complete(
            decoded,
            target,
            request_id,
            warnings,
            raw,
            &self.pricing(target, task.access(), None),
        ))
    }
}

fn name(error: Error, target: &Target) -> Error {
    error.with_provider(target.provider.name.as_ref()).with_model(&target.model)
}

/// Adds to a decoded response what the client knows: the provider, the warnings, the cost, the raw response.
fn complete(
    decoded: TaskDecoded,
    target: &Target,
    request_id: Option<String>,
    mut warnings: Vec<Warning>,
    raw: Option<RawParts>,
    pricing: &Pricing,
) -> TaskResponse {
    let TaskDecoded { mut response, cost } = decoded;
    response.set_origin(&target.provider.name, &target.model, request_id);
    let (cost, invalid) = cost.split();
    warnings.extend(invalid);
    let (raw, cut) = raw.map(RawParts::finish).unzip();
    warnings.extend(cut.flatten());
    response.warnings_mut().splice(0..0, warnings);
    response.set_raw(raw);
    response.set_cost(cost.or_else(|| pricing.cost(response.usage()?, None)));
    response
}
