//! `agentloop.toml`: providers, keys, default model, aliases, middleware.

mod find;
mod gateway;
mod layers;
mod local;
mod parameters;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;
mod tools;
mod trust;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

pub use find::{ConfigFile, ConfigOrigin};
pub use gateway::{
    GatewayBudget, GatewayCache, GatewayCacheScope, GatewayConfig, GatewayKey, GatewayLedger,
    GatewayLog, GatewayMember, GatewayPeriod, GatewayPool, GatewayRedis, GatewayRoute,
    GatewayStore, GatewayStrategy, GatewayTeam, GatewayTls, GatewayWithoutRedis,
};
pub use layers::ConfigReader;
pub use local::LocalConfig;
pub use tools::{McpConfig, ProgramConfig, ToolsConfig};
pub use trust::RestrictedSetting;

use self::tools::{FetchPageTable, GroupTable, McpTable, ProgramTable, ToolTables};
use crate::chat::{Modality, Protocol};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CONFIG_FILE_BYTES;
use crate::media::{Download, MediaOptions};
use crate::middleware::tables::{
    CacheTable, CostTable, FallbackTable, LimitsTable, LogTable, RetryTable,
};
use crate::middleware::{Cache, Costs, Fallback, Limits, Logger, Retry};
use crate::models::{self, ModelCatalog, ModelData};
use crate::provider::credential::WrittenSource;
use crate::provider::{Auth, KeySource, ModelRule, Param, Provider, Quirks, restrict};
use crate::regular_file::read_regular_text;
use crate::settings::Document;
use crate::timeouts::{self, Timeouts};

/// The settings of a configuration file.
///
/// ```
/// let config = agentloop::Config::parse(r#"
///     default_model = "fast"
///
///     [aliases]
///     fast = "groq/openai/gpt-oss-20b"
///
///     [providers.groq]                      # a built-in provider, with another key
///     key_env = "MY_GROQ_KEY"
///
///     [providers.lab]                       # any compatible endpoint
///     base_url = "http://localhost:8000/v1"
///     strip = ["logit_bias"]
///     rename = { seed = "random_seed" }
///     clamp = { temperature = [0, 1] }
///     defaults = { max_tokens = 1000 }
///     quirks = { token_cap = "max_completion_tokens" }
///
///     [models."lab/big-one"]                # adds to or replaces the built-in model data
///     context_window = 32768
///     prices = [{ per_million = { input = "0.10", output = "0.40" } }]
///     [retry]                               # an empty table has the default settings
///     max_retries = 3
///
///     [fallback]
///     models = ["anthropic/claude-sonnet-4-6"]
/// "#)?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The providers, new ones and changed built-in ones.
    pub providers: Vec<Provider>,
    /// Other names for models.
    pub aliases: BTreeMap<String, String>,
    /// The provider of models whose name does not begin with a provider.
    pub default_provider: Option<String>,
    /// The model of requests that do not name one.
    pub default_model: Option<String>,
    /// The timeouts of a call.
    pub timeouts: Option<Timeouts>,
    /// The data of models, in place of the built-in data.
    pub model_data: Option<ModelCatalog>,
    /// Data that is added to the data of models, by `provider/model` in lowercase.
    pub models: BTreeMap<String, ModelData>,
    /// Whether and how remote media are fetched.
    pub media: Option<MediaOptions>,
    /// Whether a record of each call is written.
    pub log: Option<Logger>,
    /// Whether the cost of calls is counted and limited.
    pub cost: Option<Costs>,
    /// Whether failed calls are retried.
    pub retry: Option<Retry>,
    /// Whether other models are called when a call fails.
    pub fallback: Option<Fallback>,
    /// The cache. All clients of this configuration share it.
    pub cache: Option<Cache>,
    /// The limits on what is sent to each provider.
    pub limits: Option<Limits>,
    /// Whether conversations are stored: `[history] enabled`. The library stores nothing by itself; the command does.
    pub history: Option<bool>,
    /// The tools that the command offers to models. The library starts none of them by itself.
    pub tools: ToolsConfig,
    /// The settings of models that `llama-server` runs on this machine. The library starts none by itself; the command does.
    pub local: Option<LocalConfig>,
    /// The settings of the gateway, which the command `agentloop serve` starts.
    pub gateway: Option<GatewayConfig>,
}

