//! The status line and the last line at a terminal.
#![cfg(unix)]

use crate::common::SUM;
use crate::common::folder::Folder;
use crate::common::pty::terminal;

#[test]
fn the_status_line_shows_the_wait_and_leaves_no_trace() {
    let folder = Folder::with([]);
    let mut stalled =
        terminal(folder.path(), &["chat", "-m", "sim/echo!stall-events=0", "Hi"]).start();
    stalled.wait_for("waiting for sim/echo!stall-events=0 · N s");
    stalled.interrupt();
    assert_eq!(stalled.finish(), Some(130));
    insta::assert_snapshot!(stalled.screen(), @"
    error: interrupted
    ");
}

#[test]
fn a_retry_counts_down() {
    let folder = Folder::with([]);
    let args = ["chat", "-m", "sim/echo!status=429;retry-after=30", "--retries", "1", "Hi"];
    let mut waiting = terminal(folder.path(), &args).start();
    waiting.wait_for("retrying in N s (429 from sim)…");
    waiting.interrupt();
    assert_eq!(waiting.finish(), Some(130));
    assert!(!waiting.screen().contains("retrying"), "{}", waiting.screen());
}

#[test]
fn there_is_no_status_line_where_it_would_disturb() {
    let folder = Folder::with([]);
    let args = ["chat", "-m", "sim/echo!status=429;retry-after=1", "--retries", "1", "Hi"];
    let quiet = [&args[..], &["-q"]].concat();
    for setup in [
        terminal(folder.path(), &args).env("TERM", "dumb"),
        terminal(folder.path(), &args).env("TERM", ""),
        terminal(folder.path(), &quiet),
    ] {
        let mut run = setup.start();
        assert_eq!(run.finish(), Some(1));
        assert!(!run.bytes.contains(&0x1b), "{}", String::from_utf8_lossy(&run.bytes));
        assert!(!run.screen().contains("retrying"), "{}", run.screen());
    }
}

#[test]
fn a_status_line_never_wraps_on_a_narrow_terminal() {
    let folder = Folder::with([]);
    let args = ["chat", "-m", "sim/echo!stall-events=0", "Hi"];
    let mut narrow = terminal(folder.path(), &args).size(20, 10).start();
    narrow.wait_for("waiting for sim");
    assert_eq!(narrow.screen().lines().count(), 1, "{}", narrow.screen());
    narrow.interrupt();
    narrow.finish();
    assert!(!narrow.screen().contains("waiting"), "{}", narrow.screen());
}

#[test]
fn the_last_line_reports_model_tokens_and_time() {
    let folder = Folder::with([]);
    let mut run = terminal(folder.path(), &["chat", "-m", "sim/long-3", "Hello"]).start();
    assert_eq!(run.finish(), Some(0));
    insta::assert_snapshot!(run.screen(), @"
    word1 word2 word3
    sim/long-3 · 1 tokens in · 3 out · N s
    ");
    let mut quiet = terminal(folder.path(), &["chat", "-q", "-m", "sim/long-3", "Hello"]).start();
    assert_eq!(quiet.finish(), Some(0));
    insta::assert_snapshot!(quiet.screen(), @"word1 word2 word3");
}

#[test]
fn the_last_line_of_a_run_counts_all_steps() {
    let folder = Folder::with([("sum.toml", SUM)]);
    let args = ["run", "-m", "sim/tools", "--config", "sum.toml", "--tool", "sum", "Go"];
    let mut run = terminal(folder.path(), &args).start();
    assert_eq!(run.finish(), Some(0));
    insta::assert_snapshot!(run.screen(), @"
    tool: sum completed in N s: 14
    sum says: 14
    finished · 2 steps · sim/tools · 3 tokens in · 4 out · N s
    ");
}

#[test]
fn ctrl_c_reports_what_arrived() {
    let folder = Folder::with([]);
    let args = ["chat", "-m", "sim/long-50!stall-events=12", "Go"];
    let mut run = terminal(folder.path(), &args).start();
    // The last word before the stall.
    run.wait_for("word11");
    run.interrupt();
    assert_eq!(run.finish(), Some(130));
    insta::assert_snapshot!(run.screen(), @"
    word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11
    note: the response is incomplete: only its first 68 characters arrived
    error: interrupted
    ");
}

#[test]
fn with_stdout_in_a_pipe_the_status_line_is_still_on_the_terminal() {
    let folder = Folder::with([]);
    let args = ["chat", "-m", "sim/echo!stall-events=0", "Hi"];
    let mut run = terminal(folder.path(), &args).pipe_stdout().start();
    run.wait_for("waiting for sim/echo");
    run.interrupt();
    assert_eq!(run.finish(), Some(130));
}
