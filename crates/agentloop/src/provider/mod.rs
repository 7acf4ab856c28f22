//! A provider is a row of data: who serves, where, and how they bend the protocol they speak.

mod address;
mod capability;
mod families;
mod key;
mod media;
pub(crate) mod model;
mod param;
pub mod quirks;
mod registry;
pub(crate) mod restrict;
pub(crate) mod server_tools;
mod spoken;
pub(crate) mod table;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub use crate::chat::Param;
pub(crate) use address::join;
pub use capability::Feature;
pub(crate) use key::AUTH_HEADERS;
pub use key::{Auth, KeySource};
pub use model::{
    CodeExecutionVersion, ForcedTools, InstructionsRole, ModelRule, NativeSchema, Sampling,
    Signatures, ThinkTags, ThinkingControl,
};
pub use param::Rule;
pub(crate) use param::Ruling;
pub use quirks::Quirks;
pub(crate) use registry::Registry;
pub use registry::Target;
pub use restrict::{Action, Condition, ModelRestrictions, Restriction};

use crate::chat::Protocol;
use crate::error::{Error, ErrorKind, Result};
use crate::models::ModelCatalog;
use crate::secret::{Secret, mask};
use crate::transport::Transport;

/// Who serves models, where, and how.
///
/// The built-in ones are [`Provider::all`]; any endpoint that speaks one of the protocols is one more row:
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
    /// The name that stands before the slash of a model.
    pub name: Cow<'static, str>,
    /// Where it is served. `${VARIABLE}` is taken from the environment when the provider is used.
    pub base_url: Cow<'static, str>,
    /// The protocol it speaks, unless a request asks for another one.
    pub protocol: Protocol,
    /// The other protocols that it speaks, and where.
    pub endpoints: Vec<Endpoint>,
    /// How a request shows its key.
    pub auth: Auth,
    /// Where the key comes from.
    pub key: KeySource,
    /// Headers that every request carries.
    pub headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// What the host does with parameters, where it is not just taking them.
    pub rules: Vec<Rule>,
    /// The only parameters that it accepts, by the names under which they are sent. Absent means all.
    pub allow: Option<Vec<Cow<'static, str>>>,
    /// How it bends the protocol.
    pub quirks: Quirks,
    /// What is special about some of its models.
    pub models: Vec<ModelRule>,
    /// What it refuses for some models, and what is sent instead.
    pub restrictions: Vec<Restriction>,
    /// What it serves beside chat.
    pub serves: Serves,
    /// What it makes beside text and tool calls.
    pub makes: Vec<Feature>,
    /// A transport of its own, in place of the client's.
    pub transport: Option<Arc<dyn Transport>>,
    /// What is known of its models where its own rules say nothing. A client sets its own.
    pub catalog: ModelCatalog,
}

/// Another protocol that a provider speaks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The protocol.
    pub protocol: Protocol,
    /// Where it is spoken.
    pub base_url: Cow<'static, str>,
    /// How a request shows its key there.
    pub auth: Auth,
    /// What else differs there; absent means that it is as with the row's own protocol.
    pub bends: Option<Box<Bends>>,
}

/// How one protocol of a provider is bent, in place of what its row says.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Bends {
    /// What the host does with parameters.
    pub rules: Vec<Rule>,
    /// The only parameters that it accepts, if it refuses all others.
    pub allow: Option<Vec<Cow<'static, str>>>,
    /// How it bends the protocol.
    pub quirks: Quirks,
}

/// What a provider serves beside chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Serves {
    /// Vectors.
    pub embeddings: bool,
    /// A list of its models.
    pub models: bool,
}

