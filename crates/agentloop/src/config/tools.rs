//! The settings of tools: MCP servers, programs, and groups of tools.
//!
//! The library starts none of them by itself; the command does.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::parameters::read_parameters;
use crate::error::{Error, ErrorKind, Result};
use crate::secret::{Secret, mask};
use crate::timeouts;
use crate::words::split_words;

/// The longest name of a server, so that there is room for the names of its tools.
const MAX_SERVER_NAME: usize = 32;

/// The longest name of a tool that every provider accepts.
const MAX_TOOL_NAME: usize = 64;

/// The tools that a configuration describes: `[mcp.NAME]`, `[tools.NAME]`, `[groups.NAME]`, `default_tools`, `allow` and
/// `[fetch_page]`.
///
/// ```
/// let config = agentloop::Config::parse(r#"
///     default_tools = ["reading"]
///     allow = ["time", "github:get_*"]           # these run without approval
///
///     [mcp.github]
///     command = ["npx", "-y", "@modelcontextprotocol/server-github"]
///     env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }
///     tools = ["get_*", "list_*"]
///
///     [tools.weather]
///     command = ["weather", "--city={city}"]
///     description = "Returns the weather in a city"
///     parameters = { city = "string" }
///
///     [groups.reading]
///     tools = ["read_file", "github:get_*", "weather"]
/// "#)?;
/// assert_eq!(config.tools.programs["weather"].command, ["weather", "--city={city}"]);
/// assert_eq!(config.tools.groups["reading"].len(), 3);
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolsConfig {
    /// The MCP servers, by name.
    pub servers: BTreeMap<String, McpConfig>,
    /// The programs that are tools, by name.
    pub programs: BTreeMap<String, ProgramConfig>,
    /// The names and patterns of the tools of each group.
    pub groups: BTreeMap<String, Vec<String>>,
    /// The tools of a call that chooses none.
    pub default_tools: Vec<String>,
    /// The names and patterns of the tools that run without approval.
    pub allow: Vec<String>,
    /// Whether the tool `fetch_page` may connect to private addresses.
    pub fetch_private: bool,
}

/// An MCP server of a configuration: a program, or a URL.
///
/// ```
/// let config = agentloop::Config::parse("[mcp.files]\ncommand = 'npx -y server-files'\nargs = ['.']\n")?;
/// assert_eq!(config.tools.servers["files"].command, ["npx", "-y", "server-files", "."]);
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct McpConfig {
    /// The program and its arguments. Empty if the server has a URL.
    pub command: Vec<String>,
    /// Environment variables of the program. A value may contain `${VARIABLE}`.
    pub env: BTreeMap<String, Secret>,
    /// The working directory of the program.
    pub folder: Option<PathBuf>,
    /// The URL. It may contain `${VARIABLE}`.
    pub url: Option<String>,
    /// Headers of each request. A value may contain `${VARIABLE}`.
    pub headers: BTreeMap<String, Secret>,
    /// Patterns of its tools that run without approval.
    pub allow: Vec<String>,
    /// Patterns of its tools that are used; `None` for all.
    pub tools: Option<Vec<String>>,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// Whether the server can be used.
    pub enabled: bool,
}

shown! {
    McpConfig: self {
        command: self.command,
        env: self.env,
        url: self.url.as_deref().map(mask::url),
        headers: self.headers,
    }
}

/// A program of a configuration that is a tool.
///
/// ```
/// let config = agentloop::Config::parse(r#"
///     [tools.weather]
///     command = "weather --days={days}"
///     description = "Returns the weather"
///     parameters = { days = "integer?" }
/// "#)?;
/// assert_eq!(config.tools.programs["weather"].parameters["properties"]["days"]["type"], "integer");
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ProgramConfig {
    /// The program and its arguments. `{name}` is replaced by an argument of the call.
    pub command: Vec<String>,
    /// What the model reads about the tool.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// Environment variables of the program. A value may contain `${VARIABLE}`.
    pub env: BTreeMap<String, Secret>,
    /// The working directory of the program.
    pub folder: Option<PathBuf>,
    /// How long a call may take.
    pub timeout: Option<Duration>,
}

/// The tables of tools as they are written.
#[derive(Debug, Default)]
pub(super) struct ToolTables {
    pub(super) mcp: BTreeMap<String, McpTable>,
    pub(super) tools: BTreeMap<String, ProgramTable>,
    pub(super) groups: BTreeMap<String, GroupTable>,
    pub(super) default_tools: Vec<String>,
    pub(super) allow: Vec<String>,
    pub(super) fetch_page: Option<FetchPageTable>,
}

