#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::path::PathBuf;

use super::input::Format;
use super::*;

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

fn row(values: Value) -> Row {
    let Value::Object(values) = values else { panic!("not an object") };
    Row { index: 0, values }
}

fn plan(prompt: Option<&str>) -> Plan {
    let base = ChatRequest::new("sim/echo").system("Be brief.");
    Plan { base, prompt: prompt.map(str::to_owned), has_model: false }
}

fn prompt_of(request: &ChatRequest) -> String {
    let json = serde_json::to_value(request.messages.last().unwrap()).unwrap();
    json["content"].as_str().unwrap().to_owned()
}

struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("agentloop-batch-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn line(index: u64) -> Line {
    Line { index, hash: format!("h{index}"), result: Outcome::Response(json!({ "text": "x" })) }
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
fn the_prompt_is_filled_with_the_values_of_the_row() {
    let request = plan(Some("{{a}} and {{b}} and {{c}}"))
        .build(&row(json!({ "a": "{{b}}", "b": 2, "c": [1, null] })))
        .unwrap();
    assert_eq!(prompt_of(&request), "{{b}} and 2 and [1,null]");
    let missing = plan(Some("{{x}}")).build(&row(json!({ "a": 1 })));
    assert_eq!(message(missing.unwrap_err()), "row 1: there is no value `x` for the prompt");
}

#[test]
fn without_a_prompt_the_value_of_the_row_is_used() {
    let prompt = |values| plan(None).build(&row(values)).map(|request| prompt_of(&request));
    assert_eq!(prompt(json!({ "whatever": "only" })).unwrap(), "only");
    assert_eq!(prompt(json!({ "id": 7, "text": "Hello" })).unwrap(), "Hello");
    let unclear = prompt(json!({ "id": 7, "name": "x" })).unwrap_err();
    assert_eq!(message(unclear), "row 1: it is not clear which value is the prompt");
}

#[test]
fn a_row_with_messages_is_a_request() {
    let values = json!({ "messages": [{ "role": "user", "content": "Hi" }], "temperature": 0.5 });
    let request = plan(None).build(&row(values)).unwrap();
    assert_eq!(request.model, "sim/echo");
    assert_eq!(request.temperature, Some(0.5));
    assert_eq!(prompt_of(&request), "Hi");
    assert_eq!(request.messages.len(), 2, "the system prompt of the command line is added");
    let mut settings = plan(None);
    settings.base.temperature = Some(1.0);
    let values = json!({ "messages": [{ "role": "user", "content": "Hi" }], "temperature": 0.5, "top_p": 0.5 });
    let request = settings.build(&row(values)).unwrap();
    assert_eq!((request.temperature, request.top_p), (Some(1.0), Some(0.5)));
    let own = json!({ "model": "a/b", "messages": [{ "role": "user", "content": "Hi" }] });
    assert_eq!(plan(None).build(&row(own)).unwrap().model, "a/b");
    let wrong = plan(None).build(&row(json!({ "messages": 3 })));
    assert!(message(wrong.unwrap_err()).starts_with("row 1: not a ChatRequest"));
}

#[test]
fn results_in_order_wait_for_earlier_rows_and_none_is_lost() {
    let file = File::new("order", "");
    let (mut results, _) = Results::to_file(&file.0, false, true).unwrap();
    results.write(&line(1)).unwrap();
    assert_eq!((results.waiting(), file.text()), (1, String::new()));
    results.write(&line(0)).unwrap();
    results.write(&line(3)).unwrap();
    assert_eq!((results.waiting(), file.text().lines().count()), (1, 2));
    results.finish().unwrap();
    let order: Vec<u64> = file
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["index"].as_u64().unwrap())
        .collect();
    assert_eq!(order, [0, 1, 3]);
}

#[test]
fn resuming_skips_finished_rows_retries_failed_ones_and_removes_a_torn_line() {
    let text = "{\"index\":0,\"hash\":\"a\",\"text\":\"x\"}\n{\"index\":1,\"hash\":\"b\",\"error\":{}}\n{\"index\":2,\"ha";
    let file = File::new("resume", text);
    let (results, done) = Results::to_file(&file.0, true, false).unwrap();
    assert_eq!(done, Done::from([(0, "a".to_owned())]));
    results.finish().unwrap();
    assert_eq!(file.text().lines().count(), 2);
}

#[test]
fn a_file_of_something_else_is_not_overwritten() {
    let file = File::new("other", "my notes\n");
    let exists = Results::to_file(&file.0, false, false).unwrap_err();
    assert!(message(exists).ends_with("exists"));
    let other = Results::to_file(&file.0, true, false).unwrap_err();
    assert!(message(other).ends_with("line 1: not a result of `agentloop batch`"));
    assert_eq!(file.text(), "my notes\n");
}

#[cfg(unix)]
#[test]
fn two_processes_cannot_write_the_same_file() {
    let file = File::new("lock", "");
    let first = Results::to_file(&file.0, true, false).unwrap();
    let second = Results::to_file(&file.0, true, false).unwrap_err();
    assert!(message(second).contains("another process"));
    drop(first);
}
