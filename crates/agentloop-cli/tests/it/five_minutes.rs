//! The section "Five minutes" of `docs/gateway.md`, followed to the letter in an empty folder.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::folder::Folder;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gateway.md");

/// Returns the commands of the section, one block after the other.
fn commands() -> String {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (_, section) = page.split_once("\n## Five minutes").expect("the section");
    let (section, _) = section.split_once("\n## ").unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|block| block.split_once("```").expect("the end of a block").0).collect()
}

/// Returns a port that nothing listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_reader_of_the_page_has_a_team_with_budgets() {
    if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("curl is not installed: the page is NOT followed here");
        return;
    }
    let script = commands();
    let (port, admin) = (free_port(), free_port());
    let script =
        script.replace(":4180", &format!(":{port}")).replace(":4181", &format!(":{admin}"));
    assert!(script.lines().count() > 30, "{script}");
    let folder = Folder::with([]);
    let binary = Path::new(env!("CARGO_BIN_EXE_agentloop")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    // With `-m` jobs have numbers, as in a terminal. The trap ends a gateway that a failed command leaves behind.
    let run = Command::new("bash")
        .args(["-emc", &format!("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{script}")])
        .env_clear()
        .env("PATH", format!("{}:{path}", binary.display()))
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&run.stdout);
    let log = folder.read("gateway.log").unwrap_or_default();
    let seen = format!("{stdout}\n{}\n{log}", String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{seen}");
    let statuses: Vec<&str> = stdout.lines().filter(|line| ["200", "402"].contains(line)).collect();
    assert_eq!(statuses, ["200", "200", "200", "402", "200"], "{seen}");
    assert_eq!(stdout.matches("budget_exceeded").count(), 1, "{seen}");
    // Three calls of one token in and 26 out at the pretended price, then a fourth.
    let line = |start: &str| stdout.lines().find(|line| line.starts_with(start)).expect(&seen);
    assert!(line("alice\t3\t").contains("\t0.00063\t"), "{seen}");
    assert!(line("web\t4\t").contains("\t0.00084\t"), "{seen}");
}
