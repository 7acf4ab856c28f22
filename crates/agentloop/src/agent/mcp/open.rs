//! Opens connections to servers.

use std::sync::Arc;

use rmcp::model::{ErrorCode, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService,
    serve_client_with_lifecycle,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::client::Client;
use super::connection::McpConnection;
use super::guard::Guard;
use super::http;
use super::process::{self, Process};
use super::server::{HttpServer, Location, McpServer, Program, Settings};
use super::trouble;
use super::values::LimitedValues;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MCP_MAX_MESSAGE_BYTES;
use crate::secret::mask;

pub(super) type Service = RunningService<RoleClient, Client>;

/// How a connection is opened: with `initialize`, or as in the newest version of the protocol, which has no handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Initialize,
    Discover,
}

pub(super) async fn open(server: McpServer) -> Result<McpConnection> {
    let McpServer { location, settings } = server;
    if let Some(problem) = settings.problem {
        return Err(problem);
    }
    match location {
        Location::Program(program) => {
            match connect_program(&program, &settings, Opening::Initialize).await {
                Err((error, true)) => {
                    let newer = connect_program(&program, &settings, Opening::Discover).await;
                    newer.map_err(|(newer, _)| newer.with_causes(vec![error]))
                }
                done => done.map_err(|(error, _)| error),
            }
        }
        Location::Http(http) => match connect_http(&http, &settings, Opening::Initialize).await {
            Err((error, true)) => {
                let newer = connect_http(&http, &settings, Opening::Discover).await;
                newer.map_err(|(newer, _)| newer.with_causes(vec![error]))
            }
            done => done.map_err(|(error, _)| error),
        },
        Location::Pipes(reader, writer) => {
            let server = settings.name.clone().unwrap_or_else(|| "pipe".to_owned());
            let opening = Opening::Initialize;
            let handshake = Handshake { server: &server, settings: &settings, opening };
            let connected = handshake.connect(lines(reader, writer), None).await;
            connected.map_err(|failed| failed.error)
        }
    }
}

/// Returns a transport that reads and writes messages as lines, with limits on their length and number of values.
fn lines<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static>(
    reader: R,
    writer: W,
) -> AsyncRwTransport<RoleClient, LimitedValues<R>, W> {
    AsyncRwTransport::new(LimitedValues::new(reader), writer)
        .with_max_line_length(MCP_MAX_MESSAGE_BYTES)
}

/// The error, and whether the other way to open the connection may succeed.
type Failure = (Error, bool);

async fn connect_program(
    program: &Program,
    settings: &Settings,
    opening: Opening,
) -> Result<McpConnection, Failure> {
    let (stdout, stdin, process) = process::start(program).map_err(|error| (error, false))?;
    let handshake = Handshake { server: &program.command, settings, opening };
    match handshake.connect(lines(stdout, stdin), Some(process)).await {
        Ok(connection) => Ok(connection),
        Err(Failed { error, try_newer, process }) => {
            let mut error = error;
            if let Some(process) = process {
                process.end().await;
                let stderr = process.stderr();
                if !stderr.is_empty() {
                    error = error.with_hint(format!("its standard error ends with: {stderr}"));
                }
            }
            Err((error, try_newer))
        }
    }
}

async fn connect_http(
    server: &HttpServer,
    settings: &Settings,
    opening: Opening,
) -> Result<McpConnection, Failure> {
    let (transport, last_error) = http::transport(server).map_err(|error| (error, false))?;
    let url = mask::url(&server.url);
    let handshake = Handshake { server: &url, settings, opening };
    match handshake.connect(transport, None).await {
        Ok(connection) => Ok(connection),
        // The error of the transport is more specific than the error of the handshake.
        Err(Failed { error, try_newer, .. }) => match last_error.take() {
            Some(cause) if !try_newer => {
                Err((server.hide_secrets(http::with_server_url(&cause, &url)), false))
            }
            _ => Err((server.hide_secrets(error), try_newer)),
        },
    }
}

/// A handshake that failed.
struct Failed {
    error: Error,
    try_newer: bool,
    process: Option<Process>,
}

/// The opening of a connection.
struct Handshake<'a> {
    /// The server, for error messages.
    server: &'a str,
    settings: &'a Settings,
    opening: Opening,
}

impl Handshake<'_> {
    async fn connect<T: Transport<RoleClient> + 'static>(
        &self,
        transport: T,
        process: Option<Process>,
    ) -> Result<McpConnection, Failed> {
        let limit = self.settings.connect_timeout;
        let connected = timeout(limit, async {
            let service = self.initialize(transport).await?;
            let connection = McpConnection::from_service(service, self.settings).await;
            connection.map_err(|error| (error, false))
        });
        match connected.await {
            Ok(Ok(connection)) => Ok(connection.with_process(process)),
            Ok(Err((error, try_newer))) => Err(Failed { error, try_newer, process }),
            Err(_) => {
                let server = self.server;
                let message =
                    format!("connecting to the MCP server `{server}` took longer than {limit:?}");
                let error = Error::new(ErrorKind::Timeout, message)
                    .with_hint("allow more time with `McpServer::connect_timeout`");
                Err(Failed { error, try_newer: false, process })
            }
        }
    }

    async fn initialize<T: Transport<RoleClient> + 'static>(
        &self,
        transport: T,
    ) -> Result<Service, Failure> {
        let lifecycle = match self.opening {
            Opening::Initialize => ClientLifecycleMode::Initialize,
            Opening::Discover => {
                let preferred_versions = vec![ProtocolVersion::LATEST];
                ClientLifecycleMode::Discover { preferred_versions }
            }
        };
        let client = Client::new(Arc::default());
        serve_client_with_lifecycle(client, Guard::new(transport), lifecycle).await.map_err(
            |error| {
                let try_newer = self.opening == Opening::Initialize && may_be_newer(&error);
                (self.open_error(&error), try_newer)
            },
        )
    }

    fn open_error(&self, error: &ClientInitializeError) -> Error {
        let server = self.server;
        match error {
            ClientInitializeError::JsonRpcError(error) => Error::new(
                ErrorKind::Protocol,
                format!("the MCP server `{server}` rejected the connection: {}", error.message),
            ),
            ClientInitializeError::ConnectionClosed(_) => Error::new(
                ErrorKind::Connection,
                format!("the MCP server `{server}` closed the connection before it responded"),
            ),
            error => Error::new(
                ErrorKind::Connection,
                format!(
                    "connecting to the MCP server `{server}` failed: {}",
                    trouble::describe_open_error(error)
                ),
            ),
        }
    }
}

/// Returns whether the server may support only a version of the protocol that has no `initialize`.
fn may_be_newer(error: &ClientInitializeError) -> bool {
    let ClientInitializeError::JsonRpcError(error) = error else { return false };
    [ErrorCode::METHOD_NOT_FOUND, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION].contains(&error.code)
}