/// The table `[mcp.NAME]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct McpTable {
    /// The program and its arguments: a list, or one text that is split as shells do. Default: none.
    command: Option<CommandLine>,
    /// More arguments. Default: none.
    args: Vec<String>,
    /// Environment variables of the program. A value may contain `${VARIABLE}`. Default: none; it always sees `PATH`, `HOME`,
    /// the language and the proxies.
    env: BTreeMap<String, Secret>,
    /// The working directory of the program. Default: that of the command.
    folder: Option<PathBuf>,
    /// The URL of the server, instead of `command`. It may contain `${VARIABLE}`. Default: none.
    url: Option<String>,
    /// Headers of each request to `url`. A value may contain `${VARIABLE}`. Default: none.
    headers: BTreeMap<String, Secret>,
    /// Patterns of its tools that run without approval. Default: none.
    allow: Vec<String>,
    /// Patterns of its tools that are used. Default: all.
    tools: Option<Vec<String>>,
    /// How long a call may take, in seconds. Default: 300.
    timeout: Option<f64>,
    /// Whether the server can be used. Default: true.
    enabled: Option<bool>,
}

/// The table `[tools.NAME]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProgramTable {
    /// The program and its arguments: a list, or one text that is split as shells do. `{name}` is replaced by an argument of
    /// the call. Required.
    command: Option<CommandLine>,
    /// More arguments. Default: none.
    args: Vec<String>,
    /// What the model reads about the tool. Required.
    description: String,
    /// The parameters: a type each (`"string"`, `"integer?"` if it may be left out), a schema each, or one JSON Schema.
    /// Default: none.
    parameters: Map<String, Value>,
    /// Environment variables of the program. A value may contain `${VARIABLE}`. Default: none.
    env: BTreeMap<String, Secret>,
    /// The working directory of the program. Default: that of the command.
    folder: Option<PathBuf>,
    /// How long a call may take, in seconds. Default: 120.
    timeout: Option<f64>,
}

/// The table `[groups.NAME]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct GroupTable {
    /// The tools of the group: names and patterns. Required.
    tools: Vec<String>,
}

/// The table `[fetch_page]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FetchPageTable {
    /// Whether the tool may read pages of this machine and its network. Default: false.
    allow_private: bool,
}

/// A program with its arguments: a list, or a text that is split into words as shells do.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum CommandLine {
    Text(String),
    Words(Vec<String>),
}

impl CommandLine {
    fn into_words(self) -> Result<Vec<String>> {
        match self {
            Self::Text(text) => split_words(&text),
            Self::Words(words) => Ok(words),
        }
    }
}

/// Returns an error about a setting. A name that is not valid is escaped.
pub(super) fn wrong(table: &str, name: &str, what: impl fmt::Display) -> Error {
    let name = name.escape_debug();
    Error::new(ErrorKind::Config, format!("{table}.{name}: {what}"))
}

impl ToolTables {
    pub(super) fn config(self) -> Result<ToolsConfig> {
        let mut config = ToolsConfig {
            default_tools: self.default_tools,
            allow: self.allow,
            fetch_private: self.fetch_page.is_some_and(|table| table.allow_private),
            ..ToolsConfig::default()
        };
        for (name, table) in self.mcp {
            check_name("mcp", &name, MAX_SERVER_NAME)?;
            let server = table.server(&name)?;
            config.servers.insert(name, server);
        }
        for (name, table) in self.tools {
            check_name("tools", &name, MAX_TOOL_NAME)?;
            let program = table.program(&name)?;
            config.programs.insert(name, program);
        }
        for (name, table) in self.groups {
            check_name("groups", &name, MAX_TOOL_NAME)?;
            if config.programs.contains_key(&name) {
                return Err(wrong("groups", &name, "a tool has the same name"));
            }
            config.groups.insert(name, table.tools);
        }
        Ok(config)
    }
}

/// Checks a name: the names of tools are made of it, so it consists of characters that every provider accepts. Two underscores
/// separate a server from its tool.
fn check_name(table: &str, name: &str, most: usize) -> Result<()> {
    let is_valid = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && !name.contains("__")
        && !name.ends_with('_')
        && name.len() <= most;
    if is_valid {
        return Ok(());
    }
    let shown: String = name.chars().take(most).collect();
    Err(wrong(table, &shown, "this name cannot be used").with_hint(format!(
        "use at most {most} letters, digits, - and single _; the first is a letter"
    )))
}

/// Reads the command and its arguments.
fn read_command(
    table: &str,
    name: &str,
    command: Option<CommandLine>,
    args: Vec<String>,
) -> Result<Vec<String>> {
    let Some(command) = command else { return Ok(Vec::new()) };
    let fail = |what: &str| wrong(table, name, format!("command: {what}"));
    let mut words = command.into_words().map_err(|error| fail(error.message()))?;
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(fail("it is empty"));
    }
    words.extend(args);
    if words.iter().any(|word| word.contains('\0')) {
        Err(fail("it contains a NUL character"))
    } else {
        Ok(words)
    }
}

