//! A script in place of `llama-server`, and the HTTP server behind it, which is part of the test.
//!
//! The script refuses every option that the real program does not list (`options.txt`), as that does.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::common;

use common::folder::Folder;
use common::gateway::Gateway;
use common::server::{Then, events, json as respond_json, serve_by};
use common::{Outcome, delta, finish, sse};

/// The options of the real program, each on a line.
const OPTIONS: &str = include_str!("options.txt");

/// What the program can do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Router,
    /// It serves the one model with which it is started.
    Single,
}

/// The script, its files, and a folder of models.
pub(super) struct Fake {
    folder: Folder,
    pub(super) url: String,
}

impl Fake {
    pub(super) fn new(kind: Kind) -> Self {
        Self::forwarding(kind, None)
    }

    /// Forwards all requests for responses of models to the server at this port, if there is one.
    pub(super) fn forwarding(kind: Kind, port: Option<u16>) -> Self {
        let folder = Folder::with([]);
        let path = folder.path().to_owned();
        // The real one keeps its stream of events open.
        let url = serve_by(Then::Wait, move |request| {
            let response = respond(&path, request, port);
            response.replacen("\r\n", "\r\nconnection: close\r\n", 1)
        });
        let help: Vec<&str> = OPTIONS.lines().filter(|line| line.starts_with('-')).collect();
        let is_listed = |option: &&str| kind == Kind::Router || !option.starts_with("--models-");
        let help: String =
            help.into_iter().filter(is_listed).map(|option| format!("{option}\n")).collect();
        let fake = Self { folder, url };
        let models = fake.folder().join("home/models");
        std::fs::create_dir_all(&models).unwrap();
        for name in [
            "home/other.gguf",
            "home/models/tiny.gguf",
            "home/models/big-00001-of-00002.gguf",
            "home/models/mmproj-tiny.gguf",
        ] {
            fake.folder.write(name, "GGUF");
        }
        // Neither is a model.
        fake.folder.write("home/models/notes.txt", "");
        fake.folder.write("home/models/big-00002-of-00002.gguf", "GGUF");
        fake.folder.write("help", &help);
        fake.folder.write("cache", "owner/cached:Q8_0\n");
        fake.script(&format!(
            "sleep 600 &\necho '0.00.1 I srv  llama_server: listening on {}'\nexec sleep 600\n",
            fake.url.trim_end_matches("/v1")
        ));
        fake.configure(&format!(
            "[local]\nprogram = '{}'\nfolders = ['{}']\noptions = ['--threads', '2']\n",
            fake.program().display(),
            models.display()
        ));
        fake
    }

    /// Sets what the script does when it is started.
    pub(super) fn script(&self, then: &str) {
        let folder = self.folder().display();
        let text = format!(
            "#!/bin/sh\ncd '{folder}'\nif [ \"$1\" = --help ]; then cat help; exit; fi\n\
             for word; do case $word in -*) grep -qxF -e \"$word\" help || {{ echo \"error: invalid argument: $word\" >&2; exit 1; }};; esac; done\n\
             printf '%s\\n' \"$@\" > args; printf %s \"$LLAMA_API_KEY\" > key; env > environment; echo $$ >> pids\n{then}"
        );
        std::fs::write(self.program(), text).unwrap();
        std::fs::set_permissions(
            self.program(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
    }

    /// Writes the user's configuration file.
    pub(super) fn configure(&self, text: &str) {
        let folder = self.folder().join("home/.config/agentloop");
        std::fs::create_dir_all(&folder).unwrap();
        let rest = "[retry]\nmax_retries = 0\n[gateway.keys.client]\nkey_env = 'CLIENT_KEY'\n";
        std::fs::write(folder.join("agentloop.toml"), format!("{text}{rest}")).unwrap();
    }

    pub(super) fn program(&self) -> PathBuf {
        self.folder().join("llama-server")
    }

    /// The folder of the files. The home folder is in it.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Reads a file, which is empty if it does not exist.
    pub(super) fn read(&self, name: &str) -> String {
        self.folder.read(name).unwrap_or_default()
    }

    /// Runs the command.
    pub(super) fn run(&self, args: &[&str]) -> Outcome {
        self.run_with(args, &[])
    }

    /// Runs the command with more variables.
    pub(super) fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentloop"));
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder().join("home"));
        command
            .envs(variables.iter().copied())
            .current_dir(self.folder().join("home"))
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Outcome {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Starts a gateway.
    pub(super) fn gateway(&self) -> Gateway {
        Gateway::start(self.folder(), &[])
    }

    /// Returns the processes of the command and of all that it has started: each has its home folder.
    pub(super) fn processes(&self) -> Vec<(u32, String)> {
        let mark = format!("HOME={}", self.folder().join("home").display());
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        ids.filter_map(|id| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).ok()?;
            let is_ours = environment.split(|byte| *byte == 0).any(|it| it == mark.as_bytes());
            let arguments = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
            let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
            is_ours.then_some((id, arguments))
        })
        .collect()
    }

