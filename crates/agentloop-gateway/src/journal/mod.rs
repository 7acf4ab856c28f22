//! The journal: what this node has reserved and settled and the store does not have yet, in files of this node.
//!
//! A call is reserved before it is sent, which writes the row that counts if nothing more is heard of it, and settled or
//! released when it ends (ADR 19). Settled rows leave in batches in the order of their numbers. What is guaranteed:
//!
//! - When [`Journal::reserve`] returns, its line was written: a killed process does not lose it. What the system had not
//!   written to the disk is lost with the power, which is at most what was written since the last [`Journal::sync`].
//! - At the next start, a reservation without an end becomes the row that it carries.
//! - A row comes in batches until one of them is acknowledged. It can come twice, after a restart, so the store ignores the
//!   ids that it has.
//! - If the disk is full, lines wait in memory, at most [`MAX_WAITING`], and are written later in their order. What was
//!   written before is not touched.
//! - Damaged lines are skipped and counted. The row of a call whose last line is damaged is that of its reservation.
//!
//! A segment is deleted when all its rows, and those of all segments before it, are stored.

mod batch;
mod disk;
mod line;
mod read;
mod replay;
mod state;
#[cfg(test)]
mod tests;
mod write;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use agentloop::internal::lock;
use agentloop::{Error, ErrorKind, Result};
use tokio::sync::Notify;

pub(crate) use batch::Batch;
use disk::Disk;
use replay::Replay;
use state::State;

use crate::store::LedgerRow;

/// The most settled rows that are kept in memory. More are read back from the segments.
pub(crate) const MAX_READY: usize = 10_000;

/// The most lines that wait in memory until they can be written.
pub(crate) const MAX_WAITING: usize = 100_000;

/// The most bytes of lines that wait in memory before no more calls are accepted.
pub(crate) const MAX_WAITING_BYTES: usize = 128 << 20;

/// The most rows whose memory is kept for further rows.
const MAX_SPARE: usize = 1_000;

/// How many rows are read back from the segments at once.
const READ_ROWS: usize = 2_000;

/// How many waiting lines are written before others get the lock.
const CATCH_UP_LINES: usize = 1_000;

/// The journal of this node. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Journal(Arc<Shared>);

/// The journal, with its lock.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Notify,
    /// Rows that are stored. Rows are made by the threads of requests and end in that of the store, which is the most expensive way to
    /// use memory; a row that is used again needs none.
    spare: Mutex<Vec<LedgerRow>>,
}

/// How the journal is.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalHealth {
    /// How many settled rows are not stored.
    pub(crate) unstored_rows: u64,
    /// How many reservations have no end yet.
    pub(crate) open: usize,
    /// The bytes of its files.
    pub(crate) bytes: u64,
    /// How many lines wait because they cannot be written.
    pub(crate) waiting_lines: usize,
    /// Since when lines cannot be written, and why.
    pub(crate) failing: Option<(SystemTime, String)>,
    /// How many damaged lines were skipped.
    pub(crate) damaged_lines: u64,
    /// How many rows were lost, because neither the disk nor the memory had room.
    pub(crate) lost_rows: u64,
}

