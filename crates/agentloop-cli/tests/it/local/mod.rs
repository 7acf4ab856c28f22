//! Models that `llama-server` runs, with a script in its place: what it is started with, what its users see, and that nothing stays behind.

mod fake;
mod hostile;
mod killed;
mod real;

use std::time::Duration;

use serde_json::json;

use crate::common;

use common::gateway::{read_reply, send, send_chat};
use common::pty::terminal;

use fake::{Fake, Kind};

#[test]
fn a_chat_starts_the_server_with_a_key_of_its_own_and_ends_it() {
    let fake = Fake::new(Kind::Router);
    let run = fake.run(&["-m", "local/tiny", "Hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "I am tiny\n"), "{run}");
    fake.assert_nothing_runs();
    let key = fake.read("key");
    let random = key.strip_prefix("al-").unwrap_or_default();
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(random.len() == 48 && is_hex(random), "{key}");
    let args = fake.read("args");
    assert!(args.starts_with("--threads\n2\n--host\n127.0.0.1\n--port\n0\n"), "{args}");
    assert!(args.contains("--models-preset\n") && !args.contains("--offline"), "{args}");
    assert!(!args.contains(&key) && !run.stderr.contains(&key), "{args}{run}");
    fake.run(&["-m", "local/tiny", "Hello"]);
    assert_ne!(fake.read("key"), key);
}

#[test]
fn the_server_gets_no_keys_of_providers() {
    let fake = Fake::new(Kind::Router);
    let variables = [
        ("OPENAI_API_KEY", "sk-secret"),
        ("LLAMACPP_API_KEY", "secret"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("LLAMA_API_KEY", "mine"),
        ("LLAMA_ARG_HOST", "0.0.0.0"),
        ("HF_TOKEN", "hf"),
        ("CUDA_VISIBLE_DEVICES", "1"),
        ("https_proxy", "http://127.0.0.1:9"),
    ];
    let run = fake.run_with(&["-m", "local/tiny", "Hello"], &variables);
    assert_eq!(run.code, Some(0), "{run}");
    let environment = fake.read("environment");
    assert!(!environment.contains("secret") && !environment.contains("mine"), "{environment}");
    assert!(!environment.contains("LLAMA_ARG"), "{environment}");
    for kept in ["HF_TOKEN=hf", "CUDA_VISIBLE_DEVICES=1", "https_proxy=", "PATH=", "HOME="] {
        assert!(environment.contains(kept), "{kept} in {environment}");
    }
}

#[test]
fn a_model_is_a_file_a_name_in_a_folder_or_a_repository() {
    let fake = Fake::new(Kind::Router);
    for (name, id) in [
        ("local/./other.gguf", "other"),
        ("local/TINY.gguf", "tiny"),
        ("local/owner/cached", "owner/cached:Q8_0"),
        ("local/Owner/Cached:q8_0", "owner/cached:Q8_0"),
        ("local/big", "big"),
    ] {
        let run = fake.run(&["-m", name, "Hello"]);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), format!("I am {id}\n").as_str()),
            "{run}"
        );
    }
    fake.assert_nothing_runs();
}

