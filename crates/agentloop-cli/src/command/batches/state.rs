//! The state of a batch at a provider, in a file beside its output.

use std::path::{Path, PathBuf};

use agentloop::Batch;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::files;

/// The end of the name of a state file. What precedes it is the name of the output.
const SUFFIX: &str = ".batch";

/// The largest state file, in bytes.
const MAX_STATE_BYTES: usize = 256 << 20;

/// The version of the format.
const VERSION: u32 = 1;

/// What another process needs to continue.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::command) struct State {
    version: u32,
    /// Whether the results are complete responses.
    pub(in crate::command) full: bool,
    pub(in crate::command) parts: Vec<Part>,
}

/// A batch, and the rows that it has.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::command) struct Part {
    pub(in crate::command) batch: Batch,
    pub(in crate::command) rows: Vec<SentRow>,
    /// Whether all of its results are in the output.
    #[serde(default)]
    pub(in crate::command) fetched: bool,
}

/// A row of a batch.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::command) struct SentRow {
    pub(in crate::command) index: u64,
    pub(in crate::command) hash: String,
}

impl State {
    pub(in crate::command) fn new(full: bool) -> Self {
        Self { version: VERSION, full, parts: Vec::new() }
    }

    /// Returns the state file of an output.
    pub(in crate::command) fn path_of(output: &Path) -> PathBuf {
        files::append_suffix(output, SUFFIX)
    }

    /// Returns the output and the state file that a path on the command line stands for: it names one or the other.
    pub(in crate::command) fn paths(typed: &Path) -> (PathBuf, PathBuf) {
        let name = typed.as_os_str().to_string_lossy();
        match name.strip_suffix(SUFFIX) {
            Some(output) if typed.exists() => (PathBuf::from(output), typed.to_owned()),
            _ => (typed.to_owned(), Self::path_of(typed)),
        }
    }

    /// Reads a state file.
    pub(in crate::command) fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = files::read_at_most(path, MAX_STATE_BYTES)?;
        let wrong = |why: String| Failure::file(path, format!("not the state of a batch: {why}"));
        let state: Self =
            serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if state.version != VERSION {
            return Err(wrong(format!("its version is {}, not {VERSION}", state.version)));
        }
        if state.parts.iter().all(|part| part.batch.len() == part.rows.len()) {
            Ok(state)
        } else {
            Err(wrong("a batch does not have as many requests as rows".to_owned()))
        }
    }

    /// Writes the state file. It is complete and on disk when this returns.
    pub(in crate::command) fn write(&self, path: &Path) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(self).map_err(|error| Failure::file(path, error))?;
        files::replace(path, &bytes).map_err(|error| Failure::file(path, error))
    }

    /// Removes the state file, after everything is fetched.
    pub(in crate::command) fn remove(path: &Path) -> Result<(), Failure> {
        std::fs::remove_file(path).map_err(|error| Failure::file(path, error))
    }

    /// Returns the failure for a batch without a state file.
    pub(in crate::command) fn missing(path: &Path) -> Failure {
        Failure::input_with_hint(
            format!("{} does not exist", path.display()),
            "name the file of --output of `agentloop batch --provider-batch`, or its state file; a batch whose results are \
             fetched has none",
        )
    }
}
