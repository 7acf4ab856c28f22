//! Several gateways that share a PostgreSQL database.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use agentloop::{AgentLoop, Config, Protocol, Secret};
use agentloop_gateway::{
    Accounts, Gateway, KeyRecord, KeyRing, LedgerRow, Limits, PostgresStore, RowFilter, Server,
    State, Store, new_key,
};
use agentloop_sim::Simulator;
use http::Request;

use crate::common::{Reply, chat, post, send, upstream};
use crate::servers::folder::Folder;
use crate::servers::patience::{PATIENCE, until};
use crate::servers::postgres::PostgresServer;

/// A gateway of several.
pub(crate) struct Node {
    accounts: Accounts,
    server: Server,
    admin: Server,
    pub(crate) url: String,
    _folder: Arc<Folder>,
}

/// A price of a cent per token.
const PRICE: &str =
    "[[models.'chat/echo'.prices]]\nper_million = { input = '10000', output = '10000' }\n";

/// A database and a provider that gateways share.
pub(crate) struct Site {
    pub(crate) database: Secret,
    store: PostgresStore,
    pub(crate) simulator: Simulator,
    upstream: agentloop_sim::Server,
}

impl Site {
    pub(crate) async fn open(server: &PostgresServer) -> Self {
        let database = server.database();
        let store = PostgresStore::connect(&database).unwrap();
        let simulator = Simulator::new();
        let upstream = simulator.clone().serve("127.0.0.1:0").await.unwrap();
        Self { database, store, simulator, upstream }
    }

    /// Starts a gateway. Fails if another one has the folder.
    async fn start(&self, name: &str, folder: &Arc<Folder>) -> agentloop::Result<Node> {
        let text = format!("[gateway]\nnode = '{name}'\n[gateway.store]\nurl_env = 'DATABASE'\n");
        let config = Config::parse(&format!("{text}{PRICE}")).unwrap();
        let address = self.upstream.address().to_string();
        let provider = upstream("chat", Protocol::OpenAiChat, &address);
        let client = AgentLoop::builder().config(&config).provider(provider).build().unwrap();
        let settings = config.gateway.unwrap();
        let variable = |name: &str| Some(format!("sk-{name}"));
        let state = State::new(&client, &settings, KeyRing::default(), &variable).unwrap();
        let store: Arc<dyn Store> = Arc::new(PostgresStore::connect(&self.database).unwrap());
        let accounts = Accounts::open(store, Some(folder.path()), &settings).await?;
        let gateway = Gateway::with_accounts(state, Vec::new(), accounts.clone());
        let server = gateway.listen("127.0.0.1:0").await.unwrap();
        let admin = gateway.listen_admin("127.0.0.1:0", None).await.unwrap();
        let url = format!("http://{}", server.address());
        Ok(Node { accounts, server, admin, url, _folder: Arc::clone(folder) })
    }

    /// Starts three gateways, each with a folder of its own.
    pub(crate) async fn start_three(&self) -> Vec<Arc<Node>> {
        let mut nodes = Vec::new();
        for number in 1..=3 {
            let node = self.start(&format!("node-{number}"), &Arc::new(Folder::new())).await;
            nodes.push(Arc::new(node.unwrap()));
        }
        nodes
    }

    /// Creates a key with limits in the store.
    pub(crate) async fn create_key(&self, name: &str, limits: Limits) -> Secret {
        let (secret, sha256) = new_key().unwrap();
        let mut key = KeyRecord::default();
        (key.name, key.sha256, key.limits) = (name.to_owned(), sha256, limits);
        self.store.create_key(key).await.unwrap();
        secret
    }

    async fn rows(&self) -> Vec<LedgerRow> {
        self.store.rows(&RowFilter::default(), None).await.unwrap()
    }
}

/// Stops gateways, each with everything stored.
pub(crate) async fn stop_all(nodes: Vec<Arc<Node>>) {
    for node in nodes {
        assert!(Arc::into_inner(node).unwrap().stop().await, "everything is stored");
    }
}

impl Node {
    /// Shares limits and budgets with the others.
    #[cfg(feature = "redis")]
    pub(crate) async fn join(&self, redis: &str, database: &Secret) {
        let store: Arc<dyn Store> = Arc::new(PostgresStore::connect(database).unwrap());
        let settings = agentloop::GatewayRedis::default();
        self.accounts.join_redis(&Secret::new(redis), &settings, store).await.unwrap();
    }

