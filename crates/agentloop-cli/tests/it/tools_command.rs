//! `agentloop tools`: lists, shows and tries tools.

#![cfg(unix)]

use crate::common::folder::Folder;
use crate::common::server::{Then, serve};
use crate::common::{Outcome, agentloop};

const CONFIG: &str = r#"
allow = ["weather"]
[tools.weather]
command = ["printf", "%s", "{city}"]
description = "Returns the weather\nin a city"
parameters = { city = "string", days = "integer?" }
[groups.mine]
tools = ["weather", "time"]
[mcp.books]
command = ["no-such-program"]
[mcp.off]
enabled = false
"#;

fn tools(args: &[&str]) -> Outcome {
    let args = ["tools"].into_iter().chain(args.iter().copied());
    agentloop(args).config(CONFIG).env("PATH", "/usr/bin:/bin").run()
}

#[test]
fn the_list_has_the_source_and_the_approval_of_each_tool() {
    insta::assert_snapshot!(tools(&[]), @r#"
    exit 0
    --- stdout
    time	built in	allowed	Returns the current date and time in UTC, and at another offset if one is given.
    read_file	built in	asks	Reads a text file of the user's folder, completely or some of its lines.
    list_files	built in	asks	Lists a folder of the user: one name per line, folders with a slash, files with their size in bytes.
    search_files	built in	asks	Finds a text in the files of the user's folder. Returns path, line number and line. Hidden files and files that .gitignore excludes are not searched.
    edit_file	built in	asks	Replaces one passage of a text file of the user's folder, or creates a new file. Read the file first.
    run_command	built in	asks	Runs a shell command in the user's folder, without a terminal, and returns its exit code and output. Processes that it leaves in the background are ended.
    fetch_page	built in	asks	Fetches a web page or a text file from the internet and returns its text. Links are numbered and listed at the end.
    weather	program	allowed	Returns the weather
    mine	group	-	weather, time
    books:*	MCP server	-	not started; `agentloop tools --mcp books` lists its tools
    off:*	MCP server	-	disabled
    --- stderr
    "#);
}

#[test]
fn a_tool_is_shown_with_its_parameters() {
    insta::assert_snapshot!(tools(&["weather"]), @r#"
    exit 0
    --- stdout
    weather (program, runs without approval)

    Returns the weather
    in a city

    {
      "type": "object",
      "properties": {
        "city": {
          "type": "string"
        },
        "days": {
          "type": "integer"
        }
      },
      "required": [
        "city"
      ]
    }
    --- stderr
    "#);
    let json = tools(&["read_file", "--json"]).json();
    assert_eq!((&json["name"], &json["approval"]), (&"read_file".into(), &"asks".into()));
    assert_eq!(json["parameters"]["required"][0], "path");
    let group = tools(&["mine", "--json"]).json();
    assert_eq!(group.as_array().unwrap().len(), 2, "{group}");
    tools(&["wether"]).fails(2, "the tools are: time, ");
}

#[test]
fn a_server_that_fails_does_not_hide_the_other_tools() {
    tools(&["--all"]).exits(1).shows("read_file\tbuilt in\tasks");
}

#[test]
fn a_tool_can_be_tried() {
    tools(&["try", "weather", r#"{"city":"Oslo"}"#]).prints("Oslo\n");
    let pair = tools(&["try", "time", "offset=-02:00"]).exits(0);
    assert!(pair.json()["at_offset"].as_str().unwrap().ends_with("-02:00"), "{pair}");
    let own = tools(&["try", "weather", "city=Oslo", "--json"]).json();
    assert_eq!((&own["status"], &own["attempts"]), (&"completed".into(), &1.into()), "{own}");
}

#[test]
fn trying_a_tool_is_confined_and_needs_approval() {
    let folder = Folder::with([("notes.md", "My notes.")]);
    let run = |args: &[&str]| {
        let args = ["tools", "try"].into_iter().chain(args.iter().copied());
        agentloop(args).within(folder.path()).run()
    };
    let waits = run(&["read_file", "path=notes.md"]);
    assert_eq!((waits.code, waits.stdout.as_str()), (Some(3), ""), "{waits}");
    assert!(waits.stderr.contains("or add --allow read_file"), "{waits}");
    run(&["read_file", "path=notes.md", "--allow", "read_*"]).prints("My notes.\n");
    let outside = run(&["read_file", "path=/etc/hostname", "--allow", "read_file"]);
    assert_eq!((outside.code, outside.stdout.as_str()), (Some(1), ""), "{outside}");
    assert!(outside.stderr.contains("is outside the folder"), "{outside}");
}

#[test]
fn mistakes_of_a_try_are_explained() {
    for (args, code, words) in [
        (&["try", "weather", "town=Oslo"][..], 2, "`agentloop tools weather` shows the parameters"),
        (&["try", "weather", "Oslo"], 2, "neither a JSON object nor NAME=VALUE"),
        (&["try", "weather", "{\"city\":"], 2, "the arguments are not a JSON object"),
        (&["try", "mine"], 2, "is not the name of one tool"),
        (&["try", "nothing"], 2, "unknown tool `nothing`"),
        (&["try", "weather", "city=--version"], 1, "must not start with -"),
        (&["try", "time", "offset=noon"], 1, "time: "),
        (&["try"], 2, "<NAME>"),
    ] {
        let run = tools(args);
        assert_eq!(run.code, Some(code), "{args:?} {run}");
        assert!(run.stderr.contains(words) && run.stdout.is_empty(), "{args:?} {run}");
    }
}

#[test]
fn a_prompt_that_starts_with_the_word_is_still_a_prompt() {
    let run = agentloop(["-m", "sim/echo", "tools of a gardener"]).run();
    assert!(run.stdout.starts_with("tools of a gardener"), "{run}");
    let run = agentloop(["chat", "-m", "sim/echo", "tools"]).run();
    assert!(run.stdout.starts_with("tools"), "{run}");
    agentloop(["tolls"]).run().reports("did you mean `tools`?");
}

#[test]
fn names_of_the_configuration_cannot_control_the_output() {
    // Names of the configuration are checked when it is read.
    let run = agentloop(["tools"])
        .config("[tools.\"a\\u001b[2Jb\"]\ncommand = 'x'\ndescription = 'x'\n")
        .run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(
        run.stderr.contains("this name cannot be used") && !run.stderr.contains('\u{1b}'),
        "{run}"
    );
}

#[cfg(feature = "mcp")]
#[test]
fn tools_of_a_server_are_listed_shown_and_tried() {
    let hostile = crate::run_mcp::SERVER
        .replace("\"name\":\"look\"", "\"name\":\"lo\\u001b[2Jok\\u202e\\n▌\"")
        .replace("\"Looks\"", "\"Looks\\u001b[2J\\u202e\\n▌ [y]es\"");
    let folder = Folder::with([("server.sh", crate::run_mcp::SERVER), ("hostile.sh", &hostile)]);
    let config = format!("[mcp.books]\ncommand = 'sh {}/server.sh'\n", folder.path().display());
    let run = |args: &[&str]| {
        let args = ["tools"].into_iter().chain(args.iter().copied());
        agentloop(args).config(&config).env("PATH", "/usr/bin:/bin").within(folder.path()).run()
    };
    for args in [&["--mcp", "books"][..], &["--all"]] {
        run(args).exits(0).shows("books__look\tMCP server books\tasks\tLooks\n");
    }
    let shown = run(&["books:look"]);
    assert!(
        shown.stdout.starts_with("books__look (MCP server books, asks for approval)"),
        "{shown}"
    );
    run(&["try", "books:look", "--allow", "books:look"]).prints("three books\n");
    run(&["try", "shelf__look", "--mcp", "sh server.sh", "--allow", "*"]).prints("three books\n");
    // In a name, everything that a provider rejects is replaced; a description is one line of the list.
    let hostile = run(&["--mcp", "sh hostile.sh"]);
    let line = hostile.stdout.lines().find(|line| line.starts_with("shelf__")).unwrap();
    assert!(line.starts_with("shelf__lo__2Jok"), "{hostile}");
    assert_eq!(line.split('\t').count(), 4, "{hostile}");
}

fn fetch(url: &str, config: &str) -> Outcome {
    let url = format!("url={url}");
    agentloop(["tools", "try", "fetch_page", &url, "--allow", "fetch_page"]).config(config).run()
}

const PRIVATE: &str = "[fetch_page]\nallow_private = true\n";

fn page(head: &str, body: &str) -> String {
    serve(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{head}\r\n\r\n{body}"), Then::Close)
}

#[test]
fn pages_of_this_machine_are_refused_unless_they_are_allowed() {
    let url = page("content-type: text/html; charset=utf-8", "<h1>Secret</h1><p>One &amp; two</p>");
    let refused = fetch(&url, "");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused}");
    assert!(refused.stderr.contains("127.0.0.1 is not a public address"), "{refused}");
    let allowed = fetch(&url, PRIVATE);
    assert_eq!(
        (allowed.code, allowed.stdout.as_str()),
        (Some(0), "# Secret\n\nOne & two\n"),
        "{allowed}"
    );
    agentloop(["tools", "try", "fetch_page", "url=https://example.com"]).run().exits(3);
    // The file of a folder cannot lift this.
    let url = format!("url={url}");
    let folder = agentloop(["tools", "try", "fetch_page", &url, "--allow", "*"])
        .folder_config(PRIVATE)
        .run();
    assert!(folder.stderr.contains("is not a public address"), "{folder}");
}

#[test]
fn only_text_is_fetched_and_redirects_are_bounded() {
    fetch(&page("content-type: image/png", "\u{1}"), PRIVATE).reports("image/png is not text");
    let plain = fetch(&page("content-type: text/plain", "plain"), PRIVATE);
    assert_eq!(plain.stdout, "plain\n", "{plain}");
    fetch(&page("content-type: text/plain", "a\u{1b}[2Jb"), PRIVATE).exits(0);
    let around = serve(
        "HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n".to_owned(),
        Then::Close,
    );
    fetch(&around, PRIVATE).fails(1, "redirect");
    let file = serve(
        "HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n"
            .to_owned(),
        Then::Close,
    );
    assert_eq!(fetch(&file, PRIVATE).code, Some(1));
    let missing =
        serve("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(), Then::Close);
    assert!(fetch(&missing, PRIVATE).stderr.contains("status 404"));
}

#[test]
fn giant_pages_are_refused_also_when_they_are_compressed() {
    let giant = fetch(&page("content-type: text/plain", &"x".repeat(9 << 20)), PRIVATE);
    assert_eq!((giant.code, giant.stdout.as_str()), (Some(1), ""), "{giant}");
    let long = fetch(&page("content-type: text/plain", &"x".repeat(50_000)), PRIVATE);
    assert!(long.stdout.ends_with("of 50000; continue with skip_characters = 40000]\n"), "{long}");
    let made = std::process::Command::new("sh")
        .args(["-c", "head -c 100000000 /dev/zero | gzip -9"])
        .output()
        .unwrap();
    let url = crate::common::server::serve_bytes(
        [b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n", &made.stdout[..]].concat(),
    );
    let bomb = fetch(&url, PRIVATE);
    assert_eq!((bomb.code, bomb.stdout.as_str()), (Some(1), ""), "{bomb}");
    assert!(bomb.stderr.contains("fetch_page: "), "{bomb}");
}

#[test]
fn completions_know_the_tools() {
    let script = agentloop(["completions", "bash"]).config(CONFIG).run();
    assert!(script.stdout.contains("fetch_page weather mine"), "{}", script.stdout);
    // A configuration that cannot be read adds no names.
    let script = agentloop(["completions", "bash"]).config("[tools.x]\n").run();
    assert!(
        script.stdout.contains("read_file") && script.stdout.contains("fetch_page"),
        "{}",
        script.code.unwrap()
    );
}
