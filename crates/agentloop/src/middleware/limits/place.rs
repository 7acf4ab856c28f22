//! A call's place in the row.

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

/// A call's place in the row. Dropping it leaves the row at once.
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

    /// Waits until it is this call's turn and there is room.
    pub(super) async fn first(&self) -> Result<()> {
        // A call that need not wait needs no timer.
        let mut alarm: Option<Pin<Box<Sleep>>> = None;
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
                let alarm = alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
                if alarm.deadline() != until {
                    alarm.as_mut().reset(until);
                }
                if alarm.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// Stays first, but lets some time pass.
    pub(super) async fn rest(&self, wait: Duration) -> Result<()> {
        let until = Instant::now().checked_add(wait.max(TICK)).unwrap_or(self.deadline);
        if until > self.deadline {
            return Err(self.scope.too_long(wait));
        }
        tokio::time::sleep_until(until).await;
        Ok(())
    }

    /// Leaves the row with what the call needs.
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
