//! `agentloop setup`, `use`, `keys`, `config`, `completions` and `man`.

use std::path::{Path, PathBuf};

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

/// The user's files.
const CONFIG: &str = ".config/agentloop/agentloop.toml";
const KEYS: &str = ".config/agentloop/keys.json";

fn keys_path(home: &Folder) -> PathBuf {
    home.path().join(KEYS)
}

#[test]
fn use_sets_the_default_model_and_keeps_the_rest_of_the_file() {
    let home = Folder::with([]);
    run(&home, &["use", "sim/echo"], "", &[]).prints("");
    assert_eq!(home.read(CONFIG).unwrap(), "default_model = \"sim/echo\"\n");
    let mine = "# mine\ndefault_model = 'sim/echo' # good\n\n[aliases]\nx = 'sim/echo'\n";
    home.write(CONFIG, mine);
    assert_eq!(run(&home, &["use", "x"], "", &[]).code, Some(0));
    let changed = mine.replacen("'sim/echo'", "\"x\"", 1);
    assert_eq!(home.read(CONFIG).unwrap(), changed);
    run(&home, &["use"], "", &[]).prints("x\n");
    run(&home, &["Hello there"], "", &[]).shows("Hello there");
    run(&home, &["use", "groq"], "", &[]).exits(0);
    assert!(run(&home, &["use"], "", &[]).stdout.starts_with("groq/"));
    let variable = run(&home, &["use", "x"], "", &[("AGENTLOOP_MODEL", "sim/echo")]);
    assert!(variable.stderr.contains("AGENTLOOP_MODEL overrides it here"), "{variable}");
}

#[test]
fn use_refuses_what_cannot_be_a_model_and_does_not_touch_a_broken_file() {
    let home = Folder::with([]);
    run(&home, &["use", "grok/x"], "", &[]).exits(2);
    assert_eq!(home.read(CONFIG), None);
    run(&home, &["use"], "", &[]).exits(2);
    home.write(CONFIG, "default_model = [");
    run(&home, &["use", "sim/echo"], "", &[]).exits(2);
    assert_eq!(home.read(CONFIG).unwrap(), "default_model = [");
}

#[cfg(unix)]
#[test]
fn use_follows_a_symbolic_link_and_keeps_the_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Folder::with([("dotfiles.toml", "# mine\n")]);
    let config = home.write(CONFIG, "");
    std::fs::remove_file(&config).unwrap();
    let target = home.path().join("dotfiles.toml");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&target, &config).unwrap();
    assert_eq!(run(&home, &["use", "sim/echo"], "", &[]).code, Some(0));
    assert!(std::fs::symlink_metadata(&config).unwrap().is_symlink());
    let mode = std::fs::metadata(&target).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    assert!(home.read("dotfiles.toml").unwrap().contains("default_model"));
}