impl Provider {
    /// An endpoint that speaks OpenAI's chat protocol: the address is the part before `/chat/completions`.
    ///
    /// It is taken to accept everything; a key is sent if there is one.
    pub fn openai_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            protocol: Protocol::OpenAiChat,
            endpoints: Vec::new(),
            auth: Auth::Bearer,
            key: KeySource::None,
            headers: Vec::new(),
            rules: Vec::new(),
            allow: None,
            quirks: Quirks::default(),
            models: Vec::new(),
            restrictions: Vec::new(),
            serves: Serves { embeddings: true, models: true },
            makes: Vec::new(),
            transport: None,
            catalog: ModelCatalog::embedded(),
        }
    }

    /// An endpoint that speaks OpenAI's responses: the address is the part before `/responses`.
    pub fn responses_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { protocol: Protocol::OpenAiResponses, ..Self::openai_compatible(name, base_url) }
            .quirks(|q| q.tool_result_images = quirks::ToolResultImages::Accepted)
    }

    /// An endpoint that speaks Anthropic's messages: the address is the part before `/messages`.
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
    }

    /// An endpoint that speaks Google's generateContent: the address is the part before `/models`.
    pub fn gemini_compatible(
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            protocol: Protocol::Gemini,
            auth: Auth::XGoogApiKey,
            ..Self::openai_compatible(name, base_url)
        }
    }

    /// Creates a provider that speaks `protocol` at a base URL, as [`openai_compatible`](Self::openai_compatible) and its kin do.
    pub(crate) fn compatible(
        protocol: Protocol,
        name: impl Into<Cow<'static, str>>,
        base_url: impl Into<Cow<'static, str>>,
    ) -> Self {
        match protocol {
            Protocol::OpenAiChat => Self::openai_compatible(name, base_url),
            Protocol::OpenAiResponses => Self::responses_compatible(name, base_url),
            Protocol::Anthropic => Self::anthropic_compatible(name, base_url),
            Protocol::Gemini => Self::gemini_compatible(name, base_url),
        }
    }

    /// The built-in providers, in the order of the documentation.
    pub fn all() -> Vec<Self> {
        table::rows()
    }

    /// The built-in provider of that name.
    pub fn builtin(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|provider| provider.name == name)
    }

    /// The key is in this environment variable. It is required unless it was optional before.
    #[must_use]
    pub fn key_env(mut self, variable: impl Into<Cow<'static, str>>) -> Self {
        self.key = KeySource::env(variable);
        self
    }

    /// The key itself.
    #[must_use]
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.key = KeySource::Value(key.into());
        self
    }

    /// How a request shows its key.
    #[must_use]
    pub fn auth(mut self, auth: Auth) -> Self {
        self.auth = auth;
        self
    }

    /// A header that every request carries.
    #[must_use]
    pub fn header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.headers.push((name.into(), value.into()));
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

    /// Sends a parameter under another name, which may be a path (`settings.seed`).
    #[must_use]
    pub fn rename(mut self, param: Param, to: impl Into<Cow<'static, str>>) -> Self {
        self.add_rule(Rule::Rename(param, to.into()));
        self
    }

    /// Keeps a parameter that is a number in a range. The last range counts.
    #[must_use]
    pub fn clamp(mut self, param: Param, min: f64, max: f64) -> Self {
        self.add_rule(Rule::Clamp(param, min, max));
        self
    }

    /// Sends a parameter with the warning that the provider ignores it.
    #[must_use]
    pub fn ignored(mut self, param: Param) -> Self {
        self.add_rule(Rule::Ignored(param));
        self
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

    /// Sends only the parameters that have one of these names in the body, and those that have a rule. The name of an object
    /// (`reasoning`) stands for all of its fields.
    #[must_use]
    pub fn allow(mut self, names: &'static [&'static str]) -> Self {
        self.allow = Some(names.iter().copied().map(Cow::Borrowed).collect());
        self
    }

    /// Changes how the protocol is bent.
    #[must_use]
    pub fn quirks(mut self, change: impl FnOnce(&mut Quirks)) -> Self {
        change(&mut self.quirks);
        self
    }

    /// Adds what is special about some models. The first rule that matches a model counts.
    #[must_use]
    pub fn model(mut self, rule: ModelRule) -> Self {
        self.models.push(rule);
        self
    }

    /// Says that no embeddings are served.
    #[must_use]
    pub fn without_embeddings(mut self) -> Self {
        self.serves.embeddings = false;
        self
    }

    /// Says that no list of models is served.
    #[must_use]
    pub fn without_model_list(mut self) -> Self {
        self.serves.models = false;
        self
    }

    /// Sends through this transport instead of the client's.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// The address, with `${VARIABLE}`s filled in from `environment`. The variable
    /// `AGENTLOOP_<NAME>_BASE_URL` replaces it as a whole.
    pub(crate) fn resolve_base_url(
        &self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Cow<'_, str>> {
        let mut replaced = String::with_capacity(self.name.len() + 19);
        replaced.push_str("AGENTLOOP_");
        let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        replaced.extend(self.name.chars().map(upper));
        replaced.push_str("_BASE_URL");
        let template =
            environment(&replaced).map_or_else(|| Cow::Borrowed(&*self.base_url), Cow::Owned);
        if let Cow::Borrowed(template) = template
            && !template.contains("${")
        {
            return Ok(Cow::Borrowed(template.trim_end_matches('/')));
        }
        let mut url = String::with_capacity(template.len());
        let mut rest = &*template;
        while let Some(at) = rest.find("${") {
            let Some(end) = rest[at..].find('}') else {
                break;
            };
            let variable = &rest[at + 2..at + end];
            let value =
                environment(variable).filter(|value| !value.is_empty()).ok_or_else(|| {
                    Error::new(ErrorKind::Config, "its address is not known")
                        .with_provider(self.name.as_ref())
                        .with_hint(format!("set {variable}, which {} names", self.base_url))
                })?;
            url.push_str(&rest[..at]);
            url.push_str(&value);
            rest = &rest[at + end + 1..];
        }
        url.push_str(rest);
        url.truncate(url.trim_end_matches('/').len());
        Ok(Cow::Owned(url))
    }

    /// What is known of a model: by the row's own rules, and where they say nothing, by the catalog.
    pub(crate) fn model_traits(&self, model: &str) -> model::ModelTraits {
        let mut traits = self.ruled_traits(model);
        traits.complete(&self.catalog.hints(&self.name, model));
        traits
    }

    /// Whether `model` takes back thinking that `maker` signed, another model of the provider.
    pub(crate) fn takes_signatures(&self, model: &str, maker: &str) -> bool {
        let free = |model| self.ruled_traits(model).signatures == Signatures::OfProvider;
        model::is_same(model, maker) || (free(model) && free(maker))
    }

    /// Returns what is known of a model by the provider's own rules, or by those of the families that its protocol serves.
    pub(crate) fn ruled_traits(&self, model: &str) -> model::ModelTraits {
        model::traits_of(&self.models, families::of(self.protocol), model)
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name)
            .field("base_url", &mask::url(&self.base_url))
            .field("protocol", &self.protocol)
            .field("auth", &self.auth)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
