//! Providers as data: URL, key, protocols, parameter rules and quirks. The built-in ones are in `rows/`, one file each.

pub(crate) mod body;
mod capability;
pub(crate) mod cloud;
pub(crate) mod credential;
mod endpoint;
mod expand;
mod key;
mod media;
pub(crate) mod model;
mod param;
pub mod quirks;
pub(crate) mod region;
mod registry;
pub(crate) mod restrict;
mod rows;
pub(crate) mod server_tools;
mod spoken;
mod target;
pub(crate) mod transport;
pub(crate) mod urls;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

pub use crate::chat::Param;
pub use capability::Feature;
use credential::{Credential, CredentialSource};
pub use endpoint::{Bends, Endpoint};
pub(crate) use key::AUTH_HEADERS;
pub use key::{Auth, KeySource};
pub use model::{
    CodeExecutionVersion, EffortField, EmbedBody, ForcedTools, InstructionsRole, ModelRule,
    NativeSchema, Sampling, Signatures, ThinkTags, ThinkingControl,
};
pub use param::Rule;
pub(crate) use param::Ruling;
pub use quirks::Quirks;
pub(crate) use registry::Registry;
pub(crate) use target::KnownHeaders;
#[cfg(feature = "serve")]
pub(crate) use target::RelayShape;
pub use target::Target;
use transport::Transport;
pub(crate) use urls::join;

use crate::chat::{Modality, Protocol};
use crate::models::ModelCatalog;
pub use crate::models::{Action, Condition, ModelRestrictions, Restriction};
use crate::secret::{Secret, mask};

/// A service that serves models: its URL, its key, its protocols and how it differs from them.
///
/// The built-in providers have a constructor each, for example [`Provider::openai`]; [`Provider::all`] returns all of them and
/// [`Provider::builtin`] one by its name. An endpoint that speaks one of the protocols is described in a few lines:
///
/// ```
/// use agentloop::{AgentLoop, Provider};
///
/// let ai = AgentLoop::builder()
///     .provider(Provider::openai_compatible("lab", "http://localhost:8000/v1").key_env("LAB_KEY"))
///     .build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Provider {
    /// Its name, which is before the slash in the name of a model.
    pub name: Cow<'static, str>,
    /// Its URL. `${VARIABLE}` is replaced from the environment when a client first uses the provider for a model.
    pub base_url: Cow<'static, str>,
    /// Hosts that have another name than the one that the variables in the URL give them: that one, and the right one.
    pub hosts: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The protocol of requests that do not choose another one.
    pub protocol: Protocol,
    /// Its other protocols.
    pub endpoints: Vec<Endpoint>,
    /// The header of the key.
    pub auth: Auth,
    /// Where the key comes from.
    pub key: KeySource,
    /// What authorizes calls that have no key.
    pub credential: CredentialSource,
    /// Where a key can be created: a page of the provider. Errors about a missing key name it.
    pub key_url: Option<Cow<'static, str>>,
    /// Headers of every request.
    pub headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// Headers of every request whose values are read from the environment: name, and value with `${VARIABLE}`. They are treated
    /// like a key.
    pub env_headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// Parameters that are not sent unchanged.
    pub rules: Vec<Rule>,
    /// The only parameters that it accepts, by the names under which they are sent. Absent means all.
    pub allow: Option<Vec<Cow<'static, str>>>,
    /// How it differs from its protocol.
    pub quirks: Quirks,
    /// What is special about some of its models.
    pub models: Vec<ModelRule>,
    /// Requests that it refuses for some models, and what is sent instead.
    pub restrictions: Vec<Restriction>,
    /// What it serves in addition to chat.
    pub serves: Serves,
    /// What it produces in addition to text and tool calls.
    pub makes: Vec<Feature>,
    /// Its name in OpenTelemetry's conventions for generative AI, where it differs.
    pub telemetry_name: Option<Cow<'static, str>>,
    /// The transport of its requests; absent means the client's.
    pub transport: Option<Arc<dyn Transport>>,
    /// What is known of its models, where `models` has no rule. A client replaces it with its own catalog.
    pub catalog: ModelCatalog,
}

/// What a provider serves in addition to chat.
///
/// ```
/// use agentloop::Provider;
///
/// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1").without_embeddings();
/// assert!(lab.serves.models && !lab.serves.embeddings);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Serves {
    /// Embeddings.
    pub embeddings: bool,
    /// A list of its models.
    pub models: bool,
    /// Other modalities, as bits in the order of [`Modality::ALL`].
    modalities: u8,
}

