//! A call of a tool, over there.

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

/// Runs a tool where it is.
pub(super) struct Remote {
    pub(super) link: Arc<Link>,
    /// What the server calls it.
    pub(super) tool: String,
}

impl ToolHandler for Remote {
    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.ask(arguments, &context).await {
                Ok(ServerResult::CallToolResult(result)) => content::output(result),
                Ok(ServerResult::InputRequiredResult(_)) => Err(ToolError::new(
                    "the tool asks its user for something, and there is nobody who could answer",
                )),
                Ok(_) => {
                    Err(ToolError::new("the server answered with something else than a result"))
                }
                Err(error) => Err(self.failed(&error)),
            }
        })
    }
}

impl Remote {
    async fn ask(
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
        let asked = self.link.peer().send_request_with_option(request, options).await?;
        let token = asked.progress_token.clone();
        self.link.shared().watch(token.clone(), context);
        let mut under_way = UnderWay { link: &self.link, token, id: Some(asked.id.clone()) };
        let answer = asked.await_response().await;
        under_way.id = None;
        answer
    }

    fn failed(&self, error: &ServiceError) -> ToolError {
        let server = self.link.name();
        match error {
            ServiceError::McpError(error) => ToolError::new(error.message.clone()),
            ServiceError::TransportClosed => {
                ToolError::new(format!("the server `{server}` of this tool is gone"))
            }
            error => ToolError::new(format!(
                "the server `{server}` of this tool cannot be reached: {}",
                trouble::of_request(error)
            )),
        }
    }
}

/// A call that is under way. When it is dropped before its answer is there, the server is told to stop.
struct UnderWay<'a> {
    link: &'a Link,
    token: ProgressToken,
    id: Option<RequestId>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.link.shared().unwatch(&self.token);
        let Some(id) = self.id.take() else { return };
        let told =
            CancelledNotificationParam::new(Some(id), Some("the call was given up".to_owned()));
        // Polled once it is on its way to the task that speaks to the server, and more is not to be had where nothing may
        // wait. With more than a thousand messages on the way before it, it is not told.
        let mut telling = pin!(self.link.peer().notify_cancelled(told));
        let _ = telling.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}
