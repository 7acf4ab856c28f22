//! `agentloop -x`: prints only a code block.

use crate::common::folder::Folder;
use crate::common::server::{self, Then};
use crate::common::{Outcome, agentloop};

/// Runs `agentloop` with a provider that responds with this text.
fn respond(text: &str, reason: &str, args: &[&str]) -> Outcome {
    let body = serde_json::json!({
        "id": "c1", "model": "m",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": reason }],
    });
    let url = server::serve(server::json("200 OK", &body.to_string()), Then::Close);
    let args = ["chat", "-m", "local/m", "--no-stream", "Hello"].iter().chain(args).copied();
    agentloop(args).config(&format!("[providers.local]\nbase_url = '{url}'\n")).run()
}

const TWO: &str =
    "First:\n\n```sh\necho \u{1b}[31mred\n```\n\nSecond:\n\n~~~~\n```\nb\n~~~~\n\nBye.";

#[test]
fn only_the_code_of_a_block_is_printed() {
    for short in ["-x", "--extract"] {
        let run = respond(TWO, "stop", &[short]);
        run.prints("echo \u{1b}[31mred\n");
        assert_eq!(run.stderr, "");
    }
    respond(TWO, "stop", &["--extract-last"]).prints("```\nb\n");
}

#[test]
fn without_a_block_the_text_is_printed_with_a_note() {
    let run = respond("No code here", "stop", &["-x"]);
    run.prints("No code here\n");
    assert!(run.stderr.starts_with("note: the response has no code block"), "{run}");
}

#[test]
fn a_block_of_a_truncated_response_is_printed_and_the_exit_code_is_1() {
    let run = respond("Here:\n```py\nprint(1)\nprint(", "length", &["-x"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "print(1)\nprint(\n"), "{run}");
    assert!(run.stderr.contains("note: the code block is not closed"), "{run}");
}

#[test]
fn a_stream_a_run_and_a_stored_conversation_have_blocks_too() {
    let folder = Folder::with([]);
    let prompt = "```\nls\n```";
    let data = folder.path().join("data");
    let run = |args: &[&str]| {
        agentloop(args.iter().copied()).env("AGENTLOOP_DATA", data.to_str().unwrap()).run()
    };
    for command in ["chat", "run"] {
        run(&[command, "-q", "-m", "sim/echo", "-x", prompt]).prints("ls\n");
    }
    run(&["log", "show", "-x"]).prints("ls\n");
    run(&["chat", "-m", "sim/echo", "-x", "--json", "Hi"]).exits(2);
}

#[cfg(unix)]
#[test]
fn on_a_terminal_the_code_has_no_colours_and_cannot_control_it() {
    use crate::common::pty::terminal;
    let folder = Folder::with([]);
    let prompt = "```rust\nfn main() {}\n```";
    let args = ["chat", "-m", "sim/echo", "-x", "--no-log", prompt];
    let mut screen = terminal(folder.path(), &args).start();
    screen.wait_for("fn main() {}");
    assert_eq!(screen.finish(), Some(0));
    let shown = String::from_utf8_lossy(&screen.bytes).into_owned();
    assert!(shown.contains("fn main() {}\r\n"), "{shown:?}");
    assert!(!screen.screen().contains("```"), "{}", screen.screen());
}
