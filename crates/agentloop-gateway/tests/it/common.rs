//! A gateway in front of a simulated provider of every protocol.

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::transport::{Body, HttpTransport, SendOptions, Transport};
use agentloop::{AgentLoop, Config, Protocol, Provider};
use agentloop_gateway::{
    Accounts, Gateway, KeyRing, Record, Recorder, Server, SqliteStore, State, Store,
};
use agentloop_sim::Simulator;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::servers::folder::Folder;
use crate::servers::patience::until;

/// The key of the client.
pub(crate) const KEY: &str = "al-test-key";

/// The names of the providers, one per protocol.
pub(crate) const UPSTREAMS: [(&str, Protocol); 7] = [
    ("chat", Protocol::OpenAiChat),
    ("responses", Protocol::OpenAiResponses),
    ("claude", Protocol::Anthropic),
    ("gemini", Protocol::Gemini),
    ("ollama", Protocol::Ollama),
    ("cohere", Protocol::Cohere),
    ("interactions", Protocol::GeminiInteractions),
];

/// The APIs that the gateway offers to clients, with the provider that has the same API.
pub(crate) const CLIENTS: [(&str, Protocol); 4] = [
    ("chat", Protocol::OpenAiChat),
    ("responses", Protocol::OpenAiResponses),
    ("claude", Protocol::Anthropic),
    ("gemini", Protocol::Gemini),
];

/// Returns every provider with every API of clients: its name, its protocol and that of the client.
pub(crate) fn pairs() -> impl Iterator<Item = (&'static str, Protocol, Protocol)> {
    let of = |(name, upstream)| CLIENTS.map(move |(_, client)| (name, upstream, client));
    UPSTREAMS.into_iter().flat_map(of)
}

/// A store that ends with the test.
#[derive(Debug)]
pub(crate) struct TestStore {
    store: Arc<SqliteStore>,
    /// Removed after the store is closed.
    _folder: Folder,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        let store = Arc::new(SqliteStore::open(folder.join("gateway.db")).unwrap());
        Self { store, _folder: folder }
    }

    pub(crate) fn shared(&self) -> Arc<dyn Store> {
        self.store.clone()
    }
}

impl Deref for TestStore {
    type Target = SqliteStore;

    fn deref(&self) -> &SqliteStore {
        &self.store
    }
}

/// A gateway in front of a simulator.
pub(crate) struct Stage {
    pub(crate) simulator: Simulator,
    pub(crate) gateway: Gateway,
    pub(crate) url: String,
    pub(crate) records: Records,
    pub(crate) server: Server,
    upstream: agentloop_sim::Server,
}

/// The records of finished requests, in a short form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records(Arc<Mutex<Vec<Seen>>>);

/// What a test needs to know of a record.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) is_relayed: bool,
    pub(crate) is_complete: bool,
    pub(crate) is_cancelled: bool,
    pub(crate) attempts: u32,
    pub(crate) served: Option<String>,
    pub(crate) completion: Option<u64>,
    pub(crate) received: usize,
}

impl Recorder for Records {
    fn record(&self, record: &Record, _: Duration) {
        self.0.lock().unwrap().push(Seen {
            status: record.status.as_u16(),
            is_relayed: record.is_relayed,
            is_complete: record.is_complete,
            is_cancelled: record.is_cancelled,
            attempts: record.attempts,
            served: record.served.clone(),
            completion: record.usage.as_ref().and_then(|usage| usage.completion_tokens),
            received: record.received,
        });
    }
}

impl Records {
    /// Waits for the record of a request.
    pub(crate) async fn wait(&self, count: usize) -> Vec<Seen> {
        until(&format!("{count} records"), async || self.0.lock().unwrap().len() >= count).await;
        self.0.lock().unwrap().clone()
    }
}

/// Returns the provider of a protocol at an address.
pub(crate) fn upstream(name: &str, protocol: Protocol, address: &str) -> Provider {
    let version = match protocol {
        Protocol::Gemini | Protocol::GeminiInteractions => "v1beta",
        Protocol::Cohere => "v2",
        _ => "v1",
    };
    Provider::compatible(protocol, name.to_owned(), format!("http://{address}/{version}"))
}

/// Returns the configuration of settings, which begin with those of the key.
fn read(settings: &str) -> Config {
    Config::parse(&format!("[gateway.keys.test]\nkey_env='TEST'\n{settings}")).unwrap()
}

/// Returns the state of settings in front of an upstream at `address`.
fn state_at(address: &str, settings: &str) -> State {
    let config = read(settings);
    let mut builder = AgentLoop::builder().config(&config);
    for (name, protocol) in UPSTREAMS {
        builder = builder.provider(upstream(name, protocol, address));
    }
    // It has two protocols, each for some of its models.
    let vertex = Provider::vertex().base_url(format!("http://{address}/v1/publishers/google"));
    let client = builder.provider(vertex.key("token")).build().unwrap();
    let state = State::new(&client, &config.gateway.unwrap(), KeyRing::default(), &|name| {
        Some(if name == "TEST" { KEY.to_owned() } else { format!("sk-{name}") })
    });
    state.unwrap()
}

/// Starts a gateway with settings in front of an upstream at `address`.
pub(crate) async fn gateway_at(address: &str, settings: &str) -> (Gateway, Server, Records) {
    gateway_with(address, settings, Accounts::in_memory()).await
}

pub(crate) async fn gateway_with(
    address: &str,
    settings: &str,
    accounts: Accounts,
) -> (Gateway, Server, Records) {
    let state = state_at(address, settings);
    let records = Records::default();
    let recorders: Vec<Arc<dyn Recorder>> = vec![Arc::new(records.clone())];
    let gateway = Gateway::with_accounts(state, recorders, accounts);
    let server = gateway.listen("127.0.0.1:0").await.unwrap();
    (gateway, server, records)
}

