//! Calls that send each request once, for servers that keep a ledger.

use std::future::Future;

tokio::task_local! {
    /// Set within [`sent_once`].
    static ONCE: ();
}

/// Runs calls of a client that send each request once: a request whose connection closes without a response is an error, even if the
/// connection was a reused one. See [`SendOptions::once`](crate::transport::SendOptions::once). Calls that spawn tasks are not changed.
///
/// A server that bills its clients needs this, because a request that is sent twice may be charged for twice.
///
/// ```
/// use agentloop::relay::sent_once;
/// use agentloop::transport::{Body, BoxFuture, SendOptions, Transport};
/// use agentloop::{AgentLoop, ChatRequest, Provider};
///
/// #[derive(Debug)]
/// struct Canned;
///
/// impl Transport for Canned {
///     fn send<'a>(
///         &'a self,
///         _: http::Request<bytes::Bytes>,
///         options: SendOptions,
///     ) -> BoxFuture<'a, agentloop::Result<http::Response<Body>>> {
///         assert!(options.once);
///         let body = r#"{"id":"1","model":"m","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
///         Box::pin(async move { Ok(http::Response::new(Body::whole(body))) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let lab = Provider::openai_compatible("lab", "http://localhost/v1");
/// let ai = AgentLoop::builder().provider(lab).transport(Canned).build()?;
/// let response = sent_once(ai.chat(ChatRequest::new("lab/m").user("Hello"))).await?;
/// assert_eq!(response.text(), "Hi");
/// # Ok(())
/// # }
/// ```
pub fn sent_once<F: Future>(calls: F) -> impl Future<Output = F::Output> {
    // Not an `async fn`, whose future holds its arguments twice.
    ONCE.scope((), calls)
}

/// Returns whether this is a call within [`sent_once`].
pub(in crate::client) fn is_sent_once() -> bool {
    ONCE.try_with(|()| ()).is_ok()
}
