//! Text, thinking and Markdown at a terminal.
#![cfg(unix)]

use std::io::{Read as _, Write as _};

use crate::common::folder::Folder;
use crate::common::pty::{Setup, terminal};
use crate::common::server::{Then, events, json, serve};
use crate::common::{delta, finish, sse};

/// A terminal on which a model writes these pieces of text.
fn writes(folder: &Folder, pieces: &[&str], more: &[&str]) -> Setup {
    let mut chunks: Vec<String> = pieces
        .iter()
        .map(|text| delta(&serde_json::json!({ "content": text }).to_string()))
        .collect();
    chunks.push(finish("stop"));
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let url = serve(events(&sse(&chunks, true)), Then::Close);
    folder.write("lab.toml", format!("[providers.lab]\nbase_url = '{url}'\n"));
    let args = [&["--config", "lab.toml", "chat", "-q", "-m", "lab/m", "Hi"], more].concat();
    terminal(folder.path(), &args)
}

const PIECES: [&str; 9] = [
    "# The ti",
    "tle\n\nSome **bold** text that is too long for a line of a narrow terminal.\n\n",
    "- one\n- tw",
    "o\n\n| a | b |\n|--",
    "-|---|\n| 1 | 2 |\n\n",
    "```rust\nfn main() {",
    "}\n``",
    "`\n",
    "[here](https://example.com)\u{202e}",
];

#[test]
fn markdown_is_rendered_and_wrapped() {
    let folder = Folder::with([]);
    let mut run = writes(&folder, &PIECES, &[]).size(40, 30).start();
    assert_eq!(run.finish(), Some(0));
    insta::assert_snapshot!(run.screen(), @"
    The title

    Some bold text that is too long for a
    line of a narrow terminal.

    • one
    • two

    a │ b
    ──┼──
    1 │ 2

    ── rust ────────────────────────────────
    fn main() {}
    ────────────────────────────────────────
    here (https://example.com)
    ");
    let bytes = String::from_utf8_lossy(&run.bytes).into_owned();
    assert!(bytes.contains("\u{1b}[1;4;35mThe title\u{1b}[0m"), "{bytes:?}");
    assert!(bytes.contains("\u{1b}[35mfn\u{1b}[0m main"), "{bytes:?}");
    assert!(bytes.contains('\u{fffd}') && !bytes.contains('\u{202e}'), "{bytes:?}");
}

#[test]
fn no_color_disables_colors_only() {
    let folder = Folder::with([]);
    let mut run = writes(&folder, &PIECES, &[]).env("NO_COLOR", "1").size(40, 30).start();
    assert_eq!(run.finish(), Some(0));
    let bytes = String::from_utf8_lossy(&run.bytes).into_owned();
    assert!(bytes.contains("\u{1b}[1;4mThe title\u{1b}[0m"), "{bytes:?}");
    assert!(!bytes.contains("\u{1b}[35m") && !bytes.contains(";35m"), "{bytes:?}");
}

#[test]
fn plain_text_is_printed_as_it_is() {
    let folder = Folder::with([]);
    for setup in
        [writes(&folder, &PIECES, &["--plain"]), writes(&folder, &PIECES, &[]).env("TERM", "dumb")]
    {
        let mut run = setup.start();
        assert_eq!(run.finish(), Some(0));
        let text = PIECES.concat().replace('\u{202e}', "\u{fffd}") + "\n";
        assert_eq!(String::from_utf8_lossy(&run.bytes).replace("\r\n", "\n"), text);
    }
}

#[test]
fn thinking_is_collapsed_shown_or_hidden() {
    let folder = Folder::with([]);
    let screen = |more: &[&str]| {
        let args = [&["chat", "-m", "sim/think", "Hi"], more].concat();
        let mut run = terminal(folder.path(), &args).start();
        assert_eq!(run.finish(), Some(0));
        run.screen()
    };
    let collapsed = screen(&[]);
    assert!(collapsed.starts_with("thought for N s\n"), "{collapsed}");
    let hidden = screen(&["--thinking", "hide"]);
    assert!(!hidden.contains("thought for"), "{hidden}");
    let shown = screen(&["--thinking", "show"]);
    assert!(shown.lines().count() > hidden.lines().count(), "{shown}");
    assert!(shown.ends_with(&hidden), "{shown}\n{hidden}");
}

#[test]
fn a_narrow_terminal_shows_everything() {
    let folder = Folder::with([]);
    let mut run = writes(&folder, &PIECES, &[]).size(20, 40).start();
    assert_eq!(run.finish(), Some(0));
    let screen = run.screen();
    for words in ["Some bold text", "• two", "1 │ 2", "fn main() {}", "https://example"] {
        assert!(screen.contains(words), "{words} in\n{screen}");
    }
}

#[test]
fn text_after_a_resize_is_wrapped_to_the_new_width() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (resized, wait) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let _ = connection.read(&mut [0; 65_536]).unwrap();
        let words =
            |word: &str| delta(&serde_json::json!({ "content": word.repeat(20) }).to_string());
        let first = events(&sse(&[&words("wide ")], false));
        connection.write_all(first.as_bytes()).unwrap();
        let () = wait.recv().unwrap();
        let rest = sse(&[&words("slim "), &finish("stop")], true);
        connection.write_all(rest.as_bytes()).unwrap();
    });
    let folder = Folder::with([]);
    folder.write("lab.toml", format!("[providers.lab]\nbase_url = '{url}'\n"));
    let args = ["--config", "lab.toml", "chat", "-q", "-m", "lab/m", "Hi"];
    let mut run = terminal(folder.path(), &args).size(80, 24).start();
    run.wait_for("wide wide");
    run.resize(30, 24);
    resized.send(()).unwrap();
    assert_eq!(run.finish(), Some(0));
    server.join().unwrap();
    let bytes = String::from_utf8_lossy(&run.bytes).into_owned();
    let lines: Vec<&str> = bytes.split("\r\n").collect();
    assert_eq!(bytes.matches("wide").count(), 20, "{bytes:?}");
    assert_eq!(bytes.matches("slim").count(), 20, "{bytes:?}");
    let slim = lines.iter().filter(|line| line.contains("slim") && !line.contains("wide"));
    assert!(slim.clone().count() >= 3, "{bytes:?}");
    assert!(slim.clone().all(|line| line.trim_end().len() <= 30), "{bytes:?}");
}

