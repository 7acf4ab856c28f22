//! The harness finds what it is there for.

use serde_json::Value;

use super::{Form, Reader, Scale};

const SMALL: Scale = Scale { base: 4 << 10, shapes: 400, deep: 2, deepest: 4 << 20 };

fn seeds() -> Vec<Vec<u8>> {
    vec![br#"{"list": [{"id": "a", "size": 1}], "text": "a"}"#.to_vec()]
}

fn broken(read: fn(&[u8])) -> Vec<String> {
    Reader::new("reader", Form::Json, seeds, read, &[]).check(SMALL).broken
}

fn list(input: &[u8]) -> Vec<Value> {
    let value: Value = serde_json::from_slice(input).unwrap_or_default();
    value["list"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_reader_that_keeps_the_limits_passes() {
    let read = |input: &[u8]| drop(String::from_utf8_lossy(input).into_owned());
    assert_eq!(broken(read), Vec::<String>::new());
}

#[test]
fn a_reader_that_copies_a_text_into_every_element_is_found() {
    let read = |input: &[u8]| {
        let value: Value = serde_json::from_slice(input).unwrap_or_default();
        let copies: Vec<Value> = list(input).iter().map(|_| value["text"].clone()).collect();
        drop(copies);
    };
    let broken = broken(read);
    assert!(broken.iter().any(|found| found.contains("beside a long text at .text")), "{broken:?}");
}

#[test]
fn a_reader_that_allocates_for_each_pair_of_elements_is_found() {
    let read = |input: &[u8]| {
        let list = list(input);
        for one in &list {
            for other in list.iter().take(100) {
                drop(format!("{}{}", one["id"], other["id"]));
            }
        }
    };
    let broken = broken(read);
    assert!(broken.iter().any(|found| found.contains("element at .list")), "{broken:?}");
}

#[test]
fn a_reader_that_panics_at_a_cut_is_found() {
    let read = |input: &[u8]| assert!(!input.ends_with(b"\"siz"), "cut");
    assert_eq!(broken(read), ["reader: a seed that is cut: cut"]);
}

/// How deep brackets are, with a call for each.
fn depth(input: &[u8]) -> usize {
    let frame = std::hint::black_box([0u8; 64]);
    match input {
        [b'[', inner @ ..] => 1 + depth(inner) + usize::from(frame[0]),
        _ => 0,
    }
}

/// Overflows the stack, in a process of its own: `a_reader_with_a_call_for_each_level_ends_the_process` starts it.
#[test]
#[ignore = "it ends the process"]
fn a_reader_with_a_call_for_each_level() {
    let seeds = || vec![b"1".to_vec()];
    let read = |input: &[u8]| assert_ne!(depth(input), 1);
    Reader::new("reader", Form::Json, seeds, read, &[]).check(SMALL);
}

#[test]
fn a_reader_with_a_call_for_each_level_ends_the_process_with_its_name() {
    let name = "hostile::tests::a_reader_with_a_call_for_each_level";
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--ignored", "--exact", name]).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(shown.contains("'reader: "), "{shown}");
    assert!(shown.contains("overflowed its stack"), "{shown}");
}
