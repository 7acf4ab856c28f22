//! Reaching a server.

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
use super::server::{Address, McpServer, Program, Reach, Settings};
use super::trouble;
use super::values::FewValues;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MCP_MAX_MESSAGE_BYTES;
use crate::secret::mask;

pub(super) type Service = RunningService<RoleClient, Client>;

/// How a conversation with a server begins: as it always did, or as the newest version of the protocol has it, which knows no
/// beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Initialize,
    Discover,
}

pub(super) async fn open(server: McpServer) -> Result<McpConnection> {
    let McpServer { reach, settings } = server;
    if let Some(problem) = settings.problem {
        return Err(problem);
    }
    match reach {
        Reach::Program(program) => match run(&program, &settings, Opening::Initialize).await {
            Err((error, true)) => {
                let newer = run(&program, &settings, Opening::Discover).await;
                newer.map_err(|(newer, _)| newer.with_causes(vec![error]))
            }
            done => done.map_err(|(error, _)| error),
        },
        Reach::Address(address) => match ask(&address, &settings, Opening::Initialize).await {
            Err((error, true)) => {
                let newer = ask(&address, &settings, Opening::Discover).await;
                newer.map_err(|(newer, _)| newer.with_causes(vec![error]))
            }
            done => done.map_err(|(error, _)| error),
        },
        Reach::Pipes(reader, writer) => {
            let who = settings.name.clone().unwrap_or_else(|| "at the pipe".to_owned());
            let meeting = Meeting { who: &who, settings: &settings, opening: Opening::Initialize };
            let met = meeting.meet(lines(reader, writer), None).await;
            met.map_err(|failed| failed.error)
        }
    }
}

/// Reads and writes messages as lines, of bounded length and number of values.
fn lines<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static>(
    reader: R,
    writer: W,
) -> AsyncRwTransport<RoleClient, FewValues<R>, W> {
    AsyncRwTransport::new(FewValues::new(reader), writer)
        .with_max_line_length(MCP_MAX_MESSAGE_BYTES)
}

/// Why it failed, and whether the other opening may do better.
type Failure = (Error, bool);

async fn run(
    program: &Program,
    settings: &Settings,
    opening: Opening,
) -> Result<McpConnection, Failure> {
    let (stdout, stdin, process) = process::start(program).map_err(|error| (error, false))?;
    let meeting = Meeting { who: &program.command, settings, opening };
    match meeting.meet(lines(stdout, stdin), Some(process)).await {
        Ok(connection) => Ok(connection),
        Err(Failed { error, newer, process }) => {
            let mut error = error;
            if let Some(process) = process {
                process.end().await;
                let said = process.said();
                if !said.is_empty() {
                    error = error.with_hint(format!("it wrote: {said}"));
                }
            }
            Err((error, newer))
        }
    }
}

async fn ask(
    address: &Address,
    settings: &Settings,
    opening: Opening,
) -> Result<McpConnection, Failure> {
    let (transport, trouble) = http::transport(address).map_err(|error| (error, false))?;
    let who = mask::url(&address.url);
    let meeting = Meeting { who: &who, settings, opening };
    match meeting.meet(transport, None).await {
        Ok(connection) => Ok(connection),
        // What the transport met says more than that it met something.
        Err(Failed { error, newer, .. }) => match trouble.take() {
            Some(met) if !newer => Err((address.hide(http::named(&met, &who)), false)),
            _ => Err((address.hide(error), newer)),
        },
    }
}

struct Failed {
    error: Error,
    newer: bool,
    process: Option<Process>,
}

/// A server that is to be met.
struct Meeting<'a> {
    who: &'a str,
    settings: &'a Settings,
    opening: Opening,
}

impl Meeting<'_> {
    async fn meet<T: Transport<RoleClient> + 'static>(
        &self,
        transport: T,
        process: Option<Process>,
    ) -> Result<McpConnection, Failed> {
        let limit = self.settings.connect_timeout;
        let who = self.who;
        let met = timeout(limit, async {
            let service = self.shake_hands(transport).await?;
            McpConnection::begin(service, self.settings).await.map_err(|error| (error, false))
        });
        match met.await {
            Ok(Ok(connection)) => Ok(connection.with_process(process)),
            Ok(Err((error, newer))) => Err(Failed { error, newer, process }),
            Err(_) => {
                let message = format!("the MCP server `{who}` was not there within {limit:?}");
                let error = Error::new(ErrorKind::Timeout, message);
                Err(Failed { error, newer: false, process })
            }
        }
    }

    async fn shake_hands<T: Transport<RoleClient> + 'static>(
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
                let newer = self.opening == Opening::Initialize && is_newer(&error);
                (self.refused(&error), newer)
            },
        )
    }

    fn refused(&self, error: &ClientInitializeError) -> Error {
        let who = self.who;
        match error {
            ClientInitializeError::JsonRpcError(error) => Error::new(
                ErrorKind::Protocol,
                format!("the MCP server `{who}` refuses to begin: {}", error.message),
            ),
            ClientInitializeError::ConnectionClosed(_) => Error::new(
                ErrorKind::Connection,
                format!("the MCP server `{who}` ended before it had answered"),
            ),
            error => Error::new(
                ErrorKind::Connection,
                format!(
                    "the MCP server `{who}` could not be reached: {}",
                    trouble::of_opening(error)
                ),
            ),
        }
    }
}

/// Whether a server that says this may speak only a version of the protocol that begins otherwise.
fn is_newer(error: &ClientInitializeError) -> bool {
    let ClientInitializeError::JsonRpcError(error) = error else { return false };
    [ErrorCode::METHOD_NOT_FOUND, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION].contains(&error.code)
}
