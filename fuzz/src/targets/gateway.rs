//! A gateway: requests of clients in front of a simulator of every protocol, requests of its operator, its configuration, and what it
//! has stored.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{AgentLoop, BoxFuture, Config, ErrorKind, Protocol, Result};
use agentloop_gateway::{
    Accounts, Gateway, KeyRecord, KeyRing, LedgerRow, SqliteStore, State, Store, TeamRecord,
    internal,
};
use agentloop_sim::{SimTransport, Simulator};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;

use super::laws::{Nowhere, run};
use crate::seeds::{checksum, fixtures, input, parts};

/// The key of the client.
const KEY: &str = "al-fuzz-key";

/// What stands in a request for the name of the provider.
pub(crate) const PROVIDER: &str = "upstream";

/// The providers of the gateway: one for each protocol.
pub(crate) const PROVIDERS: [(&str, Protocol); 7] = [
    ("chat", Protocol::OpenAiChat),
    ("responses", Protocol::OpenAiResponses),
    ("claude", Protocol::Anthropic),
    ("gemini", Protocol::Gemini),
    ("ollama", Protocol::Ollama),
    ("cohere", Protocol::Cohere),
    ("interactions", Protocol::GeminiInteractions),
];

/// The calls of clients: the path, and a body.
pub(crate) const CALLS: [(&str, &str); 14] = [
    (
        "/v1/chat/completions",
        r#"{"model":"upstream/echo","stream":true,"metadata":{"a":"b"},"user":"u","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"Hello"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}}],"max_tokens":5,"stop":["x"],"logit_bias":{"1":1}}"#,
    ),
    (
        "/v1/responses",
        r#"{"model":"upstream/echo","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}],"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}],"instructions":"i","previous_response_id":null}"#,
    ),
    (
        "/v1/messages",
        r#"{"model":"upstream/echo","max_tokens":5,"stream":true,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"c","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"1"}]}]}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}]}"#,
    ),
    (
        "/v1beta/models/upstream%2Fecho:streamGenerateContent?alt=sse",
        r#"{"contents":[{"role":"user","parts":[{"text":"Hello"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"b":2}}}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"INTEGER"}}}}]}],"systemInstruction":{"parts":[{"text":"s"}]},"generationConfig":{"stopSequences":["x"],"responseSchema":{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}}}"#,
    ),
    (
        "/v1/messages/count_tokens",
        r#"{"model":"upstream/echo","messages":[{"role":"user","content":"Hello"}]}"#,
    ),
    ("/v1/responses/input_tokens", r#"{"model":"upstream/echo","input":"Hello"}"#),
    (
        "/v1beta/models/upstream%2Fecho:countTokens",
        r#"{"contents":[{"parts":[{"text":"Hello"}]}],"generateContentRequest":{"contents":[]}}"#,
    ),
    ("/v1/embeddings", r#"{"model":"upstream/echo","input":["one","two"],"dimensions":3}"#),
    (
        "/v1beta/models/upstream%2Fecho:batchEmbedContents",
        r#"{"requests":[{"model":"models/m","content":{"parts":[{"text":"one"}]}}]}"#,
    ),
    ("/v1/images/generations", r#"{"model":"upstream/echo","prompt":"a","n":1}"#),
    ("/v1/audio/speech", r#"{"model":"upstream/echo","input":"a","voice":"v"}"#),
    ("/v1/rerank", r#"{"model":"upstream/echo","query":"a","documents":["b",{"text":"c"}]}"#),
    ("/v1/moderations", r#"{"model":"upstream/echo","input":["a"]}"#),
    ("/v1/models", ""),
];

/// A plain chat in every API of clients.
const PLAIN: [(&str, &str); 4] = [
    (
        "/v1/chat/completions",
        r#"{"model":"upstream/m","messages":[{"role":"user","content":"Hello"}]}"#,
    ),
    ("/v1/responses", r#"{"model":"upstream/m","input":"Hello"}"#),
    (
        "/v1/messages",
        r#"{"model":"upstream/m","max_tokens":5,"messages":[{"role":"user","content":"Hello"}]}"#,
    ),
    (
        "/v1beta/models/upstream%2Fm:generateContent",
        r#"{"contents":[{"parts":[{"text":"Hello"}]}]}"#,
    ),
];

/// The calls of the operator that have a body, each with one.
pub(crate) const OPERATOR: [(&str, &str, &str); 3] = [
    (
        "POST",
        "/api/keys",
        r#"{"name":"k","team":"t","models":["openai/*"],"tags":["a"],"requestsPerMinute":5,"budgets":["1.50/day"],"expires":"2099-01-01"}"#,
    ),
    ("PATCH", "/api/keys/k", r#"{"models":["openai/*"],"budgets":["1.50/day"]}"#),
    ("PUT", "/api/teams/t", r#"{"budgets":["1.50/day"],"tokensPerMinute":5}"#),
];

/// Queries of the operator.
pub(crate) const QUERIES: [&str; 5] = [
    "/api/overview?since=24h",
    "/api/usage?since=7d&until=2026-11-15&by=model&key=k&team=t&provider=p&tag=a",
    "/api/rows?since=90m&format=csv",
    "/api/keys?all=true",
    "/api/teams/t%2Fx",
];

pub(crate) const ROW: &str = r#"{"id":"i","time_ms":1,"key":"k","team":"t","tags":["a"],"model":"m","provider":"p","outcome":"complete","prompt_tokens":1,"completion_tokens":2,"cost_nanos":3}"#;
pub(crate) const KEYS: &str = r#"{"version":1,"keys":[{"name":"k","sha256":"00","team":"t","models":["openai/*"],"tags":["a"],"budgets":["1.50/day"]}],"teams":[{"name":"t","tokensPerMinute":5}],"sums":[]}"#;

const CONFIG: &str = r#"
[gateway]
listen = "127.0.0.1:4000"
keep_alive = 15
max_body_bytes = 1000000
[gateway.keys.team-a]
key_env = "KEY"
models = ["openai/*", "fast"]
requests_per_minute = 5
budget = "1.50/day"
[gateway.teams.t]
tokens_per_minute = 1000
[gateway.routes.fast]
models = ["groq/a", "openai/b"]
cache = { ttl = 3600, shared_by = "team" }
"#;

/// What responds to the gateway on this thread.
#[derive(Clone, Debug, Default)]
enum Upstream {
    /// Nothing: there is no connection.
    #[default]
    Dead,
    /// A simulator of the protocol.
    Simulated,
    /// These bytes, with their type.
    Given(Bytes, &'static str),
}

thread_local! {
    static UPSTREAM: RefCell<Upstream> = const { RefCell::new(Upstream::Dead) };
}

/// A provider of the gateway.
#[derive(Debug)]
struct Chosen(SimTransport);

impl Transport for Chosen {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        match UPSTREAM.with(|upstream| upstream.borrow().clone()) {
            Upstream::Dead => Nowhere.send(request, options),
            Upstream::Simulated => self.0.send(request, options),
            Upstream::Given(bytes, kind) => {
                let response = Response::builder().header(CONTENT_TYPE, kind);
                Box::pin(async { Ok(response.body(Body::whole(bytes)).unwrap()) })
            }
        }
    }
}

/// The gateway, and its simulator.
struct Front {
    gateway: Gateway,
    simulator: Simulator,
}

fn front() -> &'static Front {
    static FRONT: LazyLock<Front> = LazyLock::new(|| {
        let simulator = Simulator::new();
        let config = Config::parse("[gateway.keys.test]\nkey_env='TEST'\n").unwrap();
        let mut builder = AgentLoop::builder().transport(Nowhere).media_transport(Nowhere);
        for (name, protocol) in PROVIDERS {
            let mut provider = simulator.provider_named(name.to_owned(), protocol);
            let transport = SimTransport::new(simulator.clone(), protocol);
            provider.transport = Some(Arc::new(Chosen(transport)));
            builder = builder.provider(provider);
        }
        let client = builder.build().unwrap();
        let variable = |_: &str| Some(KEY.to_owned());
        let config = config.gateway.unwrap();
        let state = State::new(&client, &config, KeyRing::default(), &variable).unwrap();
        let gateway = Gateway::with_accounts(state, Vec::new(), Accounts::in_memory());
        let path = folder("store").join("gateway.db");
        let _ = std::fs::remove_file(&path);
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path).unwrap());
        gateway.connect_store(store);
        Front { gateway, simulator }
    });
    &FRONT
}

/// A folder of this process.
fn folder(name: &str) -> PathBuf {
    let id = std::process::id();
    let folder = std::env::temp_dir().join(format!("agentloop-fuzz-gateway-{name}-{id}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Sends a request of a client in front of simulators.
fn send_simulated(path: &str, body: &[u8]) -> Option<(u16, Bytes)> {
    UPSTREAM.set(Upstream::Simulated);
    let sent = send(path, body);
    UPSTREAM.set(Upstream::Dead);
    front().simulator.clear_requests();
    sent
}

/// Sends a plain request of every client API to a provider that responds with these bytes.
pub(crate) fn send_given(provider: &str, bytes: &[u8], stream: bool) {
    let kind = if stream { "text/event-stream" } else { "application/json" };
    for (path, body) in PLAIN {
        UPSTREAM.set(Upstream::Given(Bytes::copy_from_slice(bytes), kind));
        let mut path = path.replace(PROVIDER, provider);
        let mut body = body.replace(PROVIDER, provider);
        if stream {
            path = path.replace(":generateContent", ":streamGenerateContent?alt=sse");
            body = body.replacen('{', "{\"stream\":true,", 1);
        }
        drop(send(&path, body.as_bytes()));
    }
    UPSTREAM.set(Upstream::Dead);
}

/// Sends a request of a client and reads its response. Returns the status and the body.
pub(crate) fn send(path: &str, body: &[u8]) -> Option<(u16, Bytes)> {
    let method = if body.is_empty() { Method::GET } else { Method::POST };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {KEY}"))
        .header("content-type", "application/json")
        .body(Bytes::copy_from_slice(body))
        .ok()?;
    let front = front();
    Some(run(async { read(internal::respond(&front.gateway, request).await).await }))
}

/// Sends a request of the operator.
pub(crate) fn send_to_operator(method: &str, path: &str, body: &[u8]) -> Option<(u16, Bytes)> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Bytes::copy_from_slice(body))
        .ok()?;
    let front = front();
    // The database has a thread of its own, which a clock that does not wait would overtake.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let response = internal::respond_to_operator(&front.gateway, request);
    Some(runtime.block_on(async {
        let minute = Duration::from_secs(60);
        tokio::time::timeout(minute, async { read(response.await).await }).await.unwrap()
    }))
}

async fn read<B: http_body::Body<Data = Bytes> + Unpin>(response: Response<B>) -> (u16, Bytes) {
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        bytes.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new()));
    }
    // A gateway contains panics, and a target must not.
    assert!(status != 500 || !bytes.windows(14).any(|word| word == b"internal_error"), "a panic");
    (status, bytes.into())
}

/// The request with the name of a provider in place of [`PROVIDER`].
pub(crate) fn to_provider(bytes: &[u8], provider: &str) -> Vec<u8> {
    let mut rest = bytes;
    let mut named = Vec::with_capacity(bytes.len() + provider.len());
    while let Some(at) = rest.windows(PROVIDER.len()).position(|part| part == PROVIDER.as_bytes()) {
        named.extend_from_slice(&rest[..at]);
        named.extend_from_slice(provider.as_bytes());
        rest = &rest[at + PROVIDER.len()..];
    }
    named.extend_from_slice(rest);
    named
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let providers = 0..u8::try_from(PROVIDERS.len()).unwrap();
    let of =
        |provider| (0u8..).zip(CALLS).map(move |(call, (_, body))| input(call, provider, body));
    providers.flat_map(of).collect()
}

pub(super) fn check(bytes: &[u8]) {
    let Some((call, provider, body)) = parts(bytes) else { return };
    let (path, _) = CALLS[usize::from(call) % CALLS.len()];
    let (provider, _) = PROVIDERS[usize::from(provider) % PROVIDERS.len()];
    let path = path.replace(PROVIDER, provider);
    let Some((status, body)) = send_simulated(&path, &to_provider(body, provider)) else { return };
    assert!((200..600).contains(&status));
    assert!(!body.is_empty(), "{path} returned nothing with {status}");
}

/// Responses of the provider of each protocol, complete and streamed.
pub(super) fn relay_seeds() -> Vec<Vec<u8>> {
    let of = |(at, (_, protocol)): (u8, (&str, Protocol))| {
        let read = move |(stream, bytes)| input(at, u8::from(stream), bytes);
        fixtures(protocol).into_iter().step_by(3).map(read)
    };
    (0u8..).zip(PROVIDERS).flat_map(of).collect()
}

/// Relays a response to a client of its own API and translates it for the others.
pub(super) fn check_relay(bytes: &[u8]) {
    let Some((provider, stream, body)) = parts(bytes) else { return };
    let (provider, _) = PROVIDERS[usize::from(provider) % PROVIDERS.len()];
    send_given(provider, body, stream & 1 == 1);
}

pub(super) fn operator_seeds() -> Vec<Vec<u8>> {
    let bodies = (0u8..).zip(OPERATOR).map(|(at, (_, _, body))| input(at, 0, body));
    bodies.chain(QUERIES.map(|query| input(0, 1, query))).collect()
}

pub(super) fn check_operator(bytes: &[u8]) {
    let Some((at, how, text)) = parts(bytes) else { return };
    let sent = if how & 1 == 0 {
        let (method, path, _) = OPERATOR[usize::from(at) % OPERATOR.len()];
        send_to_operator(method, path, text)
    } else {
        let path = String::from_utf8_lossy(text);
        send_to_operator("GET", &path, b"")
    };
    let Some((status, body)) = sent else { return };
    assert!(status < 500 || !body.is_empty(), "{status}");
    assert_ne!(status, 500, "{}", String::from_utf8_lossy(&body));
}

pub(crate) fn config_seeds() -> Vec<Vec<u8>> {
    vec![CONFIG.as_bytes().to_vec()]
}

pub(crate) fn check_config(bytes: &[u8]) {
    static CLIENT: LazyLock<AgentLoop> = LazyLock::new(|| {
        AgentLoop::builder().transport(Nowhere).media_transport(Nowhere).build().unwrap()
    });
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // A file that is named is read, whichever it is.
    if text.contains("_file") || text.contains("model_data") || text.contains('\\') {
        return;
    }
    let Ok(Config { gateway: Some(config), .. }) = Config::parse(text) else { return };
    let variable = |_: &str| Some(KEY.to_owned());
    if let Err(error) = State::new(&CLIENT, &config, KeyRing::default(), &variable) {
        assert!(!error.message().is_empty());
        assert_ne!(error.kind(), ErrorKind::Protocol);
    }
}

pub(crate) fn stored_seeds() -> Vec<Vec<u8>> {
    vec![input(0, 0, ROW), input(1, 0, ROW), input(2, 0, KEYS)]
}

pub(crate) fn check_stored(bytes: &[u8]) {
    let Some((how, _, bytes)) = parts(bytes) else { return };
    match how % 3 {
        0 => read_records(bytes),
        1 => read_journal(bytes),
        _ => read_keys(bytes),
    }
}

/// Reads records as they are in the database.
pub(crate) fn read_records(bytes: &[u8]) {
    if let Ok(row) = serde_json::from_slice::<LedgerRow>(bytes) {
        let stored = serde_json::to_string(&row).unwrap();
        assert_eq!(serde_json::from_str::<LedgerRow>(&stored).unwrap(), row);
    }
    drop(serde_json::from_slice::<KeyRecord>(bytes));
    drop(serde_json::from_slice::<TeamRecord>(bytes));
}

/// Reads a journal of which each line is a row, first of a reservation, then of a call that ended.
pub(crate) fn read_journal(bytes: &[u8]) {
    let folder = folder("journal");
    let mut text = Vec::new();
    for (number, row) in (0u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        let rest = match number % 2 {
            0 => [b" R ", row].concat(),
            _ => [format!(" S {number:016x} ").as_bytes(), row].concat(),
        };
        text.extend_from_slice(format!("{:08x}", checksum(&rest)).as_bytes());
        text.extend_from_slice(&rest);
        text.push(b'\n');
    }
    // What follows is damaged.
    text.extend_from_slice(bytes);
    std::fs::write(folder.join("journal-0000000001.log"), text).unwrap();
    internal::read_journal(&folder).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

/// Reads the copy of the keys.
pub(crate) fn read_keys(bytes: &[u8]) {
    let path = folder("keys").join("keys.json");
    std::fs::write(&path, bytes).unwrap();
    internal::is_copy_of_keys(&path);
}

#[test]
fn the_seeds_of_clients_and_operators_are_accepted() {
    for (path, body) in CALLS.iter().take(5) {
        let sent = to_provider(body.as_bytes(), "chat");
        let (status, body) = send_simulated(&path.replace(PROVIDER, "chat"), &sent).unwrap();
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
    }
    for (method, path, body) in OPERATOR {
        let body = body.replace("\"team\":\"t\",", "");
        let (status, body) = send_to_operator(method, path, body.as_bytes()).unwrap();
        assert!(status < 300 || status == 404, "{path}: {}", String::from_utf8_lossy(&body));
    }
    assert!(Config::parse(CONFIG).unwrap().gateway.is_some());
    let row: LedgerRow = serde_json::from_str(ROW).unwrap();
    assert_eq!(row.id, "i");
    let path = folder("seed").join("keys.json");
    std::fs::write(&path, KEYS).unwrap();
    assert!(internal::is_copy_of_keys(&path));
}
