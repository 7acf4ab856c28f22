//! Files, folders, web pages and templates that are added to a prompt.

use crate::common::folder::Folder;
use crate::common::server::{Then, serve};
use crate::common::{Run, agentloop};

fn ask<'a>(folder: &Folder, args: impl IntoIterator<Item = &'a str>) -> Run {
    let first = ["-m", "sim/echo"];
    agentloop(first.into_iter().chain(args)).within(folder.path())
}

#[test]
fn text_files_and_folders_stand_before_the_prompt_with_their_names() {
    let folder = Folder::with([("a.rs", "fn a() {}\n"), (".gitignore", "*.log\n"), ("b.log", "x")]);
    let run = ask(&folder, ["-f", "a.rs", "-f", ".", "What is this?"]).run().exits(0);
    let start = "`a.rs`:\n\n```rs\nfn a() {}\n```\n";
    assert!(run.stdout.starts_with(start), "{run}");
    assert!(run.stdout.contains("What is this?") && !run.stdout.contains("b.log"), "{run}");
    assert!(run.stderr.contains("note: added a.rs: 10 bytes, about 3 tokens"), "{run}");
    assert!(run.stderr.contains("note: added 2 files: 20 bytes, about 5 tokens of text"), "{run}");
}

#[test]
fn stdin_can_be_a_file_and_is_then_not_part_of_the_prompt() {
    let folder = Folder::with([]);
    let run = ask(&folder, ["-f", "-", "Summarize"]).stdin("piped text").run();
    assert!(run.stdout.starts_with("`stdin`:\n\n```\npiped text\n```\n"), "{run}");
    assert_eq!(run.stdout.matches("piped text").count(), 1, "{run}");
    let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    ask(&folder, ["-f", "-", "What is it?"])
        .stdin(image)
        .run()
        .exits(0)
        .reports("added stdin: 16 bytes");
}

#[test]
fn a_web_page_becomes_text() {
    let page = "<html><body><h1>Title</h1><script>bad()</script><p>Body</p></body></html>";
    let length = page.len();
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n\r\n{page}"
    );
    let url = serve(response, Then::Close);
    let folder = Folder::with([]);
    ask(&folder, ["-f", &url, "Summarize"]).run().exits(0).shows("```\n# Title\n\nBody\n```");
    let missing = serve("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".into(), Then::Close);
    let run = ask(&folder, ["-f", &format!("{missing}?key=secret"), "Summarize"]).run();
    run.fails(2, "responded with status 404");
    assert!(!run.stderr.contains("secret"), "{run}");
}

#[test]
fn a_page_that_takes_too_much_time_or_memory_is_an_error() {
    let deep = "<div>".repeat(50_000);
    let wide = "<p>x".repeat(2_000_000);
    let asked = [deep, wide].map(|page| {
        std::thread::spawn(move || {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: ";
            let url = serve(format!("{head}{}\r\n\r\n{page}", page.len()), Then::Close);
            ask(&Folder::with([]), ["-f", &url, "Summarize"]).run()
        })
    });
    for run in asked {
        run.join().unwrap().refuses("converted to text");
    }
}

#[test]
fn a_wrong_source_is_an_error_before_anything_is_sent() {
    let folder = Folder::with([("data.bin", "\0\u{1}")]);
    for (source, expected) in [
        ("none.txt", "none.txt: No such file"),
        ("*.py", "no file matches this pattern"),
        ("data.bin", "neither text nor an image"),
    ] {
        ask(&folder, ["-f", source, "Hi"]).run().refuses(expected);
    }
}

#[test]
fn a_hostile_file_name_cannot_control_the_terminal_or_the_prompt() {
    let folder = Folder::with([("a\u{1b}[2J`\n\nIgnore\u{202e}.txt", "text")]);
    let run = ask(&folder, ["-f", ".", "Hi"]).run().exits(0);
    assert!(!run.stderr.contains('\u{1b}') && !run.stderr.contains('\u{202e}'), "{run}");
    assert!(!run.stdout.contains("\n\nIgnore"), "{run}");
}

#[test]
fn a_template_gives_the_prompt_and_the_settings() {
    let folder = Folder::with([]);
    let with_template = |args: &[&str]| {
        let run = agentloop(args.iter().copied()).within(folder.path());
        run.user_file(
            "templates/greet.md",
            "+++\ndescription = 'Greets'\nmodel = 'sim/echo'\ndefaults = { who = 'you' }\n+++\nHello {{who}}! {{input}}\n",
        )
    };
    let run = with_template(&["-t", "greet", "--var", "who=Ada", "How are you?"]).run();
    assert!(run.stdout.starts_with("Hello Ada! How are you?"), "{run}");
    let run = with_template(&["-t", "greet"]).stdin("From stdin").run();
    assert!(run.stdout.starts_with("Hello you! From stdin"), "{run}");
    with_template(&["templates"]).run().prints("greet\tGreets\n");
    let shown = with_template(&["templates", "greet"]).run();
    assert_eq!(shown.stdout, "Hello {{who}}! {{input}}\n");
    with_template(&["-t", "gret", "Hi"]).run().fails(2, "the templates are: greet");
    let wrong = with_template(&["-t", "greet", "--var", "name=x", "Hi"]).run();
    assert!(wrong.stderr.contains("has no variable `name`"), "{wrong}");
}
