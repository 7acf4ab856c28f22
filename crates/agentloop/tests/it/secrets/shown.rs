//! Debug output of values that contain keys.

use agentloop::agent::mcp::McpServer;
use agentloop::middleware::{RedisLimits, RedisStore};
use agentloop::provider::Auth;
use agentloop::transport::HttpTransport;
use agentloop::{AgentLoop, ChatRequest, Config, EmbedRequest, Provider, inspect};

use crate::secrets::echo::{Echo, Manner};
use crate::secrets::{assert_silent, hush};

/// A provider with a secret wherever one fits.
fn row() -> Provider {
    let address = format!(
        "https://{}:{}@lab.test/v1?api-key={}",
        hush("user"),
        hush("password"),
        hush("query")
    );
    Provider::openai_compatible("lab", address)
        .auth(Auth::Bearer)
        .key(hush("builder"))
        .header("x-lab-token", hush("row-header"))
}

fn request() -> ChatRequest {
    ChatRequest::new("lab/m").user("Hi").header("x-my-secret", hush("extra-header"))
}

#[test]
fn a_provider_and_a_client_show_no_key() {
    let builder = AgentLoop::builder().provider(row()).env("LAB_KEY", hush("environment"));
    assert_silent("a row", &format!("{:?} {:#?}", row(), row()));
    assert_silent("a builder", &format!("{builder:?}"));
    let ai = builder.build().unwrap();
    assert_silent("a client", &format!("{ai:?} {ai:#?}"));
    let target = ai.resolve("lab/m").unwrap();
    assert_silent("a target", &format!("{target:?}"));
    let encoded = inspect::encode(&ai, &request(), true).unwrap();
    let json = serde_json::to_string(&encoded).unwrap();
    assert_silent("an encoded request", &format!("{encoded:?} {json}"));
}

#[test]
fn a_request_shows_no_header_with_a_secret_name() {
    assert_silent("a chat", &format!("{:?}", request()));
    let mut embed = EmbedRequest::new("lab/m", "Hi");
    embed.extra_headers.insert("X-Api-Token".to_owned(), hush("extra-header"));
    assert_silent("an embedding", &format!("{embed:?}"));
    // The stored form is complete.
    let json = serde_json::to_string(&request()).unwrap();
    assert_eq!(serde_json::from_str::<ChatRequest>(&json).unwrap(), request());
}

#[test]
fn a_configuration_and_its_errors_show_no_key() {
    let text = format!(
        "[providers.lab]\nbase_url = \"https://u:{}@lab.test/v1?token={}\"\nheaders = {{ x-key = \"{}\" }}\n\
         [cache]\nredis = \"redis://u:{}@127.0.0.1:1/0\"\n",
        hush("password"),
        hush("query"),
        hush("row-header"),
        hush("redis")
    );
    let config = Config::parse(&text).unwrap();
    assert_silent("a configuration", &format!("{config:?} {config:#?}"));
    // A provider with a key in its settings, and invalid URLs.
    for text in [
        format!("[providers.lab]\nbase_url = \"https://lab.test\"\nkey = \"{}\"\n", hush("file")),
        format!("[cache]\nredis = \"rediss://u:{}@h:1/0\"\n", hush("redis")),
        format!("[limits]\nredis = \"redis://u:{}@h:x/0\"\n", hush("redis")),
        format!("[providers.lab]\nbase_url = \"u:{}@lab.test\"\n", hush("password")),
        format!(
            "[providers.lab]\nbase_url = \"https://lab.test\"\nheaders = {{ k = \"{}\\n\" }}\n",
            hush("row-header")
        ),
        format!("[providers.lab]\nkey_env = \"{}\nx", hush("broken")),
    ] {
        let error = match Config::parse(&text) {
            Err(error) => error,
            Ok(config) => match AgentLoop::builder().config(&config).build() {
                Err(error) => error,
                Ok(ai) => {
                    inspect::encode(&ai, &ChatRequest::new("lab/m").user("Hi"), false).unwrap_err()
                }
            },
        };
        assert_silent(&text, &format!("{error} {error:?}"));
    }
}

#[test]
fn a_transport_shows_no_password_of_its_proxy() {
    let proxy = format!("http://me:{}@proxy.test:8080", hush("proxy"));
    let builder = HttpTransport::builder().proxy(&proxy);
    assert_silent("a builder", &format!("{builder:?}"));
    assert_silent("a transport", &format!("{:?}", builder.build().unwrap()));
    let wrong = format!("gopher://me:{}@proxy.test", hush("proxy"));
    let error = HttpTransport::builder().proxy(wrong).build().unwrap_err();
    assert_silent("an error", &format!("{error} {error:?}"));
}

#[test]
fn a_store_shows_no_password_of_its_redis() {
    let address = format!("redis://u:{}@127.0.0.1:1/0", hush("redis"));
    assert_silent("a store", &format!("{:?}", RedisStore::new(&address).unwrap()));
    assert_silent("limits", &format!("{:?}", RedisLimits::new(&address).unwrap()));
}

#[tokio::test]
async fn a_server_of_tools_shows_no_key() {
    let address = format!("http://u:{}@127.0.0.1:1/mcp?key={}", hush("password"), hush("query"));
    let server = McpServer::http(&address).header("authorization", hush("mcp-header"));
    assert_silent("an address", &format!("{server:?} {server:#?}"));
    let error = server.connect().await.unwrap_err();
    assert_silent("an error", &format!("{error} {error:?}"));
    // A server that repeats everything.
    let echo = Echo::start(Manner::Status(401)).await;
    let address = format!("http://{}/mcp?key={}", echo.address, hush("query"));
    let server = McpServer::http(address).header("authorization", hush("mcp-header"));
    let error = server.connect().await.unwrap_err();
    assert_silent("an echo", &format!("{error} {error:?}"));
    assert!(echo.heads.lock().unwrap().concat().contains(&hush("mcp-header")));
    let program = McpServer::stdio("/nowhere/at/all").env("KEY", hush("mcp-env"));
    assert_silent("a program", &format!("{program:?}"));
    let error = program.connect().await.unwrap_err();
    assert_silent("an error", &format!("{error} {error:?}"));
}
