//! Where a server is, and how far it is trusted.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::super::approval::Policy;
use super::connection::McpConnection;
use super::words::words;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MCP_CONNECT_TIMEOUT;
use crate::secret::echo::Echo;
use crate::secret::{Secret, mask};
use crate::transport::Transport;

/// A server of tools: where it is, and how far it is trusted. [`connect`](Self::connect) reaches it.
///
/// See the [module](super) for an example.
#[must_use = "a server does nothing until it is connected"]
pub struct McpServer {
    pub(super) reach: Reach,
    pub(super) settings: Settings,
}

pub(super) enum Reach {
    Program(Program),
    Address(Address),
    Pipes(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

/// A program that speaks MCP on its standard input and output.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, Secret)>,
    pub(super) whole_environment: bool,
    pub(super) folder: Option<PathBuf>,
}

/// An address that speaks MCP over HTTP.
#[derive(Clone, Debug, Default)]
pub(super) struct Address {
    pub(super) url: String,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) transport: Option<Arc<dyn Transport>>,
}

impl Address {
    /// An error of it without what is shown to it alone.
    pub(super) fn hide(&self, mut error: Error) -> Error {
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
    /// The first thing that was wrong, told when it is connected.
    pub(super) problem: Option<Error>,
    /// What the tools of the server are bound to: its program or its address.
    pub(super) identity: String,
}

impl Reach {
    /// Returns what distinguishes this server from others, without secrets.
    fn identity(&self) -> String {
        match self {
            Self::Program(program) => {
                // Escaped, so the words of two command lines cannot run into each other.
                format!("program {:?} {:?}", program.command, program.args)
            }
            Self::Address(address) => format!("address {}", mask::url(&address.url)),
            Self::Pipes(..) => "pipe".to_owned(),
        }
    }
}

impl McpServer {
    fn new(reach: Reach) -> Self {
        let settings = Settings {
            name: None,
            policy: Policy::Ask,
            timeout: None,
            connect_timeout: MCP_CONNECT_TIMEOUT,
            problem: None,
            identity: String::new(),
        };
        Self { reach, settings }
    }

    /// A program, which is started and spoken to on its standard input and output. It ends with its connection.
    ///
    /// It sees of our environment what any program needs (`PATH`, `HOME`, the language, proxies) and nothing else: no keys.
    /// What it writes to its standard error is not shown.
    pub fn stdio(command: impl Into<String>) -> Self {
        Self::new(Reach::Program(Program { command: command.into(), ..Program::default() }))
    }

    /// An address, spoken to over streamable HTTP.
    pub fn http(url: impl Into<String>) -> Self {
        Self::new(Reach::Address(Address { url: url.into(), ..Address::default() }))
    }

    /// A server at the other end of two pipes: one in this process, for example.
    pub fn pipes(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self::new(Reach::Pipes(Box::new(reader), Box::new(writer)))
    }

    /// An address when it begins with `http://` or `https://`, else a command line, cut into words as shells do.
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
    /// When there is nothing in it, or a quote has no end.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.starts_with("http://") || text.starts_with("https://") {
            return Ok(Self::http(text));
        }
        let mut words = words(text)?.into_iter();
        let Some(command) = words.next().filter(|command| !command.is_empty()) else {
            return Err(Error::new(ErrorKind::Config, "an MCP server is a command line or a URL"));
        };
        Ok(Self::stdio(command).args(words))
    }

    fn program(mut self, what: &str, change: impl FnOnce(&mut Program)) -> Self {
        match &mut self.reach {
            Reach::Program(program) => change(program),
            _ => self.settings.refuse(what, "a program"),
        }
        self
    }

    fn address(mut self, what: &str, change: impl FnOnce(&mut Address)) -> Self {
        match &mut self.reach {
            Reach::Address(address) => change(address),
            _ => self.settings.refuse(what, "an address"),
        }
        self
    }

    /// Adds an argument of the program.
    pub fn arg(self, arg: impl Into<String>) -> Self {
        self.program("arguments", |program| program.args.push(arg.into()))
    }

    /// Adds arguments of the program.
    pub fn args<S: Into<String>>(self, args: impl IntoIterator<Item = S>) -> Self {
        self.program("arguments", |program| program.args.extend(args.into_iter().map(Into::into)))
    }

    /// Sets a variable of the program's environment.
    pub fn env(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.program("an environment", |program| program.env.push((name.into(), value.into())))
    }

    /// Lets the program see our whole environment, keys included.
    pub fn whole_environment(self) -> Self {
        self.program("an environment", |program| program.whole_environment = true)
    }

    /// Sets the folder in which the program runs; ours without this.
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        self.program("a folder", |program| program.folder = Some(folder.into()))
    }

    /// Adds a header to each request.
    pub fn header(self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.address("headers", |address| address.headers.push((name.into(), value.into())))
    }

    /// Sends a token with each request, as `Authorization: Bearer …`.
    pub fn bearer(self, token: impl Into<Secret>) -> Self {
        let value = format!("Bearer {}", token.into().expose());
        self.header("authorization", Secret::new(value))
    }

    /// Sends the requests through this transport; through an [`HttpTransport`](crate::transport::HttpTransport) of its own
    /// without this.
    pub fn transport(self, transport: Arc<dyn Transport>) -> Self {
        self.address("a transport", |address| address.transport = Some(transport))
    }

    /// Sets what its tools are named after, as `name__tool`; what the server calls itself without this. Two servers of one
    /// agent need two names.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// Sets whether its tools may run unasked; they [ask](Policy::Ask) without this. What the
    /// [agent](super::super::Agent::policy) says of a tool by its name counts more.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.policy = policy;
        self
    }

    /// Sets how long a call may take. The default is five minutes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Sets how long it may take until the server is there and has said what tools it has; [`MCP_CONNECT_TIMEOUT`] without
    /// this.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// Reaches the server, and asks what tools it has.
    ///
    /// # Errors
    ///
    /// When it cannot be started or reached, does not speak MCP, or takes too long. The hint has the last words of a program
    /// that ended.
    pub async fn connect(mut self) -> Result<McpConnection> {
        self.settings.identity = self.reach.identity();
        super::open::open(self).await
    }
}

impl Settings {
    fn refuse(&mut self, what: &str, whose: &str) {
        let message = format!("{what} can be set for {whose} only");
        self.problem.get_or_insert_with(|| Error::new(ErrorKind::Config, message));
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("McpServer");
        match &self.reach {
            Reach::Program(program) => shown.field("program", program),
            Reach::Address(address) => shown.field("address", &mask::url(&address.url)),
            Reach::Pipes(..) => shown.field("pipes", &"…"),
        };
        shown.field("settings", &self.settings).finish()
    }
}
