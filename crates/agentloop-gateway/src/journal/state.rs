//! What the journal knows, behind its lock.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use agentloop::{Error, ErrorKind, Result};

use super::disk::Disk;
use super::line::{self, Line, Reserved};
use super::read::{Lines, Next};
use super::{MAX_READY, MAX_WAITING, MAX_WAITING_BYTES};
use crate::store::LedgerRow;

/// How many lines that waited for the disk are written before the next line.
const MAX_CATCH_UP: usize = 1_000;

/// A reservation without an end.
#[derive(Debug)]
struct Open {
    /// A segment not after the one with its line.
    segment: u64,
    reserved: Reserved,
}

/// Where the rows after a number begin.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    row: u64,
    segment: u64,
    offset: u64,
}

/// What to read to get more rows.
#[derive(Debug)]
pub(super) struct Plan {
    segments: Vec<(u64, PathBuf, u64)>,
    cursor: Cursor,
    /// The last row before those wanted.
    after: u64,
    /// The last row that the segments have.
    last: u64,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Found {
    rows: Vec<(u64, LedgerRow)>,
    cursor: Cursor,
    is_end: bool,
}

/// Why lines cannot be written.
#[derive(Clone, Debug)]
pub(super) struct Failing {
    pub(super) since: SystemTime,
    pub(super) error: String,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// The most lines that wait.
    pub(super) most_waiting: usize,
    pub(super) disk: Option<Disk>,
    open: HashMap<String, Open>,
    /// Lines that could not be written yet.
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    pub(super) failing: Option<Failing>,
    /// Rows that are not stored, with their numbers. Rows after `loaded` are only in the segments.
    ready: VecDeque<(u64, LedgerRow)>,
    loaded: u64,
    last: u64,
    stored: u64,
    /// How many rows are in the batch that is on its way.
    on_way: Option<usize>,
    cursor: Cursor,
    pub(super) damaged: u64,
    pub(super) lost: u64,
}

impl State {
    /// Begins with what is in the segments.
    pub(super) fn new(disk: Option<Disk>, stored: u64, last: u64) -> Self {
        Self { most_waiting: MAX_WAITING, disk, stored, loaded: stored, last, ..Self::default() }
    }

    pub(super) fn reserve(&mut self, id: &str, mut reserved: Reserved) -> Result<()> {
        // Each reservation gets one more line, which must find room.
        let lines = self.waiting.len() + self.open.len();
        let held = if self.disk.is_some() { 0 } else { self.ready.len() };
        if lines + held >= self.most_waiting || self.waiting_bytes >= MAX_WAITING_BYTES {
            let message = "the journal cannot be written, and no more calls can be remembered";
            let why = self.failing.as_ref().map(|failing| format!(": {}", failing.error));
            let error = format!("{message}{}", why.unwrap_or_default());
            return Err(Error::new(ErrorKind::Other, error)
                .with_hint("free some space on the disk of the gateway's data folder"));
        }
        let segment = self.disk.as_ref().map_or(0, Disk::number);
        if self.write(&reserved.line).is_err() {
            self.wait(reserved.line.clone());
        }
        // It is kept as long as the call lasts.
        reserved.line.shrink_to_fit();
        self.open.insert(id.to_owned(), Open { segment, reserved });
        Ok(())
    }

    pub(super) fn settle(&mut self, row: LedgerRow) {
        let mut line = match self.open.remove(&row.id) {
            Some(open) => line::settled_after(&open.reserved, &row),
            None => line::settled(&row),
        };
        self.last += 1;
        line::set_number(&mut line, self.last);
        let mut is_kept = self.write(&line).is_ok();
        if !is_kept {
            is_kept = self.wait(line);
        }
        let most = if self.disk.is_some() { MAX_READY } else { self.most_waiting };
        if self.loaded + 1 == self.last && self.ready.len() < most {
            self.loaded = self.last;
            self.ready.push_back((self.last, row));
        } else if !is_kept || self.disk.is_none() {
            self.lost += 1;
        }
    }

    pub(super) fn release(&mut self, id: &str, line: Vec<u8>) {
        if self.open.remove(id).is_some() && self.write(&line).is_err() {
            self.wait(line);
        }
    }

