//! Opens the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{Result, Store, StoreError, location, schema};
use crate::files;

/// How long a transaction waits for another process that is writing.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// How many attempts are made to switch to the write-ahead log while other processes create the same file.
const ATTEMPTS: u32 = 50;

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
        make_private(&path).map_err(|error| {
            StoreError::file(&path, &error).hint(
                "choose another folder with AGENTLOOP_DATA, or store nothing with `[history] enabled = false`",
            )
        })?;
        let connection = connect(&path).map_err(|error| error.at(&path))?;
        Ok(Self { connection, path })
    }
}

/// Creates the file and its folder for the user alone. SQLite gives its other files the permissions of this one.
fn make_private(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    match files::create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => restrict(path),
        created => created.map(drop),
    }
}

/// Removes the permissions that others have for the file.
#[cfg(unix)]
fn restrict(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let about = fs::metadata(path)?;
    let is_mine = about.uid() == rustix::process::geteuid().as_raw();
    match is_mine && about.mode() & 0o077 != 0 {
        true => fs::set_permissions(path, fs::Permissions::from_mode(0o600)),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn restrict(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn connect(path: &Path) -> Result<Connection> {
    // The file exists already: it was created with its permissions.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    // The file may come from anywhere: its schema may not call functions with side effects, nor damage the index.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch(
        "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;",
    )?;
    let version = check_version(&connection)?;
    if version < schema::MIGRATIONS.len() {
        use_log(&connection)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        if check_version(&transaction)? < schema::MIGRATIONS.len() {
            schema::migrate(&transaction)?;
        }
        transaction.commit()?;
    }
    Ok(connection)
}

/// Returns the version of the file, if this program can use it.
fn check_version(connection: &Connection) -> Result<usize> {
    let version = schema::version(connection)?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let path = connection.path().unwrap_or_default();
    if version != 0 && application != schema::APPLICATION {
        return Err(StoreError::new(format!("{path}: this is a file of another program"))
            .hint("choose another folder with AGENTLOOP_DATA"));
    }
    match usize::try_from(version) {
        Ok(version) if version <= schema::MIGRATIONS.len() => Ok(version),
        _ => Err(StoreError::new(format!(
            "{path}: the file has format version {version}, but this program supports only versions up to {}",
            schema::MIGRATIONS.len()
        ))
        .hint("a newer agentloop has written it: update this program, or choose another folder with AGENTLOOP_DATA")),
    }
}

/// Switches the file to a write-ahead log. On file systems that do not support it, the file keeps its rollback journal.
fn use_log(connection: &Connection) -> Result<()> {
    // Space that deletions free can be returned to the file system. This must be set before the file has content.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    for _ in 0..ATTEMPTS {
        let changed = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match changed {
            // SQLite does not wait for this lock by itself.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return Ok(other?),
        }
    }
    Ok(())
}
