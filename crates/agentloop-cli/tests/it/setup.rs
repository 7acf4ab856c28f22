//! `agentloop setup`, `use`, `keys`, `config`, `completions` and `man`.

use std::path::Path;

use crate::common;

use common::folder::Folder;
use common::server::{Then, json, serve};
use common::{Outcome, agentloop};

/// Runs the command with this folder as the user's folder.
fn run(home: &Folder, args: &[&str], stdin: &str, env: &[(&str, &str)]) -> Outcome {
    let mut run = agentloop(args.iter().copied()).stdin(stdin).within(home.path());
    run = run.env("HOME", home.path().to_str().unwrap());
    for (name, value) in env {
        run = run.env(name, value);
    }
    run.run()
}

fn config_path(home: &Folder) -> std::path::PathBuf {
    home.path().join(".config/agentloop/agentloop.toml")
}

fn keys_path(home: &Folder) -> std::path::PathBuf {
    home.path().join(".config/agentloop/keys.json")
}

#[test]
fn use_sets_the_default_model_and_keeps_the_rest_of_the_file() {
    let home = Folder::with([]);
    let first = run(&home, &["use", "sim/echo"], "", &[]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), ""), "{first}");
    assert_eq!(
        std::fs::read_to_string(config_path(&home)).unwrap(),
        "default_model = \"sim/echo\"\n"
    );
    std::fs::write(
        config_path(&home),
        "# mine\ndefault_model = 'sim/echo' # good\n\n[aliases]\nx = 'sim/echo'\n",
    )
    .unwrap();
    assert_eq!(run(&home, &["use", "x"], "", &[]).code, Some(0));
    assert_eq!(
        std::fs::read_to_string(config_path(&home)).unwrap(),
        "# mine\ndefault_model = \"x\" # good\n\n[aliases]\nx = 'sim/echo'\n"
    );
    let shown = run(&home, &["use"], "", &[]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), "x\n"), "{shown}");
    let chat = run(&home, &["Hello there"], "", &[]);
    assert!(chat.stdout.contains("Hello there"), "{chat}");
    let provider = run(&home, &["use", "groq"], "", &[]);
    assert_eq!(provider.code, Some(0), "{provider}");
    assert!(run(&home, &["use"], "", &[]).stdout.starts_with("groq/"));
    let variable = run(&home, &["use", "x"], "", &[("AGENTLOOP_MODEL", "sim/echo")]);
    assert!(variable.stderr.contains("AGENTLOOP_MODEL overrides it here"), "{variable}");
}

#[test]
fn use_refuses_what_cannot_be_a_model_and_does_not_touch_a_broken_file() {
    let home = Folder::with([]);
    let unknown = run(&home, &["use", "grok/x"], "", &[]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(!config_path(&home).exists());
    let none = run(&home, &["use"], "", &[]);
    assert_eq!(none.code, Some(2), "{none}");
    std::fs::create_dir_all(config_path(&home).parent().unwrap()).unwrap();
    std::fs::write(config_path(&home), "default_model = [").unwrap();
    let broken = run(&home, &["use", "sim/echo"], "", &[]);
    assert_eq!(broken.code, Some(2), "{broken}");
    assert_eq!(std::fs::read_to_string(config_path(&home)).unwrap(), "default_model = [");
}

#[cfg(unix)]
#[test]
fn use_follows_a_symbolic_link_and_keeps_the_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Folder::with([("dotfiles.toml", "# mine\n")]);
    std::fs::create_dir_all(config_path(&home).parent().unwrap()).unwrap();
    let target = home.path().join("dotfiles.toml");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&target, config_path(&home)).unwrap();
    assert_eq!(run(&home, &["use", "sim/echo"], "", &[]).code, Some(0));
    assert!(std::fs::symlink_metadata(config_path(&home)).unwrap().is_symlink());
    let mode = std::fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    assert!(home.read("dotfiles.toml").unwrap().contains("default_model"));
}