#[test]
fn a_repository_that_is_not_there_is_downloaded_by_the_server() {
    let fake = Fake::new(Kind::Router);
    let run = fake.run(&["-m", "local/owner/new", "Hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "I am owner/new:Q4_K_M\n"), "{run}");
    assert!(run.stderr.contains("llama-server downloads owner/new"), "{run}");
    for (name, why) in [("missing", ""), ("refused", ": no such repository")] {
        let run = fake.run(&["-m", &format!("local/owner/{name}"), "Hello"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run}");
        let message = format!("llama-server cannot download owner/{name}{why}");
        assert!(run.stderr.contains(&message), "{run}");
    }
    fake.assert_nothing_runs();
}

#[test]
fn the_progress_of_a_download_is_shown_at_a_terminal() {
    let fake = Fake::new(Kind::Router);
    let mut screen =
        terminal(fake.folder(), &["-m", "local/owner/new", "Hello"]).size(100, 20).start();
    screen.wait_for("I am owner/new:Q4_K_M");
    assert_eq!(screen.finish(), Some(0), "{}", screen.screen());
}

#[test]
fn models_are_listed_from_folders_and_the_cache() {
    let fake = Fake::new(Kind::Router);
    let run = fake.run(&["models", "local"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "local/big\nlocal/tiny\nlocal/owner/cached:Q8_0\n"),
        "{run}"
    );
    fake.assert_nothing_runs();
    let fake = Fake::new(Kind::Single);
    let run = fake.run(&["models", "local"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "local/big\nlocal/tiny\n"), "{run}");
}

#[test]
fn a_task_loads_a_model_once_more_in_the_same_server() {
    let fake = Fake::new(Kind::Router);
    let gateway = fake.gateway();
    assert_eq!(gateway.chat("al-client", "local/tiny").status, 200);
    for (model, id) in
        [("tiny", "tiny~1"), ("owner/cached", "owner_cached_Q8_0"), ("tiny", "tiny~1")]
    {
        let body = json!({"model": format!("local/{model}"), "input": "Hello"});
        let reply = read_reply(send(&gateway.address, "al-client", "embeddings", &body));
        assert!(reply.status == 200 && fake.read("asked") == id, "{model}: {reply:?}");
    }
    let preset = fake.read("preset");
    assert!(preset.contains("models/tiny.gguf\nembeddings = true\n"), "{preset}");
    assert!(preset.contains("hf-repo = owner/cached:Q8_0\nembeddings = true\n"), "{preset}");
    assert_eq!(
        (fake.read("pids").lines().count(), preset.matches('[').count()),
        (1, 3),
        "{preset}"
    );
    let single = Fake::new(Kind::Single);
    let run = single.run(&["embed", "-m", "local/tiny", "Hello"]);
    assert!(run.code == Some(0) && run.stdout.contains("0.5"), "{run}");
    assert!(single.read("args").ends_with("--embeddings\n"), "{}", single.read("args"));
}

#[test]
fn a_version_without_router_runs_one_server_a_model() {
    let fake = Fake::new(Kind::Single);
    let run = fake.run(&["-m", "local/tiny", "Hello"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "I am tiny\n"), "{run}");
    let args = fake.read("args");
    assert!(args.contains("--model\n/") && args.contains("models/tiny.gguf\n"), "{args}");
    assert!(!args.contains("--models-preset") && !args.contains("--sleep-idle-seconds"), "{args}");
    let run = fake.run(&["-m", "local/owner/new:Q8_0", "Hello"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(fake.read("args").contains("--hf-repo\nowner/new:Q8_0\n"), "{}", fake.read("args"));
    fake.assert_nothing_runs();
}

#[test]
fn at_a_terminal_without_a_key_a_model_of_the_folders_is_used() {
    let fake = Fake::new(Kind::Router);
    // The other servers of this machine are not asked.
    let mut screen = terminal(fake.folder(), &["Hello"]).size(120, 20);
    for name in ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"] {
        screen = screen.env(&format!("AGENTLOOP_{name}_BASE_URL"), "http://127.0.0.1:9/v1");
    }
    let mut screen = screen.start();
    screen.wait_for("I am big");
    assert!(screen.screen().contains("the local model local/big is used"), "{}", screen.screen());
    assert_eq!(screen.finish(), Some(0), "{}", screen.screen());
}

#[test]
fn calls_of_a_gateway_share_a_server_that_ends_with_it() {
    let fake = Fake::new(Kind::Router);
    let mut gateway = fake.gateway();
    let calls: Vec<_> = (0..4)
        .map(|_| {
            let address = gateway.address.clone();
            std::thread::spawn(move || {
                read_reply(send_chat(&address, "al-client", "local/tiny", false))
            })
        })
        .collect();
    for call in calls {
        let reply = call.join().unwrap();
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    assert_eq!(gateway.chat("al-client", "local/big").status, 200);
    assert_eq!(fake.read("pids").lines().count(), 1);
    gateway.signal("TERM");
    assert_eq!(gateway.finish(), Some(0), "{}", gateway.stderr);
    fake.assert_nothing_runs();
}

#[test]
fn clients_of_a_gateway_choose_neither_files_nor_downloads() {
    let fake = Fake::new(Kind::Router);
    let gateway = fake.gateway();
    let file = format!("local/{}", fake.folder().join("home/other.gguf").display());
    for name in [file.as_str(), "local/./other.gguf", "local/owner/new", "local/-m", "local/../x"] {
        let reply = gateway.chat("al-client", name);
        assert!(reply.status == 400, "{name}: {reply:?}");
    }
    assert_eq!(gateway.chat("al-client", "local/owner/cached").status, 200);
    assert!(fake.read("args").contains("--offline\n"), "{}", fake.read("args"));
    assert!(!fake.read("cache").contains("owner/new"));
}

#[test]
fn an_error_of_a_missing_server_says_how_to_get_it() {
    let fake = Fake::new(Kind::Router);
    fake.configure("[local]\n");
    let no_ollama = [("AGENTLOOP_OLLAMA_BASE_URL", "http://127.0.0.1:9/v1")];
    for args in [
        &["-m", "local/tiny", "Hello"][..],
        &["models", "local"],
        &["-m", "local/owner/repo", "Hi"],
    ] {
        let run = fake.run_with(args, &no_ollama);
        if run.code == Some(2)
            && run.stderr.contains("there is no model local/tiny in the folders ()")
        {
            continue;
        }
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(
            run.stderr.contains("llama-server, the server of llama.cpp, is not in PATH"),
            "{run}"
        );
        assert!(
            run.stderr.contains("install it with `") && run.stderr.contains("docs/install.md"),
            "{run}"
        );
        assert!(!run.stderr.contains("Ollama"), "{run}");
    }
    let ollama = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", ollama.local_addr().unwrap());
    let run = fake.run_with(&["models", "local"], &[("AGENTLOOP_OLLAMA_BASE_URL", &url)]);
    assert!(run.stderr.contains("or use Ollama, which runs"), "{run}");
    fake.configure("[local]\nprogram = '/nowhere/llama-server'\n");
    let run = fake.run_with(&["models", "local"], &no_ollama);
    assert!(
        run.stderr.contains("[local] program: there is no file /nowhere/llama-server"),
        "{run}"
    );
}

#[test]
fn no_name_becomes_an_option() {
    let fake = Fake::new(Kind::Router);
    for name in [
        "local/-m",
        "local/--port",
        "local/../x",
        "local/a/../b",
        "local/x\n[y]",
        "local/\u{1b}[2J",
    ] {
        let run = fake.run(&["-m", name, "Hello"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(!run.stderr.contains('\u{1b}'), "{run}");
    }
    assert_eq!(fake.read("args"), "", "it was started");
}

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);
