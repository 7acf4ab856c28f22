//! Tests of the tasks, with a clock that jumps and a store that fails on request.

mod books;
pub(crate) mod store;

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::sleep;

use self::books::FakeBooks;
use self::store::{Fault, FaultyStore};
use super::*;
use crate::servers::folder::Folder;
use crate::store::{KeyRecord, MemoryStore, TeamRecord};

struct Stage {
    store: Arc<FaultyStore>,
    books: Arc<FakeBooks>,
    journal: Journal,
    settings: Settings,
}

impl Stage {
    fn new() -> Self {
        Self {
            store: Arc::default(),
            books: Arc::default(),
            journal: Journal::in_memory(),
            settings: Settings::default(),
        }
    }

    async fn start(&self) -> Tasks {
        let (store, books) = (Arc::clone(&self.store), Arc::clone(&self.books));
        Tasks::start(store, self.journal.clone(), books, self.settings.clone()).await.unwrap()
    }

    fn settle(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            self.journal.settle(row(&number.to_string(), 1));
        }
    }
}

fn row(id: &str, picos: i128) -> LedgerRow {
    LedgerRow {
        id: id.to_owned(),
        key: "ada".to_owned(),
        time_ms: now_ms(),
        usd: Some(Usd::from_picos(picos)),
        ..LedgerRow::default()
    }
}

