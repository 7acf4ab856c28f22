//! The copy of keys, teams and sums beside the journal, for a start while the store cannot be reached.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use agentloop::internal::files;
use serde::{Deserialize, Serialize};

use super::sums::Sums;
use crate::store::{KeyRecord, KeyTable, TeamRecord};

/// The largest copy that is read, in bytes.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(super) table: KeyTable,
    pub(super) sums: Sums,
}

/// The file. It has hashes of keys, never keys.
#[derive(Serialize, Deserialize)]
struct Wire {
    version: u64,
    keys: Vec<KeyRecord>,
    teams: Vec<TeamRecord>,
    #[serde(default)]
    sums: Sums,
}

/// Replaces the file as a whole: a kill leaves the old one or the new one.
pub(super) fn save(path: &Path, snapshot: &Snapshot) -> io::Result<()> {
    let table = &snapshot.table;
    let wire = Wire {
        version: table.version,
        keys: table.keys.clone(),
        teams: table.teams.clone(),
        sums: snapshot.sums.clone(),
    };
    let text = serde_json::to_vec(&wire)?;
    files::replace(path, &text)
}

/// Reads the file. Returns `None` if there is none, or it cannot be used.
pub(crate) fn load(path: &Path) -> Option<Snapshot> {
    let file = File::open(path).ok()?;
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > MAX_BYTES {
        tracing::warn!("the copy of the keys is too large");
        return None;
    }
    match serde_json::from_slice::<Wire>(&text) {
        Ok(Wire { version, keys, teams, sums }) => {
            Some(Snapshot { table: KeyTable { version, keys, teams }, sums })
        }
        Err(error) => {
            tracing::warn!(%error, "the copy of the keys is damaged");
            None
        }
    }
}
