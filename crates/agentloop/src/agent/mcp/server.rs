//! The location and the settings of a server.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::super::approval::Policy;
use super::connection::McpConnection;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MCP_CONNECT_TIMEOUT;
use crate::secret::echo::Echo;
use crate::secret::{Secret, mask};
use crate::transport::Transport;
use crate::words::split_words;

/// An MCP server: its location, and the settings of its connection. [`connect`](Self::connect) opens the connection.
///
/// See the [module](super) for an example.
///
/// ```
/// use std::time::Duration;
///
/// use agentloop::agent::Policy;
/// use agentloop::agent::mcp::McpServer;
///
/// let files = McpServer::stdio("mcp-server-filesystem").arg("/srv/data").policy(Policy::Ask);
/// let search = McpServer::http("https://mcp.example.com").bearer("token").timeout(Duration::from_secs(20));
/// ```
#[must_use = "a server does nothing until it is connected"]
pub struct McpServer {
    pub(super) location: Location,
    pub(super) settings: Settings,
}

pub(super) enum Location {
    Program(Program),
    Http(HttpServer),
    Pipes(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

/// A program that uses its standard input and output for MCP.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, Secret)>,
    pub(super) whole_environment: bool,
    pub(super) folder: Option<PathBuf>,
}

/// A server that is reached over HTTP.
#[derive(Clone, Debug, Default)]
pub(super) struct HttpServer {
    pub(super) url: String,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) transport: Option<Arc<dyn Transport>>,
}

impl HttpServer {
    /// Removes the secrets of the server from an error.
    pub(super) fn hide_secrets(&self, mut error: Error) -> Error {
        for (_, value) in &self.headers {
            error.hide(&Echo::of(value.expose().rsplit(' ').next().unwrap_or_default()));
        }
        for secret in mask::secrets(&self.url) {
            error.hide(&Echo::of(&secret));
        }
        error
    }
}

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) name: Option<String>,
    pub(super) policy: Policy,
    pub(super) timeout: Option<Duration>,
    pub(super) connect_timeout: Duration,
    /// The first invalid setting, which `connect` reports.
    pub(super) problem: Option<Error>,
    /// The program or the URL of the server, which is part of the fingerprint of its tools.
    pub(super) identity: String,
}

impl Location {
    /// Returns what distinguishes this server from others, without secrets.
    fn identity(&self) -> String {
        match self {
            Self::Program(program) => {
                // Escaped, so two different command lines cannot give the same text.
                format!("program {:?} {:?}", program.command, program.args)
            }
            Self::Http(server) => format!("address {}", mask::url(&server.url)),
            Self::Pipes(..) => "pipe".to_owned(),
        }
    }
}

impl McpServer {
    fn new(location: Location) -> Self {
        let settings = Settings {
            name: None,
            policy: Policy::Ask,
            timeout: None,
            connect_timeout: MCP_CONNECT_TIMEOUT,
            problem: None,
            identity: String::new(),
        };
        Self { location, settings }
    }

    /// Creates a server that is started as a program and uses its standard input and output. It ends with its connection.
    ///
    /// The program inherits only the environment variables that most programs need (`PATH`, `HOME`, the language, proxies),
    /// so it sees no API keys. Its standard error is not shown.
    pub fn stdio(command: impl Into<String>) -> Self {
        Self::new(Location::Program(Program { command: command.into(), ..Program::default() }))
    }

    /// Creates a server that is reached at a URL over streamable HTTP.
    pub fn http(url: impl Into<String>) -> Self {
        Self::new(Location::Http(HttpServer { url: url.into(), ..HttpServer::default() }))
    }

    /// Creates a server at the other end of two pipes, for example in the same process.
    pub fn pipes(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self::new(Location::Pipes(Box::new(reader), Box::new(writer)))
    }

