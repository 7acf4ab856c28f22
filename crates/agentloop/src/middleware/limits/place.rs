//! A call's place in the queue.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use super::bucket::Cost;
use super::held::Held;
use super::scope::{Look, Scope};
use crate::error::Result;

/// Timers are exact to a millisecond; a shorter wait would only spin.
const TICK: Duration = Duration::from_millis(1);

/// A call's place in the queue. Dropping it removes the call from the queue.
pub(super) struct Place {
    scope: Arc<Scope>,
    ticket: u64,
    cost: Cost,
    deadline: Instant,
}

impl Place {
    pub(super) fn new(scope: Arc<Scope>, ticket: u64, cost: Cost, deadline: Instant) -> Self {
        Self { scope, ticket, cost, deadline }
    }

    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    /// Waits until this call is first and there is room.
    pub(super) async fn first(&self) -> Result<()> {
        // Only a call that waits needs a timer.
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        poll_fn(|context| {
            loop {
                let until = match self.scope.look(self.ticket, context.waker()) {
                    Look::Ready => return Poll::Ready(Ok(())),
                    Look::At(when) if when > self.deadline => {
                        let wait = when.saturating_duration_since(Instant::now());
                        return Poll::Ready(Err(self.scope.too_long(wait)));
                    }
                    Look::At(when) => when,
                    Look::Later => self.deadline,
                };
                if Instant::now() >= self.deadline {
                    let most = self.scope.limit.max_wait.as_secs_f64();
                    let why = format!("a call waited {most} s");
                    return Poll::Ready(Err(self.scope.refused(&why, Duration::ZERO)));
                }
                let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
                if timer.deadline() != until {
                    timer.as_mut().reset(until);
                }
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Waits for some time and stays first.
    pub(super) async fn rest(&self, wait: Duration) -> Result<()> {
        let until = Instant::now().checked_add(wait.max(TICK)).unwrap_or(self.deadline);
        if until > self.deadline {
            return Err(self.scope.too_long(wait));
        }
        tokio::time::sleep_until(until).await;
        Ok(())
    }

    /// Leaves the queue with what the call needs.
    pub(super) fn go(self, shared: bool) -> Held {
        self.scope.take(self.ticket, self.cost);
        Held::new(Arc::clone(&self.scope), self.cost, shared)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.scope.leave(self.ticket);
    }
}
