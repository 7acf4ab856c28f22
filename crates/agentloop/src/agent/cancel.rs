//! Cancellation.

use std::pin::pin;

use futures_util::future::{Either, select};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Cancels a run from anywhere. Clones share their state.
///
/// A cancelled token stays cancelled. A [run](super::RunRequest::cancel_token) with the token then ends at once: the model's
/// response and the running tools are dropped, and the outcome holds what was done until then.
///
/// ```
/// use agentloop::agent::CancelToken;
///
/// let cancel = CancelToken::new();
/// let other = cancel.clone();
/// other.cancel();
/// assert!(cancel.is_cancelled());
/// ```
// Wraps the type of tokio-util, so a new major version of that crate is not a breaking change of this one.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(CancellationToken);

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a token that is cancelled together with this one. Cancelling the child does not cancel this token.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Cancels the token and its children.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns whether the token is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the token is cancelled.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }

    /// Waits for `future`. Returns `None` if the token is cancelled, even if the future is ready as well: the caller cancelled first.
    pub(super) async fn run_until_cancelled<T>(
        &self,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        // The method of tokio-util with this name prefers the future. `select` polls its first argument first.
        match select(pin!(self.0.cancelled()), pin!(future)).await {
            Either::Left(_) => None,
            Either::Right((output, _)) => Some(output),
        }
    }

    /// Returns a guard that cancels the token when it is dropped.
    pub(super) fn cancel_on_drop(&self) -> DropGuard {
        self.0.clone().drop_guard()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn cancelling_a_parent_cancels_its_children_but_not_the_reverse() {
        let parent = CancelToken::new();
        let (one, other) = (parent.child(), parent.child());
        one.cancel();
        one.cancelled().await;
        assert!(!parent.is_cancelled() && !other.is_cancelled());
        assert_eq!(other.run_until_cancelled(std::future::ready(7)).await, Some(7));
        let waits = other.child();
        let (_, ()) = tokio::join!(waits.cancelled(), async { parent.cancel() });
        assert_eq!(other.run_until_cancelled(std::future::ready(7)).await, None);
    }
}