    /// Writes a line if all lines before it are written.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.disk.is_none() {
            return Ok(());
        }
        self.catch_up(MAX_CATCH_UP);
        let result = match &mut self.disk {
            Some(disk) if self.waiting.is_empty() => disk.append(line),
            _ => return Err(io::ErrorKind::WouldBlock.into()),
        };
        self.note(result.as_ref().err());
        result
    }

    /// Writes lines that wait, as long as it works.
    pub(super) fn catch_up(&mut self, most: usize) {
        if self.waiting.is_empty() && self.failing.is_some() {
            // Only a line that was not worth keeping has failed. This one shows whether the next will.
            let line = line::stored(self.stored);
            let result = self.disk.as_mut().map_or(Ok(()), |disk| disk.append(&line));
            self.note(result.as_ref().err());
        }
        for _ in 0..most {
            let (Some(disk), Some(line)) = (&mut self.disk, self.waiting.front()) else { return };
            let result = disk.append(line);
            self.note(result.as_ref().err());
            if result.is_err() {
                return;
            }
            self.waiting_bytes -= self.waiting.pop_front().map_or(0, |line| line.len());
        }
    }

    fn note(&mut self, error: Option<&io::Error>) {
        match (error, &self.failing) {
            (None, None) => {}
            (None, Some(_)) => {
                tracing::info!("the journal can be written again");
                self.failing = None;
            }
            (Some(error), None) => {
                tracing::warn!(%error, "the journal cannot be written");
                let (since, error) = (SystemTime::now(), error.to_string());
                self.failing = Some(Failing { since, error });
            }
            (Some(_), Some(_)) => {}
        }
    }

    /// Keeps a line until it can be written. Returns whether there was room.
    fn wait(&mut self, line: Vec<u8>) -> bool {
        let has_room = self.waiting.len() < self.most_waiting;
        if has_room {
            self.waiting_bytes += line.len();
            self.waiting.push_back(line);
        }
        has_room
    }

    /// Returns what must be read before there are rows to store.
    pub(super) fn plan(&self) -> Option<Plan> {
        let is_needed = self.ready.is_empty() && self.loaded < self.last && self.on_way.is_none();
        is_needed.then(|| self.plan_after(self.loaded))
    }

    /// Returns what must be read to get all rows that are not stored.
    pub(super) fn plan_all(&self) -> Plan {
        self.plan_after(self.stored)
    }

    fn plan_after(&self, after: u64) -> Plan {
        let segments = self.disk.as_ref().map(|disk| disk.segments_after(after));
        let last = self.disk.as_ref().map_or(self.last, Disk::last);
        Plan { segments: segments.unwrap_or_default(), cursor: self.cursor, after, last }
    }

    /// Takes rows that were read for a plan.
    pub(super) fn take(&mut self, plan: &Plan, found: Found) {
        if self.loaded != plan.after || !self.ready.is_empty() {
            return;
        }
        self.cursor = found.cursor;
        self.ready.extend(found.rows);
        self.loaded = self.ready.back().map_or(self.loaded, |(number, _)| *number);
        if found.is_end {
            self.loaded = self.loaded.max(plan.last);
        }
        // Rows that are not even in a segment yet.
        let written = self.disk.as_ref().map_or(0, Disk::last);
        if self.loaded >= written {
            for line in &self.waiting {
                let text = line.strip_suffix(b"\n").unwrap_or(line);
                let Some(Line::Settled(number, json)) = line::read(text) else { continue };
                if number > self.loaded && self.ready.len() < MAX_READY {
                    self.loaded = number;
                    self.ready.extend(line::row(json).map(|row| (number, row)));
                }
            }
            if self.waiting.is_empty() {
                self.loaded = self.last;
            }
        }
    }

    /// Calls `visit` with the rows of lines that wait for the disk, after a number.
    pub(super) fn visit_waiting(&self, after: u64, visit: &mut dyn FnMut(LedgerRow)) {
        for line in &self.waiting {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            if let Some(Line::Settled(number, json)) = line::read(text) {
                line::row(json).filter(|_| number > after).into_iter().for_each(&mut *visit);
            }
        }
    }

    /// Takes at most `most` of the oldest rows. Returns them with the number up to which rows are then stored.
    pub(super) fn begin_batch(&mut self, most: usize) -> (Vec<u64>, Vec<LedgerRow>, u64) {
        if self.on_way.is_some() {
            return Default::default();
        }
        if self.ready.is_empty() {
            // What is missing could not be read: it was damaged.
            self.stored = self.stored.max(self.loaded);
            return Default::default();
        }
        let count = most.min(self.ready.len());
        let (numbers, rows): (Vec<u64>, Vec<LedgerRow>) = self.ready.drain(..count).unzip();
        let next = self.ready.front().map_or(self.loaded + 1, |(number, _)| *number);
        self.on_way = Some(rows.len());
        (numbers, rows, next - 1)
    }

    pub(super) fn put_back(&mut self, rows: impl DoubleEndedIterator<Item = (u64, LedgerRow)>) {
        self.on_way = None;
        for row in rows.rev() {
            self.ready.push_front(row);
        }
    }

    /// Notes that rows are stored. Returns the files that are not needed any more, and whether others must be flushed to
    /// the disk before they are deleted.
    pub(super) fn end_batch(&mut self, up_to: u64) -> (Vec<PathBuf>, bool) {
        self.on_way = None;
        self.stored = self.stored.max(up_to);
        // Without this line, rows are sent again after a restart, which changes nothing.
        let _ = self.write(&line::stored(self.stored));
        self.forget_stored()
    }

    /// Forgets segments whose rows are stored, the oldest first. Reservations without an end move to the current one, so
    /// that a long stream does not keep all segments since its start. If there are many of them, the segment stays until
    /// more have ended: moving them costs as much as writing them.
    pub(super) fn forget_stored(&mut self) -> (Vec<PathBuf>, bool) {
        let (mut files, mut has_moved) = (Vec::new(), false);
        let Some(disk) = self.disk.as_mut().filter(|_| self.waiting.is_empty()) else {
            return (files, has_moved);
        };
        let newest = disk.number();
        while let Some(number) = disk.oldest_done(self.stored).filter(|number| *number < newest) {
            let is_in = |open: &&mut Open| open.segment <= number;
            let bytes: usize =
                self.open.values_mut().filter(is_in).map(|open| open.reserved.line.len()).sum();
            if bytes as u64 > disk.segment_bytes() / 4 {
                break;
            }
            for open in self.open.values_mut().filter(is_in) {
                if disk.append(&open.reserved.line).is_err() {
                    return (files, has_moved);
                }
                has_moved = true;
                open.segment = disk.number();
            }
            files.push(disk.forget(number));
        }
        (files, has_moved)
    }

    pub(super) fn has_rows(&self) -> bool {
        self.on_way.is_none() && self.stored < self.last
    }

    pub(super) fn unstored(&self) -> u64 {
        self.last.saturating_sub(self.stored)
    }

    pub(super) fn open_count(&self) -> usize {
        self.open.len()
    }

    pub(super) fn waiting_count(&self) -> usize {
        self.waiting.len()
    }
}

