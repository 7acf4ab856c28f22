//! What a server may have under way, bounded.
//!
//! Between the transport and the SDK, which starts a task for everything that a server sends.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

use crate::limits::MCP_MAX_SERVER_REQUESTS;

/// A transport that reads no more requests than are answered.
///
/// - At most [`MCP_MAX_SERVER_REQUESTS`] requests of the server wait for our response. A server that does not read our
///   responses is not read either.
/// - A request whose id is still under way is dropped.
/// - Of notifications only progress and changes of the tools are passed on. Cancelling a request has no effect: each is
///   answered at once.
pub(super) struct Guard<T> {
    inner: T,
    under_way: Arc<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    ids: Mutex<HashSet<RequestId>>,
    answered: Notify,
}

impl UnderWay {
    fn ids(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a further request may be read.
    async fn has_room(&self) {
        loop {
            let answered = self.answered.notified();
            if self.ids().len() < MCP_MAX_SERVER_REQUESTS {
                return;
            }
            answered.await;
        }
    }
}

/// Frees the place of a request when its response is sent, or cannot be.
struct Answered {
    under_way: Arc<UnderWay>,
    id: Option<RequestId>,
}

impl Drop for Answered {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.under_way.ids().remove(id);
            self.under_way.answered.notify_one();
        }
    }
}

impl<T> Guard<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, under_way: Arc::default() }
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
        let answered = Answered { under_way: Arc::clone(&self.under_way), id };
        let sent = self.inner.send(message);
        async move {
            let _answered = answered;
            sent.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            self.under_way.has_room().await;
            // A server that never pauses must not keep the runtime from everything else.
            tokio::task::coop::consume_budget().await;
            let message = self.inner.receive().await?;
            let passes = match &message {
                JsonRpcMessage::Request(request) => self.under_way.ids().insert(request.id.clone()),
                JsonRpcMessage::Notification(notification) => matches!(
                    notification.notification,
                    ServerNotification::ProgressNotification(_)
                        | ServerNotification::ToolListChangedNotification(_)
                ),
                _ => true,
            };
            if passes {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
