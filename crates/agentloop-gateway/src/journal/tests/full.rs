//! A disk that is full.

use super::*;

fn set_room(journal: &Journal, room: Option<usize>) {
    journal.0.lock().disk.as_mut().unwrap().room = room;
}

#[test]
fn lines_wait_while_the_disk_is_full_and_are_written_in_their_order_later() {
    for room in [0, 1, 8, 60, 100, 130, 250, 400] {
        let folder = Folder::new();
        let journal = folder.open();
        journal.reserve(&reserved("before")).unwrap();
        set_room(&journal, Some(room));
        for id in ["a", "b", "c"] {
            journal.reserve(&reserved(id)).unwrap();
        }
        journal.settle(settled("before", 3));
        journal.settle(settled("a", 4));
        journal.release("b");
        let health = journal.health();
        assert!(health.failing.is_some() && health.waiting_lines > 0, "{room}");
        // Rows reach the store nevertheless.
        let batch = journal.next_batch(1);
        assert_eq!(batch.rows[0].id, "before");
        journal.stored(batch);
        set_room(&journal, None);
        journal.sync().unwrap();
        let health = journal.health();
        assert!(health.failing.is_none() && health.waiting_lines == 0, "{room}");
        drop(journal);
        let journal = folder.open();
        assert_eq!(journal.health().damaged_lines, 0, "{room}");
        // `before` comes again: the line that it is stored did not find room.
        assert_eq!(drain(&journal), ["before", "a", "c"], "{room}");
    }
}

#[test]
fn a_kill_on_a_full_disk_keeps_what_was_written_before() {
    for room in [0, 1, 50, 99] {
        let folder = Folder::new();
        let journal = folder.open();
        journal.reserve(&reserved("a")).unwrap();
        journal.settle(settled("b", 1));
        set_room(&journal, Some(room));
        journal.settle(settled("a", 9));
        drop(journal);
        let journal = folder.open();
        assert_eq!(drain_rows(&journal), [settled("b", 1), reserved("a")], "{room}");
        assert_eq!(journal.health().damaged_lines, 0, "{room}");
    }
}

#[test]
fn what_waits_is_bounded_and_open_calls_can_still_end() {
    let folder = Folder::new();
    let journal = folder.open();
    journal.0.lock().most_waiting = 1_000;
    set_room(&journal, Some(0));
    let mut open = Vec::new();
    loop {
        let id = open.len().to_string();
        if let Err(error) = journal.reserve(&reserved(&id)) {
            assert!(error.hint().unwrap().contains("free some space"), "{error}");
            break;
        }
        open.push(id);
    }
    assert!((400..=1_000).contains(&open.len()), "{}", open.len());
    for id in &open {
        journal.settle(settled(id, 1));
    }
    let health = journal.health();
    assert_eq!((health.lost_rows, health.open), (0, 0));
    assert_eq!(health.waiting_lines, 2 * open.len());
    // The store gets all of them from memory.
    assert_eq!(drain(&journal), open);
}
