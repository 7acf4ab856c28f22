//! `agentloop sim`: the simulated model, over real HTTP.
#![cfg(unix)]
#![allow(clippy::expect_used, clippy::panic, reason = "a helper of tests fails like a test")]

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use common::{Outcome, agentloop};

/// A simulator's server, and where it listens.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_agentloop"))
            .args(["sim", "--port", "0"])
            .args(more)
            .env_clear()
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut lines = stderr.lines().map_while(Result::ok);
        let first = lines.next().unwrap_or_default();
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.unwrap_or_else(|| panic!("no address in {first}")).to_owned();
        // Read to the end, so that the server never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }

    fn chat(&self, model: &str, more: &[&str]) -> Outcome {
        let config = format!("[providers.local]\nbase_url = '{}'\n", self.url);
        let model = format!("local/{model}");
        let args = ["chat", "-m", &model, "Hello"].into_iter().chain(more.iter().copied());
        agentloop(args).config(&config).run()
    }

    /// Ends it as a person does, and gives its exit code.
    fn interrupt(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let kill = Command::new("kill").args(["-INT", &id]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        self.child.wait().ok().and_then(|status| status.code())
    }
}

/// A test that fails leaves no server behind.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_simulator_answers_over_http_until_it_is_interrupted() {
    let server = Server::start(&[]);
    let run = server.chat("echo", &[]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("Hello"), "{run}");
    assert_eq!(server.interrupt(), Some(0));
}

#[test]
fn faults_come_by_the_name_of_the_model() {
    let server = Server::start(&[]);
    let run = server.chat("echo!status=429;retry-after=2", &["--json"]);
    let error = run.error();
    assert_eq!((&error["status"], &error["retryAfterMs"]), (&429.into(), &2000.into()), "{run}");
    assert_eq!(server.chat("length", &[]).code, Some(1));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = agentloop(["sim", "--port", &port]).run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains(&port) && run.stderr.contains("--port 0"), "{run}");
}

#[test]
fn a_script_says_what_the_model_answers() {
    let path = std::env::temp_dir().join(format!("agentloop-script-{}.json", std::process::id()));
    std::fs::write(&path, r#"{"turns":[{"parts":[{"type":"text","text":"As told."}]}]}"#).unwrap();
    let server = Server::start(&["--script", &path.to_string_lossy()]);
    let run = server.chat("anything", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "As told.\n"), "{run}");
    std::fs::remove_file(&path).unwrap();
    let run = agentloop(["sim", "--port", "0", "--script", "nowhere.json"]).run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("nowhere.json"), "{run}");
}
