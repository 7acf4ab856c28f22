//! Settings that are rejected.

use agentloop::agent::mcp::McpServer;
use agentloop::{ErrorKind, Secret};

#[tokio::test]
async fn a_setting_that_does_not_apply_to_a_server_is_an_error() {
    let url = "http://127.0.0.1:1/mcp";
    let servers = [
        McpServer::http(url).arg("--verbose"),
        McpServer::http(url).env("TOKEN", "t0"),
        McpServer::http(url).folder("/"),
        McpServer::stdio("server").header("x-key", "k"),
        McpServer::stdio("server").bearer("t0"),
        McpServer::http(url).header("not a header", "k"),
        McpServer::http(url).header("x-key", "two\nlines"),
    ];
    for server in servers {
        let shown = format!("{server:?}");
        let error = server.connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{shown}");
    }
}

#[test]
fn a_line_is_parsed_as_a_url_or_a_command() {
    let shown = |text: &str| format!("{:?}", McpServer::parse(text).unwrap());
    assert!(shown(" https://example.com/mcp ").contains("url: \"https://example.com/mcp\""));
    let command = shown("npx -y 'my server'");
    assert!(command.contains("\"npx\"") && command.contains("\"my server\""), "{command}");
    for text in ["", "  ", "''", "npx 'unfinished"] {
        assert_eq!(McpServer::parse(text).unwrap_err().kind(), ErrorKind::Config, "{text}");
    }
}

#[test]
fn secrets_are_not_part_of_the_debug_output() {
    let server = McpServer::stdio("server").env("TOKEN", Secret::new("t0p"));
    assert!(!format!("{server:?}").contains("t0p"));
    let server = McpServer::http("http://127.0.0.1").bearer("t0p");
    assert!(!format!("{server:?}").contains("t0p"));
}