/// A configuration file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    /// The provider of models whose name does not begin with a provider. Default: none.
    default_provider: Option<String>,
    /// The model of calls that do not name one. `agentloop use MODEL` sets it. Default: none.
    default_model: Option<String>,
    /// Other names for models, each with the name of a model or of another alias. Default: none.
    aliases: BTreeMap<String, String>,
    /// The providers, by name: new ones, and changes to built-in ones.
    providers: BTreeMap<String, Row>,
    /// How long a call may take.
    timeouts: Option<TimeoutsTable>,
    /// A file with the data of models, in place of the built-in data. Default: none.
    model_data: Option<PathBuf>,
    /// The data of models, by `provider/model`. It is merged into the built-in data, field by field.
    models: BTreeMap<String, ModelData>,
    /// Whether and how remote media are downloaded.
    media: Option<MediaTable>,
    /// Writes a record of each call to standard error, as one line of JSON. The table can be empty.
    log: Option<LogTable>,
    /// Counts the cost of calls, and limits it. The table can be empty.
    cost: Option<CostTable>,
    /// Retries calls that fail. The table can be empty.
    retry: Option<RetryTable>,
    /// Calls other models when a call fails.
    fallback: Option<FallbackTable>,
    /// Keeps responses, and returns them for equal requests. The table can be empty.
    cache: Option<CacheTable>,
    /// Limits what is sent to each provider, by the name of the provider, of one of its models, or of an account.
    limits: Option<LimitsTable>,
    /// Whether the command stores conversations.
    history: Option<HistoryTable>,
    /// MCP servers, by name.
    mcp: BTreeMap<String, McpTable>,
    /// Programs that are tools, by name.
    tools: BTreeMap<String, ProgramTable>,
    /// Groups of tools, by name.
    groups: BTreeMap<String, GroupTable>,
    /// The tools of calls that choose none: names, patterns and groups. Default: none.
    default_tools: Vec<String>,
    /// The tools that run without approval: names and patterns. Default: none.
    allow: Vec<String>,
    /// The settings of the tool `fetch_page`.
    fetch_page: Option<FetchPageTable>,
    /// Models that `llama-server` runs on this machine.
    local: Option<LocalConfig>,
    /// The gateway, which `agentloop serve` starts.
    gateway: Option<GatewayConfig>,
}

/// The table `[history]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct HistoryTable {
    /// Whether the command stores conversations. Default: true.
    enabled: Option<bool>,
}

