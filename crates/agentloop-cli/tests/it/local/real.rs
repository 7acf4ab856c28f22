//! The same with real responses: the script stands in front of llama.cpp's own server.
//!
//! `AGENTLOOP_REAL_SERVER` is the program that starts it: `PROGRAM PORT` prints `READY` when it answers. `.ci/run` sets it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::fake::{Fake, Kind};

/// A real server, which ends with the test.
struct Real(Child, u16);

impl Real {
    /// Starts it, if there is one on this machine.
    fn start() -> Option<Self> {
        let Some(program) = std::env::var_os("AGENTLOOP_REAL_SERVER") else {
            println!("AGENTLOOP_REAL_SERVER is not set: real responses are NOT tested here");
            return None;
        };
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_ready = lines.map_while(Result::ok).any(|line| line.starts_with("READY"));
        assert!(is_ready, "it does not start");
        Some(Self(child, port))
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn streams_schemas_tools_and_embeddings_work() {
    let Some(real) = Real::start() else { return };
    for kind in [Kind::Router, Kind::Single] {
        let fake = Fake::forwarding(kind, Some(real.1));
        let model = ["-m", "local/tiny", "--max-tokens", "40", "--temperature", "0"];
        let run = |args: &[&str]| fake.run(&[args, &model].concat());
        let chat = run(&["What is the capital of France? Answer in one word."]);
        assert!(chat.code.is_some_and(|code| code < 2) && chat.stdout.contains("Paris"), "{chat}");
        let schema = r#"{"type":"object","properties":{"city":{"enum":["Paris","Oslo"]}},"required":["city"],"additionalProperties":false}"#;
        std::fs::write(fake.folder().join("home/city.json"), schema).unwrap();
        let typed = run(&["--schema", "city.json", "What is the capital of France?"]);
        assert!(matches!(typed.json()["city"].as_str(), Some("Paris" | "Oslo")), "{typed}");
        // The smallest model does not call a tool by itself: its response must only arrive.
        let tools = run(&["--tool", "list_files", "Say hello."]);
        assert!(tools.code.is_some_and(|code| code < 2) && !tools.stdout.is_empty(), "{tools}");
        let embedded = fake.run(&["embed", "-m", "local/tiny", "Hello"]);
        assert_eq!(embedded.code, Some(0), "{embedded}");
        assert!(embedded.stdout.split(',').count() > 500, "{embedded}");
        fake.assert_nothing_runs();
    }
}
