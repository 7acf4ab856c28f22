//! Headers about rate limits, for servers that pass them on.

use std::cell::RefCell;
use std::future::Future;

use http::HeaderMap;

/// The most headers about rate limits that are kept of a response. Anthropic sends 13.
const MAX_HEADERS: usize = 64;

tokio::task_local! {
    /// The headers of the last response to a call within [`with_rate_limits`].
    static SEEN: RefCell<HeaderMap>;
}

/// Runs calls of a client, and returns the result with the headers about rate limits of their last response, as the provider sent
/// them. Of calls that spawn tasks nothing is seen.
///
/// ```
/// use agentloop::relay::with_rate_limits;
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
///         _: SendOptions,
///     ) -> BoxFuture<'a, agentloop::Result<http::Response<Body>>> {
///         let body = r#"{"id":"1","model":"m","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
///         let mut response = http::Response::new(Body::whole(body));
///         let left = http::HeaderValue::from_static("149984");
///         response.headers_mut().insert("x-ratelimit-remaining-tokens", left);
///         Box::pin(async { Ok(response) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let lab = Provider::openai_compatible("lab", "http://localhost/v1");
/// let ai = AgentLoop::builder().provider(lab).transport(Canned).build()?;
/// let (response, limits) = with_rate_limits(ai.chat(ChatRequest::new("lab/m").user("Hello"))).await;
/// assert_eq!(response?.text(), "Hi");
/// assert_eq!(limits["x-ratelimit-remaining-tokens"], "149984");
/// # Ok(())
/// # }
/// ```
pub async fn with_rate_limits<F: Future>(calls: F) -> (F::Output, HeaderMap) {
    let running = async {
        let output = calls.await;
        (output, SEEN.with(RefCell::take))
    };
    SEEN.scope(RefCell::default(), running).await
}

/// Keeps the headers of a response, if they are wanted.
pub(in crate::client) fn note(headers: &HeaderMap) {
    // Without a scope they are not wanted.
    let _ = SEEN.try_with(|seen| {
        let about_limits = headers.iter().filter(|(name, _)| name.as_str().contains("ratelimit"));
        let kept =
            about_limits.take(MAX_HEADERS).map(|(name, value)| (name.clone(), value.clone()));
        seen.replace(kept.collect());
    });
}
