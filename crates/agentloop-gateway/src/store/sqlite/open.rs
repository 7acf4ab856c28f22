//! Opens the file.

use std::fs;
use std::path::Path;
use std::time::Duration;

use agentloop::{Error, ErrorKind};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::error::Failure;
use super::schema;

/// How long an operation waits for another process that is writing.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// How many attempts are made to switch to the write-ahead log while other processes create the same file.
const ATTEMPTS: u32 = 50;

/// The wait between two of these attempts.
const WAIT: Duration = Duration::from_millis(20);

/// The size that the write-ahead log is cut to after its content is in the file, in bytes.
const MAX_LOG_BYTES: i64 = 64 << 20;

/// Creates the file and its folder for the user alone. SQLite gives its other files the permissions of this one.
pub(super) fn make_private(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            restrict(path);
            Ok(())
        }
        created => created.map(drop),
    }
}

/// Removes the permissions that others have for the file. A file of another user stays as it is.
fn restrict(path: &Path) {
    #[cfg(unix)]
    if let Ok(about) = fs::metadata(path) {
        use std::os::unix::fs::PermissionsExt as _;
        if about.permissions().mode() & 0o077 != 0 {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Opens a connection that writes, and brings the file to the newest version.
pub(super) fn connect(path: &Path, busy: Duration) -> Result<Connection, Failure> {
    let mut connection = open(path, busy)?;
    // A commit waits for the disk, because the journal deletes rows that are stored, and a revoked key must stay revoked. The
    // path of a request does not wait for it, and all operations that wait are one commit.
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;")?;
    connection.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
    if check_version(&connection)? < schema::MIGRATIONS.len() {
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

/// Opens a connection that only reads.
pub(super) fn connect_reader(path: &Path) -> Result<Connection, Failure> {
    let connection = open(path, BUSY)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn open(path: &Path, busy: Duration) -> Result<Connection, Failure> {
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

/// Returns the version of the file, if this program can use it.
fn check_version(connection: &Connection) -> Result<usize, Failure> {
    // The three values are read from one state of the file: another process may be creating the tables.
    let _snapshot = match connection.is_autocommit() {
        true => Some(connection.unchecked_transaction()?),
        false => None,
    };
    let version = schema::version(connection)?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let path = connection.path().unwrap_or_default();
    let is_empty = version == 0 && application == 0 && tables == 0;
    if !is_empty && application != schema::APPLICATION {
        let message = format!("{path}: this is a database of another program");
        let error = Error::new(ErrorKind::Config, message)
            .with_hint("choose another file with `path` in [gateway.store]");
        return Err(error.into());
    }
    match usize::try_from(version) {
        Ok(version) if version <= schema::MIGRATIONS.len() => Ok(version),
        _ => Err(Error::new(
            ErrorKind::Config,
            format!(
                "{path}: the file has format version {version}, but this program supports only versions up to {}",
                schema::MIGRATIONS.len()
            ),
        )
        .with_hint("a newer agentloop has written it: update this program, or choose another file with `path` in [gateway.store]")
        .into()),
    }
}

/// Switches the file to a write-ahead log. On file systems that do not support it, the file keeps its rollback journal.
fn use_log(connection: &Connection) -> Result<(), Failure> {
    // Space that deletions free can be returned to the file system. This must be set before the file has content.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    for _ in 0..ATTEMPTS {
        let changed = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match changed {
            // SQLite does not wait for this lock by itself.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                std::thread::sleep(WAIT);
            }
            other => return Ok(other?),
        }
    }
    Ok(())
}
