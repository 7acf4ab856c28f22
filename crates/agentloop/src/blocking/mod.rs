//! The client without `async` (feature `blocking`).
//!
//! [`AgentLoop`] mirrors [`crate::AgentLoop`]: each method waits until its result has arrived, and streams are iterators.
//!
//! ```
//! use agentloop::ChatRequest;
//! use agentloop::blocking::AgentLoop;
//!
//! # fn main() -> agentloop::Result<()> {
//! # let builder = agentloop::AgentLoop::builder().provider(agentloop_sim::provider());
//! # let ai = AgentLoop::new(builder.build()?)?;
//! # /*
//! let ai = AgentLoop::from_env()?;
//! # */
//! let response = ai.chat(ChatRequest::new("sim/echo").user("Hello"))?;
//! println!("{}", response.text());
//!
//! for piece in ai.stream(ChatRequest::new("sim/echo").user("Hello"))?.text() {
//!     print!("{}", piece?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Inside of an async runtime
//!
//! Async code should use [`crate::AgentLoop`]. The blocking client never panics there:
//!
//! - In a multi-threaded tokio runtime a call runs on a thread of its own while the calling thread waits. Call it from
//!   `tokio::task::spawn_blocking`, so other tasks are not held up.
//! - In a current-thread tokio runtime a call would stop all tasks, so it fails with an error of kind
//!   [`Config`](ErrorKind::Config).

mod storage;
mod stream;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};

pub use self::storage::{BatchResults, Batches, Files};
#[cfg(feature = "agent")]
pub use self::stream::RunStream;
#[cfg(feature = "structured")]
pub use self::stream::StructuredStream;
pub use self::stream::{ChatStream, ImageStream, SpeechStream, TextStream, TranscribeStream};
#[cfg(feature = "agent")]
use crate::agent::{Agent, Outcome, RunRequest, Typed};
use crate::chat::{
    ChatRequest, ChatResponse, EmbedRequest, EmbedResponse, ImageRequest, ImageResponse,
    ModerateRequest, ModerateResponse, RerankRequest, RerankResponse, SpeechRequest,
    SpeechResponse, TranscribeRequest, TranscribeResponse,
};
use crate::client;
use crate::error::{Error, ErrorKind, Result};
use crate::middleware::Middleware;
use crate::models::ModelInfo;
use crate::secret::Secret;
#[cfg(feature = "structured")]
use crate::structured::{Structured, StructuredRequest};

/// A client whose methods wait for their results. See the [module](self) for an example.
///
/// It is cheap to clone, can be used by several threads at once, and owns the runtime that its calls run on.
#[derive(Clone)]
pub struct AgentLoop {
    client: client::AgentLoop,
    driver: Arc<Driver>,
}

impl AgentLoop {
    /// Creates a blocking client from an async one, with which it shares everything.
    ///
    /// # Errors
    ///
    /// Fails if the system does not allow a runtime, for example because too many files are open.
    pub fn new(client: client::AgentLoop) -> Result<Self> {
        Ok(Self { client, driver: Arc::new(Driver::new()?) })
    }

    /// Creates a client of all built-in providers. Keys are read from the environment when they are needed.
    ///
    /// # Errors
    ///
    /// Fails as [`new`](Self::new) does.
    pub fn from_env() -> Result<Self> {
        Self::new(client::AgentLoop::from_env())
    }

    /// Returns the async client.
    pub fn client(&self) -> &client::AgentLoop {
        &self.client
    }

    /// Returns a client with one more middleware, which wraps all others: see [`with`](crate::AgentLoop::with).
    #[must_use]
    pub fn with(&self, middleware: impl Middleware + 'static) -> Self {
        Self { client: self.client.with(middleware), driver: Arc::clone(&self.driver) }
    }

    /// Returns a client with another key for one provider: see [`with_key`](crate::AgentLoop::with_key).
    ///
    /// # Errors
    ///
    /// Fails if the provider is not known or takes no key.
    pub fn with_key(&self, provider: &str, key: impl Into<Secret>) -> Result<Self> {
        let client = self.client.with_key(provider, key)?;
        Ok(Self { client, driver: Arc::clone(&self.driver) })
    }

