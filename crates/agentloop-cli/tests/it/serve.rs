//! `agentloop serve`: the gateway.
#![cfg(unix)]

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};

use common::folder::Folder;
use common::gateway::{Gateway, address, read_reply, send_chat};
use common::patience::wait_until;
use common::pty::terminal;
use common::{Outcome, agentloop};

const KEY: &str = "[gateway.keys.client]\nkey_env = 'CLIENT_KEY'\n";

const SIMULATOR: &str = "[gateway]\nsimulator = true\n";

/// Returns the API key that a gateway prints.
fn printed_key(text: &str) -> Option<String> {
    let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    words.find(|word| word.starts_with("al-") && word.len() > 40).map(str::to_owned)
}

/// Runs `agentloop serve` with a configuration file, and arguments with which it ends.
fn serve(config: &str, args: &[&str]) -> Outcome {
    let folder = Folder::with([("gateway.toml", config)]);
    let all = ["--config", "gateway.toml", "serve"].into_iter().chain(args.iter().copied());
    agentloop(all).within(folder.path()).run()
}

#[test]
fn at_a_terminal_a_key_is_printed_and_a_request_is_answered() {
    let folder = Folder::with([]);
    let args = ["serve", "--simulator", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let mut screen = terminal(folder.path(), &args).size(160, 40).start();
    screen.wait_for("GOOGLE_GEMINI_BASE_URL");
    let text = screen.screen();
    let key = printed_key(&text).expect(&text);
    let place = address(&text);
    let reply = read_reply(send_chat(&place, &key, "sim/echo", false));
    assert_eq!(reply.status, 200, "{reply:?}");
    let content = reply.json()["choices"][0]["message"]["content"].clone();
    assert!(content.as_str().unwrap().contains("Hello"), "{content}");
    // The log line of the request has the key's name, not the key.
    screen.wait_for("first openai_chat chat sim/echo");
    assert_eq!(read_reply(send_chat(&place, "al-wrong", "sim/echo", false)).status, 401);
    screen.interrupt();
    assert_eq!(screen.finish(), Some(0), "{}", screen.screen());
}

#[test]
fn only_the_first_start_creates_a_key_and_only_its_hash_is_stored() {
    let folder = Folder::with([]);
    let mut first = Gateway::start(folder.path(), &[]);
    let key = printed_key(&first.stderr).expect("a key");
    assert!(first.stderr.contains("It is shown only now"), "{}", first.stderr);
    assert_eq!(first.chat(&key, "sim/echo").status, 200);
    first.signal("TERM");
    assert_eq!(first.finish(), Some(0), "{}", first.stderr);
    let data = folder.path().join("home/.local/share/agentloop");
    let path = data.join("gateway.db");
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    for entry in std::fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let found = bytes.windows(key.len()).any(|bytes| bytes == key.as_bytes());
        assert!(!found, "{} has the key", path.display());
    }
    let second = Gateway::start(folder.path(), &[]);
    assert_eq!(printed_key(&second.stderr), None, "{}", second.stderr);
    assert!(second.stderr.contains("Bearer $AGENTLOOP_GATEWAY_KEY"), "{}", second.stderr);
    assert_eq!(second.chat(&key, "sim/echo").status, 200);
    assert_eq!(second.chat("al-wrong", "sim/echo").status, 401);
}

/// Versions before the database kept the hashes of keys in a file.
#[test]
fn keys_of_the_earlier_file_are_moved_to_the_database_once() {
    let folder = Folder::with([]);
    let data = folder.path().join("home/.local/share/agentloop");
    std::fs::create_dir_all(&data).unwrap();
    // The SHA-256 of `test`.
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let text = format!("{{\"keys\":[{{\"name\":\"old\",\"sha256\":\"{hash}\"}}]}}");
    std::fs::write(data.join("gateway-keys.json"), text).unwrap();
    let mut first = Gateway::start(folder.path(), &[]);
    assert_eq!(printed_key(&first.stderr), None, "{}", first.stderr);
    assert_eq!(first.chat("test", "sim/echo").status, 200);
    first.signal("TERM");
    assert_eq!(first.finish(), Some(0), "{}", first.stderr);
    assert!(!data.join("gateway-keys.json").exists());
    assert!(data.join("gateway-keys.json.imported").exists());
    let second = Gateway::start(folder.path(), &[]);
    assert_eq!(second.chat("test", "sim/echo").status, 200);
}