/// The table of a provider.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Row {
    /// The URL, without the path of an operation. `${VARIABLE}` is replaced from the environment. Default: the one of the
    /// built-in provider.
    base_url: Option<String>,
    /// `openai_chat`, `openai_responses`, `anthropic`, `gemini`, `ollama`, `cohere`, `bedrock` or `gemini_interactions`. Default: `openai_chat`, or the one of the built-in provider.
    protocol: Option<Protocol>,
    /// The header of the key: `bearer`, `x-api-key`, `x-goog-api-key`, `api-key`, `none`, or `{ header = "NAME" }` for any other.
    /// Default: the one of the protocol.
    auth: Option<Auth>,
    /// The environment variable with the key, or a list of variables of which the first that is set counts. Default: that of
    /// the built-in provider.
    key_env: Option<OneOrMany>,
    /// The file with the key, instead of `key_env`. Default: none.
    key_file: Option<PathBuf>,
    /// What authorizes calls that have no key: `"aws"`, `"google"` or `"entra"`, or with settings, for example
    /// `{ aws = { profile = "NAME", region = "NAME" } }`. Default: that of the built-in provider.
    credential: Option<WrittenSource>,
    /// Headers of every request. A value may contain `${VARIABLE}`. Default: none.
    headers: BTreeMap<String, String>,
    /// Parameters that are left out, with a warning. Default: none.
    strip: Vec<Param>,
    /// Parameters that are sent under another name. A name with dots is a path. Default: none.
    rename: BTreeMap<String, String>,
    /// The range of parameters: the least and the greatest value, or the only one. Default: none.
    clamp: BTreeMap<String, Range>,
    /// Parameters that are sent, with the warning that the provider ignores them. Default: none.
    ignored: Vec<Param>,
    /// Parameters, or fields of the body, that are set if the request does not set them. Default: none.
    defaults: BTreeMap<String, Value>,
    /// The only parameters that the provider accepts, by the names under which they are sent. Default: all.
    allow: Option<Vec<String>>,
    /// How the provider differs from its protocol; the module `provider::quirks` of the API documentation lists them. Default:
    /// nothing.
    quirks: Option<QuirkChanges>,
    /// What is special about some of its models; see `provider::ModelRule` in the API documentation. Default: nothing.
    models: Vec<ModelRule>,
    /// Whether it serves embeddings. Default: true, or that of the built-in provider.
    embeddings: Option<bool>,
    /// The other modalities that it serves: `image`, `speech`, `transcription`, `rerank`, `moderation`. Default: all, or those of
    /// the built-in provider.
    modalities: Option<Vec<Modality>>,
}

/// The quirks that a file sets; the others stay as they are.
#[derive(Debug)]
struct QuirkChanges(Map<String, Value>);

impl<'de> Deserialize<'de> for QuirkChanges {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let fields = Map::deserialize(from)?;
        // Mistakes are found here, where the line is known.
        match Quirks::deserialize(Value::Object(fields.clone())) {
            Ok(_) => Ok(Self(fields)),
            Err(error) => Err(serde::de::Error::custom(error)),
        }
    }
}

impl QuirkChanges {
    fn apply(&self, quirks: &mut Quirks) -> serde_json::Result<()> {
        let mut fields = serde_json::to_value(&*quirks)?;
        merge(&mut fields, &self.0);
        *quirks = serde_json::from_value(fields)?;
        Ok(())
    }
}

/// Replaces fields, those of nested objects one by one.
fn merge(value: &mut Value, changes: &Map<String, Value>) {
    for (name, change) in changes {
        match change {
            Value::Object(inner) if value[name].is_object() => merge(&mut value[name], inner),
            _ => value[name] = change.clone(),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// The only value, or the least and the greatest value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Range {
    Fixed(f64),
    Between([f64; 2]),
}

/// Timeouts in seconds; 0 means no timeout.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TimeoutsTable {
    /// The time to connect, with TLS and proxy. Default: 10.
    connect: Option<f64>,
    /// The time from sending the request to the first content of the response. Default: 600.
    first_content: Option<f64>,
    /// The time between two pieces of a stream. Default: 120.
    idle: Option<f64>,
    /// The time of the whole call. Default: 0, no limit.
    total: Option<f64>,
}

/// The table `[media]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MediaTable {
    /// When media that a request names by URL are downloaded: `when_needed` by the provider, `always` or `never`. Default:
    /// `never`.
    download: Option<Download>,
    /// The largest medium, in bytes. Default: 20971520 (20 MiB).
    max_bytes: Option<usize>,
    /// Whether private and local addresses may be connected to. Default: false.
    allow_private: bool,
    /// How long a download may take, in seconds. Default: 30.
    timeout: Option<f64>,
}

impl Config {
    /// Reads the text of a configuration file that is trusted.
    ///
    /// # Errors
    ///
    /// When the text is not TOML, or a setting is not known or has an invalid value. The message names the line, or the setting.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text)?.config()
    }

    /// Reads a configuration file that is trusted. [`ConfigReader`] reads files that are not.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or [`parse`](Self::parse) fails; the error names the file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let named = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Config, format!("{}: {error}", path.display()))
        };
        let text = read_regular_text(path, MAX_CONFIG_FILE_BYTES).map_err(|error| named(&error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let read = ConfigReader::new().trusted(&text, folder).and_then(ConfigReader::finish);
        read.map(|(config, _)| config)
            .map_err(|error| named(&error.message()).with_hint(error.hint().unwrap_or_default()))
    }
}