    /// Sends a chat request and returns the complete response: see [`chat`](crate::AgentLoop::chat).
    ///
    /// # Errors
    ///
    /// Fails if there is no complete response, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn chat(&self, request: ChatRequest) -> Result<ChatResponse> {
        self.driver.wait(self.client.chat(request))?
    }

    /// Sends a chat request and returns the events of the response as an iterator: see
    /// [`stream`](crate::AgentLoop::stream).
    ///
    /// # Errors
    ///
    /// Fails if the response does not begin, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn stream(&self, request: ChatRequest) -> Result<ChatStream> {
        let stream = self.driver.wait(self.client.stream(request))??;
        Ok(ChatStream::new(stream, Arc::clone(&self.driver)))
    }

    /// Returns the vectors of texts, in their order: see [`embed`](crate::AgentLoop::embed).
    ///
    /// # Errors
    ///
    /// Fails if a vector is missing, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn embed(&self, request: EmbedRequest) -> Result<EmbedResponse> {
        self.driver.wait(self.client.embed(request))?
    }

    /// Generates or edits images: see [`image`](crate::AgentLoop::image).
    ///
    /// # Errors
    ///
    /// Fails if there is no image, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn image(&self, request: ImageRequest) -> Result<ImageResponse> {
        self.driver.wait(self.client.image(request))?
    }

    /// Generates or edits images and returns unfinished ones as an iterator: see
    /// [`image_stream`](crate::AgentLoop::image_stream).
    ///
    /// # Errors
    ///
    /// Fails if the images do not begin, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn image_stream(&self, request: ImageRequest) -> Result<ImageStream> {
        let stream = self.driver.wait(self.client.image_stream(request))??;
        Ok(ImageStream::new(stream, Arc::clone(&self.driver)))
    }

    /// Turns text into speech: see [`speak`](crate::AgentLoop::speak).
    ///
    /// # Errors
    ///
    /// Fails if there is no audio, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn speak(&self, request: SpeechRequest) -> Result<SpeechResponse> {
        self.driver.wait(self.client.speak(request))?
    }

    /// Turns text into speech and returns it as an iterator: see [`speak_stream`](crate::AgentLoop::speak_stream).
    ///
    /// # Errors
    ///
    /// Fails if the audio does not begin, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn speak_stream(&self, request: SpeechRequest) -> Result<SpeechStream> {
        let stream = self.driver.wait(self.client.speak_stream(request))??;
        Ok(SpeechStream::new(stream, Arc::clone(&self.driver)))
    }

    /// Turns speech into text: see [`transcribe`](crate::AgentLoop::transcribe).
    ///
    /// # Errors
    ///
    /// Fails if there is no text, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn transcribe(&self, request: TranscribeRequest) -> Result<TranscribeResponse> {
        self.driver.wait(self.client.transcribe(request))?
    }

    /// Turns speech into text and returns it as an iterator: see
    /// [`transcribe_stream`](crate::AgentLoop::transcribe_stream).
    ///
    /// # Errors
    ///
    /// Fails if the text does not begin, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn transcribe_stream(&self, request: TranscribeRequest) -> Result<TranscribeStream> {
        let stream = self.driver.wait(self.client.transcribe_stream(request))??;
        Ok(TranscribeStream::new(stream, Arc::clone(&self.driver)))
    }

    /// Sorts documents by how well they match a query: see [`rerank`](crate::AgentLoop::rerank).
    ///
    /// # Errors
    ///
    /// Fails if there is no result, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn rerank(&self, request: RerankRequest) -> Result<RerankResponse> {
        self.driver.wait(self.client.rerank(request))?
    }

    /// Checks content for harm: see [`moderate`](crate::AgentLoop::moderate).
    ///
    /// # Errors
    ///
    /// Fails if there is no result, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn moderate(&self, request: ModerateRequest) -> Result<ModerateResponse> {
        self.driver.wait(self.client.moderate(request))?
    }

    /// Returns the models that a provider serves: see [`models`](crate::AgentLoop::models).
    ///
    /// # Errors
    ///
    /// Fails if there is no list, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn models(&self, provider: &str) -> Result<Vec<ModelInfo>> {
        self.driver.wait(self.client.models(provider))?
    }

    /// Returns how many tokens a chat would read: see [`count_tokens`](crate::AgentLoop::count_tokens).
    ///
    /// # Errors
    ///
    /// Fails if the provider does not count, or if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn count_tokens(&self, request: &ChatRequest) -> Result<u64> {
        self.driver.wait(self.client.count_tokens(request))?
    }

    /// Sends the request and returns the response as a `T`: see [`chat_structured`](crate::AgentLoop::chat_structured).
    ///
    /// # Errors
    ///
    /// Fails if the response does not match, or if blocking is [not possible](self#inside-of-an-async-runtime).
    #[cfg(feature = "structured")]
    pub fn chat_structured<T>(&self, request: impl Into<StructuredRequest>) -> Result<Structured<T>>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema + Send,
    {
        let request: StructuredRequest = request.into();
        self.driver.wait(self.client.chat_structured(request))?
    }

    /// Sends the request and returns the response as JSON that matches `schema`: see
    /// [`chat_structured_as`](crate::AgentLoop::chat_structured_as).
    ///
    /// ```
    /// use agentloop::ChatRequest;
    /// # fn main() -> agentloop::Result<()> {
    /// # let simulator = agentloop_sim::Simulator::new().with_responses([r#"{"city": "Oslo"}"#]);
    /// # let provider = simulator.provider_named("sim", agentloop::Protocol::OpenAiChat);
    /// # let builder = agentloop::AgentLoop::builder().provider(provider);
    /// # let ai = agentloop::blocking::AgentLoop::new(builder.build()?)?;
    /// let schema = serde_json::json!({
    ///     "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"]
    /// });
    /// let request = ChatRequest::new("sim/any").user("The largest city of Norway?");
    /// let response = ai.chat_structured_as(schema, request)?;
    /// assert_eq!(response.data["city"], "Oslo");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the response does not match, if `schema` is not a valid JSON Schema, or if blocking is
    /// [not possible](self#inside-of-an-async-runtime).
    #[cfg(feature = "validate")]
    pub fn chat_structured_as(
        &self,
        schema: serde_json::Value,
        request: impl Into<StructuredRequest>,
    ) -> Result<Structured<serde_json::Value>> {
        let request: StructuredRequest = request.into();
        self.driver.wait(self.client.chat_structured_as(schema, request))?
    }

    /// Sends the request and returns the partial values and events of the response as an iterator: see
    /// [`stream_structured`](crate::AgentLoop::stream_structured).
    ///
    /// # Errors
    ///
    /// Fails if the response does not begin, or if blocking is [not possible](self#inside-of-an-async-runtime).
    #[cfg(feature = "structured")]
    pub fn stream_structured<T>(
        &self,
        request: impl Into<StructuredRequest>,
    ) -> Result<StructuredStream<T>>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema + Send,
    {
        let request: StructuredRequest = request.into();
        let stream = self.driver.wait(self.client.stream_structured(request))??;
        Ok(StructuredStream::new(stream, Arc::clone(&self.driver)))
    }

    /// Sends the request and returns the partial values and events of a response that matches `schema`, as an iterator: see
    /// [`stream_structured_as`](crate::AgentLoop::stream_structured_as).
    ///
    /// # Errors
    ///
    /// Fails if the response does not begin, if `schema` is not a valid JSON Schema, or if blocking is
    /// [not possible](self#inside-of-an-async-runtime).
    #[cfg(feature = "validate")]
    pub fn stream_structured_as(
        &self,
        schema: serde_json::Value,
        request: impl Into<StructuredRequest>,
    ) -> Result<StructuredStream<serde_json::Value>> {
        let request: StructuredRequest = request.into();
        let stream = self.driver.wait(self.client.stream_structured_as(schema, request))??;
        Ok(StructuredStream::new(stream, Arc::clone(&self.driver)))
    }

    /// Returns an agent of this client, for [`run`](Self::run).
    #[cfg(feature = "agent")]
    pub fn agent(&self) -> Agent {
        Agent::new(self.client.clone())
    }

    /// Runs an agent to its end.
    ///
    /// ```
    /// use agentloop::ChatRequest;
    /// # fn main() -> agentloop::Result<()> {
    /// # let builder = agentloop::AgentLoop::builder().provider(agentloop_sim::provider());
    /// # let ai = agentloop::blocking::AgentLoop::new(builder.build()?)?;
    /// let outcome = ai.run(&ai.agent(), ChatRequest::new("sim/echo").user("Hello"))?;
    /// println!("{}", outcome.text());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the run fails, or if blocking is [not possible](self#inside-of-an-async-runtime). To get the outcome up to the
    /// failure, use [`block_on`](Self::block_on) with [`Agent::run`].
    #[cfg(feature = "agent")]
    pub fn run(&self, agent: &Agent, request: impl Into<RunRequest>) -> Result<Outcome> {
        let request: RunRequest = request.into();
        Ok(self.driver.wait(agent.run(request))??)
    }

    /// Runs an agent until its last response is a valid `T`: see [`run_structured`](Agent::run_structured).
    ///
    /// # Errors
    ///
    /// Fails if the run fails, if the last response does not match, or if blocking is
    /// [not possible](self#inside-of-an-async-runtime).
    #[cfg(feature = "agent")]
    pub fn run_structured<T>(
        &self,
        agent: &Agent,
        request: impl Into<RunRequest>,
    ) -> Result<Typed<T>>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema + Send,
    {
        let request: RunRequest = request.into();
        Ok(self.driver.wait(agent.run_structured(request))??)
    }

    /// Starts a run of an agent and returns its events as an iterator.
    #[cfg(feature = "agent")]
    pub fn stream_run(&self, agent: &Agent, request: impl Into<RunRequest>) -> RunStream {
        RunStream::new(agent.stream(request), Arc::clone(&self.driver))
    }

    /// Waits for a future of the async client, for what this type does not mirror.
    ///
    /// # Errors
    ///
    /// Fails if blocking is [not possible](self#inside-of-an-async-runtime).
    pub fn block_on<F>(&self, future: F) -> Result<F::Output>
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.driver.wait(future)
    }
}

