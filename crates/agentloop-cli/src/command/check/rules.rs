//! The checks: their names, when they apply, and what they cost.

use agentloop::provider::KeySource;
use agentloop::{
    AgentLoop, CacheMode, ChatRequest, ChatResponse, Error, ErrorKind, ModelData, Protocol,
    Provider, Usd,
};

use super::requests;

/// The most tokens of a response.
pub(super) const MAX_TOKENS: u64 = 256;

/// The most tokens of a response that thinks first.
pub(super) const MAX_THINKING_TOKENS: u64 = 2_048;

/// How many tokens a prompt has at most, roughly, for the estimate.
pub(super) const PROMPT_TOKENS: u64 = 250;

/// A check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Complete,
    Stream,
    Usage,
    System,
    Stop,
    Length,
    ToolCall,
    ForcedTool,
    ParallelCalls,
    Structured,
    Thinking,
    Image,
    Unicode,
    WrongKey,
    UnknownModel,
    Embeddings,
    ModelList,
    TokenCount,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass(String),
    Fail(String),
    Skipped(String),
}

/// What is checked.
pub(super) struct Subject {
    pub(super) client: AgentLoop,
    /// The model, with its provider.
    pub(super) model: String,
    pub(super) provider: Provider,
    pub(super) embedding_model: Option<String>,
    pub(super) known: ModelData,
    pub(super) protocol: Option<Protocol>,
    /// The cost so far. `None` if no response had a known cost.
    pub(super) spent: Option<Usd>,
}

/// The result of a check, or the error of a request that should not fail.
pub(super) type Outcome = Result<Verdict, Error>;

