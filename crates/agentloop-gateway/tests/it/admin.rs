//! The admin API: who may use it, and what it does.

use std::sync::Arc;

use agentloop::{BoxFuture, Error, ErrorKind, Protocol, Result};
use agentloop_gateway::{
    By, DeletedSum, KeyRecord, KeyTable, LedgerRow, PriceId, RowFilter, Server, Store, TeamRecord,
    UsageQuery, UsageSum,
};
use agentloop_sim::Simulator;
use http::{Method, Request};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::common::{KEY, Reply, Stage, TestStore, chat, send};
use crate::servers::patience::within;

/// A gateway with a store and an admin listener without a token.
struct Office {
    stage: Stage,
    store: TestStore,
    admin: Server,
}

impl Office {
    async fn open() -> Self {
        let settings = "[gateway.keys.rich]\nkey_env='RICH'\nteam='core'\nbudget='5/day'\n[gateway.teams.core]\nbudget='100'";
        let stage = Stage::with(Simulator::new(), settings).await;
        let store = TestStore::new();
        stage.gateway.connect_store(store.shared());
        let admin = stage.gateway.listen_admin("127.0.0.1:0", None).await.unwrap();
        Self { stage, store, admin }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut request =
            Request::builder().method(method).uri(format!("http://{}{path}", self.admin.address()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.stage.send(request, body.to_owned()).await
    }

    async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, &[], "").await
    }

