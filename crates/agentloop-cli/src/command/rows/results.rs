//! Writes the results of rows, and reads those of an earlier process.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use agentloop::limits::MAX_RESPONSE_BYTES;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input::Row;
use crate::failure::Failure;
use crate::files::{self, Lock};

/// The result of a row, as one line of JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct Line<R> {
    /// The number of the row, from 0.
    pub(in crate::command) index: u64,
    /// A hash of the row, which shows whether a later process reads the same rows.
    pub(in crate::command) hash: String,
    /// The result, or the error of a row that failed.
    #[serde(flatten)]
    pub(in crate::command) result: Outcome<R>,
}

/// What a line says about its row.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(in crate::command) enum Outcome<R> {
    Result(R),
    Error { error: Value },
}

impl<R> Outcome<R> {
    /// Returns an error of the library as the result of a row.
    pub(in crate::command) fn of_error(error: &agentloop::Error) -> Self {
        Self::Error { error: serde_json::to_value(error).unwrap_or_default() }
    }

    pub(in crate::command) fn is_error(&self) -> bool {
        matches!(self, Self::Error { .. })
    }
}

/// The fields of a line that a later process needs.
#[derive(Debug, Deserialize)]
pub(in crate::command) struct Head {
    index: u64,
    hash: String,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
    /// The model that made the result.
    #[serde(default)]
    pub(in crate::command) model: Option<String>,
    /// The model that was requested, if it has another name.
    #[serde(default)]
    pub(in crate::command) requested: Option<String>,
    /// The length of the vector, if the result is one.
    #[serde(default)]
    pub(in crate::command) dimensions: Option<usize>,
}