#[test]
fn a_stored_key_is_used_and_never_printed() {
    let home = Folder::with([]);
    let set = run(&home, &["keys", "set", "groq"], "hush-4711\n", &[]);
    assert_eq!((set.code, set.stdout.as_str()), (Some(0), ""), "{set}");
    let list = run(&home, &["keys"], "", &[]);
    assert_eq!(list.stdout, "provider\tgroq\tthe stored keys\n", "{list}");
    let both = run(&home, &["keys", "--json"], "", &[("GROQ_API_KEY", "other")]);
    let source = &both.json()["providers"][0]["source"];
    assert_eq!(source, "the variable GROQ_API_KEY", "{both}");
    let providers = run(&home, &["providers"], "", &[]);
    assert!(providers.stdout.contains("groq\tready\t"), "{providers}");
    let shown = [set, list, providers, run(&home, &["config"], "", &[])];
    assert!(shown.iter().all(|run| !run.to_string().contains("hush")), "{shown:?}");
    // The server sees the key, and the command hides it in the server's error.
    let echo = r#"{"error":{"message":"the key hush-4711 is wrong"}}"#;
    let url = serve(json("401 No", echo), Then::Close);
    let env = [("AGENTLOOP_GROQ_BASE_URL", url.as_str())];
    let chat = run(&home, &["-m", "groq", "Hello there"], "", &env);
    assert_eq!(chat.code, Some(1), "{chat}");
    assert!(!chat.to_string().contains("hush"), "{chat}");
    assert_eq!(run(&home, &["keys", "remove", "groq"], "", &[]).code, Some(0));
    assert_eq!(run(&home, &["keys", "remove", "groq"], "", &[]).code, Some(2));
    let missing = run(&home, &["-m", "groq", "Hello there"], "", &env);
    assert!(missing.stderr.contains("groq: no key is set"), "{missing}");
}

#[cfg(unix)]
#[test]
fn stored_keys_can_be_read_only_by_their_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Folder::with([]);
    assert_eq!(run(&home, &["keys", "set", "groq"], "hush-4711", &[]).code, Some(0));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&keys_path(&home)), 0o600);
    assert_eq!(mode(keys_path(&home).parent().unwrap()), 0o700);
    std::fs::set_permissions(keys_path(&home), std::fs::Permissions::from_mode(0o644)).unwrap();
    let run = run(&home, &["keys"], "", &[]);
    assert!(run.stdout.is_empty() && run.stderr.contains("chmod 600"), "{run}");
    assert!(!run.to_string().contains("hush"), "{run}");
}

