//! A server that is there.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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

/// A server of tools that is connected: a [`ToolSource`].
///
/// Clones are the same connection. It lasts until the last of them, and the last of its tools, is dropped, or until it is
/// [closed](Self::close); a program ends with it. Tools of a connection that is closed, or whose server is gone, fail, and the
/// model is told.
#[derive(Clone)]
pub struct McpConnection(Arc<Link>);

/// The connection itself.
pub(super) struct Link {
    name: String,
    peer: Peer<RoleClient>,
    shared: Arc<Shared>,
    /// `None` once it is closed.
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
    /// Asks a server that has answered for its tools.
    pub(super) async fn begin(service: Service, settings: &Settings) -> Result<Self> {
        let peer = service.peer().clone();
        let shared = Arc::clone(service.service().shared());
        let info = peer.peer_info();
        let own_name = info.as_ref().and_then(|info| info.server_info.as_ref());
        let given = settings.name.as_deref().or_else(|| Some(own_name?.name.as_str()));
        let server = name::server(given.unwrap_or_default());
        shared.set_listing(Listing {
            server: server.clone(),
            identity: settings.identity.clone(),
            policy: settings.policy,
            timeout: settings.timeout,
        });
        if info.as_ref().is_some_and(|info| info.capabilities.tools.is_some()) {
            shared.changed(&peer).await?;
        }
        let service = Mutex::new(Some(service));
        Ok(Self(Arc::new(Link { name: server, peer, shared, service, process: None })))
    }

    pub(super) fn with_process(mut self, process: Option<Process>) -> Self {
        // Nobody else has it yet.
        if let Some(link) = Arc::get_mut(&mut self.0) {
            link.process = process;
        }
        self
    }

    /// What its tools are named after.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What the server calls itself, and its version.
    pub fn server(&self) -> Option<(String, String)> {
        let info = self.0.peer.peer_info()?;
        let server = info.server_info.as_ref()?;
        Some((server.name.clone(), server.version.clone()))
    }

    /// What the server has to say of how its tools are used. It goes to no model by itself: it is the server's word, which
    /// a caller who trusts it can make part of the instructions.
    pub fn instructions(&self) -> Option<String> {
        self.0.peer.peer_info()?.instructions.clone()
    }

    /// Its tools, as they are now.
    pub fn tools(&self) -> Vec<Tool> {
        let listed = self.0.shared.listed();
        let tool = |entry: &super::list::Entry| {
            let remote = Remote { link: Arc::clone(&self.0), tool: entry.remote.clone() };
            entry.tool.clone().run_by(remote)
        };
        listed.tools.iter().map(tool).collect()
    }

    /// Tools that the server has and that cannot be used, with the reason: a schema that is none, for example.
    pub fn left_out(&self) -> Vec<(String, Error)> {
        self.0.shared.listed().left_out.clone()
    }

    /// Asks the server again what tools it has. Servers tell when that changes, so that this is needed for those that do not.
    ///
    /// # Errors
    ///
    /// When it does not say. The tools are then those of before.
    pub async fn refresh(&self) -> Result<()> {
        self.0.shared.changed(&self.0.peer).await
    }

    /// Whether it is closed, or the server is gone.
    pub fn is_closed(&self) -> bool {
        self.0.peer.is_transport_closed()
    }

    /// Ends the connection, for all of its clones, and waits until the server's process has ended.
    pub async fn close(self) {
        let service = self.0.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            // It has ended, or it ends by itself.
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