#[test]
fn a_configuration_is_checked_without_starting_a_server() {
    let fast = "[gateway.routes.fast]\nmodels = ['sim/echo']\n";
    for (settings, args) in [("", &["--check", "--simulator"][..]), (SIMULATOR, &["--check"])] {
        let good = serve(&format!("{settings}{fast}"), args);
        good.prints("").reports("the configuration of the gateway is valid");
    }
    let without = serve(fast, &["--check"]).exits(2);
    without.reports("unknown provider `sim`").reports("`simulator = true` in [gateway]");
    let typo = serve("[gateway]\nlisten = '127.0.0.1:0'\nlog_form = 'json'\n", &["--check"]);
    typo.fails(2, "gateway.toml: line 3: unknown field `log_form`");
    let route = serve("[gateway.routes.fast]\nmodels = ['nowhere/m']\n", &["--check"]).exits(2);
    assert!(route.stderr.contains("gateway.routes.fast: ") && route.stderr.contains("nowhere"));
    let key = serve("[gateway.keys.ci]\nkey_env = 'NOT_SET'\n", &["--check"]);
    key.fails(2, "gateway.keys.ci: the environment variable NOT_SET");
    serve("[gateway.tls]\ncert = 'no.pem'\nkey = 'no.pem'\n", &["--check"]).fails(2, "no.pem");
    serve("[gateway\n", &["--check"]).fails(2, "line 1");
    serve("[gateway]\nshutdown_timeout = -1\n", &["--check"]).fails(2, "gateway.shutdown_timeout");
}

#[test]
fn clients_reach_the_simulator_only_if_the_configuration_asks_for_it() {
    let folder = Folder::with([("agentloop.toml", KEY)]);
    let args = ["--config", "agentloop.toml"];
    let mut gateway = Gateway::start_without_simulator(folder.path(), &args);
    let reply = gateway.chat("al-client", "sim/json");
    assert_eq!(reply.status, 404, "{reply:?}");
    assert!(reply.body.contains("unknown provider `sim`"), "{reply:?}");
    let hint = "start with --simulator and name sim/echo";
    assert!(gateway.stderr.contains(hint), "{}", gateway.stderr);
    folder.write("agentloop.toml", format!("{KEY}{SIMULATOR}"));
    gateway.signal("HUP");
    gateway.wait_for("the configuration was read again");
    assert_eq!(gateway.chat("al-client", "sim/json").status, 200);
}