impl Plan {
    /// Reads at most `most` rows, without the lock: what is in a segment does not change.
    pub(super) fn read(&self, most: usize) -> io::Result<Found> {
        let mut found = Found::default();
        let is_known = self.cursor.row == self.after;
        let start = if is_known { self.cursor } else { Cursor::default() };
        found.is_end = self.each(start, &mut |at, row| {
            found.rows.push((at.row, row));
            found.cursor = at;
            found.rows.len() < most
        })?;
        Ok(found)
    }

    /// Calls `visit` with every row. Returns the number of the last.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(LedgerRow)) -> io::Result<u64> {
        let mut last = self.after;
        self.each(Cursor::default(), &mut |at, row| {
            last = at.row;
            visit(row);
            true
        })?;
        Ok(last)
    }

    /// Calls `visit` with rows and what follows each, until it returns `false`. Returns whether there are no more rows.
    fn each(
        &self,
        start: Cursor,
        visit: &mut dyn FnMut(Cursor, LedgerRow) -> bool,
    ) -> io::Result<bool> {
        let mut last = self.after;
        for (segment, path, end) in &self.segments {
            let offset = if start.segment == *segment { start.offset } else { 0 };
            let mut lines = Lines::open(path, offset, *end)?;
            loop {
                let rows = match lines.next()? {
                    Next::Line(text) => rows_of(text),
                    Next::TooLong => [None, None],
                    Next::Torn | Next::End => break,
                };
                let mut wants_more = true;
                for (number, row) in rows.into_iter().flatten() {
                    // A line can be there twice, if a write failed although it had succeeded.
                    if number > last {
                        last = number;
                        let offset = lines.offset();
                        wants_more = visit(Cursor { row: number, segment: *segment, offset }, row);
                    }
                }
                if !wants_more {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Returns the settled row of a line. A damaged line can have two.
fn rows_of(text: &[u8]) -> [Option<(u64, LedgerRow)>; 2] {
    let row = |text| match line::read(text)? {
        Line::Settled(number, json) => Some((number, line::row(json)?)),
        _ => None,
    };
    match line::read(text) {
        Some(_) => [row(text), None],
        None => line::split_damaged(text)
            .map_or([None, None], |(first, second)| [row(first), row(second)]),
    }
}
