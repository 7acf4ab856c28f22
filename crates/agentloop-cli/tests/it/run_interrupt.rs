//! `agentloop run` and Ctrl-C.
#![cfg(unix)]

use crate::common;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};

use agentloop::agent::{RunEvent, StopReason};
use common::folder::Folder;
use common::{Outcome, command, signal};

/// Starts a run whose response stalls and never ends.
fn start(folder: &Folder, more: &[&str]) -> Child {
    let mut command = command(["run", "-m", "sim/long-50!stall-events=12", "Go"]);
    command.args(more).current_dir(folder.path()).spawn().unwrap()
}

#[test]
fn ctrl_c_cancels_the_run_and_saves_the_conversation() {
    let folder = Folder::with([]);
    let mut child = start(&folder, &["--save", "run.json"]);
    let mut begun = [0; 5];
    child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"word1");
    signal(&child, "INT");
    let run = Outcome::of(child);
    run.fails(130, "note: cancelled: 1 step").reports("the conversation is saved in run.json");
    let kept: agentloop::ChatRequest =
        serde_json::from_str(&folder.read("run.json").unwrap()).unwrap();
    assert_eq!(kept.messages.len(), 2);
    let last = kept.messages.last().unwrap();
    assert!(last.text().starts_with("word1"), "{last:?}");
}

#[test]
fn ctrl_c_ends_the_events_with_the_outcome() {
    let folder = Folder::with([]);
    let mut child = start(&folder, &["--events"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("content.delta")));
    signal(&child, "INT");
    let last = lines.last().unwrap();
    let RunEvent::RunDone { outcome } = serde_json::from_str(&last).unwrap() else {
        panic!("{last}")
    };
    assert_eq!(outcome.stop, StopReason::Cancelled);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(folder.names().is_empty());
}

const MORE_THAN_BUFFERS: usize = 32 << 20;

/// Starts a server that sends comments without pause, and never an event. Also returns a channel with a message when they are read.
fn flood() -> (String, Receiver<()>) {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (sender, is_read) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let comments = ": still here\n\n".repeat(4_000);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let mut sent = stream.write_all(head.as_bytes());
        // More than all buffers between the two hold.
        for _ in 0..MORE_THAN_BUFFERS.div_ceil(comments.len()) {
            sent = sent.and_then(|()| stream.write_all(comments.as_bytes()));
        }
        let _ = sender.send(());
        while sent.is_ok() {
            sent = stream.write_all(comments.as_bytes());
        }
    });
    (url, is_read)
}

#[test]
fn ctrl_c_and_timeouts_work_while_a_server_sends_without_pause() {
    let start = |more: &[&str]| {
        let (url, is_read) = flood();
        let config = format!("[providers.flood]\nbase_url = \"{url}\"\n");
        let folder = Folder::with([("agentloop.toml", config.as_str())]);
        let mut command = command(["--config", "agentloop.toml", "chat", "-m", "flood/m", "Go"]);
        let child = command.args(more).current_dir(folder.path()).spawn().unwrap();
        (child, folder, is_read)
    };
    let (child, _folder, _) = start(&["--timeout", "0.2"]);
    Outcome::of(child).fails(1, "timed out after");
    let (child, _folder, is_read) = start(&[]);
    is_read.recv().unwrap();
    signal(&child, "INT");
    let run = Outcome::of(child).exits(130);
    assert!(!run.stderr.contains("panicked"), "{run}");
}

#[test]
fn too_few_open_files_are_a_clear_error() {
    let program = env!("CARGO_BIN_EXE_agentloop");
    for limit in 3..24 {
        let line = format!("ulimit -n {limit}; exec '{program}' chat -m sim/echo Hello");
        let output = Command::new("sh").args(["-c", &line]).env_clear().output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panicked"), "{limit}: {stderr}");
        if limit == 6 {
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(stderr.contains("the process can open only"), "{stderr}");
        }
    }
}