fn key(name: &str) -> KeyRecord {
    let sha256 = format!("{:064x}", name.len());
    KeyRecord { name: name.to_owned(), sha256, ..KeyRecord::default() }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[tokio::test(start_paused = true)]
async fn rows_are_stored_in_batches_at_most_every_pause() {
    let stage = Stage::new();
    let tasks = stage.start().await;
    stage.settle(0..1);
    sleep(PAUSE * 3).await;
    assert_eq!(stage.store.batches(), [1]);
    // The first row of a burst goes at once, the others together; full batches do not wait.
    for number in 1..5 {
        stage.settle(number..number + 1);
        sleep(Duration::from_millis(1)).await;
    }
    stage.settle(5..3_005);
    sleep(PAUSE * 3).await;
    let batches = stage.store.batches();
    assert_eq!(batches.iter().sum::<usize>(), 3_005);
    assert!(batches.contains(&MAX_BATCH) && batches.len() <= 7, "{batches:?}");
    assert_eq!(stage.books.stored(), 3_005);
    assert!(tasks.close(seconds(1)).await);
}

#[tokio::test(start_paused = true)]
async fn rows_are_stored_exactly_once_after_any_failure() {
    for fault in [Fault::Refuse, Fault::FailAfterwards, Fault::Hang] {
        let stage = Stage::new();
        let tasks = stage.start().await;
        stage.store.set_append(Some(fault));
        stage.settle(0..50);
        sleep(seconds(60)).await;
        let health = tasks.health();
        assert!(health.failing.is_some() && health.errors > 0, "{fault:?}");
        // At most one attempt per five seconds, after the first few.
        assert!(health.errors < 30, "{fault:?} {}", health.errors);
        stage.settle(50..60);
        stage.store.set_append(None);
        sleep(STORE_DEADLINE + seconds(6)).await;
        assert!(tasks.health().failing.is_none(), "{fault:?}");
        assert_eq!(stage.store.ids(), 60, "{fault:?}");
        assert_eq!(stage.books.stored(), 60, "{fault:?}");
        assert_eq!(stage.journal.health().unstored_rows, 0);
        assert!(tasks.close(seconds(1)).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_graceful_end_stores_everything_and_a_late_one_leaves_it_in_the_journal() {
    let stage = Stage::new();
    let tasks = stage.start().await;
    stage.settle(0..2_500);
    assert!(tasks.close(seconds(5)).await);
    assert_eq!(stage.store.ids(), 2_500);

    let folder = Folder::new();
    let mut stage = Stage::new();
    stage.journal = Journal::open(folder.path()).unwrap();
    let tasks = stage.start().await;
    stage.store.set_append(Some(Fault::Hang));
    stage.settle(0..10);
    assert!(!tasks.close(seconds(5)).await);
    drop(stage);
    let mut stage = Stage::new();
    stage.journal = Journal::open(folder.path()).unwrap();
    let tasks = stage.start().await;
    assert_eq!(stage.books.unstored(), 10);
    assert!(tasks.close(seconds(5)).await);
    assert_eq!((stage.store.ids(), stage.books.stored()), (10, 10));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_keys_is_seen_within_a_second() {
    let stage = Stage::new();
    stage.store.memory.create_key(key("a")).await.unwrap();
    let tasks = stage.start().await;
    assert_eq!(stage.books.key_names(), ["a"]);
    stage.store.memory.create_key(key("bb")).await.unwrap();
    sleep(seconds(1)).await;
    assert_eq!(stage.books.key_names(), ["a", "bb"]);
    // Also while rows cannot be stored, and the sums of new budgets not be read.
    stage.store.set_append(Some(Fault::Hang));
    stage.settle(0..1);
    sleep(seconds(1)).await;
    stage.books.want(RowFilter { key: Some("a".to_owned()), ..RowFilter::default() });
    stage.store.memory.revoke_key("a", 1).await.unwrap();
    sleep(seconds(1)).await;
    assert_eq!(stage.books.key_names(), ["bb"]);
    tasks.close(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn sums_are_read_at_the_start_and_again_if_other_nodes_add_rows() {
    for is_shared in [false, true] {
        let mut stage = Stage::new();
        stage.settings.is_shared = is_shared;
        let mut ours = row("x", 5);
        ours.team = Some("web".to_owned());
        stage.store.memory.append(vec![ours].into()).await.unwrap();
        let filter =
            RowFilter { key: Some("ada".to_owned()), since_ms: Some(0), ..RowFilter::default() };
        let team = RowFilter { team: Some("web".to_owned()), ..RowFilter::default() };
        stage.books.want(filter.clone());
        stage.books.want(team.clone());
        let tasks = stage.start().await;
        assert_eq!(stage.books.base(&filter), Some(5));
        assert_eq!(stage.books.base(&team), Some(5));
        stage.store.memory.append(vec![row("of another node", 7)].into()).await.unwrap();
        sleep(seconds(3)).await;
        assert_eq!(stage.books.base(&filter), Some(if is_shared { 12 } else { 5 }));
        tasks.close(seconds(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn many_sums_are_read_with_few_questions() {
    let stage = Stage::new();
    let mut rows = Vec::new();
    for number in 0..100 {
        let mut row = row(&number.to_string(), number);
        row.key = format!("key-{number}");
        rows.push(row);
        let key = Some(format!("key-{}", number * 2));
        stage.books.want(RowFilter { key, since_ms: Some(0), ..RowFilter::default() });
    }
    stage.store.memory.append(rows.into()).await.unwrap();
    let tasks = stage.start().await;
    assert_eq!(stage.store.questions(), 1);
    for number in 0..100 {
        let key = Some(format!("key-{}", number * 2));
        let filter = RowFilter { key, since_ms: Some(0), ..RowFilter::default() };
        let expected = if number < 50 { number * 2 } else { 0 };
        assert_eq!(stage.books.base(&filter), Some(expected));
    }
    tasks.close(seconds(1)).await;
}

#[tokio::test(start_paused = true)]
async fn sums_are_read_again_after_a_failure_that_may_have_stored_rows() {
    let stage = Stage::new();
    let filter = RowFilter { key: Some("ada".to_owned()), ..RowFilter::default() };
    stage.books.want(filter.clone());
    let tasks = stage.start().await;
    stage.store.set_append(Some(Fault::FailAfterwards));
    stage.settle(0..10);
    sleep(seconds(1)).await;
    stage.store.set_append(None);
    sleep(seconds(10)).await;
    assert_eq!(stage.books.base(&filter), Some(10));
    tasks.close(seconds(1)).await;
}

#[tokio::test(start_paused = true)]
async fn the_gateway_starts_with_the_copy_of_keys_and_sums_while_the_store_is_away() {
    let folder = Folder::new();
    let path = folder.join("keys.json");
    let mut stage = Stage::new();
    stage.settings.snapshot = Some(path.clone());
    stage.settings.is_shared = true;
    stage.store.memory.create_key(key("a")).await.unwrap();
    let team = TeamRecord { name: "web".to_owned(), ..TeamRecord::default() };
    stage.store.memory.put_team(team).await.unwrap();
    let filter = RowFilter { key: Some("ada".to_owned()), ..RowFilter::default() };
    stage.books.want(filter.clone());
    let tasks = stage.start().await;
    stage.settle(0..3);
    sleep(seconds(30)).await;
    tasks.close(seconds(1)).await;
    for fault in [Fault::Refuse, Fault::Hang] {
        let mut stage = Stage::new();
        stage.settings.snapshot = Some(path.clone());
        stage.store.set_read(Some(fault));
        let tasks = stage.start().await;
        assert_eq!(stage.books.key_names(), ["a"]);
        assert_eq!(stage.books.base(&filter), Some(3));
        assert!(tasks.health().has_old_keys);
        // The store comes back, with other keys.
        stage.store.memory.create_key(key("bb")).await.unwrap();
        stage.store.set_read(None);
        sleep(STORE_DEADLINE + seconds(1)).await;
        assert_eq!(stage.books.key_names(), ["bb"]);
        assert!(!tasks.health().has_old_keys);
        tasks.close(seconds(1)).await;
        // The copy is that of the store again.
        std::fs::write(&path, saved_with("a")).unwrap();
    }
}

fn saved_with(name: &str) -> Vec<u8> {
    let sums =
        [(RowFilter { key: Some("ada".to_owned()), ..RowFilter::default() }, Usd::from_picos(3))];
    serde_json::to_vec(&serde_json::json!({
        "version": 1, "keys": [key(name)], "teams": [], "sums": sums,
    }))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_damaged_copy_of_the_keys_is_not_used() {
    let folder = Folder::new();
    let path = folder.join("keys.json");
    let whole = saved_with("a");
    let mut texts: Vec<Vec<u8>> = vec![Vec::new(), b"[]".to_vec(), b"\xff\xfe".to_vec()];
    texts.extend((1..whole.len()).step_by(7).map(|length| whole[..length].to_vec()));
    for text in texts {
        std::fs::write(&path, &text).unwrap();
        assert_eq!(snapshot::load(&path), None, "{}", String::from_utf8_lossy(&text));
    }
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(snapshot::MAX_BYTES + 1).unwrap();
    assert_eq!(snapshot::load(&path), None);
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(snapshot::load(&path).unwrap().table.keys, [key("a")]);
}

#[tokio::test(start_paused = true)]
#[cfg(unix)]
async fn only_the_user_can_read_the_copy() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let path = folder.join("keys.json");
    let snapshot = snapshot::Snapshot::default();
    snapshot::save(&path, &snapshot).unwrap();
    snapshot::save(&path, &snapshot).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn old_rows_are_deleted_but_not_those_that_a_budget_needs() {
    let days = |count: i64| now_ms() - count * 86_400_000;
    let mut stage = Stage::new();
    stage.settings.keep_days = Some(7);
    let rows = [1, 8, 20, 40].map(|age| {
        let mut row = row(&age.to_string(), 1);
        row.time_ms = days(age);
        row
    });
    stage.store.memory.append(rows.to_vec().into()).await.unwrap();
    // A month that began ten days ago.
    let since_ms = Some(days(10));
    stage.books.want(RowFilter { key: Some("ada".to_owned()), since_ms, ..RowFilter::default() });
    let tasks = stage.start().await;
    sleep(seconds(120)).await;
    assert_eq!(stage.store.ids(), 2);
    tasks.close(seconds(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_budget_in_total_counts_rows_that_were_deleted() {
    for others in [0, 9] {
        let stage = Stage::new();
        let total =
            |name: String| RowFilter { key: Some(name), since_ms: Some(0), ..RowFilter::default() };
        let ada = total("ada".to_owned());
        stage.books.want(ada.clone());
        // With several keys the store is asked for all of them at once.
        for number in 0..others {
            stage.books.want(total(format!("key-{number}")));
        }
        let day = RowFilter { since_ms: Some(1), ..ada.clone() };
        stage.books.want(day.clone());
        let mut old = row("old", 5);
        old.time_ms = 1;
        stage.store.memory.append(vec![old, row("new", 7)].into()).await.unwrap();
        assert_eq!(stage.store.memory.prune(2).await.unwrap(), 1);
        let tasks = stage.start().await;
        assert_eq!(stage.books.base(&ada), Some(12));
        assert_eq!(stage.books.base(&day), Some(7));
        tasks.close(seconds(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn prices_are_stored_before_the_rows_that_name_them() {
    let stage = Stage::new();
    stage.books.add_price("p", "{}");
    let tasks = stage.start().await;
    stage.store.set_append(Some(Fault::Refuse));
    stage.settle(0..1);
    sleep(seconds(1)).await;
    assert_eq!(stage.store.memory.price(&"p".to_owned()).await.unwrap(), None);
    stage.store.set_append(None);
    sleep(seconds(6)).await;
    assert_eq!(stage.store.memory.price(&"p".to_owned()).await.unwrap().as_deref(), Some("{}"));
    assert_eq!(stage.store.ids(), 1);
    tasks.close(seconds(1)).await;
}
