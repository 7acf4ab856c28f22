//! The scripted model: the same request always gets the same answer.

mod behaviour;
mod conversation;
mod media;
mod perform;
mod schema;
mod shorten;
mod split;

use std::sync::Arc;

use agentloop::{ChatRequest, ChatResponse, ChatStreamEvent, Error, ErrorKind, ModelInfo, Result};

use crate::script::{Script, Turn};
use behaviour::Behaviour;
pub(crate) use conversation::{hash, words};

/// The most steps of one answer, over all its choices.
pub(crate) const MAX_DELTAS: usize = 1_000_000;

/// The most choices of one answer.
pub(crate) const MAX_CHOICES: u32 = 128;

/// A model without weights: the same request always gets the same answer.
///
/// What it does follows from the model's id (what stands after `sim/`):
///
/// | id | what it does |
/// |---|---|
/// | `echo`, and every id that is not listed | says again what the user said last, and how to set a key |
/// | `think` | thinks first |
/// | `tools` | calls all given tools at once |
/// | `cite` | names its sources |
/// | `refuse` | refuses (`content_filter`) |
/// | `length` | runs into the token limit: `max_tokens`, or 16 |
/// | `json` | writes a JSON object, of the schema in `response_format` if there is one |
/// | `long-N` | streams N words |
/// | `image`, `audio` | draws, speaks |
///
/// All of them keep to the request:
///
/// - When it has tools, the model calls the first (or the one that `tool_choice` names) with arguments made
///   from its schema, and when the results are there it answers from them. `refuse`, `length`, `long-N`,
///   `cite`, `image` and `audio` call none.
/// - `response_format` makes `echo` and `think` write JSON; `n`, `stop`, `max_tokens` and
///   `parallel_tool_calls` are kept.
/// - Usage is always told: a word of the conversation is a prompt token, a step of the stream is a
///   completion token.
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
    script: Option<Arc<Script>>,
}

impl Model {
    /// The model that does what its id says.
    pub fn new() -> Self {
        Self::default()
    }

    /// A model that follows a script, whatever its id.
    pub fn from_script(script: Script) -> Self {
        Self { script: Some(Arc::new(script)) }
    }

    /// The models that a simulator lists.
    pub fn list() -> Vec<ModelInfo> {
        Behaviour::IDS.iter().map(|id| ModelInfo::new("sim", *id)).collect()
    }

    /// The steps of the answer, `message.start` to `message.done`.
    ///
    /// # Errors
    ///
    /// When a script has no turn left, or `n` is more than 128.
    pub fn events(&self, request: &ChatRequest) -> Result<Vec<ChatStreamEvent>> {
        let turn = self.turn(request)?;
        perform::perform(&turn, request)
    }

    /// The whole answer.
    ///
    /// # Errors
    ///
    /// As [`events`](Self::events).
    pub fn response(&self, request: &ChatRequest) -> Result<ChatResponse> {
        match self.events(request)?.pop() {
            Some(ChatStreamEvent::MessageDone { response }) => Ok(*response),
            _ => Err(Error::new(ErrorKind::Other, "the answer has no end")),
        }
    }

    /// What to answer, before it is cut into steps.
    pub(crate) fn turn(&self, request: &ChatRequest) -> Result<Turn> {
        match &self.script {
            None => Ok(Behaviour::of(model_id(&request.model)).turn(request)),
            Some(script) => scripted(script, request).cloned(),
        }
    }

    /// The steps of an answer that is already chosen.
    pub(crate) fn perform(turn: &Turn, request: &ChatRequest) -> Result<Vec<ChatStreamEvent>> {
        perform::perform(turn, request)
    }
}

/// The model's id without the provider's name before it and the faults after it.
pub(crate) fn model_id(model: &str) -> &str {
    let model = model.strip_prefix("sim/").unwrap_or(model);
    model.split_once('!').map_or(model, |(id, _)| id)
}

/// The faults that a model's id asks for.
pub(crate) fn faults_of_id(model: &str) -> Option<&str> {
    model.split_once('!').map(|(_, faults)| faults)
}

fn scripted<'a>(script: &'a Script, request: &ChatRequest) -> Result<&'a Turn> {
    let said = conversation::last_user_text(request);
    let scene = script.scenes.iter().find(|scene| said.contains(&scene.when));
    let (turns, at) = match scene {
        Some(scene) => (&scene.turns, conversation::assistant_turns_since(request)),
        None => (&script.turns, conversation::assistant_turns(request)),
    };
    turns.get(at).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidRequest,
            format!("the script has {} turns, and turn {} is asked for", turns.len(), at + 1),
        )
        .with_status(400)
        .with_code("script_exhausted")
    })
}
