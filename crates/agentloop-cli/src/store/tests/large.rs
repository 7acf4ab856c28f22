//! A history of 100,000 messages.

use std::time::Instant;

use super::super::search;
use super::new_store;

/// Returns the plan of a statement, one step per line.
fn plan(store: &super::Store, sql: &str) -> Vec<String> {
    let mut statement = store.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let count = statement.parameter_count();
    let values = std::iter::repeat_n("1", count);
    let rows =
        statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3));
    rows.unwrap().map(Result::unwrap).collect()
}

/// A step that reads a whole table. Scanning an index in its order up to a limit, the full-text index and the few rows that it found
/// are none.
fn scans_a_table(step: &str) -> bool {
    step.starts_with("SCAN")
        && !step.contains("USING INDEX")
        && !step.contains("USING COVERING INDEX")
        && !step.contains("VIRTUAL TABLE INDEX")
        && !["SCAN matches", "SCAN best"].contains(&step)
}

#[test]
fn nothing_scans_the_messages() {
    let (_folder, store) = new_store();
    let columns = super::super::conversation::COLUMNS;
    let statements = [
        search::sql(),
        format!(
            "SELECT {columns} FROM conversation c ORDER BY c.updated DESC, c.key DESC LIMIT ?1"
        ),
        format!(
            "SELECT {columns} FROM conversation c WHERE c.updated < ?1 ORDER BY c.updated, c.key"
        ),
        format!(
            "SELECT {columns} FROM conversation c WHERE c.id >= ?1 AND c.id < ?1 || '{{' ORDER BY c.id DESC LIMIT ?2"
        ),
        format!("SELECT {columns} FROM conversation c WHERE c.name = ?1"),
        "SELECT max(position) FROM message WHERE conversation = ?1".to_owned(),
        "DELETE FROM conversation WHERE key = ?1".to_owned(),
        "DELETE FROM searchable WHERE conversation = ?1 AND message IS NULL".to_owned(),
        "SELECT 1 FROM attachment WHERE hash = ?1".to_owned(),
        super::super::conversation::TOUCH.to_owned(),
        "SELECT sum(cost) FROM spending WHERE time >= ?1".to_owned(),
    ];
    for sql in statements {
        let steps = plan(&store, &sql);
        assert!(!steps.iter().any(|step| scans_a_table(step)), "{sql}\n{steps:#?}");
    }
}

#[test]
fn a_hundred_thousand_messages_are_listed_and_searched() {
    const TALKS: usize = 2_000;
    const MESSAGES: usize = 50;
    let (folder, store) = new_store();
    let started = Instant::now();
    // The same rows as the functions of the store write, but in a few statements: the test is about reading.
    let sql = format!(
        "BEGIN;
         WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < {TALKS} - 1)
         INSERT INTO conversation (id, title, model, created, updated)
         SELECT printf('%014d', n), 'talk ' || n, 'sim/echo', n, n FROM n;
         WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < {MESSAGES} - 1)
         INSERT INTO message (conversation, position, role, json, created)
         SELECT c.key, n, iif(n % 2, 'assistant', 'user'), json_object('role', iif(n % 2, 'assistant', 'user'), 'content',
           'message ' || n || ' of talk ' || c.title || ' is about common words and one '
           || iif(c.created % 400 = 7 AND n = 3, 'aardvark', 'zebra') || ' ' || (n * 31 + c.created)), c.created
         FROM conversation c, n;
         INSERT INTO searchable (conversation, message, text)
         SELECT conversation, key, json ->> 'content' FROM message;
         COMMIT;"
    );
    store.connection.execute_batch(&sql).unwrap();
    drop(store);
    let written = started.elapsed();

    let started = Instant::now();
    let store = folder.open();
    let opened = started.elapsed();
    let timed = |work: &dyn Fn() -> usize| {
        let started = Instant::now();
        let count = work();
        (count, started.elapsed())
    };
    let (listed, list) = timed(&|| store.list(20).unwrap().len());
    let (rare, rare_time) = timed(&|| store.search("aardvark", 20).unwrap().len());
    let (common, common_time) = timed(&|| store.search("common words", 20).unwrap().len());
    let (last, last_time) = timed(&|| store.messages(&store.find("last").unwrap()).unwrap().len());
    assert_eq!((listed, rare, common, last), (20, 5, 20, MESSAGES));
    // Figures to look at, not to fail by: `cargo nextest run --no-capture`.
    let size = std::fs::metadata(folder.file()).unwrap().len() >> 20;
    let lines = format!(
        "written {written:?} ({size} MiB), opened {opened:?}, listed {list:?}, searched {rare_time:?} (5 matches), \
         {common_time:?} (100,000 matches), loaded {last_time:?}\n"
    );
    std::io::Write::write_all(&mut std::io::stderr(), lines.as_bytes()).unwrap();
}
