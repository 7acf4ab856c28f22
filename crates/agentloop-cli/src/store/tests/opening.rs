//! Creating, opening and refusing a file.

use std::fs;

use rusqlite::Connection;

use super::super::{NewConversation, Store};
use super::{Folder, begin, new_store};

#[cfg(unix)]
#[test]
fn the_file_and_its_folder_are_private_from_the_start_and_become_so_again() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut store = folder.open();
    begin(&mut store, "Hello");
    assert_eq!(mode(folder.file().parent().unwrap()), 0o700);
    for name in ["history.sqlite3", "history.sqlite3-wal", "history.sqlite3-shm"] {
        assert_eq!(mode(&folder.file().with_file_name(name)), 0o600, "{name}");
    }
    drop(store);
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o666)).unwrap();
    drop(folder.open());
    assert_eq!(mode(&folder.file()), 0o600);
}

#[test]
fn a_file_of_a_newer_version_is_refused_and_left_alone() {
    let folder = Folder::new();
    drop(folder.open());
    let raw = Connection::open(folder.file()).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let before = fs::read(folder.file()).unwrap();
    let error = Store::open_at(folder.file()).unwrap_err();
    assert!(error.to_string().contains("format version 99"), "{error}");
    assert!(error.advice().unwrap().contains("newer agentloop"), "{error:?}");
    assert_eq!(fs::read(folder.file()).unwrap(), before);
}

#[test]
fn a_damaged_file_is_reported_with_what_to_do_and_never_deleted() {
    let folder = Folder::new();
    fs::create_dir_all(folder.file().parent().unwrap()).unwrap();
    fs::write(
        folder.file(),
        "this is not a database, but a long enough text to look at".repeat(100),
    )
    .unwrap();
    let before = fs::read(folder.file()).unwrap();
    let error = Store::open_at(folder.file()).unwrap_err();
    assert!(error.to_string().contains("history.sqlite3: "), "{error}");
    assert!(error.advice().unwrap().contains("left as it is"), "{error:?}");
    assert_eq!(fs::read(folder.file()).unwrap(), before);
    // A folder cannot be made below a file.
    let error = Store::open_at(folder.file().join("below/history.sqlite3")).unwrap_err();
    assert!(error.advice().unwrap().contains("permissions"), "{error:?}");
}

#[test]
fn a_file_that_was_damaged_later_is_reported_by_what_reads_it() {
    let (folder, mut store) = new_store();
    for number in 0..200 {
        begin(&mut store, &format!("prompt {number} {}", "text ".repeat(200)));
    }
    drop(store);
    let mut bytes = fs::read(folder.file()).unwrap();
    let (start, end) = (8 << 10, bytes.len());
    bytes[start..end].fill(0xa5);
    fs::write(folder.file(), &bytes).unwrap();
    let failed = Store::open_at(folder.file()).and_then(|store| store.list(1_000));
    let error = failed.unwrap_err();
    assert!(error.advice().unwrap().contains(".recover"), "{error:?}");
    assert_eq!(fs::read(folder.file()).unwrap(), bytes);
}

#[test]
fn a_file_of_another_program_is_refused_and_left_alone() {
    for statements in [
        "CREATE TABLE t (x); PRAGMA user_version = 1",
        "CREATE TABLE t (x)",
        "PRAGMA application_id = 77; PRAGMA user_version = 1",
    ] {
        let folder = Folder::new();
        fs::create_dir_all(folder.file().parent().unwrap()).unwrap();
        Connection::open(folder.file()).unwrap().execute_batch(statements).unwrap();
        let before = fs::read(folder.file()).unwrap();
        let error = Store::open_at(folder.file()).unwrap_err();
        assert!(error.to_string().contains("another program"), "{error}");
        assert!(error.advice().unwrap().contains("AGENTLOOP_DATA"), "{error:?}");
        assert_eq!(fs::read(folder.file()).unwrap(), before, "{statements}");
    }
}

#[test]
fn many_threads_that_create_the_file_at_once_lose_nothing() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let file = folder.file();
            scope.spawn(move || {
                let mut store = Store::open_at(file).unwrap();
                for talk in 0..5 {
                    begin(&mut store, &format!("prompt {number} {talk}"));
                }
            });
        }
    });
    assert_eq!(folder.open().list(100).unwrap().len(), 40);
}

#[test]
fn a_full_disk_is_an_error_with_advice_and_what_was_stored_stays() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "before");
    let pages: i64 =
        store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    let prompt = "x".repeat(100_000);
    let new =
        NewConversation { prompt: &prompt, system: Some(&prompt), model: "sim/echo", name: None };
    let error = store.begin(&new).unwrap_err();
    assert_eq!(error.advice(), Some("free some disk space"), "{error}");
    assert_eq!(store.list(10).unwrap().len(), 1);
}