#[test]
fn a_stored_key_is_used_and_never_printed() {
    let home = Folder::with([]);
    let set = run(&home, &["keys", "set", "groq"], "hush-4711\n", &[]);
    set.prints("");
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
    let chat = run(&home, &["-m", "groq", "Hello there"], "", &env).exits(1);
    assert!(!chat.to_string().contains("hush"), "{chat}");
    assert_eq!(run(&home, &["keys", "remove", "groq"], "", &[]).code, Some(0));
    assert_eq!(run(&home, &["keys", "remove", "groq"], "", &[]).code, Some(2));
    run(&home, &["-m", "groq", "Hello there"], "", &env).reports("groq: no key is set");
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
    run(&home, &["keys", "set", "grok"], "hush", &[]).exits(2);
    // A broken file is reported without its content, and not replaced.
    home.write(KEYS, "{\"keys\": hush");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(keys_path(&home), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let broken = run(&home, &["keys", "set", "groq"], "new", &[]).exits(2);
    assert!(!broken.to_string().contains("hush"), "{broken}");
}

#[test]
fn config_shows_each_setting_with_its_file_and_no_secret() {
    let home = Folder::with([(
        "agentloop.toml",
        "default_model = 'sim/echo'\n[providers.lab]\nbase_url = 'http://me:hush@x/v1'\n",
    )]);
    let user = "default_model = 'groq/m'\n[timeouts]\ntotal = 9\n[providers.groq]\nheaders = { x-team = 'hush' }\n";
    home.write(CONFIG, user);
    let shown = run(&home, &["config", "--json"], "", &[]).exits(0);
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
        agentloop(["providers"]).config(text).run().fails(2, words);
        let named = agentloop(["--config", ".config/agentloop/agentloop.toml", "providers"]);
        named.config(text).run().reports(words);
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
    let page = agentloop(["man"]).run().exits(0);
    assert!(page.stdout.contains(".TH agentloop 1"), "{}", &page.stdout[..200]);
    let folder = Folder::with([]);
    agentloop(["man", "pages"]).within(folder.path()).run().exits(0);
    let chat = folder.read("pages/agentloop-chat.1").unwrap();
    assert!(chat.contains("agentloop\\-chat") && chat.contains("\\-\\-temperature"), "{chat}");
}

#[cfg(unix)]
mod at_terminal {
    use crate::common::command;
    use crate::common::pty::{self, open_terminal};

    use super::*;

    /// Runs the command with a terminal as stdin, stdout and stderr. Types each reply when its question appears.
    fn converse(home: &Folder, args: &[&str], url: &str, replies: &[(&str, &str)]) -> Outcome {
        let (terminal, open) = open_terminal();
        let mut child = command(args.iter().copied())
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
        let stdout = pty::converse(terminal, replies, HIDDEN);
        Outcome { code: child.wait().unwrap().code(), stdout, stderr: String::new() }
    }

    /// The end of the question for a key.
    const HIDDEN: &str = "(not shown): ";

    const MODELS: &str = r#"{"data":[{"id":"one"},{"id":"two"}]}"#;

    #[test]
    fn setup_stores_a_key_that_works_and_a_default_model() {
        let home = Folder::with([]);
        let url = serve(json("200 OK", MODELS), Then::Close);
        let replies = [("Provider: ", "groq\n"), (HIDDEN, "hush-4711\n"), ("- for none]: ", "\n")];
        let run = converse(&home, &["setup"], &url, &replies).exits(0);
        assert!(run.stdout.contains("the key works: groq lists 2 models"), "{run}");
        assert!(!run.stdout.contains("hush"), "{run}");
        assert!(home.read(KEYS).unwrap().contains("hush-4711"));
        let config = home.read(CONFIG).unwrap();
        assert!(config.starts_with("default_model = \"groq/"), "{config}");
    }

    #[test]
    fn setup_does_not_store_a_key_that_is_refused() {
        let home = Folder::with([]);
        let url = serve(json("401 No", r#"{"error":{"message":"wrong key"}}"#), Then::Close);
        let replies = [(HIDDEN, "hush-1\n"), (HIDDEN, "hush 2\n"), (HIDDEN, "hush-3\n")];
        let run = converse(&home, &["setup", "groq"], &url, &replies).exits(2);
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
            let run = converse(&home, args, "http://127.0.0.1:9", &[]).exits(0);
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
    agentloop(["setup", "groq"]).run().refuses("agentloop keys set PROVIDER < FILE");
}

#[cfg(unix)]
#[test]
fn config_edit_opens_the_editor_and_checks_the_file() {
    let home = Folder::with([]);
    let edit = |editor: &str| run(&home, &["config", "edit"], "", &[("EDITOR", editor)]);
    // A new file has the settings as comments.
    edit("true").exits(0);
    let text = home.read(CONFIG).unwrap();
    assert!(text.contains("#default_model = "), "{text}");
    // The variable may have options. VISUAL is preferred.
    let options = [("EDITOR", "false"), ("VISUAL", "sh -c 'echo default_modle = 1 > \"$0\"'")];
    let wrong = run(&home, &["config", "edit"], "", &options);
    wrong.fails(2, "default_modle").reports("agentloop config edit");
    // A file with an error can be opened again.
    edit("sh -c 'echo \"default_model = \\\"sim/echo\\\"\" > \"$0\"'")
        .exits(0)
        .reports("has no errors");
    edit("false").fails(2, "set VISUAL or EDITOR");
    edit("no-such-editor-4711").exits(2);
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
    assert!(home.read(&format!("home/{KEYS}")).unwrap().contains("hush-4711"));
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
        let keys = home.read(&format!("home/{KEYS}")).unwrap();
        assert!(keys.contains("hush-4711"), "{name}={value}");
        assert!(screen.shows_typing(), "{name}={value}");
    }
}
