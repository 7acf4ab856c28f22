//! What a run begins with.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::cancel::CancelToken;
use super::machine::{OutputRule, RunState};
use super::suspended::Suspended;
use crate::chat::ChatRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::nesting;
use crate::structured::{DEFAULT_RETRIES, MAX_RETRIES, Shape, StructuredRequest};

/// What a run begins with: a question, or a run that waited. A [`ChatRequest`] and a [`Suspended`] are one, with
/// everything at its default.
///
/// ```
/// use agentloop::ChatRequest;
/// use agentloop::agent::{CancelToken, RunRequest};
///
/// let cancel = CancelToken::new();
/// let request = RunRequest::new(ChatRequest::new("openai/gpt-5.5").user("Tidy up."))
///     .cancel_token(&cancel);
/// ```
#[derive(Clone, Debug)]
pub struct RunRequest {
    pub(super) state: RunState,
    pub(super) cancel: CancelToken,
    /// Whether the model's answers are asked for whole also where the run is streamed.
    pub(super) whole: bool,
    /// Why there can be no run.
    pub(super) problem: Option<Error>,
}

impl RunRequest {
    /// A run that begins with this question.
    ///
    /// Its `tools` are declared beside those of the agent: functions among them are the caller's to run, and a run in which
    /// they are called waits for their results.
    pub fn new(mut request: ChatRequest) -> Self {
        let deep = nesting::check(&mut request).err();
        let several = (request.n.unwrap_or(1) > 1).then(|| {
            Error::new(ErrorKind::Unsupported, "a run follows one answer, and `n` asks for several")
        });
        let problem = deep.or(several);
        Self { state: RunState::new(request), cancel: CancelToken::new(), whole: false, problem }
    }

    /// The run ends when this is thrown.
    #[must_use]
    pub fn cancel_token(mut self, cancel: &CancelToken) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Asks for the model's answers whole also when the run is [streamed](super::Agent::stream), for hosts that cannot
    /// stream: its events are the same, and those of an answer come all at once.
    #[must_use]
    pub fn whole_answers(mut self) -> Self {
        self.whole = true;
        self
    }

    /// What the tools find in [`RunData`](super::RunData) when it begins.
    #[must_use]
    pub fn data(mut self, mut data: Map<String, Value>) -> Self {
        let deep = nesting::check_fields("data", &mut data).err();
        self.problem = self.problem.or(deep);
        self.state.data = data;
        self
    }

    /// The run must end in a `T`: its last answer is asked for in that form, checked, and asked for again if it does not
    /// match. It is in [`Outcome::output`](super::Outcome::output); [`run_structured`](super::Agent::run_structured) gives
    /// it as a `T`.
    #[must_use]
    pub fn output<T: JsonSchema>(mut self) -> Self {
        let asked = StructuredRequest::new(ChatRequest::default());
        match Shape::of::<T>(&asked) {
            Ok(shape) => {
                self.state.request = shape.request(std::mem::take(&mut self.state.request));
                self.state.output = Some(OutputRule { retries: DEFAULT_RETRIES });
            }
            Err(error) => self.problem = Some(error),
        }
        self
    }

    /// Sets how often an [`output`](Self::output) that does not match is asked for again.
    #[must_use]
    pub fn output_retries(mut self, retries: u32) -> Self {
        if let Some(rule) = &mut self.state.output {
            rule.retries = retries.min(MAX_RETRIES);
        }
        self
    }

    /// The form that the last answer must have.
    pub(super) fn shape(&self) -> Result<Option<Shape>> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        match (&self.state.output, &self.state.request.response_format) {
            (Some(_), Some(format)) => Shape::of_format(format).map(Some),
            _ => Ok(None),
        }
    }
}

impl From<ChatRequest> for RunRequest {
    fn from(request: ChatRequest) -> Self {
        Self::new(request)
    }
}

impl From<Suspended> for RunRequest {
    fn from(mut suspended: Suspended) -> Self {
        let deep = nesting::check(&mut suspended.run.request).err();
        let problem = deep.or(suspended.run.problem());
        Self { state: suspended.run, cancel: CancelToken::new(), whole: false, problem }
    }
}
