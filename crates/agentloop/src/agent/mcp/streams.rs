//! How often the event stream of a server is asked for.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::time::Instant;

use super::events::Events;
use crate::limits::{MCP_RECONNECTS, MCP_STREAM_PAUSE};

/// Slows down the requests for event streams, and ends them when streams bring nothing.
///
/// A server decides when its streams end and how long we shall wait before we ask again. The SDK's own limit counts only
/// requests that fail, so a server whose streams end at once would be asked without end.
#[derive(Clone, Default)]
pub(super) struct Streams(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// When the next request may be made.
    next: Option<Instant>,
    /// How many streams in a row were begun and have brought no message.
    empty: usize,
}

impl Streams {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the time of the next request, and returns whether it may be made.
    pub(super) async fn may_begin(&self) -> bool {
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

    /// Notes whether a stream brings a message.
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
    async fn streams_that_bring_nothing_are_asked_for_a_few_times_and_slowly() {
        let streams = Streams::default();
        let began = Instant::now();
        let mut asked = 0;
        while streams.may_begin().await {
            asked += 1;
        }
        assert_eq!(asked, MCP_RECONNECTS + 1);
        assert!(began.elapsed() >= MCP_STREAM_PAUSE * u32::try_from(MCP_RECONNECTS).unwrap_or(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_lets_a_stream_be_asked_for_again() {
        let streams = Streams::default();
        for _ in 0..3 * MCP_RECONNECTS {
            assert!(streams.may_begin().await);
            let event = sse_stream::Sse::default().data("{}");
            let events: Events = Box::pin(stream::iter([Ok(event)]));
            streams.watch(events).collect::<Vec<_>>().await;
        }
    }
}