    /// Waits until there is none, and until the server's own file is gone.
    pub(super) fn assert_nothing_runs(&self) {
        let start = Instant::now();
        while !self.processes().is_empty() {
            assert!(start.elapsed() < super::PATIENCE, "{:?}", self.processes());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        if let Some(preset) = self.preset_path() {
            assert!(!preset.exists(), "{}", preset.display());
        }
    }

    /// Returns the file of models of the server that was started last.
    pub(super) fn preset_path(&self) -> Option<PathBuf> {
        preset_path(self.folder())
    }
}

/// Returns the file of models with which the script was started.
fn preset_path(folder: &Path) -> Option<PathBuf> {
    let args = std::fs::read_to_string(folder.join("args")).ok()?;
    let mut args = args.lines().skip_while(|word| *word != "--models-preset");
    args.nth(1).map(PathBuf::from)
}

/// Returns the ids of the models of the server.
fn ids(folder: &Path) -> Vec<String> {
    let preset =
        preset_path(folder).and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    // It is removed with the server, and tests look at it later.
    std::fs::write(folder.join("preset"), &preset).unwrap();
    let sections = preset.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    let cache = std::fs::read_to_string(folder.join("cache")).unwrap();
    cache.lines().chain(sections).map(str::to_owned).collect()
}

fn respond(folder: &Path, request: &str, backend: Option<u16>) -> String {
    let key = std::fs::read_to_string(folder.join("key")).unwrap_or_default();
    if !request.contains(&format!("authorization: Bearer {key}\r\n")) {
        return respond_json("401 Unauthorized", "{}");
    }
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let model = body["model"].as_str().unwrap_or_default();
    let fail = |status: &str, message: &str| {
        respond_json(status, &json!({"error": {"message": message}}).to_string())
    };
    match (method, path) {
        ("GET", "/props") => respond_json("200 OK", "{}"),
        ("GET", "/models" | "/models?reload=1") => {
            let data: Vec<Value> = ids(folder).into_iter().map(|id| json!({ "id": id })).collect();
            respond_json("200 OK", &json!({ "data": data }).to_string())
        }
        ("POST", "/models") if model == "owner/new" => {
            std::fs::write(folder.join("cache"), "owner/cached:Q8_0\nowner/new:Q4_K_M\n").unwrap();
            respond_json("200 OK", "{}")
        }
        // The real one reports the end of a download that found nothing.
        ("POST", "/models") if model == "owner/missing" => respond_json("200 OK", "{}"),
        ("POST", "/models") => fail("400 Bad Request", "no such repository"),
        ("GET", "/models/sse") => {
            let progress = json!({"model": "owner/new", "event": "download_progress", "data": {"progress": {"u": {"done": 1, "total": 2}}}});
            let end = |name| json!({"model": name, "event": "download_finished"});
            let ends = [end("other/one"), end("owner/new"), end("owner/missing")];
            let ends: String = ends.iter().map(|end| format!("data: {end}\n\n")).collect();
            events(&format!("data: {{\ndata: {progress}\n\n{ends}"))
        }
        _ => {
            let is_router = preset_path(folder).is_some();
            if is_router && !ids(folder).iter().any(|id| id == model) {
                return fail("400 Bad Request", &format!("model '{model}' not found"));
            }
            std::fs::write(folder.join("asked"), model).unwrap();
            match backend {
                Some(port) => forward(port, request),
                None if model == "broken" => {
                    fail("500 Internal Server Error", "model name=broken failed to load")
                }
                None => answer(path, model, body["stream"] == true),
            }
        }
    }
}

/// Sends a response that names the model.
fn answer(path: &str, model: &str, stream: bool) -> String {
    if path.ends_with("/embeddings") {
        let data = json!([{"object": "embedding", "index": 0, "embedding": [0.5, 0.5]}]);
        return respond_json("200 OK", &json!({"object": "list", "model": model, "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}).to_string());
    }
    let text = format!("I am {model}");
    if stream {
        return events(&sse(
            &[&delta(&json!({ "content": text }).to_string()), &finish("stop")],
            true,
        ));
    }
    let choice = json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    respond_json("200 OK", &json!({"id": "1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}).to_string())
}

/// Sends a request to another server on a connection of its own.
fn forward(port: u16, request: &str) -> String {
    let (line, rest) = request.split_once("\r\n").unwrap();
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(connection, "{}\r\nconnection: close\r\n{rest}", line.replace("HTTP/1.1", "HTTP/1.0"))
        .unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    response
}
