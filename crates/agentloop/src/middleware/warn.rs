//! Passes every warning to a function. It is the simplest middleware.

use crate::chat::Warning;
use crate::error::Result;
use crate::middleware::{Middleware, Next, Request, Response};
use crate::stream::ChatStream;
use crate::transport::BoxFuture;

/// Calls a function with every warning of every response, as soon as it is known.
///
/// ```
/// use agentloop::{AgentLoop, middleware::WarningsTo};
///
/// let ai = AgentLoop::builder()
///     .layer(WarningsTo::new(|warning| eprintln!("warning: {warning}")))
///     .build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
pub struct WarningsTo<F>(std::sync::Arc<F>);

impl<F: Fn(&Warning) + Send + Sync + 'static> WarningsTo<F> {
    /// Calls `function` with every warning.
    pub fn new(function: F) -> Self {
        Self(std::sync::Arc::new(function))
    }
}

shown! { <F> WarningsTo<F>: self { } }

impl<F: Fn(&Warning) + Send + Sync + 'static> Middleware for WarningsTo<F> {
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        Box::pin(async move {
            Ok(match next.run(request).await? {
                Response::Events(events) => {
                    let function = std::sync::Arc::clone(&self.0);
                    Response::Events(ChatStream::inspect(events, move |event| {
                        if let crate::chat::ChatStreamEvent::Warning { warning } = event {
                            function(warning);
                        }
                    }))
                }
                Response::Embedding(response) => {
                    response.warnings.iter().for_each(|warning| (self.0)(warning));
                    Response::Embedding(response)
                }
                Response::Task(response) => {
                    response.warnings().iter().for_each(|warning| (self.0)(warning));
                    Response::Task(response)
                }
                Response::TaskStream(events) => {
                    let function = std::sync::Arc::clone(&self.0);
                    Response::TaskStream(events.map_events(move |event| {
                        if let crate::chat::TaskEvent::Done { response } = event {
                            response.warnings().iter().for_each(|warning| function(warning));
                        }
                    }))
                }
            })
        })
    }
}