impl Head {
    pub(in crate::command) fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

/// Returns the hash of a row and of the settings that it is sent with: the first half of SHA-256, in hexadecimal.
pub(in crate::command) fn hash_row(row: &Row, settings: &str) -> String {
    let mut context = Context::new(&SHA256);
    context.update(&serde_json::to_vec(&row.values).unwrap_or_default());
    context.update(settings.as_bytes());
    context.finish().as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The longest line of results, in bytes. A line that was not completed may be as long.
const MAX_LINE_BYTES: usize = MAX_RESPONSE_BYTES;

/// How every line begins.
const LINE_START: &[u8] = b"{\"index\":";

/// Where results are written.
#[derive(Debug)]
pub(in crate::command) struct Results {
    to: To,
    /// The next row to be written, if the rows are written in order.
    next: Option<u64>,
    waiting: BTreeMap<u64, String>,
    waiting_bytes: usize,
    /// Whether the place of a line is the only thing that shows its row.
    is_positional: bool,
}

#[derive(Debug)]
enum To {
    Stdout,
    File { file: File, path: PathBuf, _lock: Lock },
}

/// The rows that an earlier process finished, with their hashes.
pub(in crate::command) type Done = HashMap<u64, String>;

/// Where a line is in a file.
#[derive(Clone, Copy)]
struct Place {
    start: u64,
    bytes: u64,
}

impl Results {
    fn new(to: To, in_order: bool) -> Self {
        Self {
            to,
            next: in_order.then_some(0),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            is_positional: false,
        }
    }

    /// Writes to stdout.
    pub(in crate::command) fn to_stdout(in_order: bool) -> Self {
        Self::new(To::Stdout, in_order)
    }

    /// Writes lines without an index to stdout: never one before its time.
    pub(in crate::command) fn to_stdout_by_position() -> Self {
        Self { is_positional: true, ..Self::new(To::Stdout, true) }
    }

    /// Writes to a file, and returns the rows that it already has if `resume` is set.
    ///
    /// A line that a killed process did not finish is removed. Rows that failed are not returned, so they are tried again. `check`
    /// is called for every line; it returns false for a result of another command.
    pub(in crate::command) fn to_file(
        path: &Path,
        resume: bool,
        in_order: bool,
        check: &mut dyn FnMut(&Head) -> Result<bool, Failure>,
    ) -> Result<(Self, Done), Failure> {
        let fail = |error: io::Error| Failure::file(path, error);
        let Some(lock) = Lock::take(path).map_err(fail)? else {
            return Err(Failure::file(path, "another process is writing to this file"));
        };
        // A device or a pipe has no lines that could be continued, and may have no end.
        if let Err(error) = files::open_regular(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(fail(error));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(fail)?;
        let is_empty = file.metadata().map_err(fail)?.len() == 0;
        if !is_empty && !resume {
            return Err(Failure::input_with_hint(
                format!("{} exists", path.display()),
                "continue it with --resume, or choose another name for --output",
            ));
        }
        let mut done = Done::new();
        let end = read_lines(&file, path, &mut |head, _| {
            let is_ours = check(&head)?;
            match head.error {
                None => done.insert(head.index, head.hash),
                Some(_) => done.remove(&head.index),
            };
            Ok(is_ours)
        })?;
        file.set_len(end).map_err(fail)?;
        file.seek(SeekFrom::Start(end)).map_err(fail)?;
        let to = To::File { file, path: path.to_owned(), _lock: lock };
        Ok((Self::new(to, in_order), done))
    }

    /// Returns how many results wait for an earlier row, and their bytes.
    pub(in crate::command) fn waiting(&self) -> (usize, usize) {
        (self.waiting.len(), self.waiting_bytes)
    }

    /// Writes to disk what was written to the file. Returns whether no result waits for an earlier row.
    pub(in crate::command) fn is_on_disk(&self) -> Result<bool, Failure> {
        if let To::File { file, path, .. } = &self.to {
            file.sync_all().map_err(|error| Failure::file(path, error))?;
        }
        Ok(self.waiting.values().all(String::is_empty))
    }

    /// Marks a row that needs no line, because an earlier process wrote it.
    pub(in crate::command) fn skip(&mut self, index: u64) -> Result<(), Failure> {
        self.put(index, String::new())
    }

    /// Writes the result of a row. The line is complete or missing, also if the process is killed.
    pub(in crate::command) fn write(
        &mut self,
        index: u64,
        mut line: String,
    ) -> Result<(), Failure> {
        line.push('\n');
        self.put(index, line)
    }

    fn put(&mut self, index: u64, text: String) -> Result<(), Failure> {
        let Some(mut next) = self.next else { return self.write_text(&text) };
        self.waiting_bytes += text.len();
        self.waiting.insert(index, text);
        while let Some(text) = self.waiting.remove(&next) {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(text.len());
            self.next = Some(next + 1);
            self.write_text(&text)?;
            next += 1;
        }
        Ok(())
    }

    /// Writes results that still wait for a row that was never finished, so that nothing is lost. If all rows are finished and
    /// the rows of a file are written in order, its lines are put in order.
    pub(in crate::command) fn finish(&mut self, is_complete: bool) -> Result<(), Failure> {
        for text in std::mem::take(&mut self.waiting).into_values() {
            if !self.is_positional {
                self.write_text(&text)?;
            }
        }
        let To::File { file, path, .. } = &self.to else { return Ok(()) };
        file.sync_all().map_err(|error| Failure::file(path, error))?;
        if is_complete && self.next.is_some() { sort_lines(path) } else { Ok(()) }
    }

    fn write_text(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        match &mut self.to {
            To::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())?;
                Ok(())
            }
            To::File { file, path, .. } => {
                file.write_all(text.as_bytes()).map_err(|error| Failure::file(path, error))
            }
        }
    }
}

/// Reads the complete lines of a file, and returns the position after the last one.
fn read_lines(
    file: &File,
    path: &Path,
    each: &mut dyn FnMut(Head, Place) -> Result<bool, Failure>,
) -> Result<u64, Failure> {
    let mut end = 0;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut reader).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line);
        let bytes = read.map_err(|error| Failure::file(path, error))? as u64;
        let is_cut = line.last() != Some(&b'\n');
        let may_be_ours = LINE_START.starts_with(&line) || line.starts_with(LINE_START);
        if is_cut && may_be_ours && line.len() < MAX_LINE_BYTES {
            break;
        }
        let is_ours = match serde_json::from_slice::<Head>(&line) {
            _ if is_cut => false,
            Ok(head) => {
                let place = Place { start: end, bytes };
                each(head, place)?
            }
            Err(_) => false,
        };
        if !is_ours {
            return Err(Failure::input_with_hint(
                format!("{}, line {number}: not a result of this command", path.display()),
                "choose another name for --output",
            ));
        }
        end += bytes;
    }
    Ok(end)
}

/// Returns where the line of each row is. Of several lines of a row the last one counts. Also returns whether the file has each row
/// once and in order.
fn index_lines(file: &File, path: &Path) -> Result<(BTreeMap<u64, Place>, bool), Failure> {
    let mut places = BTreeMap::new();
    let mut is_sorted = true;
    read_lines(file, path, &mut |head, place| {
        is_sorted &= places.last_key_value().is_none_or(|(last, _)| *last < head.index);
        places.insert(head.index, place);
        Ok(true)
    })?;
    Ok((places, is_sorted))
}

/// Puts the lines of a file in order, unless they are.
fn sort_lines(path: &Path) -> Result<(), Failure> {
    let fail = |error: io::Error| Failure::file(path, error);
    let mut file = File::open(path).map_err(fail)?;
    let (places, is_sorted) = index_lines(&file, path)?;
    if is_sorted {
        return Ok(());
    }
    let permissions = file.metadata().map_err(fail)?.permissions();
    let write = || {
        let mut to = files::Replacement::begin(path)?;
        to.set_permissions(permissions)?;
        for place in places.values() {
            file.seek(SeekFrom::Start(place.start))?;
            io::copy(&mut io::Read::take(&file, place.bytes), &mut to)?;
        }
        to.commit()
    };
    write().map_err(fail)
}
