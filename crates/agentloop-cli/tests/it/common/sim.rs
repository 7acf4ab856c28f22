//! A running `agentloop sim`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::{Outcome, agentloop};

/// A running server and its URL.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(more: &[&str]) -> Self {
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
        let url = url.unwrap_or_else(|| panic!("no URL in {first}")).to_owned();
        // stderr is read to the end, so the server never blocks on it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }

    pub(crate) fn chat(&self, model: &str, more: &[&str]) -> Outcome {
        let config = format!("[providers.local]\nbase_url = '{}'\n", self.url);
        let model = format!("local/{model}");
        let args = ["chat", "-m", &model, "Hello"].into_iter().chain(more.iter().copied());
        agentloop(args).config(&config).run()
    }

    /// Interrupts the server as Ctrl-C does, and returns its exit code.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let kill = Command::new("kill").args(["-INT", &id]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        self.child.wait().ok().and_then(|status| status.code())
    }
}

/// Kills the server if a test fails.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
