//! Handles the notifications of a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, Peer, RoleClient};

use super::super::tool::ToolContext;
use super::list::{Listed, Listing};
use crate::error::Result;
use crate::limits::{MCP_LIST_PAUSE, MCP_LIST_TIMEOUT};
use crate::lock::lock;

/// The most progress notifications that are kept for calls that are not registered yet.
const MAX_EARLY: usize = 64;

/// The client side of a connection.
#[derive(Clone)]
pub(super) struct Client(Arc<Shared>);

/// The state of a connection. It does not own the connection, so it does not keep it open.
#[derive(Default)]
pub(super) struct Shared {
    /// How the tools of the server are made; set once, before the first list.
    listing: Mutex<Option<Listing>>,
    listed: Mutex<Arc<Listed>>,
    /// The number of times that a new list was requested.
    requested: AtomicU64,
    /// The last of these requests that a list has served.
    served: AtomicU64,
    /// The number of announced changes that wait for a list, including the one that is being listed.
    announced: AtomicU64,
    /// Held while the tools are listed.
    list_lock: tokio::sync::Mutex<()>,
    progress: Mutex<HashMap<ProgressToken, Progress>>,
}

/// Where the progress of a call goes.
enum Progress {
    /// To the call.
    Call(ToolContext),
    /// To the call once it is registered: the notification arrived first.
    Early(ProgressNotificationParam),
}

impl Client {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("agentloop", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.receive_progress(params);
    }

    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        self.0.list_announced(&context.peer).await;
    }
}

impl Shared {
    pub(super) fn set_listing(&self, listing: Listing) {
        *lock(&self.listing) = Some(listing);
    }

    /// Returns the tools of the last list.
    pub(super) fn listed(&self) -> Arc<Listed> {
        Arc::clone(&lock(&self.listed))
    }

    /// Lists the tools after the server has announced a change.
    ///
    /// One task does this at a time, whatever the server announces meanwhile, and at most once per [`MCP_LIST_PAUSE`].
    async fn list_announced(&self, peer: &Peer<RoleClient>) {
        if self.announced.fetch_add(1, Ordering::SeqCst) > 0 {
            return;
        }
        loop {
            let seen = self.announced.load(Ordering::SeqCst);
            let listed = tokio::time::timeout(MCP_LIST_TIMEOUT, self.refresh(peer)).await;
            let error = match listed {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(format!("no response within {MCP_LIST_TIMEOUT:?}")),
            };
            if let Some(error) = error {
                tracing::warn!(%error, "listing the changed tools of an MCP server failed");
            }
            if peer.is_transport_closed() {
                return;
            }
            if self.announced.compare_exchange(seen, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            {
                return;
            }
            self.announced.store(1, Ordering::SeqCst);
            tokio::time::sleep(MCP_LIST_PAUSE).await;
        }
    }

    /// Lists the tools again. One list serves all requests that were made before it started.
    pub(super) async fn refresh(&self, peer: &Peer<RoleClient>) -> Result<()> {
        let request = self.requested.fetch_add(1, Ordering::SeqCst) + 1;
        let _lock = self.list_lock.lock().await;
        if self.served.load(Ordering::SeqCst) >= request {
            return Ok(());
        }
        let served = self.requested.load(Ordering::SeqCst);
        // Without a listing, the connection has not requested the tools yet.
        let Some(listing) = lock(&self.listing).clone() else { return Ok(()) };
        let listed = listing.list(peer).await?;
        *lock(&self.listed) = Arc::new(listed);
        self.served.store(served, Ordering::SeqCst);
        Ok(())
    }

    /// Registers a call, which then receives the progress that the server reports.
    pub(super) fn watch(&self, token: ProgressToken, context: &ToolContext) {
        let before = lock(&self.progress).insert(token, Progress::Call(context.clone()));
        if let Some(Progress::Early(params)) = before {
            report_progress(context, params);
        }
    }

    /// Removes a call that has ended.
    pub(super) fn unwatch(&self, token: &ProgressToken) {
        lock(&self.progress).remove(token);
    }

    fn receive_progress(&self, params: ProgressNotificationParam) {
        let mut progress = lock(&self.progress);
        let context = match progress.get(&params.progress_token) {
            Some(Progress::Call(context)) => context.clone(),
            _ => {
                let is_early = |entry: &Progress| matches!(entry, Progress::Early(_));
                if progress.values().filter(|entry| is_early(entry)).count() >= MAX_EARLY {
                    // These notifications belong to calls that have already ended.
                    progress.retain(|_, entry| !is_early(entry));
                }
                progress.insert(params.progress_token.clone(), Progress::Early(params));
                return;
            }
        };
        drop(progress);
        report_progress(&context, params);
    }
}

/// Reports the progress of a call to its run.
fn report_progress(context: &ToolContext, params: ProgressNotificationParam) {
    let ProgressNotificationParam { progress, total, message, .. } = params;
    let total = total.filter(|total| *total > 0.0);
    let message = message.unwrap_or_else(|| match total {
        Some(total) => format!("{progress} of {total}"),
        None => progress.to_string(),
    });
    match total {
        Some(total) => context.progress_at(progress / total, message),
        None => context.progress(message),
    }
}
