//! Limits the requests for the event stream of a server.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::time::Instant;

use super::events::Events;
use crate::limits::{MCP_RECONNECTS, MCP_STREAM_PAUSE};
use crate::lock::lock;

/// Delays the requests for event streams, and rejects them after several streams without a message.
///
/// A server decides when its streams end and how soon the client may reconnect. The limit of the SDK counts only failed
/// requests, so a server whose streams end at once would be requested forever.
#[derive(Clone, Default)]
pub(super) struct Streams(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The time of the next request.
    next: Option<Instant>,
    /// The number of streams in a row without a message.
    empty: usize,
}

impl Streams {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// Waits until the next request may be made. Returns false if it may not be made at all.
    pub(super) async fn wait_until_allowed(&self) -> bool {
        let begin = {
            let mut state = self.state();
            if state.empty > MCP_RECONNECTS {
                return false;
            }
            state.empty += 1;
            let now = Instant::now();
            let begin = state.next.map_or(now, |next| next.max(now));
            state.next = Some(begin + MCP_STREAM_PAUSE);
            begin
        };
        tokio::time::sleep_until(begin).await;
        true
    }

    /// Observes whether a stream contains a message.
    pub(super) fn watch(&self, events: Events) -> Events {
        Box::pin(Watched { events, streams: self.clone() })
    }
}

struct Watched {
    events: Events,
    streams: Streams,
}

impl Stream for Watched {
    type Item = <Events as Stream>::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.events.as_mut().poll_next(context));
        if let Some(Ok(event)) = &next
            && event.data.as_deref().is_some_and(|data| !data.trim().is_empty())
        {
            self.streams.state().empty = 0;
        }
        Poll::Ready(next)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn streams_without_messages_are_requested_a_few_times_with_delays() {
        let streams = Streams::default();
        let began = Instant::now();
        let mut asked = 0;
        while streams.wait_until_allowed().await {
            asked += 1;
        }
        assert_eq!(asked, MCP_RECONNECTS + 1);
        assert!(began.elapsed() >= MCP_STREAM_PAUSE * u32::try_from(MCP_RECONNECTS).unwrap_or(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_resets_the_number_of_requests() {
        let streams = Streams::default();
        for _ in 0..3 * MCP_RECONNECTS {
            assert!(streams.wait_until_allowed().await);
            let event = sse_stream::Sse::default().data("{}");
            let events: Events = Box::pin(stream::iter([Ok(event)]));
            streams.watch(events).collect::<Vec<_>>().await;
        }
    }
}
