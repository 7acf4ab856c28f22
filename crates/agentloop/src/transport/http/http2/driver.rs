//! Drives a connection from the tasks that poll its streams. See ADR 14.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::shared_waker::SharedWaker;
use super::sync::{Mutex, TryLockError, lock};

/// A connection that must be polled for its streams to make progress.
pub(super) trait Drive {
    /// Polls the connection with the [`SharedWaker`]. Returns `Ready` when it has ended.
    fn poll(&mut self) -> Poll<()>;

    /// Sets the watchdog. This is not done in a drop, which may happen outside of the runtime or after its end.
    fn set_watchdog(&mut self, waker: &SharedWaker);
}

/// A connection, and the waker that decides which task drives it.
pub(super) struct Driver<C> {
    /// `None` after the connection has ended.
    connection: Mutex<Option<C>>,
    waker: Arc<SharedWaker>,
}

impl<C: Drive> Driver<C> {
    pub(super) fn new(connection: C, waker: Arc<SharedWaker>) -> Self {
        Self { connection: Mutex::new(Some(connection)), waker }
    }

    pub(super) fn waker(&self) -> &SharedWaker {
        &self.waker
    }

    pub(super) fn has_ended(&self) -> bool {
        lock(&self.connection).is_none()
    }

    /// Polls something of the stream in `slot`, and the connection where that has to come first. A caller that gets `Pending` is
    /// woken with the connection.
    pub(super) fn poll_stream<T>(
        &self,
        slot: usize,
        context: &mut Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let mut polled = self.waker.without_waking(|| poll(context));
        if polled.is_pending() {
            // Before the connection is driven, so that nothing it reports is missed.
            self.waker.register(slot, context.waker());
            self.drive();
            polled = poll(context);
        }
        if polled.is_ready() {
            // The caller may not poll again soon, so it must not be the task that is woken. Unregister first and drive
            // then: a wake-up that still went to the caller is handled here.
            self.waker.unregister(slot);
            self.drive();
        }
        polled
    }

    /// Changes a stream, and sends what follows from the change.
    pub(super) fn apply<T>(&self, act: impl FnOnce() -> T) -> T {
        let result = self.waker.without_waking(act);
        self.drive();
        result
    }

    /// Changes a stream in a drop, and sends what follows from the change. Its task is not woken for the connection any more.
    pub(super) fn apply_in_drop(&self, slot: usize, act: impl FnOnce()) {
        self.waker.without_waking(act);
        self.waker.unregister(slot);
        self.drive_in_drop();
    }

    /// Polls the connection if it was woken.
    pub(super) fn drive(&self) {
        if self.waker.is_signalled() {
            // Waits for the lock instead of trying it: the task that holds it may be past what the signal was for.
            let mut connection = lock(&self.connection);
            self.poll(&mut connection);
            if let Some(connection) = &mut *connection
                && !self.waker.is_watched()
            {
                connection.set_watchdog(&self.waker);
            }
        }
    }

    /// Polls the connection if it was woken, without waiting for the lock: the drop may happen while this thread polls the
    /// connection. If another task holds the lock, the waiting tasks drive the connection.
    fn drive_in_drop(&self) {
        if !self.waker.is_signalled() {
            return;
        }
        match self.connection.try_lock() {
            Ok(mut connection) => self.poll(&mut connection),
            Err(TryLockError::Poisoned(connection)) => self.poll(&mut connection.into_inner()),
            Err(TryLockError::WouldBlock) => self.waker.wake_all(),
        }
    }

    fn poll(&self, connection: &mut Option<C>) {
        if let Some(driven) = connection
            && self.waker.take_signal()
            && driven.poll().is_ready()
        {
            // Its streams have received how it ended.
            *connection = None;
        }
    }
}
