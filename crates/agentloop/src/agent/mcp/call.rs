//! Calls of tools on a server.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
    ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::Value;

use super::super::tool::{ToolContext, ToolError, ToolHandler, ToolOutput};
use super::connection::Link;
use super::{content, trouble};
use crate::transport::BoxFuture;

/// Runs the calls of a tool on its server.
pub(super) struct Remote {
    pub(super) link: Arc<Link>,
    /// The name of the tool on the server.
    pub(super) tool: String,
}

impl ToolHandler for Remote {
    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.send_call(arguments, &context).await {
                Ok(ServerResult::CallToolResult(result)) => content::to_output(result),
                Ok(ServerResult::InputRequiredResult(_)) => Err(ToolError::new(
                    "the tool requires input from a user, which is not supported",
                )),
                Ok(_) => Err(ToolError::new("the response of the server is not a tool result")),
                Err(error) => Err(self.call_error(&error)),
            }
        })
    }
}

impl Remote {
    async fn send_call(
        &self,
        arguments: Value,
        context: &ToolContext,
    ) -> Result<ServerResult, ServiceError> {
        let mut params = CallToolRequestParams::new(self.tool.clone());
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments);
        }
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self.link.peer().send_request_with_option(request, options).await?;
        let token = sent.progress_token.clone();
        self.link.shared().watch(token.clone(), context);
        let mut active = ActiveCall { link: &self.link, token, id: Some(sent.id.clone()) };
        let response = sent.await_response().await;
        active.id = None;
        response
    }

    fn call_error(&self, error: &ServiceError) -> ToolError {
        let server = self.link.name();
        match error {
            ServiceError::McpError(error) => ToolError::new(error.message.clone()),
            ServiceError::TransportClosed => ToolError::new(format!(
                "the MCP server `{server}` of this tool has closed the connection"
            )),
            error => ToolError::new(format!(
                "the request to the MCP server `{server}` of this tool failed: {}",
                trouble::describe_request_error(error)
            )),
        }
    }
}

/// An active call. If it is dropped before its response arrives, the server is notified of the cancellation.
struct ActiveCall<'a> {
    link: &'a Link,
    token: ProgressToken,
    id: Option<RequestId>,
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        self.link.shared().unwatch(&self.token);
        let Some(id) = self.id.take() else { return };
        let params =
            CancelledNotificationParam::new(Some(id), Some("the call was cancelled".to_owned()));
        // A destructor cannot wait. One poll passes the notification to the task that writes to the server, unless more
        // than a thousand messages are queued before it; then the server is not notified.
        let mut notify = pin!(self.link.peer().notify_cancelled(params));
        let _ = notify.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}
