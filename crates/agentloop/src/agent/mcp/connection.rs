//! Connections to servers.

use std::fmt;
use std::sync::{Arc, Mutex};

use rmcp::service::{Peer, RoleClient};

use super::super::tool::{Tool, ToolSource};
use super::call::Remote;
use super::client::Shared;
use super::list::Listing;
use super::name;
use super::open::Service;
use super::process::Process;
use super::server::Settings;
use crate::error::{Error, Result};
use crate::limits::MCP_CLOSE_WAIT;
use crate::lock::lock;

/// A connection to an MCP server. It is a [`ToolSource`].
///
/// Clones share the connection. It stays open until the last clone and the last of its tools are dropped, or until
/// [`close`](Self::close). A server that was started as a program ends with its connection. The calls of a closed
/// connection fail, and the model receives the failure. See the [module](super) for an example.
#[derive(Clone)]
pub struct McpConnection(Arc<Link>);

/// The shared state of a connection.
pub(super) struct Link {
    name: String,
    peer: Peer<RoleClient>,
    shared: Arc<Shared>,
    /// `None` once the connection is closed.
    service: Mutex<Option<Service>>,
    process: Option<Process>,
}

impl Link {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl McpConnection {
    /// Creates the connection and lists the tools of the server.
    pub(super) async fn from_service(service: Service, settings: &Settings) -> Result<Self> {
        let peer = service.peer().clone();
        let shared = Arc::clone(service.service().shared());
        let info = peer.peer_info();
        let own_name = info.as_ref().and_then(|info| info.server_info.as_ref());
        let given = settings.name.as_deref().or_else(|| Some(own_name?.name.as_str()));
        let server = name::server_name(given.unwrap_or_default());
        shared.set_listing(Listing {
            server: server.clone(),
            identity: settings.identity.clone(),
            policy: settings.policy,
            timeout: settings.timeout,
        });
        if info.as_ref().is_some_and(|info| info.capabilities.tools.is_some()) {
            shared.refresh(&peer).await?;
        }
        let service = Mutex::new(Some(service));
        Ok(Self(Arc::new(Link { name: server, peer, shared, service, process: None })))
    }

    pub(super) fn with_process(mut self, process: Option<Process>) -> Self {
        // The link is not shared yet.
        if let Some(link) = Arc::get_mut(&mut self.0) {
            link.process = process;
        }
        self
    }

    /// Returns the prefix of the names of its tools.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the name and the version that the server reports.
    pub fn server(&self) -> Option<(String, String)> {
        let info = self.0.peer.peer_info()?;
        let server = info.server_info.as_ref()?;
        Some((server.name.clone(), server.version.clone()))
    }

    /// Returns the server's instructions on how to use its tools. They are not sent to a model automatically. A caller who
    /// trusts the server can add them to a request.
    pub fn instructions(&self) -> Option<String> {
        self.0.peer.peer_info()?.instructions.clone()
    }

    /// Returns the current tools of the server.
    pub fn tools(&self) -> Vec<Tool> {
        let listed = self.0.shared.listed();
        let tool = |entry: &super::list::Entry| {
            let remote = Remote { link: Arc::clone(&self.0), tool: entry.remote.clone() };
            entry.tool.clone().replace_handler(remote)
        };
        listed.tools.iter().map(tool).collect()
    }

    /// Returns the tools of the server that cannot be used, with the reason, for example an invalid schema.
    pub fn left_out(&self) -> Vec<(String, Error)> {
        self.0.shared.listed().left_out.clone()
    }

    /// Lists the tools of the server again. Most servers announce changes themselves; this is for servers that do not.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not list its tools. The previous tools then stay in use.
    pub async fn refresh(&self) -> Result<()> {
        self.0.shared.refresh(&self.0.peer).await
    }

    /// Returns whether the connection is closed, by this side or by the server.
    pub fn is_closed(&self) -> bool {
        self.0.peer.is_transport_closed()
    }

    /// Closes the connection for all of its clones and waits until the process of the server has ended.
    pub async fn close(self) {
        let service = lock(&self.0.service).take();
        if let Some(mut service) = service {
            // If this fails, the service has ended or ends by itself.
            let _ = service.close_with_timeout(MCP_CLOSE_WAIT).await;
        }
        if let Some(process) = &self.0.process {
            process.end().await;
        }
    }
}

impl ToolSource for McpConnection {
    fn tools(&self) -> Vec<Tool> {
        Self::tools(self)
    }
}

impl fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools = self.0.shared.listed().tools.len();
        f.debug_struct("McpConnection")
            .field("name", &self.0.name)
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}