#[test]
fn a_key_that_cannot_be_sent_is_refused_without_being_shown() {
    let home = Folder::with([]);
    for key in ["", " \n", "hush hush", "hush\nGROQ_API_KEY=hush", "hüsh", "hush\u{1b}[2J"] {
        let run = run(&home, &["keys", "set", "groq"], key, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(!run.stderr.contains("hush") && !run.stderr.contains("hüsh"), "{run}");
    }
    assert!(!keys_path(&home).exists());
    let unknown = run(&home, &["keys", "set", "grok"], "hush", &[]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    // A broken file is reported without its content, and not replaced.
    std::fs::create_dir_all(keys_path(&home).parent().unwrap()).unwrap();
    std::fs::write(keys_path(&home), "{\"keys\": hush").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(keys_path(&home), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let broken = run(&home, &["keys", "set", "groq"], "new", &[]);
    assert_eq!(broken.code, Some(2), "{broken}");
    assert!(!broken.to_string().contains("hush"), "{broken}");
}

#[test]
fn config_shows_each_setting_with_its_file_and_no_secret() {
    let home = Folder::with([(
        "agentloop.toml",
        "default_model = 'sim/echo'\n[providers.lab]\nbase_url = 'http://me:hush@x/v1'\n",
    )]);
    std::fs::create_dir_all(config_path(&home).parent().unwrap()).unwrap();
    let user = "default_model = 'groq/m'\n[timeouts]\ntotal = 9\n[providers.groq]\nheaders = { x-team = 'hush' }\n";
    std::fs::write(config_path(&home), user).unwrap();
    let shown = run(&home, &["config", "--json"], "", &[]);
    assert_eq!(shown.code, Some(0), "{shown}");
    assert!(!shown.to_string().contains("hush"), "{shown}");
    let rows = shown.json();
    let row = |name: &str| {
        let mut rows = rows.as_array().unwrap().iter();
        rows.find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} in {shown}")).clone()
    };
    // The file of the folder is over the user's file, setting by setting.
    assert_eq!(row("default_model")["value"], "sim/echo");
    assert!(row("timeouts.total")["from"].as_str().unwrap().contains(".config"));
    assert_eq!(row("providers.groq.headers.x-team")["value"], "***");
    assert_eq!(row("providers.lab.base_url")["isIgnored"], true);
    let files = run(&home, &["config", "files"], "", &[]);
    let lines: Vec<&str> = files.stdout.lines().collect();
    assert!(lines[0].starts_with("trusted\t") && lines[1].starts_with("not trusted\t"), "{files}");
    let path = run(&home, &["config", "path"], "", &[]);
    assert!(path.stdout.ends_with(".config/agentloop/agentloop.toml\n"), "{path}");
    let variable = run(&home, &["config"], "", &[("AGENTLOOP_MODEL", "sim/long-3")]);
    assert!(
        variable.stdout.contains("default_model\tsim/long-3\tthe variable AGENTLOOP_MODEL"),
        "{variable}"
    );
}

#[test]
fn mistakes_in_the_configuration_are_explained() {
    for (text, words) in [
        ("default_model = fast\n", "line 1: the value of `default_model` is not in quotes"),
        (
            "[providers.lab]\nbase_url = 'http://x/v1/chat/completions'\n",
            "remove /chat/completions",
        ),
    ] {
        let run = agentloop(["providers"]).config(text).run();
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(words), "{run}");
        let named = agentloop(["--config", ".config/agentloop/agentloop.toml", "providers"]);
        let named = named.config(text).run();
        assert!(named.stderr.contains(words), "{named}");
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = agentloop(["completions", shell]).run();
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(run.stdout.contains("agentloop") && run.stdout.contains("providers"), "{shell}");
    }
    assert_eq!(agentloop(["completions", "tcsh"]).run().code, Some(2));
    let page = agentloop(["man"]).run();
    assert_eq!(page.code, Some(0));
    assert!(page.stdout.contains(".TH agentloop 1"), "{}", &page.stdout[..200]);
    let folder = Folder::with([]);
    let run = agentloop(["man", "pages"]).within(folder.path()).run();
    assert_eq!(run.code, Some(0), "{run}");
    let chat = folder.read("pages/agentloop-chat.1").unwrap();
    assert!(chat.contains("agentloop\\-chat") && chat.contains("\\-\\-temperature"), "{chat}");
}

#[cfg(unix)]
mod at_terminal {
    use std::io::{Read, Write};
    use std::process::Command;

    use crate::common::pty::open_terminal;

    use super::*;

    /// Runs the command with a terminal as stdin, stdout and stderr. Types each reply when its question appears.
    fn converse(home: &Folder, args: &[&str], url: &str, replies: &[(&str, &str)]) -> Outcome {
        let (mut terminal, open) = open_terminal();
        let mut child = Command::new(env!("CARGO_BIN_EXE_agentloop"))
            .args(args)
            .env_clear()
            .env("NO_COLOR", "1")
            .env("HOME", home.path())
            .env("AGENTLOOP_GROQ_BASE_URL", url)
            .env("AGENTLOOP_OLLAMA_BASE_URL", url)
            .current_dir(home.path())
            .stdin(open())
            .stderr(open())
            .stdout(open())
            .spawn()
            .unwrap();
        let (mut seen, mut bytes, mut looked) = (String::new(), Vec::new(), 0);
        let (mut replies, mut buffer) = (replies.iter().peekable(), [0; 1024]);
        // Reading fails when the last process closes the terminal.
        while let Ok(read @ 1..) = terminal.read(&mut buffer) {
            bytes.extend_from_slice(&buffer[..read]);
            seen = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((question, reply)) = replies.peek()
                && let Some(at) = seen[looked..].find(question)
            {
                looked += at + question.len();
                terminal.write_all(reply.as_bytes()).unwrap();
                replies.next();
            }
        }
        assert_eq!(replies.next(), None, "not asked: {seen}");
        let code = child.wait().unwrap().code();
        Outcome { code, stdout: seen.replace("\r\n", "\n"), stderr: String::new() }
    }

    const MODELS: &str = r#"{"data":[{"id":"one"},{"id":"two"}]}"#;

    #[test]
    fn setup_stores_a_key_that_works_and_a_default_model() {
        let home = Folder::with([]);
        let url = serve(json("200 OK", MODELS), Then::Close);
        let replies =
            [("Provider: ", "groq\n"), ("(not shown): ", "hush-4711\n"), ("- for none]: ", "\n")];
        let run = converse(&home, &["setup"], &url, &replies);
        assert_eq!(run.code, Some(0), "{run}");
        assert!(run.stdout.contains("the key works: groq lists 2 models"), "{run}");
        assert!(!run.stdout.contains("hush"), "{run}");
        assert!(std::fs::read_to_string(keys_path(&home)).unwrap().contains("hush-4711"));
        let config = std::fs::read_to_string(config_path(&home)).unwrap();
        assert!(config.starts_with("default_model = \"groq/"), "{config}");
    }

    #[test]
    fn setup_does_not_store_a_key_that_is_refused() {
        let home = Folder::with([]);
        let url = serve(json("401 No", r#"{"error":{"message":"wrong key"}}"#), Then::Close);
        let replies = [
            ("(not shown): ", "hush-1\n"),
            ("(not shown): ", "hush 2\n"),
            ("(not shown): ", "hush-3\n"),
        ];
        let run = converse(&home, &["setup", "groq"], &url, &replies);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stdout.contains("no key was accepted; nothing is stored"), "{run}");
        assert!(!run.stdout.contains("hush") && !keys_path(&home).exists(), "{run}");
    }

    #[test]
    fn a_local_server_that_runs_is_used_without_a_key() {
        let home = Folder::with([]);
        let url = serve(json("200 OK", MODELS), Then::Close);
        let run = converse(&home, &["--retries", "0", "Hello there"], &url, &[]);
        assert!(run.stdout.contains("the local server is used (ollama/one)"), "{run}");
        assert!(!run.stdout.contains("simulated"), "{run}");
    }

    #[test]
    fn tables_fit_the_terminal_and_have_a_head() {
        let home = Folder::with([]);
        for args in [&["providers"][..], &["models", "--known"]] {
            let run = converse(&home, args, "http://127.0.0.1:9", &[]);
            assert_eq!(run.code, Some(0), "{run}");
            let head = run.stdout.lines().next().unwrap();
            assert!(head.starts_with("NAME") || head.starts_with("MODEL"), "{head}");
            // The terminal does not report a size, so 80 columns are assumed.
            let widest = run.stdout.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= 80, "{widest} columns: {run}");
        }
    }
}

#[test]
fn setup_in_a_script_explains_what_to_use() {
    let run = agentloop(["setup", "groq"]).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("agentloop keys set PROVIDER < FILE"), "{run}");
}