/// Reads the text of a file. Nothing that it names is opened yet.
fn parse(text: &str) -> Result<File> {
    Document::parse(text)?.read()
}

/// Checks the records of models, and that the restrictions which they remove exist.
fn checked_models(models: BTreeMap<String, ModelData>) -> Result<BTreeMap<String, ModelData>> {
    let models = models::checked(models)?;
    if models.values().any(|model| model.restrictions.is_some()) {
        restrict::check_removed(models.values(), Provider::all().iter())?;
    }
    Ok(models)
}

impl File {
    fn config(self) -> Result<Config> {
        let file = self;
        let mut config = Config {
            aliases: file.aliases,
            default_provider: file.default_provider,
            default_model: file.default_model,
            timeouts: file.timeouts.map(|table| table.timeouts()).transpose()?,
            model_data: match file.model_data {
                Some(path) => Some(ModelCatalog::read(path)?),
                None => None,
            },
            models: checked_models(file.models).map_err(|error| {
                let hint = error.hint().unwrap_or_default();
                let message = format!("models: {}", error.message());
                Error::new(ErrorKind::Config, message).with_hint(hint)
            })?,
            media: file.media.map(|table| table.options()).transpose()?,
            log: file.log.map(|table| table.logger()),
            cost: file.cost.map(CostTable::costs).transpose()?,
            retry: file.retry.map(|table| table.retry()).transpose()?,
            fallback: file.fallback.map(FallbackTable::fallback).transpose()?,
            cache: file.cache.map(CacheTable::cache).transpose()?,
            limits: file.limits.map(LimitsTable::limits).transpose()?,
            history: file.history.and_then(|table| table.enabled),
            local: file.local,
            gateway: file.gateway,
            tools: ToolTables {
                mcp: file.mcp,
                tools: file.tools,
                groups: file.groups,
                default_tools: file.default_tools,
                allow: file.allow,
                fetch_page: file.fetch_page,
            }
            .config()?,
            ..Config::default()
        };
        for (name, row) in file.providers {
            config.providers.push(row.provider(&name)?);
        }
        Ok(config)
    }
}

impl TimeoutsTable {
    fn timeouts(&self) -> Result<Timeouts> {
        let usual = Timeouts::default();
        let read = |name: &str, seconds: Option<f64>, usual: Option<Duration>| match seconds {
            None => Ok(usual),
            Some(0.0) => Ok(None),
            Some(seconds) => timeouts::seconds(seconds).map(Some).map_err(|error| {
                Error::new(ErrorKind::Config, format!("timeouts.{name}: {error}"))
                    .with_hint("0 waits without a limit")
            }),
        };
        Ok(Timeouts {
            connect: read("connect", self.connect, usual.connect)?,
            first_content: read("first_content", self.first_content, usual.first_content)?,
            idle: read("idle", self.idle, usual.idle)?,
            total: read("total", self.total, usual.total)?,
        })
    }
}

impl MediaTable {
    fn options(&self) -> Result<MediaOptions> {
        let mut options = MediaOptions::default();
        options.download = self.download.unwrap_or(options.download);
        options.max_bytes = self.max_bytes.unwrap_or(options.max_bytes);
        options.allow_private = self.allow_private;
        if let Some(seconds) = self.timeout {
            let timeout = match timeouts::seconds(seconds) {
                Ok(Duration::ZERO) => Err("it must be more than 0 seconds".to_owned()),
                timeout => timeout,
            };
            options.timeout = timeout.map_err(|error| {
                Error::new(ErrorKind::Config, format!("media.timeout: {error}"))
            })?;
        }
        Ok(options)
    }
}

