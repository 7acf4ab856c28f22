//! Tools that the provider runs itself, in one form for every provider.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::read::nullable;

/// A tool that the provider runs itself.
///
/// Every provider gets it in its own form. An option that a provider does not have is left out with a warning. The
/// whole tool is left out with a warning if the provider does not have it, which is an error with
/// [`strict`](crate::ChatRequest::strict).
///
/// ```
/// use agentloop::{ChatRequest, ToolDefinition, WebSearchTool};
///
/// let search = WebSearchTool::default().allowed_domains(["rust-lang.org"]).max_uses(3);
/// let request = ChatRequest::new("anthropic/claude-sonnet-5").user("What is new?").tool(search.into());
/// assert_eq!(
///     serde_json::to_value(&request.tools[0])?,
///     serde_json::json!({"type": "web_search", "max_uses": 3, "allowed_domains": ["rust-lang.org"]})
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerTool {
    /// Searches the web.
    WebSearch(WebSearchTool),
    /// Reads pages whose URLs are in the conversation.
    WebFetch(WebFetchTool),
    /// Runs code that the model writes.
    CodeExecution(CodeExecutionTool),
    /// Searches files that were uploaded to the provider.
    FileSearch(FileSearchTool),
}

impl ServerTool {
    /// Returns the `type` of the tool in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::WebSearch(_) => "web_search",
            Self::WebFetch(_) => "web_fetch",
            Self::CodeExecution(_) => "code_execution",
            Self::FileSearch(_) => "file_search",
        }
    }

    /// Returns whether a `type` in JSON is one of these tools.
    pub(super) fn is_kind(kind: &str) -> bool {
        matches!(kind, "web_search" | "web_fetch" | "code_execution" | "file_search")
    }

    /// Reads a tool from its fields in JSON.
    pub(crate) fn read(mut fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        fields.retain(|_, value| !value.is_null());
        // OpenAI's form of the domains, and the names that others have for them.
        if fields.get("type").is_some_and(|kind| kind == "web_search") {
            if let Some(Value::Object(mut filters)) = fields.remove("filters") {
                for (from, to) in [
                    ("allowed_domains", "allowed_domains"),
                    ("blocked_domains", "blocked_domains"),
                    ("excluded_domains", "blocked_domains"),
                ] {
                    if let Some(domains) = filters.remove(from).filter(|list| !list.is_null()) {
                        fields.entry(to).or_insert(domains);
                    }
                }
                if !filters.is_empty() {
                    fields.insert("filters".to_owned(), Value::Object(filters));
                }
            }
            if let Some(domains) = fields.remove("excluded_domains") {
                fields.entry("blocked_domains").or_insert(domains);
            }
        }
        serde_json::from_value(Value::Object(fields))
    }

    /// Returns the options that can be any JSON.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        let container = match self {
            Self::CodeExecution(tool) => tool.container.as_ref(),
            _ => None,
        };
        self.extra().values().chain(container)
    }

    /// Returns the options that can be any JSON, for changes.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let (extra, container) = match self {
            Self::WebSearch(tool) => (&mut tool.extra, None),
            Self::WebFetch(tool) => (&mut tool.extra, None),
            Self::CodeExecution(tool) => (&mut tool.extra, tool.container.as_mut()),
            Self::FileSearch(tool) => (&mut tool.extra, None),
        };
        extra.values_mut().chain(container)
    }

    /// Returns the options that only some providers have.
    pub(crate) fn extra(&self) -> &Map<String, Value> {
        match self {
            Self::WebSearch(tool) => &tool.extra,
            Self::WebFetch(tool) => &tool.extra,
            Self::CodeExecution(tool) => &tool.extra,
            Self::FileSearch(tool) => &tool.extra,
        }
    }

    pub(crate) fn extra_mut(&mut self) -> &mut Map<String, Value> {
        match self {
            Self::WebSearch(tool) => &mut tool.extra,
            Self::WebFetch(tool) => &mut tool.extra,
            Self::CodeExecution(tool) => &mut tool.extra,
            Self::FileSearch(tool) => &mut tool.extra,
        }
    }
}