#[cfg(unix)]
#[test]
fn config_edit_opens_the_editor_and_checks_the_file() {
    let home = Folder::with([]);
    let edit = |editor: &str| run(&home, &["config", "edit"], "", &[("EDITOR", editor)]);
    let path = home.path().join(".config/agentloop/agentloop.toml");
    // A new file has the settings as comments.
    let new = edit("true");
    assert_eq!(new.code, Some(0), "{new}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("#default_model = "), "{text}");
    // The variable may have options. VISUAL is preferred.
    let options = [("EDITOR", "false"), ("VISUAL", "sh -c 'echo default_modle = 1 > \"$0\"'")];
    let wrong = run(&home, &["config", "edit"], "", &options);
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("default_modle"), "{wrong}");
    assert!(wrong.stderr.contains("agentloop config edit"), "{wrong}");
    // A file with an error can be opened again.
    let right = edit("sh -c 'echo \"default_model = \\\"sim/echo\\\"\" > \"$0\"'");
    assert_eq!(right.code, Some(0), "{right}");
    assert!(right.stderr.contains("has no errors"), "{right}");
    let failed = edit("false");
    assert_eq!(failed.code, Some(2), "{failed}");
    assert!(failed.stderr.contains("set VISUAL or EDITOR"), "{failed}");
    let missing = edit("no-such-editor-4711");
    assert_eq!(missing.code, Some(2), "{missing}");
}

