//! `agentloop usage`.

use crate::common;

use agentloop_gateway::{LedgerRow, Outcome as Ended, SqliteStore, Store};
use common::folder::Folder;
use common::{Outcome, agentloop};

/// Runs the command with this folder as the user's folder.
fn run(home: &Folder, words: &str) -> Outcome {
    let run = agentloop(words.split_whitespace()).within(home.path());
    run.env("HOME", home.path().to_str().unwrap()).run()
}

fn row(id: &str, time_ms: i64, key: &str, usd: Option<&str>) -> LedgerRow {
    let mut row = LedgerRow::default();
    row.id = id.to_owned();
    row.time_ms = time_ms;
    row.key = key.to_owned();
    row.provider = "openai".to_owned();
    row.served = "gpt-5".to_owned();
    row.outcome = Ended::Complete;
    row.prompt_tokens = 1_000;
    row.completion_tokens = 200;
    row.usd = usd.map(|usd| usd.parse().unwrap());
    row
}

/// Returns a folder whose ledger has these rows.
fn ledger(rows: Vec<LedgerRow>) -> Folder {
    let home = Folder::with([]);
    let store = SqliteStore::open(home.path().join(".local/share/agentloop/gateway.db")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.append(rows.into())).unwrap();
    home
}

/// 2026-11-16T00:00:00Z.
const DAY: i64 = 1_794_787_200_000;

/// Three calls on two days: one of them an estimate, one without a price and with a hostile name.
fn three_rows() -> Vec<LedgerRow> {
    let mut estimated = row("2", DAY - 1, "ci", Some("0.25"));
    estimated.estimated = true;
    estimated.outcome = Ended::Unknown;
    estimated.team = Some("web".to_owned());
    estimated.tags = vec!["eu".to_owned(), "nightly".to_owned()];
    let mut unpriced = row("3", DAY, "=cmd()", None);
    unpriced.model = "=HYPERLINK(\"x\")".to_owned();
    vec![row("1", DAY, "ci", Some("1.000000000001")), estimated, unpriced]
}

#[test]
fn sums_are_exact_in_pipes() {
    let home = ledger(three_rows());
    let by = |by: &str| {
        let run = run(&home, &format!("usage --since 2026-11-01 --by {by}")).exits(0);
        run.stdout
    };
    let total = "total\t3\t1\t3000\t0\t600\t1.250000000001\t0.25\n";
    assert_eq!(
        by("key"),
        format!(
            "ci\t2\t1\t2000\t0\t400\t1.250000000001\t0.25\n=cmd()\t1\t0\t1000\t0\t200\t0\t0\n{total}"
        )
    );
    assert_eq!(
        by("day"),
        format!(
            "2026-11-16\t2\t0\t2000\t0\t400\t1.000000000001\t0\n2026-11-15\t1\t1\t1000\t0\t200\t0.25\t0.25\n{total}"
        )
    );
    for (name, first) in [
        ("team", "-\t2"),
        ("model", "openai/gpt-5\t3"),
        ("provider", "openai\t3"),
        ("tag", "-\t2"),
        ("hour", "2026-11-16T00\t2"),
        ("outcome", "complete\t2"),
        ("node", "-\t3"),
    ] {
        let lines = by(name);
        assert!(lines.starts_with(first) && lines.ends_with(total), "{name}: {lines}");
    }
    let tags = by("tag");
    assert!(tags.contains("eu\t1") && tags.contains("nightly\t1"), "{tags}");
}

#[test]
fn sums_can_be_filtered_and_printed_as_json_and_csv() {
    let home = ledger(three_rows());
    let json = run(&home, "usage --since 2026-11-16 --until 2026-11-17 --key ci --json").json();
    assert_eq!((&json["by"], &json["since"]), (&"key".into(), &"2026-11-16T00:00:00Z".into()));
    assert_eq!(json["total"]["usd"], "1.000000000001");
    assert_eq!(json["groups"][0]["group"], "ci");
    for (filter, calls) in [
        ("--team web", 1),
        ("--tag eu", 1),
        ("--provider openai", 3),
        ("--model openai/gpt-5 --key ci", 2),
        ("--until 2026-11-16", 1),
        ("--until 2026-11-16T02:00:00+02:00", 1),
    ] {
        let json = run(&home, &format!("usage --since 2026-11-01 --json {filter}")).json();
        assert_eq!(json["total"]["calls"], calls, "{filter}");
    }
    let csv = run(&home, "usage --since 2026-11-01 --csv");
    let lines: Vec<&str> = csv.stdout.lines().collect();
    assert!(lines[0].starts_with("key,calls,") && lines.len() == 3, "{csv}");
    // A spreadsheet does not run it.
    assert!(lines[2].starts_with("'=cmd(),1,"), "{csv}");
}