    /// Sends a chat. Returns the status and the body of the response.
    pub(crate) async fn chat(&self, key: &Secret, is_stream: bool) -> (u16, String) {
        let (path, mut body) = chat(Protocol::OpenAiChat, "chat/echo", is_stream);
        body["max_tokens"] = 10.into();
        let request = post(&format!("{}{path}", self.url), key.expose());
        let reply = Reply::read(send(request, body.to_string()).await).await;
        (reply.status, reply.text().to_owned())
    }

    async fn status(&self, key: &Secret) -> u16 {
        self.chat(key, false).await.0
    }

    /// Returns the text of the readiness check.
    async fn readiness(&self) -> String {
        self.get(&format!("{}/health/ready", self.url)).await
    }

    /// Returns whether a decision was made without Redis.
    #[cfg(feature = "redis")]
    pub(crate) async fn was_alone(&self) -> bool {
        let metrics = self.get(&format!("http://{}/metrics", self.admin.address())).await;
        !metrics.contains("agentloop_redis_alone_total 0\n")
    }

    async fn get(&self, url: &str) -> String {
        Reply::read(send(Request::get(url), "").await).await.text().to_owned()
    }

    /// Stops as `agentloop serve` does. Returns whether everything is stored.
    pub(crate) async fn stop(self) -> bool {
        self.server.shutdown(PATIENCE).await;
        self.admin.shutdown(PATIENCE).await;
        self.accounts.close(PATIENCE).await
    }
}

