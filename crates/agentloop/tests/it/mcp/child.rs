//! The scripted server as a separate process: this test program, started in the role of the server.

use std::io::{BufRead, Write};

use agentloop::agent::Policy;
use agentloop::agent::mcp::McpServer;

use crate::mcp::fake::{Fake, Reaction};

/// The variable that sets what the process does. Without it the process does nothing.
const PLAYS: &str = "AGENTLOOP_TEST_PLAYS";

/// Returns the server as a program.
pub(crate) fn server(plays: &str) -> McpServer {
    let this = std::env::current_exe().unwrap();
    let arguments = ["--exact", "mcp::child::plays_the_server", "--ignored", "--nocapture"];
    child(this.to_str().unwrap(), &arguments, plays)
}

fn child(program: &str, arguments: &[&str], plays: &str) -> McpServer {
    let server = McpServer::stdio(program).args(arguments.iter().copied()).env(PLAYS, plays);
    server.named("child").policy(Policy::Allow)
}

/// Returns the server, started by another program, as `npx` does.
pub(crate) fn wrapped(plays: &str) -> McpServer {
    let this = std::env::current_exe().unwrap();
    let command = format!(
        "'{}' --exact mcp::child::plays_the_server --ignored --nocapture; true",
        this.display()
    );
    child("sh", &["-c", &command], plays)
}

/// Returns the server with two descendants, one of them in its own session. Their sleep time identifies them.
pub(crate) fn with_descendants(plays: &str, sleep: u32) -> McpServer {
    let this = std::env::current_exe().unwrap();
    let command = format!(
        "sleep {sleep} & setsid sleep {sleep} & exec '{}' --exact mcp::child::plays_the_server --ignored --nocapture",
        this.display()
    );
    child("sh", &["-c", &command], plays)
}

#[test]
#[ignore = "it is the server, for the tests that start it"]
fn plays_the_server() {
    match std::env::var(PLAYS).as_deref() {
        Ok("dying") => {
            eprintln!("no licence was found");
            std::process::exit(3);
        }
        Ok("stubborn") => {
            serve();
            loop {
                std::thread::park();
            }
        }
        Ok(_) => serve(),
        Err(_) => {}
    }
}

fn serve() {
    let fake = Fake::default();
    let mut stdout = std::io::stdout();
    // The test harness has begun a line.
    writeln!(stdout).unwrap();
    // More than a pipe holds.
    eprintln!("{}", "noise ".repeat(50_000));
    for line in std::io::stdin().lock().lines() {
        match fake.answer(&serde_json::from_str(&line.unwrap()).unwrap()) {
            Reaction::Gone => std::process::exit(0),
            Reaction::These(messages) => {
                for message in messages {
                    writeln!(stdout, "{message}").unwrap();
                }
            }
        }
        stdout.flush().unwrap();
    }
}