/// Runs a chat whose response has text and a PNG image.
fn with_image(folder: &Folder, more: &[&str], term: &str) -> crate::common::pty::Terminal {
    let url = "data:image/png;base64,iVBORw0KGgo=";
    let message = serde_json::json!({ "role": "assistant", "content": "A cat:",
        "images": [{ "type": "image_url", "image_url": { "url": url } }] });
    let body = serde_json::json!({ "id": "c", "model": "m",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": message }] });
    let url = serve(json("200 OK", &body.to_string()), Then::Close);
    folder.write("lab.toml", format!("[providers.lab]\nbase_url = '{url}'\n"));
    let args = ["--config", "lab.toml", "chat", "-m", "lab/m", "--no-stream", "Hi"];
    let mut run = terminal(folder.path(), &[&args, more].concat()).env("TERM", term).start();
    assert_eq!(run.finish(), Some(0), "{}", run.screen());
    run
}

#[test]
fn an_image_is_shown_where_the_terminal_can() {
    let folder = Folder::with([]);
    let run = with_image(&folder, &[], "xterm-kitty");
    let bytes = String::from_utf8_lossy(&run.bytes).into_owned();
    assert!(bytes.contains("\u{1b}_Ga=T,f=100,q=2,m=0;iVBORw0KGgo=\u{1b}\\"), "{bytes:?}");
    assert!(!folder.path().join("home/.local/share/agentloop/media").exists());
}

#[test]
fn an_image_is_saved_and_named_where_the_terminal_cannot_show_it() {
    let folder = Folder::with([]);
    let run = with_image(&folder, &[], "xterm-256color");
    let screen = run.screen();
    assert!(screen.contains("A cat:\n"), "{screen}");
    assert!(screen.contains("note: saved "), "{screen}");
    let saved = folder.path().join("home/.local/share/agentloop/media/image-1.png");
    assert_eq!(std::fs::read(saved).unwrap(), b"\x89PNG\r\n\x1a\n");
    with_image(&folder, &["--save-media", "here"], "xterm-kitty");
    assert!(folder.path().join("here/image-1.png").exists());
}
