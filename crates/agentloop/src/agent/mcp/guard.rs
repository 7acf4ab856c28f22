//! Limits what a server can make the client do.
//!
//! The guard is between the transport and the SDK, because the SDK starts a task for every message of a server.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

use crate::limits::MCP_MAX_SERVER_REQUESTS;
use crate::lock::lock;

/// A transport that limits the requests and notifications of the server.
///
/// - At most [`MCP_MAX_SERVER_REQUESTS`] requests of the server are active. If the server does not read the responses, no
///   further messages are read from it.
/// - A request with the id of an active request is dropped.
/// - Only notifications of progress and of changed tools are passed through. A notification that cancels a request has no
///   effect, because every request is answered immediately.
pub(super) struct Guard<T> {
    inner: T,
    active: Arc<ActiveRequests>,
}

#[derive(Default)]
struct ActiveRequests {
    ids: Mutex<HashSet<RequestId>>,
    ended: Notify,
}

impl ActiveRequests {
    fn ids(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        lock(&self.ids)
    }

    /// Waits until another request may be read.
    async fn wait_for_room(&self) {
        loop {
            let ended = self.ended.notified();
            if self.ids().len() < MCP_MAX_SERVER_REQUESTS {
                return;
            }
            ended.await;
        }
    }
}

/// Removes a request when its response was sent or could not be sent.
struct EndOnDrop {
    active: Arc<ActiveRequests>,
    id: Option<RequestId>,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.active.ids().remove(id);
            self.active.ended.notify_one();
        }
    }
}

impl<T> Guard<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, active: Arc::default() }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Guard<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let end = EndOnDrop { active: Arc::clone(&self.active), id };
        let sent = self.inner.send(message);
        async move {
            let _end = end;
            sent.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            self.active.wait_for_room().await;
            // A server that sends without pause must not block other tasks of the runtime.
            tokio::task::coop::consume_budget().await;
            let message = self.inner.receive().await?;
            let is_passed = match &message {
                JsonRpcMessage::Request(request) => self.active.ids().insert(request.id.clone()),
                JsonRpcMessage::Notification(notification) => matches!(
                    notification.notification,
                    ServerNotification::ProgressNotification(_)
                        | ServerNotification::ToolListChangedNotification(_)
                ),
                _ => true,
            };
            if is_passed {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
