//! Stopping what is under way.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops a run, from anywhere: a clone of it is the same switch.
///
/// Once thrown it stays so. A [run](super::Agent::run) that is given one ends at once when it is thrown: the model's answer
/// or the tools under way are dropped, and the outcome holds what there was by then.
///
/// ```
/// use agentloop::agent::CancelToken;
///
/// let cancel = CancelToken::new();
/// let other = cancel.clone();
/// other.cancel();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Clone, Debug)]
pub struct CancelToken(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    thrown: watch::Sender<bool>,
    /// What cancels this one too.
    parent: Option<CancelToken>,
}

impl CancelToken {
    /// A switch that is not thrown.
    pub fn new() -> Self {
        Self(Arc::new(Inner { thrown: watch::Sender::new(false), parent: None }))
    }

    /// A switch that is thrown with this one, or by itself alone.
    #[must_use]
    pub fn child(&self) -> Self {
        let parent = Some(self.clone());
        Self(Arc::new(Inner { thrown: watch::Sender::new(false), parent }))
    }

    /// Throws it.
    pub fn cancel(&self) {
        self.0.thrown.send_replace(true);
    }

    /// Whether it is thrown.
    pub fn is_cancelled(&self) -> bool {
        *self.0.thrown.borrow() || self.0.parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Waits until it is thrown.
    pub async fn cancelled(&self) {
        let mut line = Vec::new();
        let mut next = Some(self);
        while let Some(token) = next {
            line.push(Box::pin(token.thrown()));
            next = token.0.parent.as_ref();
        }
        std::future::poll_fn(|context| {
            match line.iter_mut().any(|token| token.as_mut().poll(context).is_ready()) {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        })
        .await;
    }

    async fn thrown(&self) {
        let mut watched = self.0.thrown.subscribe();
        // The sender lives as long as `self`, so that waiting cannot fail.
        let _ = watched.wait_for(|thrown| *thrown).await;
    }

    /// Waits for `future`, or until it is thrown; `None` then.
    pub(super) async fn stops<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        let mut cancelled = std::pin::pin!(self.cancelled());
        std::future::poll_fn(|context| {
            use std::task::Poll;
            // What is cancelled ends, even if its end is there too: the caller said so first.
            if cancelled.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            future.as_mut().poll(context).map(Some)
        })
        .await
    }
}

impl Default for CancelToken {
    fn default() -> Self {
        Self::new()
    }
}

/// Throws its switch when it goes.
#[derive(Debug)]
pub(super) struct CancelOnDrop(pub(super) CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_child_ends_with_its_parent_and_not_the_other_way_round() {
        let parent = CancelToken::new();
        let (one, other) = (parent.child(), parent.child());
        one.cancel();
        one.cancelled().await;
        assert!(!parent.is_cancelled() && !other.is_cancelled());
        assert_eq!(other.stops(std::future::ready(7)).await, Some(7));
        let waits = other.child();
        let (_, ()) = tokio::join!(waits.cancelled(), async { parent.cancel() });
        assert_eq!(other.stops(std::future::ready(7)).await, None);
    }
}