fn read_timeout(table: &str, name: &str, seconds: Option<f64>) -> Result<Option<Duration>> {
    let Some(seconds) = seconds else { return Ok(None) };
    let timeout = match timeouts::seconds(seconds) {
        Ok(Duration::ZERO) => Err("it must be more than 0 seconds".to_owned()),
        timeout => timeout,
    };
    timeout.map(Some).map_err(|error| wrong(table, name, format!("timeout: {error}")))
}

impl McpTable {
    fn server(self, name: &str) -> Result<McpConfig> {
        let fail = |what: &str| wrong("mcp", name, what);
        let enabled = self.enabled.unwrap_or(true);
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => return Err(fail("`command` and `url` exclude each other")),
            (None, None) if enabled => {
                return Err(fail("`command` or `url` is missing").with_hint(
                    "a server is a program, command = [\"npx\", \"-y\", \"…\"], or a URL, url = \"https://…\"",
                ));
            }
            (None, Some(url)) if !(url.starts_with("https://") || url.starts_with("http://")) => {
                return Err(fail("`url` does not start with https:// or http://"));
            }
            (None, _) if !self.args.is_empty() || !self.env.is_empty() || self.folder.is_some() => {
                return Err(fail("`args`, `env` and `folder` need `command`"));
            }
            (Some(_), _) if !self.headers.is_empty() => {
                return Err(fail("`headers` needs `url`"));
            }
            _ => {}
        }
        Ok(McpConfig {
            command: read_command("mcp", name, self.command, self.args)?,
            env: self.env,
            folder: self.folder,
            url: self.url,
            headers: self.headers,
            allow: self.allow,
            tools: self.tools,
            timeout: read_timeout("mcp", name, self.timeout)?,
            enabled,
        })
    }
}

impl ProgramTable {
    fn program(self, name: &str) -> Result<ProgramConfig> {
        let command = read_command("tools", name, self.command, self.args)?;
        if command.is_empty() {
            return Err(wrong("tools", name, "`command` is missing").with_hint(
                "the tool is a program: command = [\"program\", \"--option={argument}\"]",
            ));
        }
        if self.description.trim().is_empty() {
            return Err(wrong("tools", name, "`description` is missing")
                .with_hint("the model decides by the description whether it calls the tool"));
        }
        Ok(ProgramConfig {
            command,
            description: self.description,
            parameters: read_parameters(name, self.parameters)?,
            env: self.env,
            folder: self.folder,
            timeout: read_timeout("tools", name, self.timeout)?,
        })
    }
}

/// The tables whose entries a later file replaces as a whole: a server is not made of the settings of two files.
const UNITS: [&str; 3] = ["mcp", "tools", "groups"];

/// Removes the entries that a later file replaces.
pub(super) fn remove_replaced(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for unit in UNITS {
        if let (Some(Value::Object(base)), Some(Value::Object(over))) =
            (base.get_mut(unit), over.get(unit))
        {
            base.retain(|name, _| !over.contains_key(name));
        }
    }
}

/// Makes the folders and programs of a file's tools absolute: relative ones are in the folder of the file.
pub(super) fn resolve_paths(table: &mut Map<String, Value>, folder: &Path) {
    for unit in ["mcp", "tools"] {
        let Some(Value::Object(entries)) = table.get_mut(unit) else { continue };
        for entry in entries.iter_mut().filter_map(|(_, entry)| entry.as_object_mut()) {
            if let Some(Value::String(path)) = entry.get_mut("folder") {
                *path = resolve(path, folder);
            }
            match entry.get_mut("command") {
                Some(Value::Array(words)) => {
                    if let Some(Value::String(program)) = words.first_mut() {
                        *program = resolve_program(program, folder);
                    }
                }
                Some(command @ Value::String(_)) => {
                    // A mistake of the text is reported when the settings are read.
                    let words = command.as_str().and_then(|text| split_words(text).ok());
                    if let Some((program, rest)) =
                        words.as_deref().and_then(|words| words.split_first())
                    {
                        let words = std::iter::once(resolve_program(program, folder))
                            .chain(rest.iter().cloned());
                        *command = Value::Array(words.map(Value::String).collect());
                    }
                }
                _ => {}
            }
        }
    }
}

/// Resolves a program that is named by a path. One that is named by a single word is searched on the `PATH`.
fn resolve_program(program: &str, folder: &Path) -> String {
    if Path::new(program).components().count() > 1 || program.starts_with('.') {
        resolve(program, folder)
    } else {
        program.to_owned()
    }
}

fn resolve(path: &str, folder: &Path) -> String {
    let joined = folder.join(super::expand_home(PathBuf::from(path)));
    std::path::absolute(&joined).unwrap_or(joined).to_string_lossy().into_owned()
}