impl fmt::Debug for AgentLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("blocking::AgentLoop").field(&self.client).finish()
    }
}

/// The runtime of a client and its streams. `None` only while it is dropped.
pub(crate) struct Driver(Option<Runtime>);

impl Driver {
    fn new() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            Error::new(ErrorKind::Other, format!("the runtime of the blocking client: {error}"))
                .with_source(error)
        })?;
        Ok(Self(Some(runtime)))
    }

    fn runtime(&self) -> Result<&Runtime> {
        self.0.as_ref().ok_or_else(|| Error::new(ErrorKind::Other, "the runtime has ended"))
    }

    /// Waits for a future, on this thread or, inside of a runtime, on another one.
    fn wait<F>(&self, future: F) -> Result<F::Output>
    where
        F: Future + Send,
        F::Output: Send,
    {
        let runtime = self.runtime()?;
        match Handle::try_current() {
            Err(_) => Ok(runtime.block_on(future)),
            // The outer runtime has this thread alone: whatever the call waits for there would never happen.
            Ok(outer) if outer.runtime_flavor() == RuntimeFlavor::CurrentThread => Err(Error::new(
                ErrorKind::Config,
                "the blocking client cannot be used inside of a current-thread runtime",
            )
            .with_hint(
                "use agentloop::AgentLoop with `.await`, or call it from a thread of its own",
            )),
            // `block_on` panics on a thread of a runtime.
            Ok(_) => std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().name("agentloop-blocking".to_owned());
                let call = thread.spawn_scoped(scope, || runtime.block_on(future));
                let call = call.map_err(|error| {
                    Error::new(ErrorKind::Other, format!("the thread of the call: {error}"))
                        .with_source(error)
                })?;
                call.join().map_err(|_| Error::new(ErrorKind::Other, "the call panicked"))
            }),
        }
    }

    /// Drops a value that may need the runtime to close its connection.
    fn drop_inside<T>(&self, value: T) {
        let _entered = self.0.as_ref().map(Runtime::enter);
        drop(value);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which panics inside of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
