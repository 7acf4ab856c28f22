//! Runs the commands of the guide in an empty folder, with the simulator behind every provider, and compares what they print.

use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use agentloop::{Protocol, Provider};

use super::markdown::Page;
use super::pages;
use super::session::{Shown, Step, matches, steps};
use crate::common::folder::Folder;
use crate::common::patience::PATIENCE;
use crate::common::port::Port;
use crate::common::programs::write_program;
use crate::common::sim::Server;

/// How often a session looks whether something has happened that takes a moment: for about as long as tests wait for anything.
const LOOKS: u64 = PATIENCE.as_secs() * 20;

/// Separates the outputs of commands. No command prints it.
const SEPARATOR: char = '\u{1e}';

/// The ports that pages name. A session uses free ones instead.
const PORTS: [&str; 3] = ["4180", "4181", "8808"];

/// The command as the session sees it: servers listen on the free ports unless they are started with others.
const WRAPPER: &str = r#"#!/bin/bash
case " $* " in
  *" --listen "* | *" --config "* | *" --port "* | *" --help "* | *" -h "*) ;;
  " serve "*) if ! grep -qs '^listen' agentloop.toml; then set -- "$@" --listen 127.0.0.1:PORT0 --admin-listen 127.0.0.1:PORT1; fi ;;
  " sim "*) set -- "$@" --port PORT2 ;;
esac
exec "REAL" "$@"
"#;

/// A page that is replayed.
struct Session<'a> {
    page: &'a Page,
    folder: Folder,
    /// The ports that are used instead of `PORTS`.
    ports: [String; 3],
    _reserved: [Port; 3],
    simulator: Option<Server>,
}

