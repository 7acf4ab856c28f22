//! The rows of calls that are repeated, or whose client leaves, over real sockets.

use std::time::Duration;

use agentloop::{Config, Protocol};
use agentloop_gateway::{Accounts, Gateway, LedgerRow, Outcome, RowFilter, Store};
use agentloop_sim::Simulator;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::common::{
    KEY, Records, Reply, Stage, TestStore, chat, gateway_with, post, read_request, send,
};
use crate::servers::patience::PATIENCE;

/// A millionth of a dollar for each token.
const PRICES: &str = "
[[models.'chat/echo'.prices]]
per_million = { input = '1', output = '1' }
[[models.'claude/echo'.prices]]
per_million = { input = '1', output = '1' }
";

/// A route that drains.
const DRAINS: &str = "[gateway.routes.left]\nmodels = ['chat/echo']\ndrain = 20\n";

async fn rows_of(gateway: &Gateway, store: &TestStore) -> Vec<LedgerRow> {
    assert!(gateway.accounts().close(PATIENCE).await);
    store.rows(&RowFilter::default(), None).await.unwrap()
}

#[tokio::test]
async fn every_attempt_of_a_request_has_its_own_row() {
    for name in ["chat", "claude"] {
        // Refused, then cut off before the first content, then served.
        let faults = "status=503 | cut-events=0".parse().unwrap();
        let simulator = Simulator::new().with_faults(faults);
        let store = TestStore::new();
        let settings = format!("[gateway]\nretries = 2\n{PRICES}");
        let stage = Stage::with_store(simulator, &settings, store.shared()).await;
        let (path, mut body) = chat(Protocol::OpenAiChat, &format!("{name}/echo"), true);
        body["max_tokens"] = 50.into();
        let reply = stage.post(&path, &body).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.text());
        assert_eq!(stage.records.wait(1).await[0].attempts, 3, "{name}");
        let mut rows = rows_of(&stage.gateway, &store).await;
        rows.sort_by_key(|row| row.estimated);
        let [served, cut] = &rows[..] else { panic!("{name}: {rows:?}") };
        assert_eq!((served.outcome, served.estimated), (Outcome::Complete, false), "{name}");
        assert_eq!((cut.outcome, cut.estimated), (Outcome::Failed, true), "{name}");
        assert_eq!(served.request, cut.request, "{name}");
        // The response that was cut off is on the bill as a whole.
        let bill = stage.simulator.ledger();
        assert_eq!(served.prompt_tokens * 2, bill.prompt_tokens, "{name}");
        assert_eq!(served.completion_tokens * 2, bill.completion_tokens, "{name}");
        assert!(cut.usd.unwrap() <= cut.reserved, "{name}");
    }
}

/// Found by comparing a provider's bill with the ledger: a request on a reused connection that was read and then reset was sent
/// again by the transport, and both were on the bill.
#[tokio::test]
async fn a_call_whose_connection_closes_without_a_response_has_a_row_before_it_is_repeated() {
    let upstream = Upstream::start().await;
    let (stage, store) = upstream.gateway("").await;
    let server = tokio::spawn(async move {
        let mut first = upstream.accept().await;
        read_request(&mut first).await.unwrap();
        answer(&mut first, 7, 5).await;
        // Read, but without a single byte of a response.
        read_request(&mut first).await.unwrap();
        drop(first);
        let mut second = upstream.accept().await;
        read_request(&mut second).await.unwrap();
        answer(&mut second, 7, 5).await;
    });
    for _ in 0..2 {
        assert_eq!(Reply::read(stage.open("chat/echo", false).await).await.status, 200);
    }
    server.await.unwrap();
    let rows = rows_of(&stage.gateway, &store).await;
    assert_eq!(rows.len(), 3, "{rows:?}");
    let exact = rows.iter().filter(|row| !row.estimated);
    let tokens: Vec<_> = exact.map(|row| (row.prompt_tokens, row.completion_tokens)).collect();
    assert_eq!(tokens, [(7, 5), (7, 5)]);
    let failed = rows.iter().find(|row| row.estimated).unwrap();
    assert_eq!(failed.outcome, Outcome::Failed);
}