impl Journal {
    /// Locks the folder and reads its segments. The rows that are not known to be stored become the first batches: settled
    /// rows, and the rows of reservations without an end.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let (lock, numbers) = Disk::lock(folder)?;
        let replay = Replay::read(folder, &numbers).map_err(|error| {
            let message = format!("the journal in {} cannot be read: {error}", folder.display());
            Error::new(ErrorKind::Config, message).with_hint(
                "its files have rows of the ledger; move them away only if these may be lost",
            )
        })?;
        if replay.damaged > 0 {
            tracing::warn!(lines = replay.damaged, "damaged lines of the journal were skipped");
        }
        let disk = Disk::begin(folder, lock, replay.segments)?;
        let mut state = State::new(Some(disk), replay.stored, replay.last);
        state.damaged = replay.damaged;
        let mut open: Vec<_> = replay.open.into_values().collect();
        open.sort_unstable_by_key(|(order, _)| *order);
        let has_moved = !open.is_empty();
        for (_, json) in open {
            match line::row(&json) {
                Some(row) => state.settle(row),
                None => state.damaged += 1,
            }
        }
        let journal = Self::new(state);
        let (files, _) = journal.0.lock().forget_stored();
        journal.delete(files, has_moved);
        Ok(journal)
    }

    /// Keeps nothing on disk: for tests, and for gateways without a data folder.
    pub(crate) fn in_memory() -> Self {
        Self::new(State::new(None, 0, 0))
    }

    fn new(state: State) -> Self {
        let (state, changed, spare) = (Mutex::new(state), Notify::new(), Mutex::default());
        Self(Arc::new(Shared { state, changed, spare }))
    }

    /// Returns a row whose memory can be used again: its content is that of another call.
    pub(crate) fn spare_row(&self) -> LedgerRow {
        self.0.spare().pop().unwrap_or_default()
    }

    /// Writes the row that counts if nothing more is heard of the call.
    ///
    /// # Errors
    ///
    /// When no more rows can be kept: the disk is full, and so is the memory for lines that wait.
    pub(crate) fn reserve(&self, row: &LedgerRow) -> Result<()> {
        let reserved = line::reserved(row);
        self.0.lock().reserve(&row.id, reserved)
    }

    /// Writes the final row of a call. It need not have been reserved.
    pub(crate) fn settle(&self, row: LedgerRow) {
        self.0.lock().settle(row);
        self.0.changed.notify_one();
    }

    /// Cancels the reservation of a call that cost nothing.
    pub(crate) fn release(&self, id: &str) {
        let line = line::released(id);
        self.0.lock().release(id, line);
    }

    /// Returns the oldest rows that are not stored, at most `most`. It is empty while another batch is on its way.
    ///
    /// Rows that are not in memory are read from the segments, which takes milliseconds: see [`Journal::must_read`].
    pub(crate) fn next_batch(&self, most: usize) -> Batch {
        if let Some(plan) = self.plan() {
            match plan.read(READ_ROWS) {
                Ok(found) => self.0.lock().take(&plan, found),
                Err(error) => tracing::warn!(%error, "rows of the journal cannot be read"),
            }
        }
        let (numbers, rows, up_to) = self.0.lock().begin_batch(most);
        if rows.is_empty() {
            return Batch::empty();
        }
        Batch { rows: rows.into(), numbers, up_to, journal: Some(Arc::clone(&self.0)) }
    }

    /// Returns whether the next batch must be read from files.
    pub(crate) fn must_read(&self) -> bool {
        self.plan().is_some()
    }

    fn plan(&self) -> Option<state::Plan> {
        self.0.lock().plan()
    }

    /// Acknowledges a batch, and deletes the segments that are not needed any more.
    pub(crate) fn stored(&self, mut batch: Batch) {
        if batch.journal.take().is_none() {
            return;
        }
        let (files, has_moved) = self.0.lock().end_batch(batch.up_to);
        if let Some(rows) = Arc::get_mut(&mut batch.rows) {
            let mut spare = self.0.spare();
            let room = MAX_SPARE.saturating_sub(spare.len());
            spare.extend(rows.iter_mut().take(room).map(std::mem::take));
        }
        self.delete(files, has_moved);
    }

    /// Waits until there are rows to store.
    pub(crate) async fn changed(&self) {
        loop {
            let changed = self.0.changed.notified();
            if self.0.lock().has_rows() {
                return;
            }
            changed.await;
        }
    }

    /// Calls `visit` with every settled row that is not stored. It reads the segments, so it is for the start.
    pub(crate) fn visit_unstored(&self, visit: &mut dyn FnMut(LedgerRow)) -> io::Result<()> {
        let plan = self.0.lock().plan_all();
        let last = plan.visit(visit)?;
        self.0.lock().visit_waiting(last, visit);
        Ok(())
    }

    /// Writes lines that wait, and flushes everything to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let mut waiting = usize::MAX;
        loop {
            let mut state = self.0.lock();
            state.catch_up(CATCH_UP_LINES);
            let now = state.waiting_count();
            if now == 0 || now >= waiting {
                break;
            }
            waiting = now;
        }
        let work = self.0.lock().disk.as_mut().and_then(Disk::begin_sync);
        let Some((files, folder)) = work else { return Ok(()) };
        let result = files.iter().try_for_each(|file| file.sync_data());
        let result = result.and_then(|()| sync_folder(&folder));
        if result.is_err()
            && let Some(disk) = &mut self.0.lock().disk
        {
            disk.abort_sync(files);
        }
        result
    }

    /// Returns how the journal is.
    pub(crate) fn health(&self) -> JournalHealth {
        let state = self.0.lock();
        JournalHealth {
            unstored_rows: state.unstored(),
            open: state.open_count(),
            bytes: state.disk.as_ref().map_or(0, Disk::bytes),
            waiting_lines: state.waiting_count(),
            failing: state.failing.clone().map(|failing| (failing.since, failing.error)),
            damaged_lines: state.damaged,
            lost_rows: state.lost,
        }
    }

    /// Deletes segments. What was moved out of them must be on the disk before.
    fn delete(&self, files: Vec<PathBuf>, must_sync: bool) {
        if files.is_empty() {
            return;
        }
        if must_sync && let Err(error) = self.sync() {
            // They are read again at the next start, which changes nothing: the store has their rows.
            tracing::warn!(%error, "the journal cannot be flushed to the disk");
            return;
        }
        for file in files {
            if let Err(error) = fs::remove_file(&file) {
                tracing::warn!(%error, "a segment of the journal cannot be deleted");
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn spare(&self) -> MutexGuard<'_, Vec<LedgerRow>> {
        lock(&self.spare)
    }
}

/// Flushes the names of new files.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
