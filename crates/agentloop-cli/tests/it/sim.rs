//! `agentloop sim`: the simulated model over HTTP.
#![cfg(unix)]

use crate::common;

use common::agentloop;
use common::folder::Folder;
use common::sim::Server;
use serde_json::json;

#[test]
fn the_simulator_serves_http_until_it_is_interrupted() {
    let server = Server::start(&[]);
    server.chat("echo", &[]).exits(0).shows("Hello");
    assert_eq!(server.interrupt(), Some(0));
}

#[test]
fn the_name_of_the_model_selects_a_fault() {
    let server = Server::start(&[]);
    let run = server.chat("echo!status=429;retry-after=2", &["--json"]);
    let error = run.error();
    assert_eq!((&error["status"], &error["retryAfterMs"]), (&429.into(), &2000.into()), "{run}");
    assert_eq!(server.chat("length", &[]).code, Some(1));
}

#[test]
fn the_error_for_a_used_port_names_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = agentloop(["sim", "--port", &port]).run().exits(2);
    assert!(run.stderr.contains(&port) && run.stderr.contains("--port 0"), "{run}");
}

#[test]
fn a_script_sets_the_responses_of_the_model() {
    let script = json!({ "turns": [{ "parts": [{ "type": "text", "text": "As scripted." }] }] });
    let server = Server::scripted(&Folder::with([]), &script);
    server.chat("anything", &[]).prints("As scripted.\n");
    agentloop(["sim", "--port", "0", "--script", "nowhere.json"]).run().fails(2, "nowhere.json");
}