impl<'a> Session<'a> {
    fn new(page: &'a Page, steps: &[Step]) -> Self {
        let reserved = PORTS.map(|_| Port::reserve());
        let ports = reserved.each_ref().map(|port| port.number().to_string());
        let folder = Folder::with([]);
        for name in ["bin", "home", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut wrapper = WRAPPER.replace("REAL", env!("CARGO_BIN_EXE_agentloop"));
        for (at, port) in ports.iter().enumerate() {
            wrapper = wrapper.replace(&format!("PORT{at}"), port);
        }
        write_program(folder.path().join("bin/agentloop"), &wrapper);
        let has_keys = |step: &Step| matches!(step, Step::Command(shown) if shown.has_keys);
        let simulator = steps.iter().any(has_keys).then(|| Server::start(&[]));
        Self { page, folder, ports, _reserved: reserved, simulator }
    }

    /// Replaces the ports that the page names by those of the session.
    fn with_ports(&self, text: &str) -> String {
        PORTS
            .iter()
            .zip(&self.ports)
            .fold(text.to_owned(), |text, (named, used)| text.replace(named, used))
    }

    /// Replaces the ports and the folders of the session by what the page names.
    fn as_shown(&self, text: &str) -> String {
        let text = PORTS
            .iter()
            .zip(&self.ports)
            .fold(text.to_owned(), |text, (named, used)| text.replace(used, named));
        let home = self.folder.path().join("home");
        text.replace(home.to_str().unwrap(), "/home/you")
    }

    /// Writes the variables that give every provider a key, put the simulator behind its URL and name a default model.
    fn keys(&self, script: &mut String, word: &str) {
        let Some(simulator) = &self.simulator else { return };
        let _ = match word {
            "unset" => writeln!(script, "unset AGENTLOOP_MODEL"),
            _ => writeln!(script, "export AGENTLOOP_MODEL=openai/gpt-4.1-mini"),
        };
        let origin = simulator.url.trim_end_matches("/v1");
        for provider in Provider::all() {
            let path = if provider.protocol == Protocol::Gemini { "v1beta" } else { "v1" };
            let name = provider.name.to_ascii_uppercase();
            let url = format!("AGENTLOOP_{name}_BASE_URL");
            let variables = provider.key.variables();
            match word {
                "unset" => {
                    let _ = writeln!(script, "unset {url} {}", variables.join(" "));
                }
                _ => {
                    let _ = writeln!(script, "export {url}={origin}/{path}");
                    variables.iter().for_each(|name| {
                        let _ = writeln!(script, "export {name}=sim-key");
                    });
                }
            }
        }
    }

    /// Returns the script of the whole session. Each command's output is between separators, followed by its exit code.
    fn script(&self, steps: &[Step]) -> String {
        let mut script = String::from("exec 2>&1\ncd work\n");
        let place = self.folder.path().display();
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::File { name, text } => {
                    let from = self.folder.path().join(format!("file-{at}"));
                    std::fs::write(&from, self.with_ports(text)).unwrap();
                    let _ = writeln!(
                        script,
                        "mkdir -p \"$(dirname '{name}')\" && cp {} '{name}'",
                        from.display()
                    );
                }
                Step::Command(shown) => {
                    if shown.has_keys {
                        self.keys(&mut script, "export");
                    }
                    let text = self.with_ports(&shown.text);
                    let _ = writeln!(script, "printf '\\036%d\\036' {at}");
                    if shown.is_background {
                        let log = format!("{place}/log-{at}");
                        let _ = writeln!(script, "{{ {text}\n}} > {log} 2>&1 < /dev/null");
                        // A server prints where it listens when it does, if not to a file of the page.
                        let file = text.split_once("2> ").map_or("", |(_, rest)| rest);
                        let file = file.split(' ').next().unwrap_or_default();
                        let _ = writeln!(
                            script,
                            "for i in $(seq {LOOKS}); do grep -qs 'listens at' {log} {file} && break; kill -0 $! 2> /dev/null || break; sleep 0.05; done\ncat {log}; true"
                        );
                    } else if let Some(wanted) = self.delayed_output(&steps[..at], shown) {
                        // On a busy machine, what happens within a second takes longer.
                        let _ = writeln!(
                            script,
                            "for i in $(seq {LOOKS}); do shown=$({{ {text}\n}} < /dev/null); code=$?; [[ $shown == *{wanted}* ]] && break; sleep 0.05; done\nprintf '%s\\n' \"$shown\"; (exit $code)"
                        );
                    } else {
                        let _ = writeln!(script, "{{ {text}\n}} < /dev/null");
                    }
                    script.push_str("printf '\\036%d\\036' $?\n");
                    if shown.has_keys {
                        self.keys(&mut script, "unset");
                    }
                }
            }
        }
        script
    }

    /// Returns what the page shows at the end of the output of a command after `sleep`, as a quoted word.
    fn delayed_output(&self, before: &[Step], shown: &Shown) -> Option<String> {
        let Some(Step::Command(last)) = before.last() else { return None };
        let line = shown.output.as_ref()?.iter().rfind(|line| !line.trim().is_empty())?;
        let (wanted, _) = line.split_once("...").unwrap_or((line, ""));
        let quoted = self.with_ports(wanted).replace('\'', r"'\''");
        last.text.starts_with("sleep ").then(|| format!("'{quoted}'"))
    }

    /// Runs the session, and returns what it prints.
    fn run(&self, script: &str) -> String {
        let folder = self.folder.path();
        let mut child = Command::new("bash")
            .args(["--noprofile", "--norc", "-c", script])
            .env_clear()
            .env("HOME", folder.join("home"))
            .env("TMPDIR", folder.join("tmp"))
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder.join("bin").display()))
            .env("LANG", "C.UTF-8")
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("bash is installed");
        let mut stdout = child.stdout.take().unwrap();
        let group = child.id();
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(read @ 1..) = stdout.read(&mut buffer)
                && sender.send(buffer[..read].to_vec()).is_ok()
            {}
        });
        // Each command prints something, its separator at least. What runs in the background may keep the pipe open.
        let (mut bytes, mut last) = (Vec::new(), Instant::now());
        while child.try_wait().unwrap().is_none() && last.elapsed() < PATIENCE {
            if let Ok(piece) = pieces.recv_timeout(Duration::from_millis(10)) {
                bytes.extend(piece);
                last = Instant::now();
            }
        }
        // Also ends what runs in the background.
        let _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{group}")])
            .stderr(Stdio::null())
            .status();
        let _ = child.wait();
        bytes.extend(pieces.iter().flatten());
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Runs the commands, and returns what differs from the page.
    fn replay(&self, steps: &[Step]) -> Vec<String> {
        let output = self.run(&self.script(steps));
        let mut pieces = output.split(SEPARATOR).skip(1);
        let mut wrong = Vec::new();
        for step in steps {
            let Step::Command(shown) = step else { continue };
            let printed = pieces.nth(1);
            let code = pieces.next().and_then(|code| code.parse::<i32>().ok());
            // What is between the code and the next command is written by files only.
            pieces.next();
            let place = format!("{}:{}: {}", self.page.path, shown.line, shown.text);
            match (printed, code) {
                (Some(printed), Some(code)) => {
                    let printed = self.as_shown(printed);
                    wrong.extend(
                        compare(shown, &printed, code).map(|what| format!("{place}\n{what}")),
                    );
                }
                (printed, _) => {
                    let printed = printed.unwrap_or_default();
                    wrong.push(format!("{place}\ndoes not end; it has printed:\n{printed}"));
                    break;
                }
            }
        }
        wrong
    }
}

