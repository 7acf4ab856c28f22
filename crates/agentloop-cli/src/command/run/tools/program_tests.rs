//! Hostile programs and arguments.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use serde_json::json;

use super::*;
use crate::patience::until;

fn program(command: &[&str], parameters: &[&str]) -> Program {
    Program {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        parameters: parameters.iter().map(|name| (*name).to_owned()).collect(),
        env: vec![("GIVEN".to_owned(), "yes".to_owned())],
        folder: std::env::temp_dir().canonicalize().unwrap(),
        timeout: Duration::from_secs(20),
    }
}

fn sh(script: &str) -> Program {
    program(&["sh", "-c", script, "sh", "{text}"], &["text"])
}

async fn run(program: &Program, arguments: Value) -> Result<String, String> {
    program.run(&arguments).await.map_err(|error| error.message().to_owned())
}

#[tokio::test]
async fn arguments_arrive_on_stdin_and_in_the_command_line() {
    let cat = program(&["cat"], &[]);
    let arguments = json!({ "city": "Köln", "days": 3 });
    assert_eq!(run(&cat, arguments.clone()).await.unwrap(), arguments.to_string());
    let echo = program(
        &["printf", "%s|", "{city}", "--days={days}", "{unit}", "a{city}b", "{other}"],
        &["city", "days", "unit"],
    );
    // A word with an argument that is missing is left out; braces that are not a parameter are text.
    assert_eq!(run(&echo, arguments).await.unwrap(), "Köln|--days=3|aKölnb|{other}|");
}

#[tokio::test]
async fn arguments_cannot_leave_their_word() {
    let echo = program(&["printf", "<%s>", "{a}", "{b}"], &["a", "b"]);
    let arguments = json!({ "a": "$(id) `id` ; id | id > x \"'\n{b}", "b": "x" });
    let shown = run(&echo, arguments).await.unwrap();
    assert_eq!(shown, "<$(id) `id` ; id | id > x \"'\n{b}><x>");
    let option = run(&echo, json!({ "a": "--output=/etc/passwd", "b": "x" })).await.unwrap_err();
    assert!(option.contains("must not start with -"), "{option}");
    assert!(run(&echo, json!({ "a": "a\0b", "b": "x" })).await.unwrap_err().contains("NUL"));
    // Numbers may be negative, and after -- there are no options.
    let safe = program(&["printf", "%s ", "{n}", "--", "{a}"], &["n", "a"]);
    assert_eq!(run(&safe, json!({ "n": -5, "a": "-x" })).await.unwrap(), "-5 -- -x");
}

#[test]
fn an_argument_can_be_neither_the_program_nor_a_part_of_a_script() {
    let check = |command: &[&str]| {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        check_command("tools.t", &command, &["x".to_owned()])
    };
    assert!(check(&["{x}"]).is_err());
    assert!(check(&["/usr/bin/{x}"]).is_err());
    assert!(check(&["sh", "-c", "echo {x}"]).is_err());
    assert!(check(&["/bin/bash", "-euc", "echo {x}"]).is_err());
    assert!(check(&["python3", "-c", "print('{x}')"]).is_err());
    assert!(check(&["sh", "-c", "echo \"$1\"", "sh", "{x}"]).is_ok());
    assert!(check(&["grep", "-e", "{x}"]).is_ok());
    assert!(check(&["sh", "-c", "echo {y}"]).is_ok());
}

#[tokio::test]
async fn a_failure_has_the_exit_code_and_stderr() {
    let arguments = || json!({ "text": "x" });
    let failed = run(&sh("echo out; echo why >&2; exit 3"), arguments()).await;
    assert_eq!(failed.unwrap_err(), "exit code 3: why");
    assert_eq!(run(&sh("echo out; exit 3"), arguments()).await.unwrap_err(), "exit code 3: out");
    assert!(
        run(&sh("kill -9 $$"), arguments()).await.unwrap_err().starts_with("ended by a signal")
    );
    assert_eq!(run(&sh("true"), arguments()).await.unwrap(), "[the program printed nothing]");
    let missing = run(&program(&["no-such-program-at-all"], &[]), json!({})).await.unwrap_err();
    assert!(missing.starts_with("the program cannot be started: "), "{missing}");
}

#[tokio::test]
async fn a_program_sees_no_keys() {
    let shown = run(&sh("env"), json!({ "text": "x" })).await.unwrap();
    let allowed = ["GIVEN", "AGENTLOOP_TOOL_PROCESS", "PWD", "OLDPWD", "SHLVL", "_"];
    let passed: Vec<&str> = child_environment().map(|(name, _)| name).collect();
    for line in shown.lines().filter(|line| line.contains('=')) {
        let name = line.split('=').next().unwrap();
        assert!(allowed.contains(&name) || passed.contains(&name), "{line}");
    }
    assert!(shown.contains("GIVEN=yes"), "{shown}");
}

#[tokio::test]
async fn a_flood_is_kept_in_part() {
    let text = run(&sh("yes | head -c 5000000; echo END"), json!({ "text": "x" })).await.unwrap();
    assert!(text.len() < process::MAX_OUTPUT + 200, "{}", text.len());
    assert!(text.contains("bytes are left out") && text.ends_with("END"));
}

#[tokio::test]
async fn a_program_need_not_read_its_input() {
    let large = "x".repeat(1 << 20);
    let silent = program(&["sh", "-c", "exec 0<&-; echo done"], &[]);
    assert_eq!(run(&silent, json!({ "text": large.clone() })).await.unwrap(), "done");
    let ignores = program(&["sh", "-c", "echo done"], &[]);
    assert_eq!(run(&ignores, json!({ "text": large })).await.unwrap(), "done");
}

#[tokio::test]
async fn a_program_that_does_not_end_is_ended() {
    let mut endless = sh("yes > /dev/null");
    endless.timeout = Duration::from_millis(300);
    let error = run(&endless, json!({ "text": "x" })).await.unwrap_err();
    assert_eq!(error, "the program was ended after 0.3 seconds");
}

/// Returns whether a process has this word in its command line. One that was killed stays in the list for a moment.
fn is_listed(word: &str) -> bool {
    let listed = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).contains(word)
}

#[tokio::test]
async fn nothing_outlives_the_program() {
    let id = std::process::id();
    for (at, script) in [
        "sleep 9{0} & echo started",
        "setsid sleep 9{0} & echo started",
        "(trap '' TERM HUP; sleep 9{0}) > /dev/null 2>&1 & echo started",
        "nohup setsid sh -c 'sleep 9{0}; true' > /dev/null 2>&1 & sleep 0.2; echo started",
    ]
    .iter()
    .enumerate()
    {
        let unique = format!("{at}{id}.25");
        let script = script.replace("{0}", &unique);
        let shown = run(&sh(&script), json!({ "text": "x" })).await;
        assert_eq!(shown.as_deref(), Ok("started"), "{script}");
        until(&format!("{script} ends"), async || !is_listed(&format!("sleep 9{unique}"))).await;
    }
    // A call that is cancelled ends its processes as well.
    let unique = format!("7{id}.25");
    let endless = sh(&format!("setsid sleep 9{unique} & sleep 9{unique}"));
    let arguments = json!({ "text": "x" });
    let word = format!("sleep 9{unique}");
    tokio::select! {
        _ = endless.run(&arguments) => panic!("it ended"),
        () = until("it runs", async || is_listed(&word)) => {}
    }
    until("it ends", async || !is_listed(&word)).await;
}
