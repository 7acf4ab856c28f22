//! A run as it happens.

use std::fmt;
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
/// - The last event is [`RunDone`](RunEvent::RunDone); nothing follows.
/// - The run goes on while it is read: between two events nothing waits but what the tools started elsewhere.
/// - Dropping it cancels what is under way.
///
/// It is a [`Stream`]; [`next`](Self::next) is there so that no other crate is needed to read one.
pub struct RunStream {
    run: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    sink: Sink,
    cancel: CancelToken,
}

/// The outcome of a run that was to end in a `T`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Typed<T> {
    /// The answer; `None` when the run stopped before there was one: [`Outcome::stop`] says why.
    pub data: Option<T>,
    /// The outcome.
    pub outcome: Outcome,
}

impl<T> Typed<T> {
    /// The answer.
    ///
    /// # Errors
    ///
    /// When the run stopped before there was one.
    pub fn into_data(self) -> Result<T, RunError> {
        self.data.ok_or_else(|| {
            let why = self.outcome.stop.as_str();
            let message = format!("the run stopped ({why}) before its answer was there");
            RunError {
                error: Error::new(ErrorKind::Other, message),
                outcome: Box::new(self.outcome),
            }
        })
    }
}

impl Agent {
    /// Runs to the end: until the model has answered, or something else [stops](super::StopReason) it.
    ///
    /// The model's answers are asked for whole; [`stream`](Self::stream) asks for them as they come. Everything else is
    /// the same.
    ///
    /// # Errors
    ///
    /// When a call of the model fails, or there can be no run. What was done by then is in the error. Tools that fail are
    /// no errors: the model is told.
    pub async fn run(&self, request: impl Into<RunRequest>) -> Result<Outcome, RunError> {
        self.begin(request.into(), false).outcome().await
    }

    /// Runs, and hands on what happens as it does.
    pub fn stream(&self, request: impl Into<RunRequest>) -> RunStream {
        self.begin(request.into(), true)
    }

    /// Goes on with a run that waited, with what was said to it. What ran before does not run again.
    ///
    /// The agent must have the tools of the one that began the run. [`stream`](Self::stream) takes a [`Suspended`] too.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn resume(&self, suspended: Suspended) -> Result<Outcome, RunError> {
        self.run(suspended).await
    }

    /// Runs to an answer of the type `T`. A [`Suspended`] run that was begun so is gone on with.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); and when the answer does not match, also after it was
    /// [asked for again](RunRequest::output_retries).
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
                let message = format!("the answer does not fit the type: {error}");
                let error = Error::new(ErrorKind::OutputMismatch, message);
                Err(RunError { error, outcome: Box::new(outcome) })
            }
        }
    }

    fn begin(&self, request: RunRequest, streamed: bool) -> RunStream {
        let sink = Sink::default();
        let cancel = request.cancel.clone();
        let streamed = streamed && !request.whole;
        let run = Box::pin(drive(self.clone(), request, streamed, sink.clone()));
        RunStream { run: Some(run), sink, cancel }
    }
}

impl RunStream {
    /// What ends the run.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<RunEvent> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// What becomes of the run: reads it to its end.
    ///
    /// # Errors
    ///
    /// When a call of the model fails, or there can be no run.
    pub async fn outcome(mut self) -> Result<Outcome, RunError> {
        let mut done = None;
        while let Some(event) = self.next().await {
            if let RunEvent::RunDone { outcome } = event {
                done = Some(outcome);
            }
        }
        let Some(outcome) = done else {
            // Only a reader that has taken the last event gets here.
            let error = Error::new(ErrorKind::Other, "the run's outcome was read before");
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
                    // It waits for its event to be taken, or for something outside.
                    return match self.sink.take(context.waker()) {
                        Some(event) => Poll::Ready(Some(event)),
                        None => Poll::Pending,
                    };
                }
            }
        }
    }
}

impl fmt::Debug for RunStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStream").field("ended", &self.run.is_none()).finish_non_exhaustive()
    }
}