#[tokio::test]
async fn a_route_that_drains_reads_the_usage_of_a_stream_whose_client_has_left() {
    let (stage, store, left, server) = left_alone().await;
    left.send(()).unwrap();
    server.await.unwrap();
    let record = stage.records.wait(1).await.remove(0);
    assert!(record.is_cancelled && record.is_complete, "{record:?}");
    let rows = rows_of(&stage.gateway, &store).await;
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.outcome, row.estimated), (Outcome::Complete, false));
    assert_eq!((row.prompt_tokens, row.completion_tokens), (7, 21));
}

/// What is drained has no connection of a client, so the server does not wait for it.
#[tokio::test]
async fn a_gateway_that_stops_waits_for_responses_that_are_drained() {
    let (stage, store, left, server) = left_alone().await;
    stage.server.shutdown(PATIENCE).await;
    left.send(()).unwrap();
    let rows = rows_of(&stage.gateway, &store).await;
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.outcome, row.estimated), (Outcome::Complete, false));
    server.await.unwrap();
}

/// Opens a stream of a route that drains, and leaves. The rest of the stream is sent after a message.
async fn left_alone() -> (Front, TestStore, oneshot::Sender<()>, JoinHandle<()>) {
    let upstream = Upstream::start().await;
    let (stage, store) = upstream.gateway(DRAINS).await;
    let (left, has_left) = oneshot::channel::<()>();
    let server = tokio::spawn(upstream.stream(has_left));
    let mut response = stage.open("left", true).await;
    assert!(response.body_mut().next().await.is_some());
    (stage, store, left, server)
}

/// A provider whose connections the test controls.
struct Upstream(TcpListener);

/// A gateway in front of it.
struct Front {
    gateway: Gateway,
    records: Records,
    url: String,
    server: agentloop_gateway::Server,
}

impl Upstream {
    async fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    async fn accept(&self) -> TcpStream {
        self.0.accept().await.unwrap().0
    }

    /// Sends a stream with 21 words, all but the first after the client has left.
    async fn stream(self, has_left: oneshot::Receiver<()>) {
        let mut stream = self.accept().await;
        read_request(&mut stream).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let word = json!({ "id": "1", "model": "m", "choices": [{ "index": 0, "delta": { "content": "word " } }] });
        let word = format!("data: {word}\n\n");
        stream.write_all(word.as_bytes()).await.unwrap();
        has_left.await.unwrap();
        // The gateway needs a moment to see that the client has left.
        for _ in 0..20 {
            stream.write_all(word.as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let end = json!({ "id": "1", "model": "m", "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 7, "completion_tokens": 21, "total_tokens": 28 } });
        let end = format!("data: {end}\n\ndata: [DONE]\n\n");
        stream.write_all(end.as_bytes()).await.unwrap();
    }

    async fn gateway(&self, settings: &str) -> (Front, TestStore) {
        let store = TestStore::new();
        let settings = format!("{settings}{PRICES}");
        let config = Config::parse(&format!("[gateway]\n{settings}")).unwrap().gateway.unwrap();
        let accounts = Accounts::open(store.shared(), None, &config).await.unwrap();
        let address = self.0.local_addr().unwrap().to_string();
        let (gateway, server, records) = gateway_with(&address, &settings, accounts).await;
        let url = format!("http://{}", server.address());
        (Front { gateway, records, url, server }, store)
    }
}

impl Front {
    async fn open(&self, model: &str, stream: bool) -> http::Response<agentloop::transport::Body> {
        let (path, body) = chat(Protocol::OpenAiChat, model, stream);
        send(post(&format!("{}{path}", self.url), KEY), body.to_string()).await
    }
}

/// Sends a response with its usage, and keeps the connection open.
async fn answer(stream: &mut TcpStream, prompt: u64, completion: u64) {
    let body = json!({ "id": "1", "object": "chat.completion", "model": "m",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Hello" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion } });
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
}