    async fn delete(&self, path: &str) -> u16 {
        self.call(Method::DELETE, path, &[], "").await.status
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Reply {
        self.call(method, path, &[("content-type", "application/json")], &body.to_string()).await
    }

    /// Sends bytes as they are, and returns the status of the response.
    async fn raw(&self, text: &str) -> u16 {
        let mut socket = tokio::net::TcpStream::connect(self.admin.address()).await.unwrap();
        socket.write_all(text.as_bytes()).await.unwrap();
        let mut start = [0; 12];
        socket.read_exact(&mut start).await.unwrap();
        std::str::from_utf8(&start[9..]).unwrap().parse().unwrap()
    }
}

fn row(number: i64) -> LedgerRow {
    let mut row = LedgerRow::default();
    row.id = format!("row-{number:06}");
    row.time_ms = now_ms() - 60_000 + number;
    row.key = "ci".to_owned();
    row.model = "=evil()".to_owned();
    row.provider = "claude".to_owned();
    row.served = "x".to_owned();
    row.usd = Some("0.25".parse().unwrap());
    row
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

#[tokio::test]
async fn a_key_is_created_changed_and_revoked() {
    let office = Office::open().await;
    let team = json!({ "budgets": ["100/month"], "requestsPerMinute": 600 });
    assert_eq!(office.send(Method::PUT, "/api/teams/web", &team).await.status, 200);
    let made = office
        .send(
            Method::POST,
            "/api/keys",
            &json!({ "name": "ci", "team": "web", "models": ["openai/*"], "budgets": ["5/day"],
                     "expires": "2099-12-31", "tags": ["nightly"], "concurrency": 4 }),
        )
        .await;
    assert_eq!(made.status, 201, "{}", made.text());
    let key = made.json()["key"].as_str().unwrap().to_owned();
    assert!(key.starts_with("al-") && key.len() > 40);
    assert_eq!(made.headers["cache-control"], "no-store");
    // It is shown only this time, and so is nothing that leads to it.
    let hash = office.store.load_keys().await.unwrap().keys[0].sha256.clone();
    for path in ["/api/keys", "/api/keys?revoked=true", "/api/overview", "/api/teams/web"] {
        let reply = office.get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert!(!reply.text().contains(&key) && !reply.text().contains(&hash), "{path}");
    }
    let shown = office.get("/api/keys").await.json();
    assert_eq!(shown["keys"][0]["expires"], "2099-12-31");
    assert_eq!(shown["keys"][0]["budgets"], json!(["5/day"]));
    let change = json!({ "budgets": ["7/week"], "models": null, "strict": true });
    let changed = office.send(Method::PATCH, "/api/keys/ci", &change).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let stored = office.store.load_keys().await.unwrap().keys[0].clone();
    assert_eq!((stored.sha256, stored.models, stored.strict), (hash, None, true));
    assert_eq!(stored.limits.budgets[0].to_string(), "7/week");
    assert_eq!((stored.limits.concurrency, stored.tags.len()), (Some(4), 1));
    assert_eq!(office.get("/api/teams/web").await.json()["keys"], json!(["ci"]));
    assert_eq!(office.delete("/api/teams/web").await, 409);
    assert_eq!(office.delete("/api/keys/ci").await, 200);
    assert_eq!(office.delete("/api/keys/ci").await, 404);
    assert_eq!(office.get("/api/keys").await.json()["keys"], json!([]));
    assert_eq!(office.delete("/api/teams/web").await, 200);
    assert_eq!(office.get("/api/teams").await.json()["teams"], json!([]));
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_refused_and_named() {
    let office = Office::open().await;
    for (body, word) in [
        (json!({}), "name"),
        (json!({ "name": 7 }), "name"),
        (json!({ "name": "../../etc" }), "cannot be a name"),
        (json!({ "name": "a\u{0}b" }), "cannot be a name"),
        (json!({ "name": "a", "budget": "5/day" }), "unknown field"),
        (json!({ "name": "a", "sha256": "00" }), "unknown field"),
        (json!({ "name": "a", "budgets": ["5/day", "6/day"] }), "two budgets"),
        (json!({ "name": "a", "budgets": ["-5/day"] }), "budget"),
        (json!({ "name": "a", "budgets": ["1e30/day"] }), "budget"),
        (json!({ "name": "a", "budgets": "5/day" }), "sequence"),
        (json!({ "name": "a", "requestsPerMinute": -1 }), "-1"),
        (json!({ "name": "a", "requestsPerMinute": 0 }), "between 1"),
        (json!({ "name": "a", "concurrency": 1.5 }), "1.5"),
        (json!({ "name": "a", "models": [] }), "models"),
        (json!({ "name": "a", "expires": "tomorrow" }), "expires"),
        (json!({ "name": "a", "team": "nothing" }), "no team `nothing`"),
        (json!({ "name": "a", "tags": ["x y"] }), "tags"),
    ] {
        let reply = office.send(Method::POST, "/api/keys", &body).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.text());
        assert!(reply.text().contains(word), "{body}: {}", reply.text());
    }
    let same = json!({ "name": "test" });
    assert_eq!(office.send(Method::POST, "/api/keys", &same).await.status, 409, "configured");
    assert!(office.store.load_keys().await.unwrap().keys.is_empty());
    let made = json!({ "name": "a" });
    assert_eq!(office.send(Method::POST, "/api/keys", &made).await.status, 201);
    assert_eq!(office.send(Method::POST, "/api/keys", &made).await.status, 409);
    for body in [json!({ "name": "b" }), json!({ "nothing": null }), json!({ "models": 7 })] {
        assert_eq!(office.send(Method::PATCH, "/api/keys/a", &body).await.status, 400, "{body}");
    }
    assert_eq!(office.send(Method::PATCH, "/api/keys/b", &json!({})).await.status, 404);
    assert_eq!(office.send(Method::PUT, "/api/teams/a", &json!({ "x": 1 })).await.status, 400);
}

#[tokio::test]
async fn names_in_paths_lead_nowhere_else() {
    let office = Office::open().await;
    for name in ["..", "%2e%2e", "..%2f..%2fetc", "a/b", "a%2Fb", "%00", "%", "a%20b", ""] {
        let reply = office.call(Method::DELETE, &format!("/api/keys/{name}"), &[], "").await;
        assert_eq!(reply.status, 400, "{name}: {}", reply.text());
    }
    for path in ["/api", "/api/", "/api/nothing", "/etc/passwd", "/../x", "/api/overview/x"] {
        assert_eq!(office.get(path).await.status, 404, "{path}");
    }
    for (method, path) in [
        (Method::POST, "/api/overview"),
        (Method::PUT, "/api/keys"),
        (Method::GET, "/api/keys/a"),
        (Method::OPTIONS, "/api/keys"),
        (Method::POST, "/api/teams/a"),
    ] {
        let reply = office.call(method.clone(), path, &[], "").await;
        assert_eq!(reply.status, 405, "{method} {path}");
        assert!(reply.headers.contains_key("allow"));
        assert!(!reply.headers.keys().any(|name| name.as_str().starts_with("access-control")));
    }
}

#[tokio::test]
async fn other_sites_and_other_names_of_this_machine_are_refused() {
    let office = Office::open().await;
    let port = office.admin.address().port();
    let create = |extra: &str| {
        let body = "{\"name\":\"evil\"}";
        format!(
            "POST /api/keys HTTP/1.1\r\n{extra}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    for (extra, status) in [
        (format!("host: evil.example:{port}\r\n"), 421),
        (format!("host: 127.0.0.1.evil.example:{port}\r\n"), 421),
        (String::new(), 421),
        (format!("host: localhost:{port}\r\norigin: https://evil.example\r\n"), 403),
        (format!("host: localhost:{port}\r\norigin: null\r\n"), 403),
        (format!("host: localhost:{port}\r\norigin: http://localhost:1\r\n"), 403),
        (format!("host: localhost:{port}\r\nsec-fetch-site: same-site\r\n"), 403),
        (format!("host: localhost:{port}\r\nsec-fetch-site: cross-site\r\n"), 403),
        (format!("host: localhost:{port}\r\norigin: http://localhost:{port}\r\n"), 201),
    ] {
        assert_eq!(office.raw(&create(&extra)).await, status, "{extra}");
    }
    for path in ["/metrics", "/api/overview", "/"] {
        let text = format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n\r\n");
        assert_eq!(office.raw(&text).await, 421, "{path}");
    }
    // Probes of health name no host, and learn nothing.
    assert_eq!(office.raw("GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n").await, 200);
}

#[tokio::test]
async fn bodies_are_small_json_of_the_right_type() {
    let office = Office::open().await;
    let large = json!({ "name": "x".repeat(70_000) }).to_string();
    for (kind, body, status) in [
        ("application/json", large.as_str(), 413),
        ("application/json", "{\"name\":", 400),
        ("application/json", "[]", 400),
        ("application/json", "\u{feff}{}", 400),
        ("text/plain", "{\"name\":\"a\"}", 415),
        ("application/x-www-form-urlencoded", "name=a", 415),
        ("application/json-patch+json", "{}", 415),
        ("application/json; charset=utf-8", "{\"name\":\"a\"}", 201),
    ] {
        let reply = office.call(Method::POST, "/api/keys", &[("content-type", kind)], body).await;
        assert_eq!(reply.status, status, "{kind}: {}", reply.text());
    }
    let deep = format!("{{\"name\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let reply = office
        .call(Method::POST, "/api/keys", &[("content-type", "application/json")], &deep)
        .await;
    assert_eq!(reply.status, 400);
    assert_eq!(office.call(Method::POST, "/api/keys", &[], "{}").await.status, 415);
}

#[tokio::test]
async fn everything_but_the_page_and_health_needs_the_token() {
    let office = Office::open().await;
    let token = "op-token-of-this-test";
    let gateway = &office.stage.gateway;
    for short in ["", "o", "fifteen letters"] {
        let refused = gateway.listen_admin("127.0.0.1:0", Some(short.into())).await;
        assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{short}");
    }
    let admin = gateway.listen_admin("127.0.0.1:0", Some(token.into())).await.unwrap();
    let get = |path: &str, token: &str| {
        let url = format!("http://{}{path}", admin.address());
        Request::get(url).header("authorization", format!("Bearer {token}"))
    };
    for path in ["/api/overview", "/api/usage", "/api/rows", "/api/keys", "/api/teams", "/metrics"]
    {
        let url = format!("http://{}{path}", admin.address());
        assert_eq!(office.stage.send(Request::get(url), "").await.status, 401, "{path}");
        assert_eq!(office.stage.send(get(path, token), "").await.status, 200, "{path}");
    }
    for wrong in ["o", KEY] {
        let reply = office.stage.send(get("/api/overview", wrong), "").await;
        assert_eq!(reply.status, 401, "{wrong}");
    }
    // Other machines can reach it: without a token it shows metrics only.
    let open = office.stage.gateway.listen_admin("0.0.0.0:0", None).await.unwrap();
    let at = |path: &str| Request::get(format!("http://127.0.0.1:{}{path}", open.address().port()));
    assert_eq!(office.stage.send(at("/api/overview"), "").await.status, 403);
    assert_eq!(office.stage.send(at("/metrics"), "").await.status, 200);
}

#[tokio::test]
async fn ten_thousand_keys_are_listed_in_pages() {
    let mut table = KeyTable::default();
    table.keys = (0..10_050)
        .map(|number| {
            let mut key = KeyRecord::default();
            key.name = format!("key-{number:05}");
            key
        })
        .collect();
    let stub = Stub { keys: Some(table), ledger: TestStore::new() };
    let stage = Stage::start(Simulator::new()).await;
    stage.gateway.connect_store(Arc::new(stub));
    let admin = stage.gateway.listen_admin("127.0.0.1:0", None).await.unwrap();
    let get = async |path: &str| {
        stage.send(Request::get(format!("http://{}{path}", admin.address())), "").await
    };
    let first = get("/api/keys").await.json();
    assert_eq!(first["keys"].as_array().unwrap().len(), 10_000);
    assert_eq!(first["next"], "key-09999");
    let second = get("/api/keys?after=key-09999").await.json();
    assert_eq!(second["keys"].as_array().unwrap().len(), 50);
    assert_eq!(second["next"], Value::Null);
    let overview = get("/api/overview").await;
    assert!(overview.body.len() < 300_000, "{} bytes", overview.body.len());
}

#[tokio::test]
async fn usage_is_summed_up_and_exported() {
    let office = Office::open().await;
    let rows: Vec<LedgerRow> = (0..12_345).map(row).collect();
    office.store.append(rows.into()).await.unwrap();
    let usage = office.get("/api/usage?by=key&since=1d").await.json();
    assert_eq!(usage["sums"][0]["group"], "ci");
    assert_eq!(usage["sums"][0]["usd"], "3086.25");
    assert_eq!(office.get("/api/usage?by=key&key=other").await.json()["sums"], json!([]));
    for query in ["by=nothing", "since=never", "bye=key", "since=1d&since=2d", "key="] {
        assert_eq!(office.get(&format!("/api/usage?{query}")).await.status, 400, "{query}");
    }
    let lines = office.get("/api/rows").await;
    assert_eq!(lines.text().lines().count(), 12_345);
    let last: Value = serde_json::from_str(lines.text().lines().last().unwrap()).unwrap();
    assert_eq!(last["id"], "row-012344");
    let csv = office.get("/api/rows?format=csv&key=ci").await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(csv.text().lines().count(), 12_346);
    assert!(csv.text().lines().nth(1).unwrap().contains(",'=evil(),"));
    assert_eq!(office.get("/api/rows?format=csv&key=other").await.text().lines().count(), 1);
    assert_eq!(office.get("/api/rows?format=xml").await.status, 400);
}

/// The page works with the network cut, and runs no script but its own.
#[tokio::test]
async fn the_page_has_all_that_it_needs_and_loads_nothing_else() {
    let office = Office::open().await;
    let page = office.get("/").await;
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let policy = page.headers["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"));
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"));
    let (mut waiting, mut seen) = (vec!["/".to_owned()], Vec::new());
    while let Some(path) = waiting.pop() {
        let file = office.get(&path).await;
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.headers["x-content-type-options"], "nosniff");
        let text = file.text().to_owned();
        for start in ["src=\"", "href=\"/", "from \"."] {
            for found in text.split(start).skip(1) {
                let name = found.split('"').next().unwrap().trim_start_matches('/');
                let next = format!("/{name}");
                if !seen.contains(&next) && !waiting.contains(&next) && next != path {
                    waiting.push(next);
                }
            }
        }
        // The name of the format of SVG, and an example in a text, are no URLs that are loaded.
        let foreign =
            text.replace("http://www.w3.org/2000/svg", "").replace("=http://127.0.0.1:4180", "");
        assert!(!foreign.contains("http:") && !foreign.contains("https:"), "{path}");
        for word in
            ["innerHTML", "eval(", "document.write", "localStorage", " style=\"", "onclick="]
        {
            assert!(!text.contains(word), "{path}: {word}");
        }
        seen.push(path);
    }
    seen.sort();
    let all =
        ["/", "/dashboard.css", "/dashboard.js", "/format.js", "/icon.svg", "/plot.js", "/view.js"];
    assert_eq!(seen, all);
}

/// The shape of the document that the dashboard reads. The page must change with it.
#[tokio::test]
async fn the_overview_has_this_shape() {
    let office = Office::open().await;
    let (path, body) = chat(Protocol::OpenAiChat, "claude/echo", false);
    office.stage.post(&path, &body).await;
    office.stage.post(&path, &json!({ "model": "nothing/x" })).await;
    office.stage.records.wait(2).await;
    office.store.append(vec![row(1)].into()).await.unwrap();
    let (path, body) = chat(Protocol::Anthropic, "claude/long-40!stall-events=8", true);
    let mut open = office.stage.open(&path, &body).await;
    assert!(open.body_mut().next().await.is_some());
    let overview = office.get("/api/overview?range=30d").await.json();
    let shape = shape_of(&overview);
    assert_eq!(shape, include_str!("overview.txt").trim_end(), "the shape is now:\n{shape}");
    let live = &overview["live"];
    assert_eq!(
        (live["inProgress"].as_u64(), live["hour"]["requests"].as_u64()),
        (Some(1), Some(2))
    );
    assert_eq!(live["requests"][0]["served"], "claude/long-40!stall-events=8");
    assert_eq!(live["hour"]["errors"]["not_found"], 1);
    assert_eq!(overview["providers"][0]["name"], "claude");
    assert_eq!(overview["ledger"]["sums"]["days"][0]["usd"], "0.25");
    assert_eq!(overview["keys"]["total"], 2);
    assert_eq!(overview["keys"]["first"][0]["budgets"][0]["per"], "day");
    assert_eq!(overview["teams"]["first"][0]["name"], "core");
    let text = overview.to_string();
    assert!(!text.contains("Hello there") && !text.contains(KEY), "no prompt and no key");
    assert_eq!(office.get("/api/overview?range=1y").await.status, 400);
}

/// Writes the names of all fields with their types, one per line. Of an array only the first element is shown.
fn shape_of(value: &Value) -> String {
    fn write(value: &Value, name: &str, lines: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields {
                    write(value, &format!("{name}.{field}"), lines);
                }
            }
            Value::Array(values) => match values.iter().find(|value| !value.is_null()) {
                Some(first) => write(first, &format!("{name}[]"), lines),
                None => lines.push(format!("{name}[]")),
            },
            Value::Null => lines.push(format!("{name}: null")),
            Value::Bool(_) => lines.push(format!("{name}: boolean")),
            Value::Number(_) => lines.push(format!("{name}: number")),
            Value::String(_) => lines.push(format!("{name}: string")),
        }
    }
    let mut lines = Vec::new();
    write(value, "", &mut lines);
    lines.join("\n")
}

