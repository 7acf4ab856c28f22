//! The readers of the command, for the harness of hostile inputs.

use std::collections::BTreeMap;
use std::path::Path;

use agentloop::{ChatMessage, ChatRequest, ChatResponse};
use agentloop_fuzz::hostile::{Form, NoReader, Reader, Scale, Words, unlisted};

use super::rows::{Format, Source};
use crate::extract::{self, Which};
use crate::folder::Folder;
use crate::printable::{escape_json, escape_line, sanitize_text};
use crate::screen::markdown::Markdown;
use crate::template::Template;
use crate::walk::{Walk, pattern};

/// Why a row may take more than its bytes.
const TREES: &str = "a value of JSON that has two bytes, such as `1,`, is 72 bytes in a tree";

const READERS: &[Reader] = &[
    Reader::new(
        "template",
        Form::Text(Words {
            nests: &[("{{", "a", "}}"), ("a = [", "1", "]")],
            repeats: &["{{input}}", "{{v\0}}", "{{", "}}", "{", "+++\n", "defaults.k\0 = \"a\"\n"],
        }),
        || vec![b"+++\nmodel = \"a/b\"\nsystem = \"Be {{how}}.\"\ndefaults = { how = \"brief\" }\n+++\nReview {{input}} in {{language}}.\n".to_vec()],
        |input| {
            let Ok(text) = std::str::from_utf8(input) else { return };
            let Ok(template) = Template::parse("t", Path::new("t.md"), text) else { return };
            let values = [("language".to_owned(), "English".to_owned())];
            drop(template.fill(&BTreeMap::from(values), "the text"));
            drop((template.variables(), template.describe()));
        },
        &["agentloop-cli/src/template/"],
    ).held(600, "the parser's tree of TOML; a file has at most MAX_CONFIG_FILE_BYTES"),
    Reader::new(
        "pattern of a path",
        Form::Text(Words {
            nests: &[("{a,", "b", "}"), ("[", "a", "]"), ("**/", "a", "")],
            repeats: &["*", "**/", "?", "{a,b}", "[a-z]", "\\", "a/"],
        }),
        || vec![b"src/**/*.{rs,toml}".to_vec()],
        |input| {
            let Ok(text) = std::str::from_utf8(input) else { return };
            if let Ok(found) = pattern::parse(text) {
                found.is_match("src/a/b.rs");
            }
        },
        &["agentloop-cli/src/walk/pattern.rs"],
    ).held(2_048, "a regular expression of a pattern, which has at most 4,096 bytes"),
    Reader::new(
        "ignore file",
        Form::Text(Words {
            nests: &[("{a,", "b", "}\n"), ("a/", "b", "")],
            repeats: &["*.o\n", "!a\0\n", "/a\0/**/b\n", "#\n", "\n", "[", "{a,b}", "\\", "*"],
        }),
        || vec![b"# build\n/target\n*.log\n!keep.log\nsrc/**/gen\n".to_vec()],
        |input| {
            let folder = Folder::new();
            std::fs::write(folder.join(".gitignore"), input).unwrap();
            std::fs::write(folder.join("a.log"), "").unwrap();
            if let Ok(walk) = Walk::new(&folder.join("."), 100) {
                walk.for_each(drop);
            }
        },
        &["agentloop-cli/src/walk/"],
    ).held(4_096, "a line needs up to four kilobytes; there are at most 10,000 lines in 1 MB"),
    Reader::new(
        "markdown",
        Form::Text(Words {
            nests: &[("> ", "a", ""), ("- ", "a", ""), ("[", "a", "](b)"), ("*", "a", "*"), ("**a ", "b", "**"), ("![", "", "]"), ("(", "", ")")],
            repeats: &["*", "_", "`", "```\n", "|", "|a", "| a | b |\n", "#", "- a\n", "1. a\n", "> ", "[a](b)", "<a>", "&amp;", "\\", "\u{301}", "\u{1b}[0m", "a ", "~~~\n"],
        }),
        || vec![b"# Head\n\nText *with* **bold** `code` [a](http://b).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() {}\n```\n\n1. one\n   - two\n".to_vec()],
        |input| {
            let text = String::from_utf8_lossy(input);
            let (mut markdown, mut out) = (Markdown::new(true), String::new());
            for piece in text.split_inclusive(' ') {
                markdown.push(piece, &mut out);
                out.clear();
            }
            markdown.finish(&mut out);
            for which in [Which::First, Which::Last] {
                drop(extract::find(&text, which));
            }
            drop((sanitize_text(&text), escape_line(&text), escape_json(&text)));
        },
        &["agentloop-cli/src/screen/", "agentloop-cli/src/extract.rs"],
    ).held(96, "a line is kept as spans of one style").growth(10, "a line of list markers is drawn again until it is long"),
    Reader::new(
        "rows of JSON",
        Form::Events("\n"),
        || vec![b"{\"id\": \"a\", \"input\": \"b\", \"n\": 1, \"list\": [1]}\n{\"input\": \"c\"}\n".to_vec()],
        |input| drop(Source::of_bytes(input, Format::Jsonl).count()),
        &["agentloop-cli/src/command/rows/", "agentloop-cli/src/command/batch/request.rs"],
    ).held(96, TREES),
    Reader::new(
        "rows of CSV",
        Form::Text(Words {
            nests: &[("\"", "a", "\"")],
            repeats: &[",", "\"", "\"\"", "a,b\n", "k\0,", "\n", "\r", "\"a\n"],
        }),
        || vec![b"id,input\n1,\"a \"\"b\"\" c\"\n2,d\n".to_vec()],
        |input| drop(Source::of_bytes(input, Format::Csv).count()),
        &["agentloop-cli/src/command/rows/"],
    ).held(96, "a row is an object with the names of the columns"),
    Reader::new(
        "stored message",
        Form::Json,
        || vec![
            br#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_call","id":"c","name":"n","arguments":"{}"}]}"#.to_vec(),
            br#"[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"b"}]}]"#.to_vec(),
        ],
        |input| {
            drop(serde_json::from_slice::<ChatMessage>(input));
            drop(serde_json::from_slice::<Vec<ChatMessage>>(input));
            drop(serde_json::from_slice::<ChatRequest>(input));
            drop(serde_json::from_slice::<ChatResponse>(input));
        },
        &["agentloop-cli/src/store/", "agentloop-cli/src/command/chat/request.rs", "agentloop-cli/src/command/encode.rs",
          "agentloop-cli/src/command/moderate.rs"],
    ).held(96, TREES),
];