impl Serves {
    /// Everything: a provider of which nothing else is known.
    const ALL: Self = Self { embeddings: true, models: true, modalities: u8::MAX };

    /// Returns whether the provider serves a modality.
    pub const fn has(&self, modality: Modality) -> bool {
        self.modalities & (1 << modality as u8) != 0
    }
}

impl Provider {
    /// Creates a provider that speaks OpenAI's Chat Completions. `base_url` is the part before `/chat/completions`.
    ///
    /// It accepts every parameter and needs no key, until other methods change that.
    pub fn openai_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            hosts: Vec::new(),
            protocol: Protocol::OpenAiChat,
            endpoints: Vec::new(),
            auth: Auth::Bearer,
            key: KeySource::None,
            credential: CredentialSource::None,
            key_url: None,
            headers: Vec::new(),
            env_headers: Vec::new(),
            rules: Vec::new(),
            allow: None,
            quirks: Quirks::default(),
            models: Vec::new(),
            restrictions: Vec::new(),
            serves: Serves::ALL,
            makes: Vec::new(),
            telemetry_name: None,
            transport: None,
            catalog: ModelCatalog::embedded(),
        }
    }

    /// Creates a provider that speaks OpenAI's Responses. `base_url` is the part before `/responses`.
    pub fn responses_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { protocol: Protocol::OpenAiResponses, ..Self::openai_compatible(name, base_url) }
            .quirks(|q| q.tool_result_images = quirks::ToolResultImages::Accepted)
    }

    /// Creates a provider that speaks Anthropic's Messages. `base_url` is the part before `/messages`.
    pub fn anthropic_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            protocol: Protocol::Anthropic,
            auth: Auth::XApiKey,
            ..Self::openai_compatible(name, base_url)
        }
        .header("anthropic-version", "2023-06-01")
        .without_embeddings()
        .modalities([])
    }

    /// Creates a provider that speaks Google's generateContent. `base_url` is the part before `/models`.
    pub fn gemini_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            protocol: Protocol::Gemini,
            auth: Auth::XGoogApiKey,
            ..Self::openai_compatible(name, base_url)
        }
        .modalities([Modality::Image, Modality::Speech])
        .quirks(|q| {
            q.tasks.image = quirks::ImageForm::GenerateContent;
            q.tasks.speech = quirks::SpeechForm::GenerateContent;
        })
    }

    /// Creates a provider that speaks Gemini's Interactions API. `base_url` is the part before `/interactions`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let lab = Provider::interactions_compatible("lab", "https://gemini.example.com/v1beta").key_env("LAB_KEY");
    /// let ai = AgentLoop::builder().provider(lab).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn interactions_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { protocol: Protocol::GeminiInteractions, ..Self::gemini_compatible(name, base_url) }
            .without_embeddings()
            .modalities([])
    }

    /// Creates a provider that speaks Ollama's own API. `base_url` is the part before `/api/chat`. A base URL that ends in `/api`, or
    /// in `/v1` like that of the server's OpenAI endpoint, leads to the same calls.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let lab = Provider::ollama_compatible("lab", "http://192.168.1.20:11434");
    /// let ai = AgentLoop::builder().provider(lab).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn ollama_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { protocol: Protocol::Ollama, ..Self::openai_compatible(name, base_url) }
            .modalities([])
            .quirks(|q| q.server_tools = quirks::ServerToolQuirks::refused())
    }

    /// Creates a provider that speaks Cohere's own API. `base_url` is the part before `/chat`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let lab = Provider::cohere_compatible("lab", "https://cohere.example.com/v2").key_env("LAB_KEY");
    /// let ai = AgentLoop::builder().provider(lab).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn cohere_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        let row = Self { protocol: Protocol::Cohere, ..Self::openai_compatible(name, base_url) };
        row.modalities([Modality::Rerank]).quirks(|q| {
            q.server_tools = quirks::ServerToolQuirks::refused();
            // SDK 7.3.1: `response_format` "is not supported … in combination with the `documents` or `tools` parameters".
            q.json_schema = quirks::JsonSchemaSupport::NotWithTools;
            q.embeddings.batch = Some(96);
        })
    }

    /// Creates a provider that speaks Amazon Bedrock's Converse. `base_url` is the part before `/model/`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let lab = Provider::bedrock_compatible("lab", "https://bedrock.example.com").key_env("LAB_KEY");
    /// let ai = AgentLoop::builder().provider(lab).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn bedrock_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { protocol: Protocol::Bedrock, ..Self::openai_compatible(name, base_url) }
            .modalities([])
            .quirks(|q| q.server_tools = quirks::ServerToolQuirks::refused())
    }

    /// Creates a provider that uses `protocol`, as [`openai_compatible`](Self::openai_compatible) and the other constructors do.
    ///
    /// ```
    /// use agentloop::{Protocol, Provider};
    ///
    /// let lab = Provider::compatible(Protocol::Anthropic, "lab", "http://localhost:8000/v1");
    /// assert_eq!(lab.protocol, Protocol::Anthropic);
    /// ```
    pub fn compatible(
        protocol: Protocol,
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        match protocol {
            Protocol::OpenAiChat => Self::openai_compatible(name, base_url),
            Protocol::OpenAiResponses => Self::responses_compatible(name, base_url),
            Protocol::Anthropic => Self::anthropic_compatible(name, base_url),
            Protocol::Gemini => Self::gemini_compatible(name, base_url),
            Protocol::Ollama => Self::ollama_compatible(name, base_url),
            Protocol::Cohere => Self::cohere_compatible(name, base_url),
            Protocol::Bedrock => Self::bedrock_compatible(name, base_url),
            Protocol::GeminiInteractions => Self::interactions_compatible(name, base_url),
        }
    }

    /// Returns the built-in providers, in the order of the documentation.
    ///
    /// ```
    /// use agentloop::Provider;
    ///
    /// assert!(Provider::all().iter().any(|provider| provider.name == "groq"));
    /// ```
    pub fn all() -> Vec<Self> {
        rows::ALL.iter().map(|row| row()).collect()
    }

    /// Returns the built-in provider of that name.
    ///
    /// ```
    /// use agentloop::Provider;
    ///
    /// assert!(Provider::builtin("groq").is_some());
    /// ```
    pub fn builtin(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|provider| provider.name == name)
    }

    setters! {
        /// Reads the key from this environment variable. Without it, requests fail.
        key_env(self, variable: impl Into<Cow<'static, str>>) =>
            self.key = KeySource::env(variable);

        /// Sets the key.
        key(self, key: impl Into<Secret>) => self.key = KeySource::Value(key.into());

        /// Authorizes calls that have no key with this credential.
        ///
        /// ```
        /// use agentloop::Provider;
        /// use agentloop::credential::{Token, TokenCredential};
        ///
        /// let credential = TokenCredential::new(|| async { Ok(Token::new("example")) });
        /// let lab = Provider::openai_compatible("lab", "https://lab.example/v1").credential(credential);
        /// ```
        credential(self, credential: impl Credential + 'static) =>
            self.credential = CredentialSource::Custom(Arc::new(credential));

        /// Sets the page on which a key can be created. Errors about a missing key name it.
        ///
        /// ```
        /// use agentloop::Provider;
        ///
        /// let lab = Provider::openai_compatible("lab", "https://lab.example/v1")
        ///     .key_env("LAB_KEY")
        ///     .key_url("https://lab.example/keys");
        /// assert_eq!(lab.key_url.as_deref(), Some("https://lab.example/keys"));
        /// ```
        key_url(self, url: impl Into<Cow<'static, str>>) => self.key_url = Some(url.into());

        /// Sets the header of the key.
        auth(self, auth: Auth) => self.auth = auth;
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a header to every request, with `${VARIABLE}`s replaced from the environment when the request is sent.
    ///
    /// The value is treated like a key: it is never printed, a request's own headers do not replace it, and it is not sent to
    /// another origin. A variable that is not set is an error of the request.
    ///
    /// ```
    /// use agentloop::Provider;
    ///
    /// let lab = Provider::openai_compatible("lab", "https://lab.example/v1")
    ///     .env_header("x-lab-tenant", "${LAB_TENANT}");
    /// assert_eq!(lab.env_headers.len(), 1);
    /// ```
    #[must_use]
    pub fn env_header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        template: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.env_headers.push((name.into(), template.into()));
        self
    }

    /// Leaves these parameters out, with a warning for each one that a request sets.
    #[must_use]
    pub fn strip(mut self, params: impl IntoIterator<Item = Param>) -> Self {
        for param in params {
            self.add_rule(Rule::Strip(param));
        }
        self
    }

    setters! {
        /// Sends a parameter under another name, which may be a path (`settings.seed`).
        rename(self, param: Param, to: impl Into<Cow<'static, str>>) =>
            self.add_rule(Rule::Rename(param, to.into()));

        /// Keeps a parameter that is a number in a range. The last range counts.
        clamp(self, param: Param, min: f64, max: f64) =>
            self.add_rule(Rule::Clamp(param, min, max));

        /// Sends a parameter with the warning that the provider ignores it.
        ignored(self, param: Param) => self.add_rule(Rule::Ignored(param));
    }

    /// Sets a parameter, or a field of the body, when the request does not set it.
    ///
    /// A name that is a parameter's sets that parameter, as if the request had set it. Any other name is the name, or the path,
    /// of a field of the body.
    ///
    /// ```
    /// use agentloop::Provider;
    ///
    /// let lab = Provider::gemini_compatible("lab", "http://localhost:8000/v1beta")
    ///     .default_field("max_tokens", 1000) // sent as `generationConfig.maxOutputTokens`
    ///     .default_field("generationConfig.mediaResolution", "MEDIA_RESOLUTION_LOW");
    /// assert_eq!(lab.rules.len(), 2);
    /// ```
    #[must_use]
    pub fn default_field(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Value>,
    ) -> Self {
        self.add_rule(Rule::Default(name.into(), value.into()));
        self
    }

    setters! {
        /// Sends only the parameters that have one of these names in the body, and those that have a rule. The name of an object
        /// (`reasoning`) stands for all of its fields.
        allow(self, names: &'static [&'static str]) =>
            self.allow = Some(names.iter().copied().map(Cow::Borrowed).collect());

        /// Changes the quirks.
        quirks(self, change: impl FnOnce(&mut Quirks)) => change(&mut self.quirks);

        /// Adds a rule for some models. The first rule that matches a model applies.
        model(self, rule: ModelRule) => self.models.push(rule);

        /// Sets the provider's name in OpenTelemetry's conventions for generative AI, where it differs.
        telemetry_name(self, name: impl Into<Cow<'static, str>>) =>
            self.telemetry_name = Some(name.into());
    }

    /// Returns the rule that applies to `model`: the first that matches, of the provider or of the model families that its
    /// protocol serves.
    ///
    /// ```
    /// use agentloop::Provider;
    /// use agentloop::provider::ThinkingControl;
    ///
    /// let provider = Provider::anthropic();
    /// let rule = provider.model_rule("claude-sonnet-4-5").expect("it is a Claude model");
    /// assert_eq!(rule.thinking, ThinkingControl::Budget);
    /// ```
    pub fn model_rule(&self, model: &str) -> Option<&ModelRule> {
        let families = rows::families::models(self.protocol);
        self.models.iter().chain(families).find(|rule| rule.matches(model))
    }

    setters! {
        /// States that the provider serves no embeddings.
        without_embeddings(self) => self.serves.embeddings = false;
    }

    /// States which modalities the provider serves beside chats and embeddings, in place of those that it had.
    ///
    /// ```
    /// use agentloop::{Modality, Provider};
    ///
    /// let lab = Provider::openai_compatible("lab", "http://localhost:8000/v1").modalities([Modality::Rerank]);
    /// assert!(lab.serves.has(Modality::Rerank) && !lab.serves.has(Modality::Image));
    /// ```
    #[must_use]
    pub fn modalities(mut self, modalities: impl IntoIterator<Item = Modality>) -> Self {
        let bits = modalities.into_iter().fold(0, |bits, modality| bits | 1 << modality as u8);
        self.serves.modalities = bits;
        self
    }

    setters! {
        /// States that the provider serves no list of models.
        without_model_list(self) => self.serves.models = false;

        /// Sends through this transport instead of the client's.
        transport(self, transport: impl Transport + 'static) =>
            self.transport = Some(Arc::new(transport));
    }
}

shown! {
    Provider: self {
        name: self.name,
        base_url: mask::url(&self.base_url),
        protocol: self.protocol,
        auth: self.auth,
        key: self.key,
        credential: self.credential,
    }
}
