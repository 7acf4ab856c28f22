//! Runs that wait for approval. Each is continued once, because a run that is continued twice would run its tools twice.
//!
//! A run is known by the SHA-256 of its JSON, so that of a file of `--save` and its copies only one is continued.

use std::path::Path;

use agentloop::agent::{Saved, Suspended};
use rusqlite::{OptionalExtension as _, params};

use super::{Result, Store, StoreError, now};

/// How long the content of a run that is not continued is kept, in milliseconds.
const MAX_AGE_MS: i64 = 30 * 86_400_000;

/// Whether a run may be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    Waiting,
    /// A process continues it, or was killed while it did.
    Running,
    Done,
}

impl RunState {
    fn of_name(name: &str) -> Self {
        match name {
            "waiting" => Self::Waiting,
            "running" => Self::Running,
            _ => Self::Done,
        }
    }
}

impl Store {
    /// Stores a run that waits, and the file that it is exported to. Without `has_content` only its digest is stored.
    pub(crate) fn suspend(
        &mut self,
        run: &Suspended,
        file: &Path,
        has_content: bool,
    ) -> Result<()> {
        let (json, hash) = digest(run)?;
        self.transact(|connection| {
            let sql = "INSERT OR REPLACE INTO run (hash, file, json, state, time) VALUES (?1, ?2, ?3, 'waiting', ?4)";
            let json = has_content.then_some(json);
            connection.execute(sql, params![hash, name(file), json, now()])?;
            let old = "UPDATE run SET json = NULL, file = NULL WHERE time < ?1";
            connection.execute(old, [now() - MAX_AGE_MS])?;
            Ok(())
        })
    }

    /// Takes a run that waits, so that no other process continues it, or also one that is `running`. Returns in which state it was;
    /// it is taken if that state may be continued.
    pub(crate) fn take_run(
        &mut self,
        run: &Suspended,
        file: &Path,
        may_be_running: bool,
    ) -> Result<RunState> {
        let (json, hash) = digest(run)?;
        self.transact(|connection| {
            let sql = "SELECT state FROM run WHERE hash = ?1";
            let state: Option<String> =
                connection.query_row(sql, [&hash], |row| row.get(0)).optional()?;
            // A file can come from another machine.
            let state = state.map_or(RunState::Waiting, |name| RunState::of_name(&name));
            if state == RunState::Waiting || (may_be_running && state == RunState::Running) {
                let sql = "INSERT OR REPLACE INTO run (hash, file, json, state, time) VALUES (?1, ?2, ?3, 'running', ?4)";
                connection.execute(sql, params![hash, name(file), json, now()])?;
            }
            Ok(state)
        })
    }

    /// Notes that a run was continued. Only its digest is kept.
    pub(crate) fn end_run(&mut self, run: &Suspended) -> Result<()> {
        let (_, hash) = digest(run)?;
        self.transact(|connection| {
            let sql = "UPDATE run SET state = 'done', file = NULL, json = NULL WHERE hash = ?1 AND state = 'running'";
            connection.execute(sql, [hash])?;
            Ok(())
        })
    }

    /// Finds the run that was exported to a file, or is continued from it.
    pub(crate) fn find_run(&self, file: &Path) -> Result<Option<Suspended>> {
        self.read(|connection| {
            let sql = "SELECT json FROM run WHERE file = ?1 AND json IS NOT NULL ORDER BY time DESC LIMIT 1";
            let json: Option<String> =
                connection.query_row(sql, [name(file)], |row| row.get(0)).optional()?;
            match json.map(|json| Saved::from_json(&json)).transpose()? {
                Some(Saved::Run(run)) => Ok(Some(*run)),
                _ => Ok(None),
            }
        })
    }
}

/// Returns the JSON of a run and its digest.
fn digest(run: &Suspended) -> Result<(String, Vec<u8>), StoreError> {
    let json = serde_json::to_string(run)?;
    let hash = ring::digest::digest(&ring::digest::SHA256, json.as_bytes());
    Ok((json, hash.as_ref().to_vec()))
}

/// Returns the name of a file, whatever the current folder is.
fn name(file: &Path) -> String {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned()).to_string_lossy().into_owned()
}
