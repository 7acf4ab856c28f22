//! Tests of the journal.

mod full;
mod hostile;
mod law;

use std::path::{Path, PathBuf};

use agentloop::Usd;

use super::*;
use crate::servers::folder::Folder as Place;
use crate::store::Outcome;

/// A folder that is deleted at the end.
pub(super) struct Folder(
    pub(super) PathBuf,
    #[expect(dead_code, reason = "it is deleted at the end")] Place,
);

impl Folder {
    pub(super) fn new() -> Self {
        let place = Place::in_memory();
        Self(place.join("journal"), place)
    }

    pub(super) fn open(&self) -> Journal {
        Journal::open(&self.0).unwrap()
    }

    /// Returns the files of segments in their order.
    pub(super) fn segments(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
            .collect();
        files.sort();
        files
    }
}

/// The row of a reservation.
pub(super) fn reserved(id: &str) -> LedgerRow {
    LedgerRow {
        id: id.to_owned(),
        key: "team-key".to_owned(),
        model: "sim/echo".to_owned(),
        outcome: Outcome::Unknown,
        estimated: true,
        usd: Some(Usd::from_picos(1_000)),
        reserved: Usd::from_picos(1_000),
        ..LedgerRow::default()
    }
}

/// The final row of a call.
pub(super) fn settled(id: &str, picos: i128) -> LedgerRow {
    LedgerRow {
        outcome: Outcome::Complete,
        estimated: false,
        usd: Some(Usd::from_picos(picos)),
        ..reserved(id)
    }
}

/// Stores everything, and returns the ids.
pub(super) fn drain(journal: &Journal) -> Vec<String> {
    drain_rows(journal).into_iter().map(|row| row.id).collect()
}

pub(super) fn drain_rows(journal: &Journal) -> Vec<LedgerRow> {
    let mut rows = Vec::new();
    loop {
        let batch = journal.next_batch(7);
        if batch.is_empty() {
            return rows;
        }
        rows.extend_from_slice(&batch.rows);
        journal.stored(batch);
    }
}

fn unstored(journal: &Journal) -> Vec<String> {
    let mut ids = Vec::new();
    journal.visit_unstored(&mut |row| ids.push(row.id)).unwrap();
    ids
}

#[test]
fn what_was_settled_is_there_after_a_kill_and_what_was_not_becomes_unknown() {
    let folder = Folder::new();
    let journal = folder.open();
    for id in ["a", "b", "c", "d"] {
        journal.reserve(&reserved(id)).unwrap();
    }
    journal.settle(settled("b", 5));
    journal.release("c");
    // Dropping it writes nothing: it is as good as a kill.
    drop(journal);
    let journal = folder.open();
    assert_eq!(unstored(&journal), ["b", "a", "d"]);
    assert_eq!(journal.health().unstored_rows, 3);
    let rows = drain_rows(&journal);
    assert_eq!(rows[0], settled("b", 5));
    assert_eq!(rows[1], reserved("a"));
    assert_eq!(rows.len(), 3);
    assert_eq!(journal.health().unstored_rows, 0);
    drop(journal);
    let journal = folder.open();
    assert!(drain(&journal).is_empty());
    assert_eq!(folder.segments().len(), 1);
}

#[test]
fn a_batch_that_is_dropped_comes_again_and_only_one_is_on_its_way() {
    let journal = Journal::in_memory();
    for id in ["a", "b", "c"] {
        journal.settle(settled(id, 1));
    }
    let batch = journal.next_batch(2);
    assert_eq!(batch.rows.len(), 2);
    assert!(journal.next_batch(2).is_empty());
    drop(batch);
    assert_eq!(drain(&journal), ["a", "b", "c"]);
}

#[test]
fn a_second_gateway_cannot_use_the_folder() {
    let folder = Folder::new();
    let journal = folder.open();
    let error = Journal::open(&folder.0).unwrap_err();
    assert!(error.to_string().contains("another gateway uses the journal"), "{error}");
    assert!(error.hint().unwrap().contains("AGENTLOOP_DATA"), "{error}");
    // A program that is being started has copies of all open files.
    let copy = journal.0.lock().disk.as_ref().unwrap().lock.0.try_clone().unwrap();
    drop(journal);
    folder.open();
    drop(copy);
}

#[test]
#[cfg(unix)]
fn only_the_user_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let _journal = folder.open();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    for file in fs::read_dir(&folder.0).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
}

#[test]
fn segments_are_deleted_while_a_long_call_is_in_progress() {
    let folder = Folder::new();
    let journal = folder.open();
    journal.0.lock().disk.as_mut().unwrap().set_segment_bytes(4_000);
    journal.reserve(&reserved("long")).unwrap();
    for number in 0..200 {
        let id = format!("id-{number}");
        journal.reserve(&reserved(&id)).unwrap();
        journal.settle(settled(&id, 1));
        if number % 10 == 9 {
            assert_eq!(drain(&journal).len(), 10);
            assert!(folder.segments().len() <= 3, "{}", folder.segments().len());
        }
    }
    drop(journal);
    assert_eq!(drain(&folder.open()), ["long"]);
}

#[test]
fn rows_above_the_limit_of_memory_are_read_back_in_order() {
    let folder = Folder::new();
    let journal = folder.open();
    journal.0.lock().disk.as_mut().unwrap().set_segment_bytes(1 << 20);
    let count = MAX_READY + 3_000;
    for number in 0..count {
        journal.settle(settled(&number.to_string(), 1));
    }
    let expected: Vec<String> = (0..count + 10).map(|number| number.to_string()).collect();
    let mut found = Vec::new();
    while found.len() < count + 10 {
        let batch = journal.next_batch(1_000);
        assert!(!batch.is_empty());
        found.extend(batch.rows.iter().map(|row| row.id.clone()));
        journal.stored(batch);
        if found.len() == 12_000 {
            for number in count..count + 10 {
                journal.settle(settled(&number.to_string(), 1));
            }
        }
    }
    assert_eq!(found, expected);
    assert!(drain(&journal).is_empty());
    assert_eq!(journal.health().unstored_rows, 0);
    // After that, rows come from memory again.
    journal.settle(settled("after", 1));
    assert!(!journal.must_read());
    assert_eq!(drain(&journal), ["after"]);
    assert_eq!(folder.segments().len(), 1);
}

#[tokio::test]
async fn a_waiting_task_wakes_when_a_row_is_settled() {
    let journal = Journal::in_memory();
    let other = journal.clone();
    let task = tokio::spawn(async move { other.changed().await });
    tokio::task::yield_now().await;
    journal.settle(settled("a", 1));
    task.await.unwrap();
    journal.changed().await;
}

#[test]
fn without_a_disk_the_memory_is_bounded() {
    let journal = Journal::in_memory();
    journal.0.lock().most_waiting = 1_000;
    for number in 0..1_000 {
        journal.reserve(&reserved(&number.to_string())).unwrap();
        journal.settle(settled(&number.to_string(), 1));
    }
    assert!(journal.reserve(&reserved("one more")).is_err());
    journal.settle(settled("lost", 1));
    assert_eq!(journal.health().lost_rows, 1);
    assert_eq!(drain(&journal).len(), 1_000);
    journal.reserve(&reserved("again")).unwrap();
    journal.settle(settled("again", 1));
    assert_eq!(drain(&journal), ["again"]);
}