/// Searches the web.
///
/// ```
/// use agentloop::{ToolDefinition, UserLocation, WebSearchTool};
///
/// let search = WebSearchTool::default().max_uses(2).user_location(UserLocation::country("NO").with_city("Oslo"));
/// let tool: ToolDefinition = search.into();
/// assert_eq!(serde_json::to_value(&tool)?["type"], "web_search");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebSearchTool {
    /// The most searches in one response.
    pub max_uses: Option<u32>,
    /// The only domains that results may come from.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Domains that no result may come from.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
    /// The location of the user, for results that depend on it.
    pub user_location: Option<UserLocation>,
    /// How much of the results the model reads: `low`, `medium`, `high`.
    pub search_context_size: Option<String>,
    /// More options, under OpenAI's names. Only providers that take the tool in OpenAI's form get them.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl WebSearchTool {
    setters! {
        /// Sets the most searches in one response.
        max_uses(self, uses: u32) => self.max_uses = Some(uses);
    }

    /// Sets the only domains that results may come from.
    #[must_use]
    pub fn allowed_domains<T: Into<String>>(
        mut self,
        domains: impl IntoIterator<Item = T>,
    ) -> Self {
        self.allowed_domains = domains.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the domains that no result may come from.
    #[must_use]
    pub fn blocked_domains<T: Into<String>>(
        mut self,
        domains: impl IntoIterator<Item = T>,
    ) -> Self {
        self.blocked_domains = domains.into_iter().map(Into::into).collect();
        self
    }

    setters! {
        /// Sets the location of the user.
        user_location(self, location: UserLocation) => self.user_location = Some(location);
    }
}

/// The location of a user, as exactly as it is known.
///
/// ```
/// use agentloop::UserLocation;
///
/// let place = UserLocation::country("NO").with_city("Oslo");
/// assert_eq!(place.city.as_deref(), Some("Oslo"));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "LocationForm")]
#[non_exhaustive]
pub struct UserLocation {
    /// The city.
    pub city: Option<String>,
    /// The region or state.
    pub region: Option<String>,
    /// The country, as two letters (ISO 3166).
    pub country: Option<String>,
    /// The time zone, as the IANA names it.
    pub timezone: Option<String>,
}

impl UserLocation {
    /// Creates a location in this country (two letters).
    pub fn country(country: impl Into<String>) -> Self {
        Self { country: Some(country.into()), ..Self::default() }
    }

    setters! {
        /// Sets the city.
        with_city(city: impl Into<String>);
    }
}

/// The forms that providers use: the fields beside `type`, or in an object of that name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LocationForm {
    #[serde(default, rename = "type")]
    _type: Option<String>,
    #[serde(default)]
    approximate: Option<Box<LocationForm>>,
    #[serde(default)]
    city: Option<String>,
    #[serde(default)]
    region: Option<String>,
    #[serde(default)]
    country: Option<String>,
    #[serde(default)]
    timezone: Option<String>,
}

impl From<LocationForm> for UserLocation {
    fn from(form: LocationForm) -> Self {
        let LocationForm { approximate, city, region, country, timezone, .. } = form;
        match approximate {
            Some(inner) => (*inner).into(),
            None => Self { city, region, country, timezone },
        }
    }
}

/// Reads pages whose URLs are in the conversation.
///
/// ```
/// use agentloop::WebFetchTool;
///
/// let value: WebFetchTool = serde_json::from_str(r#"{"max_uses":1,"allowed_domains":["example.com"]}"#)?;
/// assert_eq!(value.max_uses, Some(1));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebFetchTool {
    /// The most pages in one response.
    pub max_uses: Option<u32>,
    /// The only domains that may be read.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Domains that may not be read.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub blocked_domains: Vec<String>,
    /// The most tokens of one page.
    pub max_content_tokens: Option<u32>,
    /// More options, under the provider's own names.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Runs code that the model writes.
///
/// ```
/// use agentloop::CodeExecutionTool;
///
/// let value: CodeExecutionTool = serde_json::from_str(r#"{"file_ids":["file_1"]}"#)?;
/// assert_eq!(value.file_ids, ["file_1"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CodeExecutionTool {
    /// The provider's id of a container to run in. `None` creates a new one.
    pub container: Option<Value>,
    /// Files for the container, by the provider's ids.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub file_ids: Vec<String>,
    /// More options, under the provider's own names.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Searches files that were uploaded to the provider.
///
/// ```
/// use agentloop::FileSearchTool;
///
/// let search = FileSearchTool::of(["vs_1"]);
/// assert_eq!(search.vector_store_ids, ["vs_1"]);
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileSearchTool {
    /// The stores to search, by the provider's ids or names.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub vector_store_ids: Vec<String>,
    /// The most results of one search.
    pub max_num_results: Option<u32>,
    /// More options, under OpenAI's names. Only providers that take the tool in OpenAI's form get them.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl FileSearchTool {
    /// Searches these stores.
    pub fn of<T: Into<String>>(stores: impl IntoIterator<Item = T>) -> Self {
        Self { vector_store_ids: stores.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}