impl Rule {
    pub(super) const ALL: [Self; 18] = [
        Self::Complete,
        Self::Stream,
        Self::Usage,
        Self::System,
        Self::Stop,
        Self::Length,
        Self::ToolCall,
        Self::ForcedTool,
        Self::ParallelCalls,
        Self::Structured,
        Self::Thinking,
        Self::Image,
        Self::Unicode,
        Self::WrongKey,
        Self::UnknownModel,
        Self::Embeddings,
        Self::ModelList,
        Self::TokenCount,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Stream => "stream",
            Self::Usage => "usage",
            Self::System => "system",
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCall => "tool-call",
            Self::ForcedTool => "forced-tool",
            Self::ParallelCalls => "parallel-calls",
            Self::Structured => "structured",
            Self::Thinking => "thinking",
            Self::Image => "image",
            Self::Unicode => "unicode",
            Self::WrongKey => "wrong-key",
            Self::UnknownModel => "unknown-model",
            Self::Embeddings => "embeddings",
            Self::ModelList => "model-list",
            Self::TokenCount => "token-count",
        }
    }

    /// Returns the most tokens that all prompts and all responses of the check have, roughly.
    pub(super) fn tokens(self) -> (u64, u64) {
        match self {
            Self::System | Self::ToolCall => (2 * PROMPT_TOKENS, 2 * MAX_TOKENS),
            Self::Thinking => (PROMPT_TOKENS, MAX_THINKING_TOKENS),
            // An image of one point still costs some hundred tokens.
            Self::Image => (4 * PROMPT_TOKENS, MAX_TOKENS),
            // These generate nothing.
            Self::WrongKey | Self::UnknownModel | Self::ModelList | Self::TokenCount => (0, 0),
            Self::Embeddings => (20, 0),
            _ => (PROMPT_TOKENS, MAX_TOKENS),
        }
    }

    /// Returns why the check does not apply.
    pub(super) fn reason_to_skip(self, subject: &Subject) -> Option<String> {
        let abilities = &subject.known.abilities;
        let lacks = |ability: Option<bool>, what: &str| {
            (ability == Some(false)).then(|| format!("the model does not support {what}"))
        };
        let unknown = |ability: Option<bool>, what: &str| match ability {
            Some(true) => None,
            Some(false) => Some(format!("the model does not support {what}")),
            None => Some(format!("it is not known whether the model supports {what}")),
        };
        match self {
            Self::ToolCall => lacks(abilities.tools, "tools"),
            Self::ForcedTool => lacks(abilities.tools, "tools")
                .or_else(|| lacks(abilities.forced_tools, "a forced call")),
            Self::ParallelCalls => lacks(abilities.tools, "tools")
                .or_else(|| lacks(abilities.parallel_tools, "several calls at once")),
            Self::Structured => lacks(abilities.structured_output, "a JSON schema"),
            Self::Thinking => unknown(abilities.reasoning, "thinking"),
            Self::Image => unknown(abilities.image_input, "images"),
            Self::WrongKey | Self::UnknownModel if subject.needs_no_key() => {
                let what = if self == Self::WrongKey { "keys" } else { "names of models" };
                Some(format!("the provider needs no key; such servers often ignore {what}"))
            }
            Self::Embeddings if !subject.provider.serves.embeddings => {
                Some("the provider has no embeddings API".to_owned())
            }
            Self::Embeddings if subject.embedding_model.is_none() => {
                Some("name the model with --embedding-model".to_owned())
            }
            Self::ModelList if !subject.provider.serves.models => {
                Some("the provider has no list of models".to_owned())
            }
            _ => None,
        }
    }

    /// Sends the requests of the check, and compares the responses with what is expected.
    pub(super) async fn run(self, subject: &mut Subject) -> Verdict {
        let outcome = match self {
            Self::Complete => requests::complete(subject).await,
            Self::Stream => requests::stream(subject).await,
            Self::Usage => requests::usage(subject).await,
            Self::System => requests::system(subject).await,
            Self::Stop => requests::stop(subject).await,
            Self::Length => requests::length(subject).await,
            Self::ToolCall => requests::tool_call(subject).await,
            Self::ForcedTool => requests::forced_tool(subject).await,
            Self::ParallelCalls => requests::parallel_calls(subject).await,
            Self::Structured => requests::structured(subject).await,
            Self::Thinking => requests::thinking(subject).await,
            Self::Image => requests::image(subject).await,
            Self::Unicode => requests::unicode(subject).await,
            Self::WrongKey => requests::wrong_key(subject).await,
            Self::UnknownModel => requests::unknown_model(subject).await,
            Self::Embeddings => requests::embeddings(subject).await,
            Self::ModelList => requests::model_list(subject).await,
            Self::TokenCount => requests::token_count(subject).await,
        };
        outcome.unwrap_or_else(|error| match (error.kind(), error.status()) {
            // Found before anything was sent: the library knows that the provider cannot do this.
            (ErrorKind::Unsupported, None) => Verdict::Skipped(error.message().to_owned()),
            _ => Verdict::Fail(format!("expected a response, got the error: {error}")),
        })
    }
}

impl Subject {
    fn needs_no_key(&self) -> bool {
        matches!(self.provider.key, KeySource::None)
            || self.client.check_key(&self.provider.name).is_ok_and(|has_key| !has_key)
    }

    pub(super) fn request(&self, prompt: &str) -> ChatRequest {
        let mut request = ChatRequest::new(&self.model).user(prompt);
        request.max_tokens = Some(match self.known.abilities.reasoning {
            Some(true) => MAX_THINKING_TOKENS,
            _ => MAX_TOKENS,
        });
        request.protocol = self.protocol;
        request.cache = Some(CacheMode::Bypass);
        request
    }

    pub(super) async fn chat(&mut self, request: ChatRequest) -> Result<ChatResponse, Error> {
        let response = self.client.chat(request).await?;
        self.count(&response);
        Ok(response)
    }

    pub(super) fn count(&mut self, response: &ChatResponse) {
        if let Some(cost) = crate::screen::last_line::cost_of(response, self.client.catalog()) {
            self.spend(cost.usd);
        }
    }

    pub(super) fn spend(&mut self, usd: Usd) {
        self.spent = Some(self.spent.unwrap_or_default() + usd);
    }
}
