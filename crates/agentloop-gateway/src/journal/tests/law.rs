//! Any sequence of operations, killed anywhere.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Reserve,
    Settle(prop::sample::Index),
    Release(prop::sample::Index),
    Store(usize),
    Fail(usize),
    Sync,
    Kill,
    Full(usize),
    Room,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Reserve),
        4 => any::<prop::sample::Index>().prop_map(Step::Settle),
        1 => any::<prop::sample::Index>().prop_map(Step::Release),
        2 => (1_usize..5).prop_map(Step::Store),
        1 => (1_usize..5).prop_map(Step::Fail),
        1 => Just(Step::Sync),
        1 => Just(Step::Kill),
        1 => (0_usize..2_000).prop_map(Step::Full),
        2 => Just(Step::Room),
    ]
}

/// A store that ignores ids that it has.
#[derive(Default)]
struct Ledger(BTreeMap<String, LedgerRow>);

impl Ledger {
    fn append(&mut self, rows: &[LedgerRow]) {
        for row in rows {
            self.0.entry(row.id.clone()).or_insert_with(|| row.clone());
        }
    }
}

fn prepare(journal: &Journal, segment: u64) {
    journal.0.lock().disk.as_mut().unwrap().set_segment_bytes(segment);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Every call ends up in the ledger with the right row, exactly once, or not at all if it was released.
    #[test]
    fn no_call_is_lost_or_stored_twice(
        steps in prop::collection::vec(step(), 1..80),
        segment in 500_u64..6_000,
    ) {
        let folder = Folder::new();
        let mut journal = folder.open();
        prepare(&journal, segment);
        let mut ledger = Ledger::default();
        let mut open: Vec<String> = Vec::new();
        let mut expected: BTreeMap<String, LedgerRow> = BTreeMap::new();
        let mut is_full = false;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Reserve => {
                    let id = format!("call-{number}");
                    journal.reserve(&reserved(&id)).unwrap();
                    open.push(id);
                }
                Step::Settle(index) if !open.is_empty() => {
                    let id = open.swap_remove(index.index(open.len()));
                    let row = settled(&id, number as i128);
                    journal.settle(row.clone());
                    expected.insert(id, row);
                }
                Step::Release(index) if !open.is_empty() => {
                    let id = open.swap_remove(index.index(open.len()));
                    journal.release(&id);
                }
                Step::Settle(_) | Step::Release(_) => {}
                Step::Store(most) => {
                    let batch = journal.next_batch(most);
                    ledger.append(&batch.rows);
                    journal.stored(batch);
                }
                Step::Fail(most) => {
                    let batch = journal.next_batch(most);
                    // The store may have the rows although it failed.
                    if number % 2 == 0 {
                        ledger.append(&batch.rows);
                    }
                }
                Step::Sync => journal.sync().unwrap(),
                // A kill while lines wait in memory loses them: that is what `health` warns of.
                Step::Kill if is_full => {}
                Step::Kill => {
                    drop(journal);
                    journal = folder.open();
                    prepare(&journal, segment);
                    prop_assert_eq!(journal.health().damaged_lines, 0);
                    expected.extend(open.drain(..).map(|id| (id.clone(), reserved(&id))));
                }
                Step::Full(room) => {
                    is_full = true;
                    journal.0.lock().disk.as_mut().unwrap().room = Some(room);
                }
                Step::Room => {
                    is_full = false;
                    journal.0.lock().disk.as_mut().unwrap().room = None;
                    journal.sync().unwrap();
                    prop_assert!(journal.health().failing.is_none());
                }
            }
            prop_assert_eq!(journal.health().open, open.len());
        }
        journal.0.lock().disk.as_mut().unwrap().room = None;
        journal.sync().unwrap();
        drop(journal);
        let journal = folder.open();
        expected.extend(open.drain(..).map(|id| (id.clone(), reserved(&id))));
        ledger.append(&drain_rows(&journal));
        prop_assert_eq!(&ledger.0, &expected);
        prop_assert_eq!(journal.health().unstored_rows, 0);
        drop(journal);
        let journal = folder.open();
        prop_assert!(drain(&journal).is_empty());
        prop_assert_eq!(folder.segments().len(), 1);
    }

    /// A segment that is cut at any byte is read as the operations whose lines are complete.
    #[test]
    fn a_cut_journal_is_a_prefix(
        steps in prop::collection::vec(step(), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let folder = Folder::new();
        let journal = folder.open();
        let path = folder.segments().remove(0);
        let mut open: Vec<String> = Vec::new();
        let mut rows: BTreeMap<String, LedgerRow> = BTreeMap::new();
        // What there is after each length of the file: rows of ended and of open calls.
        let mut states = vec![(0, BTreeMap::new())];
        let mut ledger = Ledger::default();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Reserve => {
                    let id = format!("call-{number}");
                    journal.reserve(&reserved(&id)).unwrap();
                    rows.insert(id.clone(), reserved(&id));
                    open.push(id);
                }
                Step::Settle(index) if !open.is_empty() => {
                    let id = open.swap_remove(index.index(open.len()));
                    journal.settle(settled(&id, number as i128));
                    rows.insert(id.clone(), settled(&id, number as i128));
                }
                Step::Release(index) if !open.is_empty() => {
                    let id = open.swap_remove(index.index(open.len()));
                    journal.release(&id);
                    rows.remove(&id);
                }
                Step::Store(most) => {
                    let batch = journal.next_batch(most);
                    ledger.append(&batch.rows);
                    journal.stored(batch);
                }
                _ => {}
            }
            states.push((fs::metadata(&path).unwrap().len(), rows.clone()));
        }
        drop(journal);
        let whole = usize::try_from(states.last().unwrap().0).unwrap();
        let length = cut.index(whole + 1) as u64;
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let journal = folder.open();
        prop_assert_eq!(journal.health().damaged_lines, 0);
        let (_, expected) = states.iter().rev().find(|(end, _)| *end <= length).unwrap();
        // The store may know more of the calls than the file that was cut.
        let stored = ledger.0.clone();
        ledger.append(&drain_rows(&journal));
        for (id, row) in expected {
            prop_assert_eq!(ledger.0.get(id), Some(stored.get(id).unwrap_or(row)));
        }
        for id in ledger.0.keys() {
            prop_assert!(expected.contains_key(id) || stored.contains_key(id), "{}", id);
        }
    }
}
