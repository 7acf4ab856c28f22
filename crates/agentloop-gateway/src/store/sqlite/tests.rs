//! Tests of what only a file has. The laws of all stores are in `store::conformance`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use agentloop::ErrorKind;
use rusqlite::Connection;

use super::*;
use crate::servers::folder::Folder;
use crate::store::conformance::{self, key, row};
use crate::store::{By, Outcome, UsageQuery};

/// A folder that the store creates, below one that is deleted at the end.
struct Place {
    path: PathBuf,
    _folder: Folder,
    count: AtomicU32,
}

impl Place {
    fn new() -> Self {
        let folder = Folder::new();
        Self { path: folder.join("data"), _folder: folder, count: AtomicU32::new(0) }
    }

    fn file(&self) -> PathBuf {
        self.path.join("gateway.db")
    }

    /// Opens a store in a new file.
    fn open_new(&self) -> SqliteStore {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        SqliteStore::open(self.path.join(format!("{number}.db"))).unwrap()
    }

    /// Runs statements on the file, and returns its content.
    fn make(&self, statements: &str) -> Vec<u8> {
        std::fs::create_dir_all(&self.path).unwrap();
        Connection::open(self.file()).unwrap().execute_batch(statements).unwrap();
        std::fs::read(self.file()).unwrap()
    }
}

#[tokio::test]
async fn the_file_keeps_all_laws() {
    let folder = Place::new();
    conformance::keeps_all_laws(async || folder.open_new()).await;
}

#[test]
fn the_file_agrees_with_memory() {
    let folder = Place::new();
    conformance::agrees_with_memory(24, async || folder.open_new());
}

#[tokio::test]
async fn a_file_of_the_first_version_is_read_and_brought_up_to_date() {
    let folder = Place::new();
    folder.make(include_str!("fixtures/v1.sql"));
    let store = SqliteStore::open(folder.file()).unwrap();
    let table = store.load_keys().await.unwrap();
    assert_eq!(table.version, 7);
    let names: Vec<_> = table.keys.iter().map(|key| (key.name.as_str(), key.revoked_ms)).collect();
    assert_eq!(names, [("ci", None), ("old", Some(1_794_787_300_000))]);
    let ci = &table.keys[0];
    assert_eq!((ci.team.as_deref(), ci.limits.concurrency), (Some("web"), Some(4)));
    assert_eq!(table.teams[0].limits.budgets, ["100/month".parse().unwrap()]);
    let rows = store.rows(&RowFilter::default(), None).await.unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].tags.len(), rows[0].first_byte_ms), (2, Some(56)));
    assert_eq!((rows[1].outcome, rows[1].usd), (Outcome::Unknown, None));
    assert!(store.price(&"0123456789abcdef".to_owned()).await.unwrap().is_some());
    store.append(vec![row("new", 1)].into()).await.unwrap();
    assert_eq!(store.prune(2).await.unwrap(), 1);
    assert_eq!(store.deleted(By::Key, Some("ci")).await.unwrap().len(), 1);
    drop(store);
    // The tables are the same as those of a new file.
    let tables = |path: &Path| -> Vec<String> {
        let connection = Connection::open(path).unwrap();
        let mut statement =
            connection.prepare("SELECT sql FROM sqlite_schema WHERE sql != '' ORDER BY 1").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let new = folder.open_new();
    assert_eq!(tables(&folder.file()), tables(new.path()));
}

