//! One record a call: for people, for programs, and for OpenTelemetry.

mod config;
mod entry;
mod span;

use std::fmt;
use std::sync::Arc;

pub(crate) use config::LogTable;
pub use entry::{LogEntry, LogStatus};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::watch::{Ending, Seen, Watch};
use crate::error::Result;
use crate::middleware::{Answer, Middleware, Next, Request};
use crate::transport::BoxFuture;

type Tell = dyn Fn(&LogEntry) + Send + Sync;

/// Writes one record a call, when it ends: with an answer, with an error, or because the caller dropped it.
///
/// - Every call is a [`tracing`] span with the names of OpenTelemetry's conventions for generative AI, and its record is an
///   event in that span (target `agentloop`).
/// - [`to`](Self::to) hands each [`LogEntry`] to a function as well.
/// - What was said is not written, unless [`with_content`](Self::with_content) asks for it. Keys never are.
///
/// ```
/// use agentloop::{AgentLoop, middleware::Logger};
///
/// let ai = AgentLoop::builder()
///     .layer(Logger::to(|entry| println!("{} took {} ms", entry.model, entry.latency_ms)))
///     .build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Logger {
    tell: Option<Arc<Tell>>,
    content: bool,
}

impl Logger {
    /// Writes to whatever `tracing` leads to.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and hands every record to a function. It is called on the task that makes the call: it must not
    /// wait.
    pub fn to(tell: impl Fn(&LogEntry) + Send + Sync + 'static) -> Self {
        Self { tell: Some(Arc::new(tell)), content: false }
    }

    /// Writes what was asked and answered, too.
    #[must_use]
    pub fn with_content(mut self) -> Self {
        self.content = true;
        self
    }
}

impl Middleware for Logger {
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(async move {
            let began = Instant::now();
            let target = next.target(request.model()).ok();
            let span = span::open(&request, target.as_deref(), self.content);
            let mut entry = LogEntry::new(&request, target.as_deref());
            let (tell, content, within) = (self.tell.clone(), self.content, span.clone());
            if content {
                entry.prompt =
                    request.chat().and_then(|chat| serde_json::to_value(&chat.messages).ok());
            }
            let end = move |ending: Ending<'_>, seen: &Seen| {
                entry.end(ending, seen, began, content);
                span::close(&within, &entry, content);
                if let Some(tell) = &tell {
                    tell(&entry);
                }
            };
            let watch = Watch::new(end).within(span.clone());
            let answer = next.run(request).instrument(span).await;
            watch.see(answer)
        })
    }

    fn concerns(&self, _: &Request) -> bool {
        // Where nobody listens, there is nothing to write.
        self.tell.is_some() || span::is_wanted()
    }

    fn sees_steps(&self) -> bool {
        false
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger").field("content", &self.content).finish_non_exhaustive()
    }
}