/// Returns the path of an API operation that a base URL ends with. Such a URL was copied from an example of a request.
fn find_operation(url: &str) -> Option<&'static str> {
    const OPERATIONS: [&str; 4] = ["/chat/completions", "/completions", "/responses", "/messages"];
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    OPERATIONS.into_iter().find(|operation| path.ends_with(operation))
}

/// Replaces `~` at the start of a path by the user's folder, as a shell does.
fn expand_home(path: PathBuf) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

impl Row {
    /// Returns the built-in provider of that name with these changes, or a new provider.
    fn provider(self, name: &str) -> Result<Provider> {
        let wrong =
            |what: String| Error::new(ErrorKind::Config, format!("providers.{name}: {what}"));
        let mut provider = match (Provider::builtin(name), &self.base_url) {
            (Some(builtin), _) => builtin,
            (None, Some(url)) => {
                let protocol = self.protocol.unwrap_or(Protocol::OpenAiChat);
                Provider::compatible(protocol, name.to_owned(), url.clone())
            }
            (None, None) => {
                return Err(wrong("`base_url` is missing".to_owned())
                    .with_hint("a provider that is not built in needs a URL"));
            }
        };
        if let Some(protocol) = self.protocol {
            provider.change_protocol(protocol);
        }
        if let Some(url) = self.base_url {
            if let Some(operation) = find_operation(&url) {
                return Err(wrong(format!("`base_url` ends with {operation}"))
                    .with_hint(format!("remove {operation}: it is added to the base URL")));
            }
            provider.set_base_url(url.into());
        }
        provider.auth = self.auth.unwrap_or(provider.auth);
        match (self.key_env, self.key_file) {
            (Some(_), Some(_)) => {
                return Err(wrong("`key_env` and `key_file` exclude each other".to_owned()));
            }
            (Some(OneOrMany::One(variable)), None) => provider.key = KeySource::env(variable),
            (Some(OneOrMany::Many(variables)), None) => {
                provider.key = KeySource::Env(variables.into_iter().map(Into::into).collect());
            }
            (None, Some(path)) => provider.key = KeySource::File(expand_home(path)),
            (None, None) => {}
        }
        if let Some(source) = self.credential {
            provider.credential = source.into();
        }
        let param = |word: &str| {
            Param::from_name(word).ok_or_else(|| {
                let known: Vec<&str> = Param::ALL.iter().map(|param| param.name()).collect();
                wrong(format!("`{word}` is not a parameter"))
                    .with_hint(format!("known names: {}", known.join(", ")))
            })
        };
        for (header, value) in self.headers {
            provider = if value.contains("${") {
                provider.env_header(header, value)
            } else {
                provider.header(header, value)
            };
        }
        if let Some(names) = self.allow {
            provider.set_allow(names.into_iter().map(Into::into).collect());
        }
        for (from, to) in self.rename {
            provider = provider.rename(param(&from)?, to);
        }
        for (word, range) in self.clamp {
            let (min, max) = match range {
                Range::Fixed(value) => (value, value),
                Range::Between([min, max]) => (min, max),
            };
            provider = provider.clamp(param(&word)?, min, max);
        }
        for param in self.ignored {
            provider = provider.ignored(param);
        }
        for (field, value) in self.defaults {
            provider = provider.default_field(field, value);
        }
        // The parameters that the file strips are removed last, whatever its other settings for them.
        provider = provider.strip(self.strip);
        if let Some(changes) = self.quirks {
            let mut all = provider.all_quirks();
            all.try_for_each(|quirks| changes.apply(quirks))
                .map_err(|error| wrong(format!("quirks: {error}")))?;
        }
        provider.check_rules().map_err(|error| {
            wrong(error.message().to_owned()).with_hint(error.hint().unwrap_or_default())
        })?;
        // The first rule that matches a model counts.
        provider.models.splice(0..0, self.models);
        provider.serves.embeddings = self.embeddings.unwrap_or(provider.serves.embeddings);
        if let Some(modalities) = self.modalities {
            provider = provider.modalities(modalities);
        }
        Ok(provider)
    }
}
