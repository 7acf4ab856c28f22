//! Writes the results of a batch, and reads those of an earlier process.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input::Row;
use crate::failure::Failure;
use crate::files::Lock;

/// The result of a row, as one line of JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    /// The number of the row, from 0.
    pub(super) index: u64,
    /// A hash of the row, which shows whether a later process reads the same rows.
    pub(super) hash: String,
    /// The text of the response, or the value with `--schema`; the error of a row that failed.
    #[serde(flatten)]
    pub(super) result: Outcome,
}

/// What a line says about its row.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    Response(Value),
    Error { error: Value },
}

/// The start of a line, which is all that a later process needs.
#[derive(Debug, Deserialize)]
struct Head {
    index: u64,
    hash: String,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

/// Returns the hash of a row: the first half of SHA-256 over its JSON, in hexadecimal.
pub(super) fn hash_row(row: &Row) -> String {
    let json = serde_json::to_vec(&row.values).unwrap_or_default();
    digest(&SHA256, &json).as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Where results are written.
#[derive(Debug)]
pub(super) struct Results {
    to: To,
    /// The next row to be written, if the rows are written in order.
    next: Option<u64>,
    waiting: BTreeMap<u64, String>,
}

#[derive(Debug)]
enum To {
    Stdout,
    File { file: File, path: PathBuf, _lock: Lock },
}

/// The rows that an earlier process finished, with their hashes.
pub(super) type Done = HashMap<u64, String>;

impl Results {
    /// Writes to stdout.
    pub(super) fn to_stdout(in_order: bool) -> Self {
        Self { to: To::Stdout, next: in_order.then_some(0), waiting: BTreeMap::new() }
    }

    /// Writes to a file, and returns the rows that it already has if `resume` is set.
    ///
    /// A line that a killed process did not finish is removed. Rows that failed are not returned, so they are tried again.
    pub(super) fn to_file(
        path: &Path,
        resume: bool,
        in_order: bool,
    ) -> Result<(Self, Done), Failure> {
        let fail = |error: io::Error| Failure::file(path, error);
        let Some(lock) = Lock::take(path).map_err(fail)? else {
            return Err(Failure::file(path, "another process is writing to this file"));
        };
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
        let (done, end) = read_done(&file).map_err(|error| match error {
            ReadError::Io(error) => fail(error),
            ReadError::Line(line) => Failure::input_with_hint(
                format!("{}, line {line}: not a result of `agentloop batch`", path.display()),
                "choose another name for --output",
            ),
        })?;
        file.set_len(end).map_err(fail)?;
        file.seek(SeekFrom::Start(end)).map_err(fail)?;
        let to = To::File { file, path: path.to_owned(), _lock: lock };
        let next = in_order.then_some(0);
        Ok((Self { to, next, waiting: BTreeMap::new() }, done))
    }

    /// Returns how many results wait for an earlier row.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Marks a row that needs no line, because an earlier process wrote it.
    pub(super) fn skip(&mut self, index: u64) -> Result<(), Failure> {
        self.put(index, String::new())
    }

    /// Writes the result of a row. The line is complete or missing, also if the process is killed.
    pub(super) fn write(&mut self, line: &Line) -> Result<(), Failure> {
        let mut text = serde_json::to_string(line)
            .map_err(|error| Failure::Response(format!("cannot write a result: {error}")))?;
        text.push('\n');
        self.put(line.index, text)
    }

    fn put(&mut self, index: u64, text: String) -> Result<(), Failure> {
        let Some(mut next) = self.next else { return self.write_text(&text) };
        self.waiting.insert(index, text);
        while let Some(text) = self.waiting.remove(&next) {
            self.write_text(&text)?;
            next += 1;
        }
        self.next = Some(next);
        Ok(())
    }

    /// Writes results that still wait for a row that was never finished, so that nothing is lost.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        for text in std::mem::take(&mut self.waiting).into_values() {
            self.write_text(&text)?;
        }
        match &self.to {
            To::Stdout => Ok(()),
            To::File { file, path, .. } => {
                file.sync_all().map_err(|error| Failure::file(path, error))
            }
        }
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

enum ReadError {
    Io(io::Error),
    Line(u64),
}

/// Reads the finished rows of a file, and the position after its last complete line.
fn read_done(file: &File) -> Result<(Done, u64), ReadError> {
    let mut done = Done::new();
    let mut end = 0;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader.read_until(b'\n', &mut line).map_err(ReadError::Io)?;
        if read == 0 || line.last() != Some(&b'\n') {
            break;
        }
        let head: Head = serde_json::from_slice(&line).map_err(|_| ReadError::Line(number))?;
        end += read as u64;
        match head.error {
            None => done.insert(head.index, head.hash),
            Some(_) => done.remove(&head.index),
        };
    }
    Ok((done, end))
}