impl Stage {
    pub(crate) async fn start(simulator: Simulator) -> Self {
        Self::with(simulator, "").await
    }

    pub(crate) async fn with(simulator: Simulator, settings: &str) -> Self {
        Self::with_accounts(simulator, settings, Accounts::in_memory()).await
    }

    /// Starts a gateway that keeps its keys and its ledger in a store.
    pub(crate) async fn with_store(
        simulator: Simulator,
        settings: &str,
        store: Arc<dyn Store>,
    ) -> Self {
        let config = read(settings).gateway.unwrap();
        let accounts = Accounts::open(store, None, &config).await.unwrap();
        Self::with_accounts(simulator, settings, accounts).await
    }

    async fn with_accounts(simulator: Simulator, settings: &str, accounts: Accounts) -> Self {
        let upstream = simulator.clone().serve("127.0.0.1:0").await.unwrap();
        let address = upstream.address().to_string();
        let (gateway, server, records) = gateway_with(&address, settings, accounts).await;
        let url = format!("http://{}", server.address());
        Self { simulator, gateway, url, records, server, upstream }
    }

    /// Returns the state of other settings, for a reload.
    pub(crate) fn state(&self, settings: &str) -> State {
        state_at(&self.upstream.address().to_string(), settings)
    }

    /// Returns a client of the library that speaks one API to the gateway.
    pub(crate) fn client(&self, protocol: Protocol) -> AgentLoop {
        let address = self.url.trim_start_matches("http://");
        let provider = upstream("gw", protocol, address).key(KEY);
        AgentLoop::builder().provider(provider).build().unwrap()
    }

    /// Returns a client of the library that calls the provider of a protocol without the gateway.
    pub(crate) fn direct(&self, protocol: Protocol) -> AgentLoop {
        let provider = upstream("gw", protocol, &self.upstream.address().to_string());
        AgentLoop::builder().provider(provider).build().unwrap()
    }

    /// Sends a request with the key.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_as(KEY, path, body).await
    }

    /// Sends a request with a key.
    pub(crate) async fn post_as(&self, key: &str, path: &str, body: &Value) -> Reply {
        self.send(post(&self.at(path), key), body.to_string()).await
    }

    /// Sends a GET request without a key.
    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(Request::get(self.at(path)), "").await
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) async fn send(
        &self,
        request: http::request::Builder,
        body: impl Into<Bytes>,
    ) -> Reply {
        Reply::read(send(request, body).await).await
    }

    /// Opens a stream without reading it.
    pub(crate) async fn open(&self, path: &str, body: &Value) -> Response<Body> {
        send(post(&self.at(path), KEY), body.to_string()).await
    }
}

/// Prepares a request with a key.
pub(crate) fn post(url: &str, key: &str) -> http::request::Builder {
    Request::post(url).header("authorization", format!("Bearer {key}"))
}

/// Sends a request, and returns the response without its body.
pub(crate) async fn send(
    request: http::request::Builder,
    body: impl Into<Bytes>,
) -> Response<Body> {
    let request = request.body(body.into()).unwrap();
    HttpTransport::new().send(request, SendOptions::default()).await.unwrap()
}

/// Reads a request with a body, if there is another one on the connection.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if read.len() >= head.len() + 4 + length.unwrap().trim().parse::<usize>().unwrap() {
                return Some(text.into_owned());
            }
        }
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) async fn read(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect(64 << 20).await.unwrap();
        Self { status: head.status.as_u16(), headers: head.headers, body }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Returns a chat request of an API: its path and its body.
pub(crate) fn chat(protocol: Protocol, model: &str, stream: bool) -> (String, Value) {
    match protocol {
        Protocol::OpenAiChat => (
            "/v1/chat/completions".to_owned(),
            json!({ "model": model, "stream": stream, "messages": [{ "role": "user", "content": "Hello there" }] }),
        ),
        Protocol::OpenAiResponses => (
            "/v1/responses".to_owned(),
            json!({ "model": model, "stream": stream, "input": "Hello there", "store": false }),
        ),
        Protocol::Anthropic => (
            "/v1/messages".to_owned(),
            json!({ "model": model, "stream": stream, "max_tokens": 500,
                    "messages": [{ "role": "user", "content": "Hello there" }] }),
        ),
        _ => {
            let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            (
                format!(
                    "/v1beta/models/{}:{method}",
                    model.replace('!', "%21").replace(';', "%3B")
                ),
                json!({ "contents": [{ "role": "user", "parts": [{ "text": "Hello there" }] }] }),
            )
        }
    }
}

/// Returns whether a stream has the end that its API requires.
pub(crate) fn has_end(protocol: Protocol, stream: &str) -> bool {
    match protocol {
        Protocol::OpenAiChat => stream.ends_with("data: [DONE]\n\n"),
        Protocol::OpenAiResponses => {
            stream.contains("event: response.completed")
                || stream.contains("event: response.incomplete")
        }
        Protocol::Anthropic => stream.contains("event: message_stop"),
        _ => stream.contains("\"finishReason\"") || stream.contains("\"blockReason\""),
    }
}

/// Returns whether a stream reports an error as its API does.
pub(crate) fn has_error(protocol: Protocol, stream: &str) -> bool {
    match protocol {
        Protocol::OpenAiResponses => {
            stream.contains("event: response.failed") || stream.contains("event: error")
        }
        Protocol::Anthropic => stream.contains("event: error"),
        _ => stream.contains("data: {\"error\":"),
    }
}