#[test]
fn the_request_that_is_printed_names_a_model_that_the_gateway_serves() {
    let with_key = "[providers.mistral]\nkey_env = 'CLIENT_KEY'\n";
    let default = "default_model = 'groq/llama-3.3-70b-versatile'\n";
    let unfit = "default_model = \"groq/a'; reboot\"\n";
    for (config, args, model) in [
        ("", &["--simulator"][..], "sim/echo"),
        ("default_model = 'sim/echo'\n", &[], "PROVIDER/MODEL"),
        (with_key, &[], "mistral/mistral-medium-latest"),
        (default, &[], "groq/llama-3.3-70b-versatile"),
        (unfit, &[], "PROVIDER/MODEL"),
    ] {
        let config = format!("{config}{KEY}");
        let folder = Folder::with([("agentloop.toml", config.as_str())]);
        let args = [&["--config", "agentloop.toml"], args].concat();
        let gateway = Gateway::start_without_simulator(folder.path(), &args);
        let expected = format!(r#"-d '{{"model":"{model}","messages""#);
        assert!(gateway.stderr.contains(&expected), "{config}: {}", gateway.stderr);
    }
}

#[test]
fn a_typo_in_the_settings_prevents_the_start() {
    let run = serve("[gateway]\nlsten = '127.0.0.1:0'\n", &["--listen", "127.0.0.1:0"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("lsten") && run.stderr.contains("`listen`"), "{run}");
}

#[test]
fn other_machines_need_a_key() {
    let run = serve("", &["--listen", "0.0.0.0:0", "--admin-listen", "off"]);
    insta::assert_snapshot!(run, @r#"
    exit 2
    --- stdout
    --- stderr
    error: the gateway does not listen on 0.0.0.0:0 without an API key, because other machines can reach it
    hint: create one with `agentloop keys create NAME`
    "#);
    let admin = serve(KEY, &["--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0"]);
    // The variable of the key is not set either; it is reported first.
    assert_eq!(admin.code, Some(2), "{admin}");
    let admin = serve("", &["--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0"]).exits(2);
    assert!(admin.stderr.contains("needs a token") && admin.stderr.contains("admin_token_env"));
}

#[test]
fn a_token_that_can_be_guessed_is_refused_with_how_to_make_one() {
    let settings = "[gateway]\nadmin_token_env = 'ADMIN'\nadmin_listen = '0.0.0.0:0'\n";
    let folder = Folder::with([("gateway.toml", settings)]);
    let check = |token: &str| {
        let command = agentloop(["--config", "gateway.toml", "serve", "--check"]);
        command.env("ADMIN", token).within(folder.path()).run()
    };
    for short in ["x", "short-of-sixtee", "  short-of-sixtee  "] {
        let refused = check(short).exits(2);
        refused.reports("gateway.admin_token_env").reports("openssl rand -hex 24");
        assert!(!refused.stderr.contains("sixtee"), "{refused}");
    }
    check(" ").exits(2).reports("is not set");
    check("long-of-sixteen-").exits(0);
}

#[test]
fn the_error_for_a_used_address_or_a_wrong_one_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = taken.local_addr().unwrap().to_string();
    let run = serve("", &["--listen", &place, "--admin-listen", "off"]).exits(2);
    assert!(run.stderr.contains(&place) && run.stderr.contains("--listen"), "{run}");
    serve("", &["--listen", "127.0.0.1:0", "--admin-listen", &place]).fails(2, &place);
    for wrong in ["4180", "localhost:4180", "127.0.0.1", "127.0.0.1:70000", ""] {
        serve("", &["--listen", wrong]).fails(2, "is not an IP address with a port");
    }
}

#[test]
fn a_new_key_is_printed_with_the_settings_that_allow_it() {
    let run = agentloop(["serve", "--new-key", "build-server"]).run();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
    let key = printed_key(&run.stdout).unwrap();
    let (shown, settings) = run.stdout.split_once("\n\n").unwrap();
    assert_eq!(shown, key);
    assert!(settings.contains("[gateway.keys.build-server]\nsha256 = \""), "{run}");
    let folder = Folder::with([("gateway.toml", settings)]);
    let gateway = Gateway::start(folder.path(), &["--config", "gateway.toml"]);
    assert_eq!(printed_key(&gateway.stderr), None, "{}", gateway.stderr);
    assert_eq!(gateway.chat(&key, "sim/echo").status, 200);
    for wrong in ["", "a b", "x\"]\nlisten", "ä"] {
        let run = agentloop(["serve", "--new-key", wrong]).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    }
}

/// A provider whose stream ends when the test says so. Returns its configuration.
fn slow_provider() -> (String, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 65_536]);
        let send = |stream: &mut TcpStream, chunks: &[String]| {
            let text: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
            stream.write_all(text.as_bytes()).is_ok() && stream.flush().is_ok()
        };
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        send(&mut stream, &[common::delta(r#"{"role":"assistant","content":"begun"}"#)]);
        if receiver.recv().is_ok() {
            let end = [common::delta(r#"{"content":" ended"}"#), common::finish("stop")];
            send(&mut stream, &end);
            send(&mut stream, &["[DONE]".to_owned()]);
        }
        // A connection that is closed before all of the request was read is reset, and what was sent may be lost.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    (format!("[providers.slow]\nbase_url = 'http://{place}/v1'\n{KEY}"), sender)
}

/// Reads a stream up to a text. Returns whether it came.
fn read_to(stream: &mut impl BufRead, text: &str) -> bool {
    let mut line = String::new();
    loop {
        line.clear();
        match stream.read_line(&mut line) {
            Ok(1..) if line.contains(text) => return true,
            Ok(1..) => {}
            _ => return false,
        }
    }
}

/// Starts a gateway with these settings and a stream that has begun.
fn streaming(more: &str) -> (Gateway, BufReader<TcpStream>, Sender<()>) {
    let (config, end) = slow_provider();
    let folder = Folder::with([("gateway.toml", &*format!("{config}{more}"))]);
    let gateway = Gateway::start(folder.path(), &["--config", "gateway.toml"]);
    let mut stream = gateway.open_stream("al-client", "slow/m");
    assert!(read_to(&mut stream, "begun"));
    (gateway, stream, end)
}

#[test]
fn a_stream_in_progress_is_finished_before_the_gateway_ends() {
    for signal in ["TERM", "INT"] {
        let (mut gateway, mut stream, end) = streaming("");
        gateway.signal(signal);
        // New connections are refused while the stream goes on.
        wait_until("no connection is accepted", || TcpStream::connect(&gateway.address).is_err());
        end.send(()).unwrap();
        assert!(read_to(&mut stream, " ended") && read_to(&mut stream, "data: [DONE]"));
        assert_eq!(gateway.finish(), Some(0), "{}", gateway.stderr);
        assert!(!gateway.stderr.contains("cut off"), "{}", gateway.stderr);
    }
}

#[test]
fn a_second_signal_ends_the_gateway_at_once() {
    let (mut gateway, mut stream, end) = streaming("");
    gateway.signal("TERM");
    wait_until("no connection is accepted", || TcpStream::connect(&gateway.address).is_err());
    gateway.signal("INT");
    assert_eq!(gateway.finish(), Some(0), "{}", gateway.stderr);
    assert!(gateway.stderr.contains("requests in progress were cut off"), "{}", gateway.stderr);
    assert!(!read_to(&mut stream, "[DONE]"), "a truncated stream is not presented as complete");
    drop(end);
}

#[test]
fn the_time_to_finish_requests_is_limited() {
    let (mut gateway, _stream, end) = streaming("[gateway]\nshutdown_timeout = 0.1\n");
    gateway.signal("TERM");
    assert_eq!(gateway.finish(), Some(0), "{}", gateway.stderr);
    assert!(gateway.stderr.contains("requests in progress were cut off"), "{}", gateway.stderr);
    drop(end);
}

#[test]
fn a_changed_configuration_takes_effect_and_an_invalid_one_changes_nothing() {
    let with_route = |name: &str| format!("{KEY}[gateway.routes.{name}]\nmodels = ['sim/echo']\n");
    let folder = Folder::with([("gateway.toml", &*with_route("one"))]);
    let path = folder.path().join("gateway.toml");
    let mut gateway = Gateway::start(folder.path(), &["--config", "gateway.toml"]);
    let status = |gateway: &Gateway, model: &str| gateway.chat("al-client", model).status;
    assert_eq!((status(&gateway, "one"), status(&gateway, "two")), (200, 404));
    // In one step: the gateway could read a file that is written by half.
    let replace = |text: String| {
        std::fs::write(path.with_extension("new"), text).unwrap();
        std::fs::rename(path.with_extension("new"), &path).unwrap();
    };
    // The file is looked at every two seconds.
    replace(with_route("two"));
    gateway.wait_for("the configuration was read again");
    assert_eq!((status(&gateway, "one"), status(&gateway, "two")), (404, 200));
    replace(format!("{}lsten = 1\n", with_route("three")));
    gateway.signal("HUP");
    gateway.wait_for("the configuration is not valid, and changes nothing");
    gateway.wait_for("lsten");
    assert_eq!((status(&gateway, "two"), status(&gateway, "three")), (200, 404));
    gateway.stderr.clear();
    replace(with_route("three"));
    gateway.signal("HUP");
    gateway.wait_for("the configuration was read again");
    assert_eq!((status(&gateway, "two"), status(&gateway, "three")), (404, 200));
}

#[test]
fn the_log_has_no_prompt_response_or_key() {
    let folder = Folder::with([("gateway.toml", KEY)]);
    let mut gateway = Gateway::start(folder.path(), &["--config", "gateway.toml", "--log", "json"]);
    gateway.stderr.clear();
    let reply = gateway.chat("al-client", "sim/echo");
    assert!(reply.body.contains("Hello"), "{reply:?}");
    gateway.wait_for("duration_ms");
    let line: serde_json::Value = serde_json::from_str(gateway.stderr.trim()).unwrap();
    assert_eq!((&line["key"], &line["status"]), (&"client".into(), &200.into()), "{line}");
    assert!(!gateway.stderr.contains("Hello") && !gateway.stderr.contains("al-client"), "{line}");
}
