//! Returns control to the runtime after a bounded amount of work.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};

use crate::limits::{POLL_STEP_BYTES, POLL_WORK_BYTES};

/// Counts the work that is done without waiting.
///
/// A future whose input is always ready never returns `Pending` by itself. Its thread then runs no timer and no other task, and the
/// future cannot be cancelled. What reads input charges each step here and pauses when the work of one poll is used up.
#[derive(Debug)]
pub(crate) struct Pace {
    left: usize,
}

impl Pace {
    pub(crate) const fn new() -> Self {
        Self { left: POLL_WORK_BYTES }
    }

    /// Charges one step that worked on so many bytes.
    pub(crate) fn charge(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes.max(POLL_STEP_BYTES));
    }

    /// Begins to count again, because the caller is about to wait.
    pub(crate) fn restart(&mut self) {
        self.left = POLL_WORK_BYTES;
    }

    /// Returns `Pending` if the work of this poll is used up. The task is woken again at once.
    pub(crate) fn poll_work(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.left > 0 {
            return Poll::Ready(());
        }
        self.restart();
        poll_pause(context)
    }
}

/// Returns `Pending` and wakes the task again, after the runtime has looked at its timers and sockets.
fn poll_pause(context: &mut Context<'_>) -> Poll<()> {
    // On its first poll it registers the waker and is pending. Outside of a runtime it wakes at once.
    let _ = pin!(tokio::task::yield_now()).poll(context);
    Poll::Pending
}

/// Returns control to the runtime once.
pub(crate) async fn pause() {
    let mut paused = false;
    poll_fn(|context| {
        if std::mem::replace(&mut paused, true) { Poll::Ready(()) } else { poll_pause(context) }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_pause_follows_the_work_of_one_poll_and_wakes_the_task() {
        let count = Arc::<Count>::default();
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let mut pace = Pace::new();
        let mut steps = 0;
        while pace.poll_work(&mut context).is_ready() {
            pace.charge(0);
            steps += 1;
        }
        assert_eq!(steps, POLL_WORK_BYTES / POLL_STEP_BYTES);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        pace.charge(usize::MAX);
        assert!(pace.poll_work(&mut context).is_pending());
        assert!(pace.poll_work(&mut context).is_ready());
    }
}