#[tokio::test]
async fn files_that_cannot_be_used_are_refused_and_left_as_they_are() {
    for (statements, words) in [
        ("PRAGMA application_id = 1095526263; PRAGMA user_version = 3;", "format version 3"),
        ("PRAGMA application_id = 1095526263; PRAGMA user_version = -1;", "format version -1"),
        ("PRAGMA application_id = 77; PRAGMA user_version = 1;", "another program"),
        ("CREATE TABLE mine (x);", "another program"),
    ] {
        let folder = Place::new();
        let before = folder.make(statements);
        let error = SqliteStore::open(folder.file()).unwrap_err();
        assert!(error.to_string().contains(words), "{statements}: {error}");
        assert!(error.hint().is_some() && error.kind() == ErrorKind::Config, "{error:?}");
        assert_eq!(std::fs::read(folder.file()).unwrap(), before, "{statements}");
    }
    let folder = Place::new();
    std::fs::create_dir_all(&folder.path).unwrap();
    let text = "not a database ".repeat(1_000);
    std::fs::write(folder.file(), &text).unwrap();
    let error = SqliteStore::open(folder.file()).unwrap_err();
    assert!(error.hint().unwrap_or_default().contains("left as it is"), "{error:?}");
    assert_eq!(std::fs::read_to_string(folder.file()).unwrap(), text);
    // A folder cannot be made below a file, and a folder is not a file.
    for path in [folder.file().join("below").join("gateway.db"), folder.path] {
        let error = SqliteStore::open(path).unwrap_err();
        assert!(error.hint().unwrap_or_default().contains("permissions"), "{error:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Place::new();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let store = SqliteStore::open(folder.file()).unwrap();
    store.append(vec![row("1", 1)].into()).await.unwrap();
    assert_eq!(mode(&folder.path), 0o700);
    for name in ["gateway.db", "gateway.db-wal", "gateway.db-shm"] {
        assert_eq!(mode(&folder.path.join(name)), 0o600, "{name}");
    }
    drop(store);
    assert!(!folder.path.join("gateway.db-wal").exists(), "everything is in the file at the end");
    std::fs::set_permissions(folder.file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(SqliteStore::open(folder.file()).unwrap());
    assert_eq!(mode(&folder.file()), 0o600);
}

#[tokio::test]
async fn a_damaged_file_is_reported_and_not_written_to() {
    let folder = Place::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let rows: Vec<LedgerRow> = (0..2_000).map(|n| row(&format!("{n:06}"), n)).collect();
    store.append(rows.into()).await.unwrap();
    drop(store);
    let mut bytes = std::fs::read(folder.file()).unwrap();
    bytes[8_192..].fill(0xa5);
    std::fs::write(folder.file(), &bytes).unwrap();
    let failed = async {
        let store = SqliteStore::open(folder.file())?;
        store.append(vec![row("new", 1)].into()).await?;
        store.usage(&UsageQuery::new(None, RowFilter::default())).await.map(drop)
    };
    let error = failed.await.unwrap_err();
    assert!(error.hint().unwrap_or_default().contains("damaged"), "{error:?}");
    assert_ne!(error.kind(), ErrorKind::Auth);
    assert_eq!(std::fs::read(folder.file()).unwrap(), bytes);
}

#[tokio::test]
async fn a_full_disk_is_reported_and_nothing_is_damaged() {
    let folder = Place::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    store.append(vec![row("before", 1)].into()).await.unwrap();
    let limit = |pages: i64| {
        store.writer.run(move |connection| {
            // The file may not grow beyond what it has. SQLite returns the new limit.
            let sql = format!("PRAGMA max_page_count = {pages}");
            Ok(connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?)
        })
    };
    limit(1).await.unwrap();
    let rows = || (0..5_000).map(|n| row(&format!("{n:06}"), n)).collect::<Vec<_>>();
    let (appended, created) =
        tokio::join!(store.append(rows().into()), store.create_key(key("with-it", 1)));
    let error = appended.unwrap_err();
    assert!(error.hint().unwrap_or_default().contains("disk space"), "{error:?}");
    assert!(error.is_retryable(), "{error:?}");
    // What is reported is what is stored.
    assert_eq!(store.load_keys().await.unwrap().keys.len(), usize::from(created.is_ok()));
    assert_eq!(store.rows(&RowFilter::default(), None).await.unwrap().len(), 1);
    limit(1 << 20).await.unwrap();
    store.append(rows().into()).await.unwrap();
    store.create_key(key("after", 2)).await.unwrap();
    assert_eq!(store.rows(&RowFilter::default(), None).await.unwrap().len(), 5_001);
    drop(store);
    let checked: String = Connection::open(folder.file())
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(checked, "ok");
}

#[tokio::test]
async fn a_file_that_another_process_locks_is_reported_until_it_is_released() {
    let folder = Place::new();
    let store = SqliteStore::open_within(folder.file().into(), Duration::from_millis(1)).unwrap();
    let other = Connection::open(folder.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.append(vec![row("1", 1)].into()).await.unwrap_err();
    assert!(error.hint().unwrap_or_default().contains("another process"), "{error:?}");
    assert!(error.is_retryable(), "{error:?}");
    // Reading goes on.
    assert_eq!(store.keys_version().await.unwrap(), 1);
    other.execute_batch("COMMIT").unwrap();
    store.append(vec![row("1", 1)].into()).await.unwrap();
}

#[tokio::test]
async fn a_long_query_delays_neither_writes_nor_looks_at_the_keys() {
    let folder = Place::new();
    let store = folder.open_new();
    let (begin, began) = tokio::sync::oneshot::channel();
    let (end, ended) = mpsc::channel::<()>();
    let long = store.ledger.run(move |_| {
        let _ = begin.send(());
        let _ = ended.recv();
        Ok(())
    });
    let meanwhile = async {
        began.await.unwrap();
        store.append(vec![row("1", 1)].into()).await.unwrap();
        store.create_key(key("ci", 1)).await.unwrap();
        assert_eq!(store.load_keys().await.unwrap().keys.len(), 1);
        drop(end);
    };
    let (long, ()) = tokio::join!(long, meanwhile);
    long.unwrap();
}

#[tokio::test]
async fn an_operation_that_fails_alone_leaves_nothing() {
    let folder = Place::new();
    let store = folder.open_new();
    let failed = store.writer.run(|connection| {
        connection.execute("INSERT INTO team (name, settings) VALUES ('half', '{}')", [])?;
        connection.execute("INSERT INTO nothing VALUES (1)", [])?;
        Ok(())
    });
    assert!(failed.await.unwrap_err().to_string().contains("nothing"));
    assert!(store.load_keys().await.unwrap().teams.is_empty());
    store.create_key(key("one", 1)).await.unwrap();
    assert_eq!(store.load_keys().await.unwrap().keys.len(), 1);
}

#[tokio::test]
async fn operations_that_wait_are_one_commit_and_fail_by_themselves() {
    let folder = Place::new();
    let store = folder.open_new();
    let log = || std::fs::read(format!("{}-wal", store.path.display())).unwrap();
    let (end, ended) = mpsc::channel::<()>();
    let first = store.writer.run(move |_| {
        let _ = ended.recv();
        Ok(())
    });
    let before = log();
    let (first, one, same, other, ()) = tokio::join!(
        first,
        store.create_key(key("one", 1)),
        store.create_key(key("one", 2)),
        store.create_key(key("other", 3)),
        async { drop(end) },
    );
    first.unwrap();
    one.unwrap();
    assert!(same.unwrap_err().to_string().contains("`one`"));
    other.unwrap();
    assert_eq!(store.load_keys().await.unwrap().keys.len(), 2);
    // A frame of the log whose header has the size of the database ends a commit.
    let after = log();
    let frames = after[before.len()..].chunks(24 + 4_096);
    let commits = frames.filter(|frame| frame[4..8] != [0; 4]);
    assert!(commits.count() <= 2, "the first operation, and all that waited for it");
}

#[test]
fn processes_that_create_the_file_at_the_same_time_agree() {
    let folder = Place::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = folder.file();
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let store = SqliteStore::open(path).unwrap();
                runtime.block_on(store.create_key(key("same", number))).is_ok()
            });
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let table = runtime.block_on(SqliteStore::open(folder.file()).unwrap().load_keys()).unwrap();
    assert_eq!((table.keys.len(), table.version), (1, 2));
}

#[tokio::test]
async fn what_another_process_changes_is_seen() {
    let folder = Place::new();
    let (one, other) =
        (SqliteStore::open(folder.file()).unwrap(), SqliteStore::open(folder.file()).unwrap());
    let before = other.keys_version().await.unwrap();
    one.create_key(key("ci", 1)).await.unwrap();
    assert!(other.keys_version().await.unwrap() > before);
    assert_eq!(other.load_keys().await.unwrap().keys, [key("ci", 1)]);
}
