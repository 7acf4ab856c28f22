//! A connection on a thread of its own.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use agentloop::{Error, ErrorKind, Result};
use rusqlite::{Connection, InterruptHandle, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::schema::FORMAT;
use crate::sqlite::StoreError;

/// How many operations wait for a connection. Callers of others wait until there is room.
const MAX_WAITING: usize = 256;

/// The most operations of one transaction.
const MAX_GROUP: usize = 256;

/// What the operations of a lane do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Use {
    /// They write. All that wait are one transaction, in which each happens completely or not at all.
    Write,
    /// They read.
    Read,
}

/// A connection on a thread of its own, and the operations that wait for it.
pub(super) struct Lane {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    interrupt: Option<InterruptHandle>,
}

impl Lane {
    pub(super) fn start(connection: Connection, path: Arc<Path>, lane: Use) -> Result<Self> {
        let (jobs, waiting) = mpsc::channel(MAX_WAITING);
        // A long query may be cut off at the end, a commit may not.
        let interrupt = (lane == Use::Read).then(|| connection.get_interrupt_handle());
        let run = move || match lane {
            Use::Write => write(waiting, connection, &path),
            Use::Read => read(waiting, &connection, &path),
        };
        let thread = std::thread::Builder::new().name("agentloop-store".to_owned()).spawn(run);
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::Other, format!("cannot start a thread for the database: {error}"))
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), interrupt })
    }

    /// Runs an operation on the thread, and waits for its result: of one that writes, until it is on the disk.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T> {
        let ended = || Error::new(ErrorKind::Other, "the thread of the database has ended");
        let (reply, replied) = oneshot::channel();
        let job = Call { operation: Some(operation), result: None, reply };
        let jobs = self.jobs.as_ref().ok_or_else(ended)?;
        jobs.send(Box::new(job)).await.map_err(|_| ended())?;
        replied.await.map_err(|_| ended())?
    }
}

impl Drop for Lane {
    /// Waits until the operations that wait are done, so that the file is closed in order.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(interrupt) = &self.interrupt {
            interrupt.interrupt();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(mut waiting: mpsc::Receiver<Box<dyn Job>>, connection: &Connection, path: &Path) {
    while let Some(mut job) = waiting.blocking_recv() {
        if !job.is_abandoned() {
            job.run(connection, path);
            job.reply(None);
        }
    }
}

fn write(mut waiting: mpsc::Receiver<Box<dyn Job>>, mut connection: Connection, path: &Path) {
    while let Some(first) = waiting.blocking_recv() {
        let mut group = vec![first];
        while let (true, Ok(job)) = (group.len() < MAX_GROUP, waiting.try_recv()) {
            group.push(job);
        }
        let failure = commit(&mut connection, &mut group, path).err();
        for job in group {
            job.reply(failure.as_ref());
        }
    }
}

/// Runs a group of operations as one transaction.
fn commit(connection: &mut Connection, group: &mut [Box<dyn Job>], path: &Path) -> Result<()> {
    let fail = |error: rusqlite::Error| FORMAT.describe(&error, path);
    let mut transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    // Alone it needs no savepoint, for which SQLite copies every page before it changes: the transaction undoes it.
    if let [job] = group {
        return if job.run(&transaction, path) {
            transaction.commit().map_err(fail)
        } else {
            Ok(())
        };
    }
    for job in group {
        let savepoint = transaction.savepoint().map_err(fail)?;
        if job.run(&savepoint, path) {
            savepoint.commit().map_err(fail)?;
        } else {
            drop(savepoint);
            // After some errors, such as a full disk, SQLite has rolled everything back.
            if transaction.is_autocommit() {
                let message = format!("{}: SQLite has undone the transaction", path.display());
                return Err(Error::new(ErrorKind::Other, message).with_retryable(true));
            }
        }
    }
    transaction.commit().map_err(fail)
}

/// An operation that waits for a connection.
trait Job: Send {
    /// Runs the operation. Returns whether it succeeded.
    fn run(&mut self, connection: &Connection, path: &Path) -> bool;

    /// Returns the result to the caller: its own error, else that of the whole transaction.
    fn reply(self: Box<Self>, failure: Option<&Error>);

    /// Returns whether the caller does not wait for the result any more.
    fn is_abandoned(&self) -> bool;
}

struct Call<T, F> {
    operation: Option<F>,
    result: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T: Send, F: FnOnce(&Connection) -> Result<T, StoreError> + Send> Job for Call<T, F> {
    fn run(&mut self, connection: &Connection, path: &Path) -> bool {
        let Some(operation) = self.operation.take() else { return false };
        let result = operation(connection).map_err(|failure| failure.at(path, &FORMAT));
        let is_done = result.is_ok();
        self.result = Some(result);
        is_done
    }

    fn reply(self: Box<Self>, failure: Option<&Error>) {
        let result = match (self.result, failure) {
            (Some(Err(error)), _) => Err(error),
            (_, Some(failure)) => Err(failure.clone()),
            (Some(done), None) => done,
            (None, None) => return,
        };
        let _ = self.reply.send(result);
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}