const OWN: &str =
    "what the command has written itself, in the user's own folder, of a bounded size";
const TYPED: &str = "what the user types as an argument";
const ARGUMENTS: &str = "arguments of a tool call, which the library has read and bounded";

const NO_READERS: &[NoReader] = &[
    (
        "agentloop-cli/src/context/html.rs",
        "a page is converted in a process of its own, whose memory and time the system bounds",
    ),
    ("agentloop-cli/src/keys.rs", OWN),
    ("agentloop-cli/src/trust/store.rs", OWN),
    (
        "agentloop-cli/src/user_config.rs",
        "the user's own configuration, after the library has read it",
    ),
    (
        "agentloop-cli/src/command/config.rs",
        "the user's own configuration, after the library has read it",
    ),
    ("agentloop-cli/src/command/batches/state.rs", OWN),
    ("agentloop-cli/src/command/serve/first_key.rs", OWN),
    ("agentloop-cli/src/command/repl/command.rs", TYPED),
    (
        "agentloop-cli/src/command/chat/parameters.rs",
        "a schema that the user names; requests with schemas are in the table",
    ),
    ("agentloop-cli/src/command/tools/try_one.rs", TYPED),
    ("agentloop-cli/src/command/embed/args.rs", TYPED),
    ("agentloop-cli/src/command/run/args.rs", TYPED),
    ("agentloop-cli/src/command/run/approve.rs", ARGUMENTS),
    ("agentloop-cli/src/command/run/tools/", ARGUMENTS),
    (
        "agentloop-cli/src/command/check/requests.rs",
        "responses to requests of the command, which the library has read",
    ),
    (
        "agentloop-cli/src/local/",
        "servers of this machine, whose responses are bounded before they are read",
    ),
];

#[test]
fn readers_of_the_command_keep_the_limits() {
    let mut broken = Vec::new();
    for reader in READERS {
        let measured = reader.check(Scale::of_this_build());
        println!("{:<40} {measured}", reader.name);
        broken.extend(measured.broken);
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn every_reader_of_the_command_is_in_the_table() {
    let wrong = unlisted(&["agentloop-cli"], &[READERS], NO_READERS);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
