//! Opens the file.

use std::path::PathBuf;

use agentloop_gateway::sqlite::BUSY;

use super::schema::FORMAT;
use super::{Result, Store, StoreError, location};
use crate::failure::Failure;

impl Store {
    /// Opens the user's file, and creates it if it does not exist.
    pub(crate) fn open() -> Result<Self> {
        let path = location::find_file().ok_or_else(|| {
            StoreError::new("no data folder is known")
                .hint("set HOME, XDG_DATA_HOME or AGENTLOOP_DATA to an absolute path")
        })?;
        Self::open_at(path)
    }

    /// Opens the user's file if it exists.
    pub(crate) fn open_existing() -> Result<Option<Self>> {
        match location::find_file().filter(|path| path.exists()) {
            Some(path) => Self::open_at(path).map(Some),
            None => Ok(None),
        }
    }

    /// Opens a file, and creates it and its folder if they do not exist.
    pub(super) fn open_at(path: PathBuf) -> Result<Self> {
        Ok(Self { connection: FORMAT.open(&path, BUSY)?, path })
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let hint = error.advice().map(str::to_owned);
        Self::Input { message: error.to_string(), hint }
    }
}
