//! SQLite files of the user: of the gateway's store, and of the command's.
//!
//! - **Private.** A file has mode 0600 in a folder with mode 0700, also one that others could read before.
//! - **Shared by processes.** The journal is a write-ahead log: readers do not wait, and writers wait for each other.
//! - **Distrusted.** The schema of a file may not call functions with side effects.
//! - **Left alone** if it belongs to another program, to a newer version, or is damaged.

mod error;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use agentloop::internal::files;
use agentloop::{Error, ErrorKind, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

pub use self::error::StoreError;

/// How long an operation waits for another process that is writing.
pub const BUSY: Duration = Duration::from_secs(5);

/// How many attempts are made to switch to the write-ahead log while other processes create the same file.
const ATTEMPTS: u32 = 50;

/// The wait between two of these attempts.
const WAIT: Duration = Duration::from_millis(20);

/// The size that the write-ahead log is cut to after its content is in the file, in bytes.
const MAX_LOG_BYTES: i64 = 64 << 20;

/// A kind of file.
#[derive(Debug)]
pub struct Format {
    /// Marks a file as one of this kind (`PRAGMA application_id`).
    pub application: i32,
    /// The statements that bring a file from each version to the next. The version of the newest format is their number. What has
    /// been released never changes: a new format is a new entry.
    pub migrations: &'static [&'static str],
    /// What each connection that writes is set to.
    pub settings: &'static str,
    /// How a user chooses another file, for hints.
    pub elsewhere: &'static str,
}

impl Format {
    /// Opens a connection that writes and waits for `busy` while another process writes. Creates the file and its folder if they do
    /// not exist, and brings the file to the newest version.
    pub fn open(&self, path: &Path, busy: Duration) -> Result<Connection> {
        make_private(path).map_err(|error| self.describe_file(&error, path))?;
        self.connect(path, busy).map_err(|error| error.at(path, self))
    }

    /// Opens a connection that only reads a file that [`Format::open`] has opened.
    pub fn open_reader(&self, path: &Path) -> Result<Connection> {
        let open = || {
            let connection = connect(path, BUSY)?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        };
        open().map_err(|error| self.describe(&error, path))
    }

    fn connect(&self, path: &Path, busy: Duration) -> Result<Connection, StoreError> {
        let mut connection = connect(path, busy)?;
        connection.execute_batch("PRAGMA secure_delete = ON;")?;
        connection.execute_batch(self.settings)?;
        connection.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
        if self.check_version(&connection)? < self.migrations.len() {
            use_log(&connection)?;
            let behavior = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behavior)?;
            // Another process may have been faster.
            let version = self.check_version(&transaction)?;
            for statements in self.migrations.iter().skip(version) {
                transaction.execute_batch(statements)?;
            }
            transaction.pragma_update(None, "application_id", self.application)?;
            let newest = i64::try_from(self.migrations.len()).unwrap_or(i64::MAX);
            transaction.pragma_update(None, "user_version", newest)?;
            transaction.commit()?;
        }
        Ok(connection)
    }

    /// Returns the version of the file, if this program can use it; 0 if it is empty.
    fn check_version(&self, connection: &Connection) -> Result<usize, StoreError> {
        // The three values are read from one state of the file: another process may be creating the tables.
        let _snapshot = if connection.is_autocommit() {
            Some(connection.unchecked_transaction()?)
        } else {
            None
        };
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (version, application) = (number("user_version")?, number("application_id")?);
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let path = connection.path().unwrap_or_default();
        let is_empty = version == 0 && application == 0 && tables == 0;
        if !is_empty && application != i64::from(self.application) {
            let message = format!("{path}: this is a database of another program");
            return Err(Error::new(ErrorKind::Config, message).with_hint(self.elsewhere).into());
        }
        let newest = self.migrations.len();
        usize::try_from(version).ok().filter(|version| *version <= newest).ok_or_else(|| {
            let message = format!(
                "{path}: the file has format version {version}, but this program supports only versions up to {newest}"
            );
            let hint = format!(
                "a newer agentloop has written it: update this program, or {}",
                self.elsewhere
            );
            Error::new(ErrorKind::Config, message).with_hint(hint).into()
        })
    }
}

fn connect(path: &Path, busy: Duration) -> rusqlite::Result<Connection> {
    // The file exists already: it was created with its permissions.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy)?;
    // The file may come from anywhere: its schema may not call functions with side effects, nor damage the index.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch("PRAGMA temp_store = MEMORY;")?;
    Ok(connection)
}

/// Creates the file and its folder for the user alone. SQLite gives its other files the permissions of this one.
fn make_private(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
        files::create_folder(folder)?;
    }
    match files::create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => restrict(path),
        created => created.map(drop),
    }
}

/// Removes the permissions that others have for the file. A file of another user stays as it is.
#[cfg(unix)]
fn restrict(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let about = std::fs::metadata(path)?;
    let is_mine = about.uid() == rustix::process::geteuid().as_raw();
    if is_mine && about.mode() & 0o077 != 0 && about.is_file() {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
    } else {
        Ok(())
    }
}

#[cfg(not(unix))]
fn restrict(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Switches the file to a write-ahead log. On file systems that do not support it, the file keeps its rollback journal.
fn use_log(connection: &Connection) -> rusqlite::Result<()> {
    // Space that deletions free can be returned to the file system. This must be set before the file has content.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    for _ in 0..ATTEMPTS {
        let changed = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match changed {
            // SQLite does not wait for this lock by itself.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                std::thread::sleep(WAIT);
            }
            other => return other,
        }
    }
    Ok(())
}
