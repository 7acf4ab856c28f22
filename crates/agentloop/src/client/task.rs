//! Calls of the modalities beside chats and embeddings.

use std::sync::Arc;

use super::{AgentLoop, Inner, wrong_response};
use crate::chat::{
    ImageRequest, ImageResponse, ModerateRequest, ModerateResponse, RerankRequest, RerankResponse,
    SpeechRequest, SpeechResponse, Task, TaskResponse, TranscribeRequest, TranscribeResponse,
};
use crate::error::{Error, ErrorKind, Result};
use crate::history::depth;
use crate::middleware::{Request, Response};
use crate::provider::{Registry, Target};
use crate::stream::{SpeechStream, TaskStream, TranscribeStream};

impl AgentLoop {
    /// Generates images, or edits the images of the request.
    ///
    /// ```no_run
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
        match self.run_task(Task::Image(request)).await? {
            TaskResponse::Image(response) => Ok(response),
            _ => Err(wrong_response()),
        }
    }

    /// Turns text into speech and waits for all of it.
    ///
    /// ```no_run
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
        match self.run_task(Task::Speech(request)).await? {
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
        self.run_task_stream(Task::Speech(request)).await.map(SpeechStream::new)
    }

    /// Turns speech into text and waits for all of it.
    ///
    /// ```no_run
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
        match self.run_task(Task::Transcribe(request)).await? {
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
        self.run_task_stream(Task::Transcribe(request)).await.map(TranscribeStream::new)
    }

    /// Sorts documents by how well they match a query.
    ///
    /// ```no_run
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
        match self.run_task(Task::Rerank(request)).await? {
            TaskResponse::Rerank(response) => Ok(response),
            _ => Err(wrong_response()),
        }
    }

    /// Checks content for harm.
    ///
    /// ```no_run
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
        match self.run_task(Task::Moderate(request)).await? {
            TaskResponse::Moderate(response) => Ok(response),
            _ => Err(wrong_response()),
        }
    }

    async fn run_task(&self, mut task: Task) -> Result<TaskResponse> {
        depth::check_fields("extra_body", task.extra_body_mut())?;
        match self.run(Request::Task(Arc::new(task))).await? {
            Response::Task(response) => Ok(*response),
            _ => Err(wrong_response()),
        }
    }

    async fn run_task_stream(&self, mut task: Task) -> Result<TaskStream> {
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
    pub(super) async fn task(
        &self,
        task: &Task,
        target: Option<Arc<Target>>,
    ) -> Result<TaskResponse> {
        let target = resolve_task(&self.registry, task, target)?;
        Err(Error::new(ErrorKind::Unsupported, "this modality is not implemented yet")
            .with_provider(target.provider.name.as_ref()))
    }

    pub(super) async fn task_stream(
        &self,
        task: &Task,
        target: Option<Arc<Target>>,
    ) -> Result<TaskStream> {
        self.task(task, target).await.map(TaskStream::from_response)
    }
}
