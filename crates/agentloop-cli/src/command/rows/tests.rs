#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use serde_json::{Value, json};

use super::*;
use crate::failure::Failure;
use crate::folder::Folder;

fn rows(text: &str, format: Format) -> Result<Vec<Value>, String> {
    let source = Source::of_bytes(text.as_bytes(), format);
    let rows: Result<Vec<Row>, Failure> = source.rows().and_then(Iterator::collect);
    let rows = rows.map_err(message)?;
    Ok(rows.into_iter().map(|row| Value::Object(row.values)).collect())
}

fn message(failure: Failure) -> String {
    match failure {
        Failure::Input { message, .. } => message,
        other => panic!("expected wrong input, got {other:?}"),
    }
}

/// A file in a folder of its own.
struct File(Folder);

impl File {
    fn new(text: &str) -> Self {
        Self(Folder::with([("out.jsonl", text)]))
    }

    fn text(&self) -> String {
        self.0.read("out.jsonl").unwrap()
    }
}

fn line(index: u64) -> String {
    format!("{{\"index\":{index},\"hash\":\"h{index}\",\"text\":\"x\"}}")
}

fn open(file: &File, resume: bool, in_order: bool) -> Result<(Results, Done), Failure> {
    Results::to_file(&file.0.join("out.jsonl"), resume, in_order, &mut |_| Ok(true))
}

fn order(file: &File) -> Vec<u64> {
    let index =
        |line: &str| serde_json::from_str::<Value>(line).unwrap()["index"].as_u64().unwrap();
    file.text().lines().map(index).collect()
}

#[test]
fn rows_are_read_from_every_format() {
    assert_eq!(
        rows("\u{feff}{\"a\": 1}\r\n\n\"text\"\n", Format::Jsonl).unwrap(),
        [json!({ "a": 1 }), json!({ "input": "text" })]
    );
    assert_eq!(
        rows("name,text\nA,\"two\nlines, \"\"quoted\"\"\"\n", Format::Csv).unwrap(),
        [json!({ "name": "A", "text": "two\nlines, \"quoted\"" })]
    );
    assert_eq!(
        rows(" one \n\n  \ntwo", Format::Text).unwrap(),
        [json!({ "input": " one " }), json!({ "input": "two" })]
    );
}

#[test]
fn a_wrong_row_is_named_by_its_line() {
    assert!(rows("{}\n[1]\n", Format::Jsonl).unwrap_err().starts_with("test, line 2: neither"));
    assert!(
        rows("{}\n{\"a\":\n", Format::Jsonl).unwrap_err().starts_with("test, line 2: not JSON")
    );
    assert_eq!(
        rows("a,b\n1,2\n1,2,3\n", Format::Csv).unwrap_err(),
        "test, line 3: the record has 3 values, but the header has 2"
    );
    assert_eq!(
        rows("a,a\n1,2\n", Format::Csv).unwrap_err(),
        "test, line 1: the header has the column `a` twice"
    );
    let source = Source::of_bytes(b"ok\n\xff\n", Format::Text);
    let last = source.rows().unwrap().last().unwrap();
    assert_eq!(message(last.unwrap_err()), "test, line 2: not UTF-8 text");
}

#[test]
fn a_row_longer_than_the_limit_is_refused_without_reading_it_all() {
    let long = "x".repeat((16 << 20) + 10);
    assert!(rows(&long, Format::Text).unwrap_err().contains("longer than the limit"));
}

#[test]
fn a_csv_record_longer_than_the_limit_is_refused_without_reading_it_all() {
    let long = format!("a,b\n1,\"{}", "x".repeat(20 << 20));
    assert!(rows(&long, Format::Csv).unwrap_err().contains("longer than the limit"));
}

#[test]
fn texts_are_rows_as_they_are() {
    let source = Source::of_texts(vec!["a".into(), String::new(), "b\nc".into()]);
    assert_eq!(source.count().unwrap(), (3, 0));
    assert_eq!(Source::of_bytes(b"a\n\n \nb\n", Format::Text).count().unwrap(), (2, 2));
}

#[test]
fn results_in_order_wait_for_earlier_rows_and_none_is_lost() {
    let file = File::new("");
    let (mut results, _) = open(&file, false, true).unwrap();
    results.write(1, line(1)).unwrap();
    assert_eq!((results.waiting().0, file.text()), (1, String::new()));
    results.write(0, line(0)).unwrap();
    results.write(3, line(3)).unwrap();
    assert_eq!((results.waiting().0, file.text().lines().count()), (1, 2));
    results.finish(false).unwrap();
    assert_eq!(order(&file), [0, 1, 3]);
}

#[test]
fn the_lines_of_a_file_that_was_continued_are_put_in_order() {
    let file = File::new("");
    let (mut results, _) = open(&file, false, true).unwrap();
    results.write(0, r#"{"index":0,"hash":"h0","error":{}}"#.to_owned()).unwrap();
    results.write(2, line(2)).unwrap();
    results.finish(false).unwrap();
    drop(results);
    let (mut results, done) = open(&file, true, true).unwrap();
    assert_eq!(done.len(), 1);
    for index in [1, 0] {
        results.write(index, line(index)).unwrap();
    }
    results.skip(2).unwrap();
    results.finish(true).unwrap();
    assert_eq!(order(&file), [0, 1, 2]);
    assert!(!file.text().contains("error"));
}

#[test]
fn resuming_skips_finished_rows_retries_failed_ones_and_removes_a_torn_line() {
    let text = "{\"index\":0,\"hash\":\"a\",\"text\":\"x\"}\n{\"index\":1,\"hash\":\"b\",\"error\":{}}\n{\"index\":2,\"ha";
    let file = File::new(text);
    let (mut results, done) = open(&file, true, false).unwrap();
    assert_eq!(done, Done::from([(0, "a".to_owned())]));
    results.finish(true).unwrap();
    assert_eq!(file.text().lines().count(), 2);
}

#[test]
fn a_file_of_something_else_is_not_overwritten() {
    let file = File::new("my notes\n");
    let exists = open(&file, false, false).unwrap_err();
    assert!(message(exists).ends_with("exists"));
    let other = open(&file, true, false).unwrap_err();
    assert!(message(other).ends_with("line 1: not a result of this command"));
    assert_eq!(file.text(), "my notes\n");
}

#[test]
fn two_processes_cannot_write_the_same_file() {
    let file = File::new("");
    let first = open(&file, true, false).unwrap();
    let second = open(&file, true, false).unwrap_err();
    assert!(message(second).contains("another process"));
    drop(first);
}

#[test]
fn a_file_that_is_not_of_this_command_is_never_shortened() {
    for text in ["a note without an end", "{\"inde", "{\"index\":7,\"hash\""] {
        let file = File::new(text);
        let opened = open(&file, true, false);
        let is_ours = text.starts_with('{');
        assert_eq!(opened.is_ok(), is_ours, "{text}");
        drop(opened);
        assert_eq!(file.text(), if is_ours { "" } else { text });
    }
}

#[cfg(unix)]
#[test]
fn results_are_not_written_to_what_has_no_end() {
    let folder = Folder::new();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in ["full", "zero"] {
        std::os::unix::fs::symlink(format!("/dev/{path}"), folder.path().join(path)).unwrap();
    }
    for name in ["pipe", "full", "zero", ""] {
        for resume in [false, true] {
            let opened =
                Results::to_file(&folder.path().join(name), resume, false, &mut |_| Ok(true));
            let error = format!("{:?}", opened.unwrap_err());
            assert!(error.contains("not a regular file") || error.contains("directory"), "{error}");
        }
    }
}
