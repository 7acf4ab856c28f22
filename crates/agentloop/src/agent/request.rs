//! The request that starts a run.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::cancel::CancelToken;
use super::machine::{OutputRule, RunState};
use super::suspended::Suspended;
use crate::chat::ChatRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::history::depth;
use crate::limits::{MAX_STRUCTURED_RETRIES, STRUCTURED_RETRIES};
use crate::structured::{Judge, Shape, StructuredRequest};

/// The request that starts a run or resumes a suspended one. A [`ChatRequest`] and a [`Suspended`] convert into one with
/// default settings.
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
    /// Whether the model's responses are requested complete even if the run is streamed.
    pub(super) whole: bool,
    /// What decides whether the output fits. Without one it is the schema in the request.
    judge: Option<Judge>,
    /// Why the run cannot start.
    pub(super) problem: Option<Error>,
}

impl RunRequest {
    /// Creates a run that starts with this request.
    ///
    /// The `tools` of the request are declared in addition to those of the agent. The caller runs the functions among them: a
    /// run in which one is called [waits](super::StopReason::Waiting) for its result.
    pub fn new(mut request: ChatRequest) -> Self {
        let deep = depth::check(&mut request).err();
        let choices = request.n.unwrap_or(1);
        let several = (choices > 1).then(|| {
            let message =
                format!("an agent run cannot use `n` = {choices}: it follows one response");
            Error::new(ErrorKind::Unsupported, message).with_hint("remove `n` from the request")
        });
        let problem = deep.or(several);
        Self::of_state(RunState::new(request), problem)
    }

    fn of_state(state: RunState, problem: Option<Error>) -> Self {
        Self { state, cancel: CancelToken::new(), whole: false, judge: None, problem }
    }

    setters! {
        /// Sets the token that cancels the run.
        cancel_token(self, cancel: &CancelToken) => self.cancel = cancel.clone();

        /// Requests complete responses from the model even if the run is [streamed](super::Agent::stream), for providers that
        /// cannot stream. The events are the same, but those of one response arrive together.
        whole_responses(self) => self.whole = true;
    }

    /// Sets the initial content of [`RunData`](super::RunData), which the tools of the run share.
    #[must_use]
    pub fn data(mut self, mut data: Map<String, Value>) -> Self {
        let deep = depth::check_fields("data", &mut data).err();
        self.problem = self.problem.or(deep);
        self.state.data = data;
        self
    }

    /// Requires the last response of the run to be a `T`. A response that does not match is requested again,
    /// up to [`output_retries`](Self::output_retries) times.
    ///
    /// A stored run has the schema and not the type: call this again, or [`run_structured`](super::Agent::run_structured), when
    /// it is resumed. Otherwise its output is checked against the schema, which needs the feature `validate`.
    ///
    /// The value is in [`Outcome::output`](super::Outcome::output);
    /// [`run_structured`](super::Agent::run_structured) returns it as a `T`.
    #[must_use]
    pub fn output<T: JsonSchema + DeserializeOwned>(self) -> Self {
        let request = StructuredRequest::new(ChatRequest::default());
        self.set_output(Shape::of::<T>(&request))
    }

    /// Requires the last response of the run to match a JSON Schema. The value is in
    /// [`Outcome::output`](super::Outcome::output).
    ///
    /// ```
    /// use agentloop::ChatRequest;
    /// use agentloop::agent::RunRequest;
    /// use serde_json::json;
    ///
    /// let schema = json!({ "type": "object", "properties": { "wet": { "type": "boolean" } }, "required": ["wet"] });
    /// let request = RunRequest::new(ChatRequest::new("openai/gpt-5.5").user("Is it wet in Rome?"))
    ///     .output_as(schema)
    ///     .output_retries(1);
    /// ```
    #[cfg(feature = "validate")]
    #[must_use]
    pub fn output_as(self, schema: Value) -> Self {
        let request = StructuredRequest::new(ChatRequest::default());
        self.set_output(Shape::of_schema(schema, &request))
    }

    fn set_output(mut self, shape: Result<Shape>) -> Self {
        match shape {
            Ok(shape) => {
                self.judge = Some(shape.judge().clone());
                self.state.request = shape.apply_to(std::mem::take(&mut self.state.request));
                self.state.output = Some(OutputRule { retries: STRUCTURED_RETRIES });
            }
            Err(error) => self.problem = Some(error),
        }
        self
    }

    /// Sets how many times a response that does not match the [`output`](Self::output) is requested again. At most
    /// [`MAX_STRUCTURED_RETRIES`] retries are made.
    #[must_use]
    pub fn output_retries(mut self, retries: u32) -> Self {
        if let Some(rule) = &mut self.state.output {
            rule.retries = retries.min(MAX_STRUCTURED_RETRIES);
        }
        self
    }

    /// Returns the schema that the last response must match, if there is one.
    pub(super) fn shape(&self) -> Result<Option<Shape>> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        match (&self.state.output, &self.state.request.response_format) {
            (Some(_), Some(format)) => Shape::of_format(format, self.judge.as_ref()).map(Some),
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
        let deep = depth::check(&mut suspended.run.request).err();
        let problem = deep.or(suspended.run.problem());
        Self::of_state(suspended.run, problem)
    }
}
