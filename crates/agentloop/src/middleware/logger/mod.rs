//! Writes one record per call: for people, for programs, and for OpenTelemetry.

#[cfg(feature = "config")]
pub(super) mod config;
mod entry;
mod sink;
mod span;

use std::io::Write;
use std::sync::{Arc, Mutex};

pub use entry::{LogEntry, LogStatus};
use tokio::time::Instant;
use tracing::Instrument as _;

use self::sink::Sink;
use super::watch::{Ending, Seen, Watch};
use crate::error::Result;
use crate::middleware::{Middleware, Next, Request, Response};
use crate::transport::BoxFuture;

/// Writes one record per call when the call ends: with a response, with an error, or because the caller dropped it.
///
/// - Every call is a [`tracing`] span with the names of OpenTelemetry's conventions for generative AI. Its record is an event in
///   that span, with the target `agentloop`.
/// - If the process has no `tracing` subscriber, [`new`](Self::new) writes the record to standard error as one line of JSON.
/// - [`lines`](Self::lines) writes such lines to any writer, and [`to`](Self::to) passes each [`LogEntry`] to a function.
/// - Prompts and responses are written only [on request](Self::with_content). Keys never are.
///
/// ```
/// use agentloop::{AgentLoop, middleware::Logger};
///
/// let ai = AgentLoop::builder()
///     .layer(Logger::to(|entry| println!("{} took {} ms", entry.model, entry.latency_ms)))
///     .build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Logger {
    sink: Sink,
    content: bool,
}

impl Logger {
    /// Creates a logger that writes to `tracing`, or to standard error if the process has no `tracing` subscriber.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a logger that writes to `tracing` and passes every record to a function. The function is called on the task that
    /// makes the call, so it must not block.
    pub fn to(function: impl Fn(&LogEntry) + Send + Sync + 'static) -> Self {
        Self { sink: Sink::Function(Arc::new(function)), content: false }
    }

    /// Creates a logger that writes to `tracing` and writes every record to `writer` as one line of JSON. The line is written on
    /// the task that makes the call. A record that cannot be written is dropped.
    ///
    /// ```no_run
    /// use agentloop::{AgentLoop, middleware::Logger};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let file = std::fs::File::options().create(true).append(true).open("calls.jsonl")?;
    /// let ai = AgentLoop::builder().layer(Logger::lines(file)).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn lines(writer: impl Write + Send + 'static) -> Self {
        Self { sink: Sink::Writer(Arc::new(Mutex::new(writer))), content: false }
    }

    setters! {
        /// Also writes the prompt and the response.
        with_content(self) => self.content = true;
    }
}

impl Middleware for Logger {
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        Box::pin(async move {
            let began = Instant::now();
            let target = next.target(request.model()).ok();
            let span = span::open(&request, target.as_deref(), self.content);
            let mut entry = LogEntry::new(&request, target.as_deref());
            let (sink, content, within) = (self.sink.clone(), self.content, span.clone());
            if content {
                entry.prompt =
                    request.chat().and_then(|chat| serde_json::to_value(&chat.messages).ok());
            }
            let (next, witness) = next.witnessed();
            // Middleware further out may have counted attempts of its own.
            let earlier = witness.attempts();
            let end = move |ending: Ending<'_>, seen: &Seen| {
                entry.attempts = witness.attempts().saturating_sub(earlier);
                entry.end(ending, seen, began, content);
                span::close(&within, &entry, content);
                sink.write(&entry);
            };
            let watch = Watch::new(end).within(span.clone());
            let response = next.run(request).instrument(span).await;
            watch.see(response)
        })
    }

    fn applies_to(&self, _: &Request) -> bool {
        self.sink.is_used() || span::is_wanted()
    }

    fn needs_events(&self) -> bool {
        false
    }
}
