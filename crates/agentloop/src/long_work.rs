//! Work of more than a few milliseconds, which would hold up the other tasks of a thread.

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::limits::POLL_WORK_BYTES;

/// Where work is done that can take long: reading one large document, or what is made of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongWork {
    /// Where its task runs. Other tasks of the thread wait.
    #[default]
    InTask,
    /// Also where its task runs, but other tasks of the thread are moved to another one before. For tasks that were spawned: a
    /// runtime with one thread does not move them, and one that is blocked on a future (`block_on`, `LocalSet`) cannot.
    InPlace,
}

impl LongWork {
    /// Returns where work on so many bytes is done.
    #[must_use]
    pub fn for_bytes(self, bytes: usize) -> Self {
        if bytes >= POLL_WORK_BYTES { self } else { Self::InTask }
    }

    /// Does work.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        let can_move = || Handle::try_current().map(|runtime| runtime.runtime_flavor());
        if self == Self::InPlace && matches!(can_move(), Ok(RuntimeFlavor::MultiThread)) {
            tokio::task::block_in_place(work)
        } else {
            work()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// On one worker, work waits for a task that can only run if it is moved.
    #[test]
    fn long_work_does_not_hold_up_other_tasks() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let other_has_run = |long: LongWork, bytes: usize| {
            runtime.block_on(async move {
                let (sender, receiver) = mpsc::channel();
                let working = tokio::spawn(async move {
                    tokio::spawn(async move { sender.send(()) });
                    // Much longer than a moved task needs.
                    let patience =
                        if long == LongWork::InPlace && bytes >= POLL_WORK_BYTES { 60 } else { 0 };
                    long.for_bytes(bytes)
                        .run(|| receiver.recv_timeout(Duration::from_secs(patience)).is_ok())
                });
                working.await.unwrap()
            })
        };
        assert!(other_has_run(LongWork::InPlace, POLL_WORK_BYTES));
        assert!(!other_has_run(LongWork::InPlace, POLL_WORK_BYTES - 1));
        assert!(!other_has_run(LongWork::InTask, POLL_WORK_BYTES));
    }

    #[test]
    fn long_work_is_done_in_any_runtime_and_without_one() {
        assert_eq!(LongWork::InPlace.run(|| 1), 1);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(async { LongWork::InPlace.run(|| 2) }), 2);
    }
}
