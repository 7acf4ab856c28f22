//! Runs and their event streams.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::cancel::CancelToken;
use super::configure::Agent;
use super::drive::drive;
use super::event::RunEvent;
use super::outcome::{Outcome, RunError};
use super::request::RunRequest;
use super::sink::Sink;
use super::suspended::Suspended;
use crate::error::{Error, ErrorKind};

/// The events of a run, as they happen.
///
/// - The last event is [`RunDone`](RunEvent::RunDone).
/// - The run makes progress only while the stream is read. Only work that a tool started elsewhere continues between reads.
/// - Dropping the stream cancels the run.
///
/// It implements [`Stream`]; [`next`](Self::next) reads it without another crate.
///
/// ```
/// use agentloop::agent::{Agent, RunEvent};
/// use agentloop::{AgentLoop, ChatRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// # let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let agent = Agent::new(ai);
/// let mut run = agent.stream(ChatRequest::new("sim/echo").user("Hello"));
/// while let Some(event) = run.next().await {
///     match event {
///         RunEvent::StepStart { step, model } => println!("step {step} with {model}"),
///         RunEvent::ToolRunning { tool, .. } => println!("running {tool}"),
///         RunEvent::RunDone { outcome } => println!("{}", outcome.text()),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct RunStream {
    run: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    sink: Sink,
    cancel: CancelToken,
}

/// The outcome of a run with structured output.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Typed<T> {
    /// The value; `None` if the run stopped before it produced one. [`Outcome::stop`] holds the reason.
    pub data: Option<T>,
    /// The outcome of the run.
    pub outcome: Outcome,
}

impl<T> Typed<T> {
    /// Returns the value.
    ///
    /// # Errors
    ///
    /// Returns an error if the run stopped before it produced one.
    pub fn into_data(self) -> Result<T, RunError> {
        self.data.ok_or_else(|| {
            let why = self.outcome.stop.as_str();
            let message = format!("the run stopped before it produced structured output: {why}");
            RunError {
                error: Error::new(ErrorKind::Other, message),
                outcome: Box::new(self.outcome),
            }
        })
    }
}

impl Agent {
    /// Runs until the model responds without calls, or something else [stops](super::StopReason) the run.
    ///
    /// The model's responses are requested complete; [`stream`](Self::stream) requests them as streams. Everything else is
    /// the same.
    ///
    /// # Errors
    ///
    /// Returns an error if a request to the model fails or the run cannot start. [`RunError::outcome`] holds what was done
    /// until then. A failing tool is not an error: the model receives the failure.
    pub async fn run(&self, request: impl Into<RunRequest>) -> Result<Outcome, RunError> {
        self.start_run(request.into(), false).outcome().await
    }

    /// Starts a run and returns its events as they happen.
    pub fn stream(&self, request: impl Into<RunRequest>) -> RunStream {
        self.start_run(request.into(), true)
    }

    /// Resumes a suspended run with the decisions that were made about it. Calls that have run do not run again.
    ///
    /// The agent must have the same tools as the one that started the run. [`stream`](Self::stream) accepts a [`Suspended`]
    /// as well.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`run`](Self::run).
    pub async fn resume(&self, suspended: Suspended) -> Result<Outcome, RunError> {
        self.run(suspended).await
    }

    /// Runs until the last response is a valid `T`. Also resumes a [`Suspended`] run that was started this way.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`run`](Self::run), and an error if the response still does not match after its
    /// [retries](RunRequest::output_retries).
    pub async fn run_structured<T: DeserializeOwned + JsonSchema>(
        &self,
        request: impl Into<RunRequest>,
    ) -> Result<Typed<T>, RunError> {
        let mut request = request.into();
        if request.state.output.is_none() {
            request = request.output::<T>();
        }
        let outcome = self.run(request).await?;
        match outcome.output.clone().map(serde_json::from_value::<T>).transpose() {
            Ok(data) => Ok(Typed { data, outcome }),
            Err(error) => {
                let message = format!("the output of the run cannot be read as the type: {error}");
                let error = Error::new(ErrorKind::OutputMismatch, message);
                Err(RunError { error, outcome: Box::new(outcome) })
            }
        }
    }

    fn start_run(&self, request: RunRequest, streamed: bool) -> RunStream {
        let sink = Sink::default();
        let cancel = request.cancel.clone();
        let streamed = streamed && !request.whole;
        let run = Box::pin(drive(self.clone(), request, streamed, sink.clone()));
        RunStream { run: Some(run), sink, cancel }
    }
}

impl RunStream {
    /// Returns the token that cancels the run.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Returns the next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<RunEvent> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Reads the run to its end and returns its outcome.
    ///
    /// # Errors
    ///
    /// Returns an error if a request to the model fails, if the run cannot start, or if [`next`](Self::next) has already
    /// returned the outcome.
    pub async fn outcome(mut self) -> Result<Outcome, RunError> {
        let mut done = None;
        while let Some(event) = self.next().await {
            if let RunEvent::RunDone { outcome } = event {
                done = Some(outcome);
            }
        }
        let Some(outcome) = done else {
            // `next` has already returned the last event.
            let error =
                Error::new(ErrorKind::Other, "the outcome of the run has already been read");
            return Err(RunError { error, outcome: Box::default() });
        };
        match &outcome.error {
            Some(error) => Err(RunError { error: error.clone(), outcome }),
            None => Ok(*outcome),
        }
    }
}

impl Stream for RunStream {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        loop {
            if let Some(event) = self.sink.take(context.waker()) {
                return Poll::Ready(Some(event));
            }
            let Some(run) = &mut self.run else { return Poll::Ready(None) };
            match run.as_mut().poll(context) {
                Poll::Ready(()) => self.run = None,
                Poll::Pending => {
                    // The run waits until its event is taken, or for something outside.
                    return match self.sink.take(context.waker()) {
                        Some(event) => Poll::Ready(Some(event)),
                        None => Poll::Pending,
                    };
                }
            }
        }
    }
}

shown! { RunStream: self { ended: self.run.is_none() } }