/// The terminal kept hiding what was typed after Ctrl-C.
#[cfg(unix)]
#[test]
fn ctrl_c_at_a_hidden_question_restores_the_terminal() {
    use crate::common::pty::terminal;
    let home = Folder::with([]);
    for args in [&["keys", "set", "groq"][..], &["setup", "groq"]] {
        for is_signal in [false, true] {
            let mut screen = terminal(home.path(), args).start();
            screen.wait_for("Key of groq (not shown):");
            assert!(!screen.shows_typing(), "the key would be shown");
            let has_page = screen.screen().contains("https://console.groq.com/keys");
            assert_eq!(has_page, args[0] == "setup", "{}", screen.screen());
            // A signal can overtake what was typed before: the kernel passes input on in a task of its own.
            if is_signal {
                screen.interrupt();
            } else {
                screen.press("secret-4711\u{3}");
            }
            assert_eq!(screen.finish(), Some(130), "{args:?}");
            assert!(screen.shows_typing(), "{args:?}");
            assert!(!screen.screen().contains("secret"), "{}", screen.screen());
        }
    }
    assert!(!keys_path(&home).exists());
    // A typing error can be corrected.
    let mut screen = terminal(home.path(), &["keys", "set", "groq"]).start();
    screen.wait_for("Key of groq (not shown):");
    screen.press("wrong\u{15}hush-471x\u{7f}1\r");
    assert_eq!(screen.finish(), Some(0));
    assert!(
        std::fs::read_to_string(home.path().join("home/.config/agentloop/keys.json"))
            .unwrap()
            .contains("hush-4711")
    );
}

/// A terminal without colours or without editing must not show the key either.
#[cfg(unix)]
#[test]
fn a_key_is_not_shown_on_any_terminal() {
    use crate::common::pty::terminal;
    for (name, value) in [("TERM", "dumb"), ("TERM", "xterm"), ("NO_COLOR", "1")] {
        let home = Folder::with([]);
        let args = ["keys", "set", "groq"];
        let mut screen = terminal(home.path(), &args).env(name, value).start();
        screen.wait_for("Key of groq (not shown):");
        screen.press("hush-471x\u{7f}1\r");
        assert_eq!(screen.finish(), Some(0), "{name}={value}: {}", screen.screen());
        let bytes = String::from_utf8_lossy(&screen.bytes);
        assert!(!bytes.contains("hush") && !bytes.contains("4711"), "{name}={value}: {bytes:?}");
        let keys = home.path().join("home/.config/agentloop/keys.json");
        assert!(std::fs::read_to_string(keys).unwrap().contains("hush-4711"), "{name}={value}");
        assert!(screen.shows_typing(), "{name}={value}");
    }
}
