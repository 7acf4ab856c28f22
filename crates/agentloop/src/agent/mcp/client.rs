//! What we answer to a server, and what it tells us unasked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// How many pieces of news wait for a call of which nothing is known yet.
const MAX_EARLY: usize = 64;

/// Our side of a conversation.
#[derive(Clone)]
pub(super) struct Client(Arc<Shared>);

/// What is known of a server. It holds nothing that holds the connection.
#[derive(Default)]
pub(super) struct Shared {
    /// How its tools are made; set once, before the first list.
    listing: Mutex<Option<Listing>>,
    listed: Mutex<Arc<Listed>>,
    /// How often the list has changed, and which change was last seen.
    changes: AtomicU64,
    seen: AtomicU64,
    /// How many announced changes wait for a list, the one that is under way included.
    announced: AtomicU64,
    turn: tokio::sync::Mutex<()>,
    news: Mutex<HashMap<ProgressToken, News>>,
}

/// What becomes of what a server tells of a call.
enum News {
    /// The call has it.
    Call(ToolContext),
    /// The server was quicker than we.
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
        self.0.progress(params);
    }

    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        self.0.announced(&context.peer).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn set_listing(&self, listing: Listing) {
        *lock(&self.listing) = Some(listing);
    }

    /// The tools, as they were last listed.
    pub(super) fn listed(&self) -> Arc<Listed> {
        Arc::clone(&lock(&self.listed))
    }

    /// Lists the tools after the server has announced a change.
    ///
    /// One task does it, whatever the server announces meanwhile, and not more often than once in [`MCP_LIST_PAUSE`].
    async fn announced(&self, peer: &Peer<RoleClient>) {
        if self.announced.fetch_add(1, Ordering::SeqCst) > 0 {
            return;
        }
        loop {
            let seen = self.announced.load(Ordering::SeqCst);
            let listed = tokio::time::timeout(MCP_LIST_TIMEOUT, self.changed(peer)).await;
            let error = match listed {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(format!("it did not list them within {MCP_LIST_TIMEOUT:?}")),
            };
            if let Some(error) = error {
                tracing::warn!(%error, "the changed tools of an MCP server could not be listed");
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

    /// Lists the tools again, once for all changes that are known when it begins.
    pub(super) async fn changed(&self, peer: &Peer<RoleClient>) -> Result<()> {
        let wanted = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        let _turn = self.turn.lock().await;
        if self.seen.load(Ordering::SeqCst) >= wanted {
            return Ok(());
        }
        let seen = self.changes.load(Ordering::SeqCst);
        // Without a listing nobody has asked for the tools yet.
        let Some(listing) = lock(&self.listing).clone() else { return Ok(()) };
        let listed = listing.list(peer).await?;
        *lock(&self.listed) = Arc::new(listed);
        self.seen.store(seen, Ordering::SeqCst);
        Ok(())
    }

    /// From here on the call has what the server tells of it.
    pub(super) fn watch(&self, token: ProgressToken, context: &ToolContext) {
        let before = lock(&self.news).insert(token, News::Call(context.clone()));
        if let Some(News::Early(params)) = before {
            tell(context, params);
        }
    }

    /// The call is over.
    pub(super) fn unwatch(&self, token: &ProgressToken) {
        lock(&self.news).remove(token);
    }

    fn progress(&self, params: ProgressNotificationParam) {
        let mut news = lock(&self.news);
        let context = match news.get(&params.progress_token) {
            Some(News::Call(context)) => context.clone(),
            _ => {
                let early = |news: &News| matches!(news, News::Early(_));
                if news.values().filter(|news| early(news)).count() >= MAX_EARLY {
                    // Calls that are long over, and servers that do not know it.
                    news.retain(|_, news| !early(news));
                }
                news.insert(params.progress_token.clone(), News::Early(params));
                return;
            }
        };
        drop(news);
        tell(&context, params);
    }
}

/// Tells the run how far a call is.
fn tell(context: &ToolContext, params: ProgressNotificationParam) {
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
