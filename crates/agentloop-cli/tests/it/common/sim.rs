//! A running `agentloop sim`.

use std::io::{BufRead, BufReader};
use std::process::Child;

use serde_json::Value;

use super::folder::Folder;
use super::{Outcome, agentloop, command, signal};

/// A running server and its URL.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start(more: &[&str]) -> Self {
        let mut child = command(["sim", "--port", "0"]).args(more).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut lines = stderr.lines().map_while(Result::ok);
        let first = lines.next().unwrap_or_default();
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.unwrap_or_else(|| panic!("no URL in {first}")).to_owned();
        // stderr is read to the end, so the server never blocks on it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }

    /// Starts a model that responds as a script says. The script is written to the folder.
    pub(crate) fn scripted(folder: &Folder, script: &Value) -> Self {
        folder.write("script.json", script.to_string());
        Self::start(&["--script", folder.path().join("script.json").to_str().unwrap()])
    }

    /// Returns the configuration of a provider `local` that is this server.
    pub(crate) fn config(&self) -> String {
        format!("[providers.local]\nbase_url = '{}'\n", self.url)
    }

    pub(crate) fn chat(&self, model: &str, more: &[&str]) -> Outcome {
        let model = format!("local/{model}");
        let args = ["chat", "-m", &model, "Hello"].into_iter().chain(more.iter().copied());
        agentloop(args).config(&self.config()).run()
    }

    /// Interrupts the server as Ctrl-C does, and returns its exit code.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        signal(&self.child, "INT");
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