    /// Creates a server from a URL that begins with `http://` or `https://`, or from a command line, which is split into words
    /// as shells do.
    ///
    /// ```
    /// use agentloop::agent::mcp::McpServer;
    ///
    /// let server = McpServer::parse("npx -y '@modelcontextprotocol/server-everything'")?;
    /// assert!(format!("{server:?}").contains("server-everything"));
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the text is empty or a quote is not closed.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.starts_with("http://") || text.starts_with("https://") {
            return Ok(Self::http(text));
        }
        let mut words = split_words(text)?.into_iter();
        let Some(command) = words.next().filter(|command| !command.is_empty()) else {
            let message = format!("`{text}` is neither a command line nor a URL of an MCP server");
            return Err(Error::new(ErrorKind::Config, message));
        };
        Ok(Self::stdio(command).args(words))
    }

    fn change_program(mut self, setter: &str, change: impl FnOnce(&mut Program)) -> Self {
        match &mut self.location {
            Location::Program(program) => change(program),
            _ => self.settings.reject(setter, "`McpServer::stdio`"),
        }
        self
    }

    fn change_http(mut self, setter: &str, change: impl FnOnce(&mut HttpServer)) -> Self {
        match &mut self.location {
            Location::Http(server) => change(server),
            _ => self.settings.reject(setter, "`McpServer::http`"),
        }
        self
    }

    /// Adds an argument to the command line of the program.
    pub fn arg(self, arg: impl Into<String>) -> Self {
        self.change_program("arg", |program| program.args.push(arg.into()))
    }

    /// Adds arguments to the command line of the program.
    pub fn args<S: Into<String>>(self, args: impl IntoIterator<Item = S>) -> Self {
        self.change_program("args", |program| {
            program.args.extend(args.into_iter().map(Into::into));
        })
    }

    /// Sets an environment variable of the program.
    pub fn env(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.change_program("env", |program| program.env.push((name.into(), value.into())))
    }

    /// Lets the program inherit all environment variables, including API keys.
    pub fn whole_environment(self) -> Self {
        self.change_program("whole_environment", |program| program.whole_environment = true)
    }

    /// Sets the working directory of the program. The default is the current directory.
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        self.change_program("folder", |program| program.folder = Some(folder.into()))
    }

    /// Adds a header to each request.
    pub fn header(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.change_http("header", |server| server.headers.push((name.into(), value.into())))
    }

    /// Sends a token with each request, as `Authorization: Bearer …`.
    pub fn bearer(self, token: impl Into<Secret>) -> Self {
        let value = format!("Bearer {}", token.into().expose());
        self.header("authorization", Secret::new(value))
    }

    /// Sets the transport of the requests. The default is a new [`HttpTransport`](crate::transport::HttpTransport).
    pub fn transport(self, transport: Arc<dyn Transport>) -> Self {
        self.change_http("transport", |server| server.transport = Some(transport))
    }

    setters! {
        /// Sets the prefix of the names of its tools: `name__tool`. The default is the name that the server reports. Two servers of
        /// one agent need different names.
        named(self, name: impl Into<String>) => self.settings.name = Some(name.into());

        /// Sets the policy of its tools. The default is [`Policy::Ask`]. The policy that the
        /// [agent](super::super::Agent::policy) sets for a tool by its name overrides it.
        policy(self, policy: Policy) => self.settings.policy = policy;

        /// Sets how long a call may take. The default is five minutes.
        timeout(self, timeout: Duration) => self.settings.timeout = Some(timeout);

        /// Sets how long connecting and listing the tools may take. The default is 60 seconds.
        connect_timeout(self, timeout: Duration) => self.settings.connect_timeout = timeout;
    }

    /// Connects to the server and lists its tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be started or reached, does not support MCP, or exceeds the timeout. If a program
    /// ended, the hint contains the end of its standard error.
    pub async fn connect(mut self) -> Result<McpConnection> {
        self.settings.identity = self.location.identity();
        super::open::open(self).await
    }
}

impl Settings {
    fn reject(&mut self, setter: &str, constructor: &str) {
        let message = format!("`McpServer::{setter}` applies only to servers of {constructor}");
        self.problem.get_or_insert_with(|| Error::new(ErrorKind::Config, message));
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("McpServer");
        match &self.location {
            Location::Program(program) => shown.field("program", program),
            Location::Http(server) => shown.field("url", &mask::url(&server.url)),
            Location::Pipes(..) => shown.field("pipes", &"…"),
        };
        shown.field("settings", &self.settings).finish()
    }
}