/// A store of which only the keys, if there are any, and the first page of the ledger can be read.
#[derive(Debug)]
struct Stub {
    keys: Option<KeyTable>,
    ledger: TestStore,
}

fn broken<'a, T>() -> BoxFuture<'a, Result<T>> {
    Box::pin(async { Err(Error::new(ErrorKind::Connection, "the database is gone")) })
}

impl Store for Stub {
    fn keys_version(&self) -> BoxFuture<'_, Result<u64>> {
        broken()
    }
    fn load_keys(&self) -> BoxFuture<'_, Result<KeyTable>> {
        match self.keys.clone() {
            Some(keys) => Box::pin(async { Ok(keys) }),
            None => broken(),
        }
    }
    fn create_key(&self, _: KeyRecord) -> BoxFuture<'_, Result<()>> {
        broken()
    }
    fn update_key(&self, _: KeyRecord) -> BoxFuture<'_, Result<()>> {
        broken()
    }
    fn revoke_key<'a>(&'a self, _: &'a str, _: i64) -> BoxFuture<'a, Result<bool>> {
        broken()
    }
    fn put_team(&self, _: TeamRecord) -> BoxFuture<'_, Result<()>> {
        broken()
    }
    fn remove_team<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool>> {
        broken()
    }
    fn append(&self, rows: Arc<[LedgerRow]>) -> BoxFuture<'_, Result<()>> {
        self.ledger.append(rows)
    }
    fn put_prices(&self, _: Vec<(PriceId, String)>) -> BoxFuture<'_, Result<()>> {
        broken()
    }
    fn price<'a>(&'a self, _: &'a PriceId) -> BoxFuture<'a, Result<Option<String>>> {
        broken()
    }
    fn usage<'a>(&'a self, _: &'a UsageQuery) -> BoxFuture<'a, Result<Vec<UsageSum>>> {
        broken()
    }
    fn rows<'a>(
        &'a self,
        filter: &'a RowFilter,
        after: Option<(i64, &'a str)>,
    ) -> BoxFuture<'a, Result<Vec<LedgerRow>>> {
        match after {
            None => self.ledger.rows(filter, after),
            Some(_) => broken(),
        }
    }
    fn deleted<'a>(&'a self, _: By, _: Option<&'a str>) -> BoxFuture<'a, Result<Vec<DeletedSum>>> {
        broken()
    }
    fn prune(&self, _: i64) -> BoxFuture<'_, Result<u64>> {
        broken()
    }
    fn forget_rows<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<u64>> {
        broken()
    }
    fn forget_key<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool>> {
        broken()
    }
}

#[tokio::test]
async fn a_store_that_fails_is_reported_and_a_cut_export_is_not_complete() {
    let stage = Stage::start(Simulator::new()).await;
    let store = Arc::new(Stub { keys: None, ledger: TestStore::new() });
    store.append((0..10_001).map(row).collect()).await.unwrap();
    stage.gateway.connect_store(store);
    let admin = stage.gateway.listen_admin("127.0.0.1:0", None).await.unwrap();
    let at = |path: &str| Request::get(format!("http://{}{path}", admin.address()));
    let overview = stage.send(at("/api/overview"), "").await;
    assert_eq!((overview.status, &overview.json()["ledger"]["state"]), (200, &json!("failing")));
    for path in ["/api/keys", "/api/usage", "/api/teams"] {
        let reply = stage.send(at(path), "").await;
        assert_eq!(reply.status, 503, "{path}");
        assert!(reply.text().contains("the database is gone"), "{path}");
    }
    let response = send(at("/api/rows?format=csv"), "").await;
    assert_eq!(response.status(), 200);
    let read = within("the export", response.into_body().collect(64 << 20)).await;
    assert!(read.is_err(), "the export looks complete");
}