#[tokio::test]
async fn a_revoked_key_stops_on_every_node() {
    let Some(server) = PostgresServer::shared() else { return };
    let site = Site::open(server).await;
    let nodes = site.start_three().await;
    // No node has seen it when it starts.
    let key = site.create_key("ci", Limits::default()).await;
    for node in &nodes {
        until("a new key works", async || node.status(&key).await == 200).await;
    }
    let other = site.create_key("other", Limits::default()).await;
    until("another key works", async || nodes[0].status(&other).await == 200).await;
    assert!(site.store.revoke_key("ci", 1).await.unwrap());
    for node in &nodes {
        until("a revoked key is refused", async || node.status(&key).await == 401).await;
    }
    assert_eq!(nodes[0].status(&other).await, 200, "the other key still works");

    stop_all(nodes).await;
    let rows = site.rows().await;
    let of: BTreeSet<&str> = rows.iter().map(|row| row.node.as_str()).collect();
    assert_eq!(of, BTreeSet::from(["node-1", "node-2", "node-3"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_stops_under_load_stops_no_request_and_loses_no_row() {
    let Some(mut server) = PostgresServer::start(&[]) else { return };
    let site = Site::open(&server).await;
    let key = site.create_key("ci", Limits::default()).await;
    let nodes = site.start_three().await;
    let (is_over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    for node in &nodes {
        until("the key is known", async || node.status(&key).await == 200).await;
        sent.fetch_add(1, Ordering::Relaxed);
    }
    let mut load = tokio::task::JoinSet::new();
    for number in 0..6 {
        let (node, key) = (Arc::clone(&nodes[number % nodes.len()]), key.clone());
        let (is_over, sent) = (Arc::clone(&is_over), Arc::clone(&sent));
        load.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let (status, body) = node.chat(&key, number % 2 == 0).await;
                assert_eq!(status, 200, "{body}");
                sent.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
    }
    let reaches = async |count: u32| {
        let target = sent.load(Ordering::Relaxed) + count;
        until("requests are served", async || sent.load(Ordering::Relaxed) >= target).await;
    };
    reaches(60).await;
    server.stop();
    reaches(60).await;
    for node in &nodes {
        until("it is reported", async || node.readiness().await.contains("degraded")).await;
    }
    server.resume();
    reaches(30).await;
    is_over.store(true, Ordering::Relaxed);
    while let Some(done) = load.join_next().await {
        done.unwrap();
    }
    for node in &nodes {
        until("it works again", async || !node.readiness().await.contains("degraded")).await;
    }
    stop_all(nodes).await;
    let rows = site.rows().await;
    let requests: BTreeSet<&str> = rows.iter().map(|row| row.request.as_str()).collect();
    let sent = sent.load(Ordering::Relaxed) as usize;
    assert_eq!((rows.len(), requests.len()), (sent, sent), "each request has one row");
    let bill = site.simulator.ledger();
    assert_eq!(bill.calls, sent as u64);
    let exact = rows.iter().filter(|row| !row.estimated);
    let tokens = exact.fold((0, 0), |(prompt, completion), row| {
        (prompt + row.prompt_tokens, completion + row.completion_tokens)
    });
    assert_eq!(tokens, (bill.prompt_tokens, bill.completion_tokens), "the sum of the bill");
}

#[tokio::test]
async fn a_node_that_starts_without_its_database_knows_its_keys() {
    let Some(mut server) = PostgresServer::start(&[]) else { return };
    let site = Site::open(&server).await;
    let key = site.create_key("ci", Limits::default()).await;
    let (known, new) = (Arc::new(Folder::new()), Arc::new(Folder::new()));
    let node = site.start("node-1", &known).await.unwrap();
    until("the key is known", async || node.status(&key).await == 200).await;
    assert!(node.stop().await);
    server.stop();

    let node = site.start("node-1", &known).await.unwrap();
    assert_eq!(node.status(&key).await, 200);
    let readiness = node.readiness().await;
    assert!(readiness.starts_with("ready\n") && readiness.contains("degraded"), "{readiness}");
    // A node that has never seen the database cannot know whether a key is right.
    let stranger = site.start("node-2", &new).await.unwrap();
    let (status, body) = stranger.chat(&key, false).await;
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("keys_unavailable"), "{body}");

    server.resume();
    until("the key is known", async || stranger.status(&key).await == 200).await;
    // What was served meanwhile is stored, also if the node is stopped at once.
    assert!(node.stop().await && stranger.stop().await);
    let rows = site.rows().await;
    assert_eq!(rows.len() as u64, site.simulator.ledger().calls);
    assert_eq!(rows.len(), 3);
}

#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_of_one_dollar_holds_for_64_callers_on_three_nodes() {
    let Some(server) = PostgresServer::shared() else { return };
    let Some(redis) = crate::servers::redis::RedisServer::start() else { return };
    let site = Site::open(server).await;
    let mut limits = Limits::default();
    limits.budgets = vec!["1/day".parse().unwrap()];
    let key = site.create_key("ci", limits).await;
    let nodes = site.start_three().await;
    for node in &nodes {
        node.join(&redis.url(), &site.database).await;
    }
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (node, key) = (Arc::clone(&nodes[number % nodes.len()]), key.clone());
        callers.spawn(async move {
            let mut served = 0_u32;
            let mut asked = 0;
            while asked < 3 {
                match node.chat(&key, number % 2 == 0).await {
                    (200, _) => served += 1,
                    (402, body) => assert!(body.contains("budget_exceeded"), "{body}"),
                    // What the other nodes use is not known yet, or Redis was too slow on a busy machine.
                    (503, body) if body.contains("limits_unavailable") => {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                    other => panic!("{other:?}"),
                }
                asked += 1;
            }
            served
        });
    }
    let mut served = 0;
    while let Some(count) = callers.join_next().await {
        served += count.unwrap();
    }
    stop_all(nodes).await;
    let rows = site.rows().await;
    assert!(served > 0 && rows.len() == served as usize, "{served} served, {} rows", rows.len());
    let spent: i128 = rows.iter().map(|row| row.usd.unwrap().picos()).sum();
    let dollar = 1_000_000_000_000;
    // The requests limit their responses, so nothing can cost more than what was reserved.
    assert!(spent <= dollar, "{spent}");
    let bill = site.simulator.ledger();
    let billed = i128::from(bill.prompt_tokens + bill.completion_tokens) * (dollar / 100);
    assert_eq!(spent, billed, "the ledger is the bill");
}

#[tokio::test]
async fn a_node_that_ends_without_a_word_loses_no_row() {
    let Some(mut server) = PostgresServer::start(&[]) else { return };
    let site = Site::open(&server).await;
    let key = site.create_key("ci", Limits::default()).await;
    let folder = Arc::new(Folder::new());
    let node = site.start("node-1", &folder).await.unwrap();
    until("the key is known", async || node.status(&key).await == 200).await;
    server.stop();
    for _ in 0..5 {
        assert_eq!(node.status(&key).await, 200);
    }
    // Dropped without `close`: nothing more is written.
    drop(node);
    server.resume();
    let before = site.rows().await.len();
    assert!(before <= 1, "{before}");
    // The tasks of the old one hold the lock of the folder until they have ended.
    let mut again = None;
    until("the folder is free", async || {
        again = site.start("node-1", &folder).await.ok();
        again.is_some()
    })
    .await;
    until("all rows are stored", async || site.rows().await.len() == 6).await;
    assert!(again.unwrap().stop().await);
    let ids: BTreeSet<String> = site.rows().await.into_iter().map(|row| row.id).collect();
    assert_eq!(ids.len(), 6);
}