#[test]
fn an_empty_ledger_and_wrong_times_are_explained() {
    let home = Folder::with([]);
    run(&home, "usage").prints("").reports("the ledger has no calls since");
    assert_eq!(run(&home, "usage --json").json()["total"]["calls"], 0);
    let export = run(&home, "usage export");
    assert!(export.code == Some(0) && export.stdout.starts_with("id,request,"), "{export}");
    assert_eq!(run(&home, "usage export --format jsonl").stdout, "");
    assert!(run(&home, "usage prune --before 2026-01-01").stderr.contains("nothing to delete"));
    assert_eq!(home.names(), [] as [&str; 0], "no file is created");
    for (words, expected) in [
        ("usage --since yesterday", "write a day as 2026-11-16, or an age"),
        ("usage --since 2026-11-31", "there is no day 2026-11-31"),
        ("usage --since 1d --until 2d", "--since is not before --until"),
        ("usage --by colour", "possible values: key, team, model"),
        ("usage --json --csv", "cannot be used with"),
        ("usage prune", "--before"),
    ] {
        let run = run(&home, words);
        assert!(run.code == Some(2) && run.stderr.contains(expected), "{words}: {run}");
    }
}

#[test]
fn all_rows_are_exported_in_the_order_of_time() {
    let number = i64::try_from(agentloop_gateway::MAX_PAGE).unwrap() + 3;
    let rows = (0..number).map(|at| row(&format!("{at:06}"), DAY + at, "ci", None));
    let home = ledger(rows.collect());
    let jsonl = run(&home, "usage export -o out.jsonl");
    assert!(jsonl.code == Some(0) && jsonl.stdout.is_empty(), "{jsonl}");
    assert!(jsonl.stderr.contains("10,003 rows"), "{jsonl}");
    let text = home.read("out.jsonl").unwrap();
    let ids: Vec<&str> = text.lines().map(|line| line.get(..13).unwrap()).collect();
    assert!(ids.len() == 10_003 && ids.is_sorted() && ids[0] == "{\"id\":\"000000");
    let csv = run(&home, "usage export --since 2026-11-16 --until 2026-11-17");
    assert_eq!(csv.stdout.lines().count(), 10_004);
    run(&home, "usage export -o missing/out.csv").fails(2, "missing/out.csv");
    let names = home.names();
    assert!(names.iter().all(|name| !name.contains(".part")), "{names:?}");
}

#[test]
fn rows_are_deleted_only_after_a_question() {
    let home = ledger(three_rows());
    let asked = run(&home, "usage prune --before 2026-11-16");
    asked.fails(2, "add --yes").reports("1 row of the ledger before 2026-11-16");
    assert!(run(&home, "usage prune --before 2026-11-16 --yes").stderr.contains("deleted 1 row"));
    // A key that is not in use any more.
    run(&home, "keys forget ci").fails(2, "add --yes");
    assert!(run(&home, "keys forget ci --yes").stderr.contains("and 1 row of the ledger"));
    assert_eq!(run(&home, "usage --since 2026-11-01 --json").json()["total"]["calls"], 1);
}

#[cfg(unix)]
#[test]
fn a_terminal_shows_a_table_with_marked_estimates() {
    let home = ledger(three_rows());
    let data = home.path().join(".local/share/agentloop");
    let words = ["usage", "--since", "2026-11-01"];
    let mut screen = common::pty::terminal(home.path(), &words)
        .env("AGENTLOOP_DATA", data.to_str().unwrap())
        .start();
    assert_eq!(screen.finish(), Some(0));
    insta::assert_snapshot!(screen.screen(), @r"
    KEY         COST  CALLS  PROMPT  CACHED  RESPONSE  INCOMPLETE
    ci      ~$1.2500      2   2,000       0       400           1
    =cmd()   $0.0000      1   1,000       0       200           0
    total   ~$1.2500      3   3,000       0       600           1
    note: ~ marks estimates: $0.2500 of 1 call without reported usage
    note: 1 call has no known price; set it in [models] of agentloop.toml
    ");
}
