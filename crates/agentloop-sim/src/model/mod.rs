//! The simulated model.

mod behaviour;
mod conversation;
mod media;
mod perform;
mod schema;
mod sequence;
mod shorten;
mod split;

use std::sync::Arc;

use agentloop::{ChatRequest, ChatResponse, ChatStreamEvent, Error, ErrorKind, ModelInfo, Result};

use crate::script::{Script, Turn};
use behaviour::Behaviour;
pub(crate) use conversation::{count_words, hash};
use sequence::{Sequence, exhausted};

/// The maximum number of deltas of one response, over all its choices.
pub(crate) const MAX_DELTAS: usize = 1_000_000;

/// The maximum number of choices of one response.
pub(crate) const MAX_CHOICES: u32 = 128;

/// A simulated model.
///
/// By default the id of the model (the part after `sim/`) selects its behaviour, and the same request always gets the same
/// response:
///
/// | id | behaviour |
/// |---|---|
/// | `echo`, and every id that is not listed | repeats the last user message, and explains how to set a key |
/// | `think` | thinks, then responds like `echo` |
/// | `tools` | calls all given tools in parallel |
/// | `cite` | writes text with citations |
/// | `refuse` | refuses, with the finish reason `content_filter` |
/// | `length` | writes until the token limit: `max_tokens`, else 16 |
/// | `json` | writes a JSON object that matches the schema of `response_format`, if there is one |
/// | `long-N` | writes N words |
/// | `image` | returns an image |
/// | `audio` | returns audio |
/// | `history` | returns the number of messages and the last five texts of the user, each cut after 200 characters |
///
/// All behaviours respect the request:
///
/// - If the request has tools, the model calls the first tool, or the one that `tool_choice` names, with arguments
///   generated from its schema. After the results it responds with them. `refuse`, `length`, `long-N`, `cite`, `image`, `audio` and
///   `history` do not call tools.
/// - With `response_format`, `echo` and `think` write JSON. `n`, `stop`, `max_tokens` and `parallel_tool_calls` are
///   respected.
/// - Usage is always reported: each word of the conversation counts as a prompt token, each delta of the stream as a completion
///   token.
///
/// ```
/// use agentloop::ChatRequest;
/// use agentloop_sim::Model;
///
/// let response = Model::new().response(&ChatRequest::new("sim/think").user("Hello"))?;
/// assert!(response.text().starts_with("Hello"));
/// assert!(response.thinking().is_some());
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Model {
    source: Source,
}

/// Where the responses of a model come from.
#[derive(Clone, Debug, Default)]
enum Source {
    /// The id of the model selects a behaviour.
    #[default]
    Id,
    /// The conversation selects a turn of a script.
    Script(Arc<Script>),
    /// The order of the requests selects a turn.
    Sequence(Arc<Sequence>),
}

impl Model {
    /// Creates a model whose id selects its behaviour.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a model that follows a script, whatever its id. The conversation selects the response.
    pub fn from_script(script: Script) -> Self {
        Self { source: Source::Script(Arc::new(script)) }
    }

    /// Creates a model that returns these responses in the order of the requests, whatever its id. Clones share the order.
    ///
    /// ```
    /// use agentloop::ChatRequest;
    /// use agentloop_sim::Model;
    ///
    /// let model = Model::from_responses(["First.", "Second."]);
    /// let request = ChatRequest::new("any").user("Hi");
    /// assert_eq!(model.response(&request)?.text(), "First.");
    /// assert_eq!(model.response(&request)?.text(), "Second.");
    /// assert!(model.response(&request).is_err());
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn from_responses<T: Into<Turn>>(responses: impl IntoIterator<Item = T>) -> Self {
        let turns = responses.into_iter().map(Into::into).collect();
        Self { source: Source::Sequence(Arc::new(Sequence::new(turns))) }
    }

    /// Returns the models that a simulator lists.
    pub fn list() -> Vec<ModelInfo> {
        Behaviour::IDS.iter().map(|id| ModelInfo::new("sim", *id)).collect()
    }

    /// Returns the events of the response, from `message.start` to `message.done`.
    ///
    /// # Errors
    ///
    /// Returns an error if no scripted response is left, or if `n` is greater than 128.
    pub fn events(&self, request: &ChatRequest) -> Result<Vec<ChatStreamEvent>> {
        let turn = self.next_turn(request, |_| false)?;
        perform::perform(&turn, request)
    }

    /// Returns the complete response. It is also a way to create a `ChatResponse` in a test.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`events`](Self::events).
    pub fn response(&self, request: &ChatRequest) -> Result<ChatResponse> {
        match self.events(request)?.pop() {
            Some(ChatStreamEvent::MessageDone { response }) => Ok(*response),
            _ => Err(Error::new(ErrorKind::Other, NO_END)),
        }
    }

    /// Returns the response to a request, before it is split into events.
    ///
    /// If `is_kept` returns true, a response of a sequence is returned again for the next request.
    pub(crate) fn next_turn(
        &self,
        request: &ChatRequest,
        is_kept: impl FnOnce(&Turn) -> bool,
    ) -> Result<Turn> {
        match &self.source {
            Source::Id => Ok(Behaviour::of(model_id(&request.model)).turn(request)),
            Source::Script(script) => find_turn(script, request).cloned(),
            Source::Sequence(sequence) => sequence.next(is_kept),
        }
    }

    /// Returns the events of a response.
    pub(crate) fn perform(turn: &Turn, request: &ChatRequest) -> Result<Vec<ChatStreamEvent>> {
        perform::perform(turn, request)
    }
}

/// The message of an error that indicates a bug in the simulator.
pub(crate) const NO_END: &str = "the simulated response has no message.done event";

/// Returns the id of the model without the name of the provider and without faults.
pub(crate) fn model_id(model: &str) -> &str {
    let model = model.strip_prefix("sim/").unwrap_or(model);
    model.split_once('!').map_or(model, |(id, _)| id)
}

/// Returns the faults in the id of a model.
pub(crate) fn faults_of_id(model: &str) -> Option<&str> {
    model.split_once('!').map(|(_, faults)| faults)
}

/// Returns the turn of a script that responds to a request.
fn find_turn<'a>(script: &'a Script, request: &ChatRequest) -> Result<&'a Turn> {
    let text = conversation::last_user_text(request);
    let scene = script.scenes.iter().find(|scene| text.contains(&scene.when));
    let (turns, next) = match scene {
        Some(scene) => (&scene.turns, conversation::count_assistant_since_user(request)),
        None => (&script.turns, conversation::count_assistant(&request.messages)),
    };
    turns.get(next).ok_or_else(|| exhausted(turns.len(), next))
}