/// Returns how a command differs from what the page shows.
fn compare(shown: &Shown, printed: &str, code: i32) -> Option<String> {
    if code != shown.code {
        return Some(format!("exit code {code} instead of {}; it prints:\n{printed}", shown.code));
    }
    let mut expected = shown.output.clone()?;
    while expected.last().is_some_and(|line| line.trim().is_empty()) {
        expected.pop();
    }
    if shown.is_background {
        expected.push("...".to_owned());
    }
    let lines: Vec<&str> = printed.trim_end().lines().collect();
    (!matches(&expected, &lines))
        .then(|| format!("prints:\n{printed}\ninstead of:\n{}", expected.join("\n")))
}

/// Whether the build has all features: without them, some commands of the guide are refused.
const IS_COMPLETE: bool =
    cfg!(all(feature = "mcp", feature = "redis", feature = "otel", feature = "postgres"));

#[test]
fn every_command_prints_what_the_guide_shows() {
    if !IS_COMPLETE {
        eprintln!(
            "!! the commands of the guide are run with all features: cargo test -p agentloop-cli --features full"
        );
        return;
    }
    let pages = pages();
    let only = std::env::var("GUIDE_PAGE").unwrap_or_default();
    let work: Vec<(&Page, Vec<Step>)> = pages
        .iter()
        .filter(|page| page.path.contains(&only))
        .map(|page| (page, steps(page)))
        .filter(|(_, steps)| steps.iter().any(|step| matches!(step, Step::Command(_))))
        .collect();
    let (next, wrong) = (Mutex::new(work.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((page, steps)) = next.lock().unwrap().next() else { break };
                    let found = Session::new(page, steps).replay(steps);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_command_of_a_shell_can_be_parsed() {
    let mut wrong = Vec::new();
    for page in pages() {
        for block in &page.blocks {
            let script = match block.language.as_str() {
                "sh" => block.text.clone(),
                "console" => {
                    let commands = super::session::console(block);
                    commands.iter().map(|shown| format!("{}\n", shown.text)).collect()
                }
                _ => continue,
            };
            let check = Command::new("bash").args(["-n", "-c", &script]).output().unwrap();
            if !check.status.success() {
                let error = String::from_utf8_lossy(&check.stderr).into_owned();
                wrong.push(format!("{}:{}: {error}", page.path, block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_session_has_keys_files_and_servers() {
    let text = "```console\n$ agentloop -m sim/echo hi\nhi\n...\n$ agentloop -m openai/gpt-5 hi  # exit code 2\n...\n```\n\n<!-- file: in/a.txt -->\n```text\nfrom a file\n```\n\n<!-- keys -->\n```console\n$ agentloop -m openai/gpt-5 < in/a.txt\nfrom a file\n...\n$ agentloop -m anthropic/claude-sonnet-4-5 hi\n...\n$ agentloop -m google/gemini-2.5-flash hi\n...\n```\n\n```console\n$ agentloop sim &\nThe simulator listens at http://127.0.0.1:8808/v1 ...\n$ curl -s http://127.0.0.1:8808/v1/chat/completions -H 'content-type: application/json' -d '{\"model\":\"echo\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'\n...Hello...\n$ X=1; cd in\n$ echo $X; pwd\n1\n.../in\n$ false\n```\n";
    let page = Page::new("docs/p.md", text);
    let steps = steps(&page);
    let wrong = Session::new(&page, &steps).replay(&steps);
    assert_eq!(wrong.len(), 1, "{}", wrong.join("\n\n"));
    assert!(wrong[0].contains("exit code 1 instead of 0"), "{}", wrong[0]);
}
