//! The cache of a route.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentloop::Protocol;
use agentloop_sim::Simulator;
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::common::{
    KEY, Reply, Stage, UPSTREAMS, chat, gateway_at, has_end, has_error, pairs, post, read_request,
    send,
};
use crate::servers::patience::until;

/// One route with a cache for each provider, and some that fail.
fn settings() -> String {
    let mut text = "[gateway]\nretries = 0\n".to_owned();
    for (name, _) in UPSTREAMS {
        for (route, model) in
            [("", "long-30"), ("-400", "echo!status=400"), ("-cut", "long-40!cut-events=6")]
        {
            text += &format!(
                "[gateway.routes.cached-{name}{route}]\nmodels=['{name}/{model}']\ncache={{ttl=60}}\n"
            );
        }
    }
    text
}

fn result(reply: &Reply) -> &str {
    reply.headers.get("x-agentloop-cache").map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn the_same_request_gets_the_same_bytes_without_another_call() {
    let stage = Stage::with(Simulator::new(), &settings()).await;
    let (mut calls, mut count) = (0, 0);
    for (name, upstream, client) in pairs() {
        for stream in [false, true] {
            let what = format!("{client:?} → {upstream:?} stream {stream}");
            let (path, body) = chat(client, &format!("cached-{name}"), stream);
            let first = stage.post(&path, &body).await;
            let second = stage.post(&path, &body).await;
            calls += 1;
            count += 2;
            assert_eq!((result(&first), result(&second)), ("miss", "hit"), "{what}");
            assert_eq!(first.body, second.body, "{what}");
            assert!(!stream || has_end(client, second.text()), "{what}");
            for header in ["content-type", "cache-control"] {
                assert_eq!(first.headers.get(header), second.headers.get(header), "{what}");
            }
            assert_ne!(first.headers["x-request-id"], second.headers["x-request-id"]);
            assert_eq!(stage.simulator.ledger().calls, calls, "{what}");
            let seen = stage.records.wait(count).await;
            let (made, found) = (&seen[seen.len() - 2], &seen[seen.len() - 1]);
            assert!(made.is_complete && found.is_complete, "{what} {found:?}");
            assert_eq!((made.attempts, found.attempts), (1, 0), "{what}");
            assert_eq!(made.served, found.served, "{what}");
            assert_eq!((made.completion.is_some(), found.completion), (true, None), "{what}");
        }
    }
    let metrics = stage.gateway.metrics().write();
    for result in ["hit", "miss"] {
        let line = format!("agentloop_cache_total{{route=\"cached-chat\",result=\"{result}\"}} 8");
        assert!(metrics.contains(&line), "{metrics}");
    }
}

#[tokio::test]
async fn clients_and_bodies_that_differ_do_not_share() {
    let stage = Stage::with(Simulator::new(), &settings()).await;
    let (path, body) = chat(Protocol::Anthropic, "cached-claude", false);
    assert_eq!(result(&stage.post(&path, &body).await), "miss");
    let mut calls = 1;
    let send = async |text: String, header: (&str, &str)| {
        stage.send(post(&stage.at(&path), KEY).header(header.0, header.1), text).await
    };
    let text = body.to_string();
    let none = ("accept", "*/*");
    for (other, header) in [
        (text.replacen('{', "{\"temperature\":1,", 1), none),
        (text.replacen('{', "{\"temperature\":1.0,", 1), none),
        (text.replacen('{', "{\"max_tokens\":500,", 1), none),
        (text.replace("Hello there", "hello there"), none),
        (text.replace("Hello there", "Hello  there"), none),
        (text.replace("Hello there", "Hello the\\u0301re"), none),
        (text.clone(), ("anthropic-beta", "one")),
        (text.clone(), ("anthropic-version", "2026-10-21")),
    ] {
        assert_eq!(result(&send(other.clone(), header).await), "miss", "{other}");
        calls += 1;
        assert_eq!(result(&send(other.clone(), header).await), "hit", "{other}");
    }
    for (same, header) in [
        (text.replacen('{', "{\"metadata\":{\"user_id\":\"x\"},", 1), none),
        (text.replace("Hello", "\\u0048ello"), none),
        (text.replace(':', " : "), ("traceparent", "00-1-1-01")),
        (text.clone(), ("user-agent", "another")),
    ] {
        assert_eq!(result(&send(same.clone(), header).await), "hit", "{same}");
    }
    // A request that wants no cache neither gets a response from it nor leaves one there.
    let fresh = text.replace("Hello", "Fresh");
    for value in ["no-cache", "no-store"] {
        assert_eq!(result(&send(fresh.clone(), ("cache-control", value)).await), "");
        assert_eq!(result(&send(text.clone(), ("cache-control", value)).await), "");
        calls += 2;
    }
    assert_eq!(result(&send(fresh, none).await), "miss");
    assert_eq!(stage.simulator.ledger().calls, calls + 1);
    // Another model is not the route, and has no cache.
    let (path, body) = chat(Protocol::Anthropic, "claude/echo", false);
    assert_eq!(result(&stage.post(&path, &body).await), "");
}

#[tokio::test]
async fn embeddings_are_cached_too() {
    let settings = "[gateway.routes.vectors]\nmodels=['chat/embed']\ncache={}\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    let body = json!({ "model": "vectors", "input": ["a", "b"] });
    let first = stage.post("/v1/embeddings", &body).await;
    let second = stage.post("/v1/embeddings", &body).await;
    assert_eq!((first.status, result(&first), result(&second)), (200, "miss", "hit"));
    assert_eq!(first.body, second.body);
    let other = json!({ "model": "vectors", "input": ["b", "a"] });
    assert_eq!(result(&stage.post("/v1/embeddings", &other).await), "miss");
    assert_eq!(stage.simulator.ledger().embeds, 2);
}

#[tokio::test]
async fn errors_and_truncated_streams_are_not_cached() {
    let stage = Stage::with(Simulator::new(), &settings()).await;
    let mut calls = 0;
    for (name, upstream, client) in pairs() {
        for (route, stream) in [("400", false), ("400", true), ("cut", true)] {
            let (path, body) = chat(client, &format!("cached-{name}-{route}"), stream);
            for _ in 0..2 {
                let reply = stage.post(&path, &body).await;
                calls += 1;
                let what = format!("{client:?} → {upstream:?} {route} {}", reply.text());
                assert_eq!(result(&reply), "miss", "{what}");
                assert_eq!(reply.status == 200, route == "cut", "{what}");
                assert!(reply.status != 200 || has_error(client, reply.text()), "{what}");
                assert!(reply.status != 200 || !has_end(client, reply.text()), "{what}");
                assert_eq!(stage.simulator.ledger().calls, calls, "{what}");
            }
        }
    }
}

#[tokio::test]
async fn many_equal_requests_at_once_make_one_call() {
    let stage = Arc::new(Stage::with(Simulator::new(), &settings()).await);
    let mut calls = 0;
    for (name, upstream) in UPSTREAMS {
        for (client, stream) in [
            (Protocol::OpenAiChat, false),
            (Protocol::OpenAiChat, true),
            (Protocol::Anthropic, true),
        ] {
            let (path, body) = chat(client, &format!("cached-{name}"), stream);
            let asking: Vec<_> = (0..64)
                .map(|_| {
                    let (stage, path, body) = (Arc::clone(&stage), path.clone(), body.clone());
                    tokio::spawn(async move { stage.post(&path, &body).await })
                })
                .collect();
            let mut replies = Vec::new();
            for one in asking {
                replies.push(one.await.unwrap());
            }
            calls += 1;
            assert_eq!(stage.simulator.ledger().calls, calls, "{client:?} → {upstream:?}");
            let of = |kind: &str| replies.iter().filter(|reply| result(reply) == kind).count();
            assert_eq!((of("miss"), of("wait") + of("hit")), (1, 63), "{client:?} → {upstream:?}");
            assert!(replies.iter().all(|reply| reply.body == replies[0].body));
            assert!(replies.iter().all(|reply| reply.status == 200));
        }
    }
}

#[tokio::test]
async fn a_key_never_gets_the_response_of_another_that_it_may_not_share() {
    let settings = "[gateway.keys.other]\nkey_env='OTHER'\n[gateway.keys.limited]\nkey_env='LIMITED'\nmodels=['chat/echo']\n\
        [gateway.routes.own]\nmodels=['chat/long-9']\ncache={}\n\
        [gateway.routes.ours]\nmodels=['chat/long-9']\ncache={shared_by='all'}\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    for stream in [false, true] {
        let (path, body) = chat(Protocol::OpenAiChat, "own", stream);
        for (key, expected) in
            [(KEY, "miss"), ("sk-OTHER", "miss"), (KEY, "hit"), ("sk-OTHER", "hit")]
        {
            let reply = stage.post_as(key, &path, &body).await;
            assert_eq!((reply.status, result(&reply)), (200, expected), "{key} stream {stream}");
        }
        let (path, body) = chat(Protocol::OpenAiChat, "ours", stream);
        for (key, expected) in [(KEY, "miss"), ("sk-OTHER", "hit"), (KEY, "hit")] {
            let reply = stage.post_as(key, &path, &body).await;
            assert_eq!((reply.status, result(&reply)), (200, expected), "{key} stream {stream}");
        }
        // What is cached for all is still only for keys that may use the route.
        for key in ["sk-LIMITED", "sk-unknown"] {
            let reply = stage.post_as(key, &path, &body).await;
            assert!(matches!(reply.status, 401 | 403), "{key}: {}", reply.text());
            assert_eq!(result(&reply), "", "{key}");
        }
    }
}

#[tokio::test]
async fn a_team_shares_among_its_keys_and_a_key_without_one_with_none() {
    let settings = "[gateway.teams.web]\n[gateway.teams.ops]\n\
        [gateway.keys.a]\nkey_env='A'\nteam='web'\n[gateway.keys.b]\nkey_env='B'\nteam='web'\n\
        [gateway.keys.c]\nkey_env='C'\nteam='ops'\n[gateway.keys.web]\nkey_env='D'\n\
        [gateway.routes.ours]\nmodels=['chat/long-9']\ncache={shared_by='team'}\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    let (path, body) = chat(Protocol::OpenAiChat, "ours", true);
    for (key, expected) in [
        ("sk-A", "miss"),
        ("sk-B", "hit"),
        ("sk-C", "miss"),
        // The name of the key is that of a team.
        ("sk-D", "miss"),
        (KEY, "miss"),
        (KEY, "hit"),
        ("sk-D", "hit"),
    ] {
        assert_eq!(result(&stage.post_as(key, &path, &body).await), expected, "{key}");
    }
}

#[tokio::test]
async fn hits_count_for_limits_of_requests_and_not_for_budgets() {
    let settings = "[[models.\"chat/long-9\".prices]]\nper_million={input='1',output='1000'}\n\
        [gateway.keys.few]\nkey_env='FEW'\nrequests_per_minute=3\n\
        [gateway.keys.poor]\nkey_env='POOR'\nbudget='0.05/day'\n\
        [gateway.routes.one]\nmodels=['chat/long-9']\ncache={}\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    let (path, mut body) = chat(Protocol::OpenAiChat, "one", false);
    for expected in ["miss", "hit", "hit"] {
        assert_eq!(result(&stage.post_as("sk-FEW", &path, &body).await), expected);
    }
    let reply = stage.post_as("sk-FEW", &path, &body).await;
    assert_eq!((reply.status, result(&reply)), (429, ""), "{}", reply.text());
    // Each call reserves 4 cents and costs 9 tenths of one.
    body["max_tokens"] = json!(40);
    let mut calls = 0;
    for seed in 0..9 {
        body["seed"] = json!(seed);
        let reply = stage.post_as("sk-POOR", &path, &body).await;
        if reply.status == 402 {
            break;
        }
        assert_eq!((reply.status, result(&reply)), (200, "miss"), "{}", reply.text());
        calls += 1;
    }
    assert!((1..5).contains(&calls), "{calls}");
    for _ in 0..5 {
        body["seed"] = json!(0);
        let reply = stage.post_as("sk-POOR", &path, &body).await;
        assert_eq!((reply.status, result(&reply)), (200, "hit"), "{}", reply.text());
    }
}

/// The gateway keeps a conversation under the key that began it, and so its response is not for others.
#[tokio::test]
async fn responses_that_are_stored_or_continued_stay_with_their_key() {
    let settings = "[gateway.keys.other]\nkey_env='OTHER'\n\
        [gateway.routes.ours]\nmodels=['claude/long-9']\ncache={shared_by='all'}\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    let path = "/v1/responses";
    let kept = json!({ "model": "ours", "input": "Hi" });
    let first = stage.post_as(KEY, path, &kept).await;
    let again = stage.post_as(KEY, path, &kept).await;
    let other = stage.post_as("sk-OTHER", path, &kept).await;
    assert_eq!((result(&first), result(&again), result(&other)), ("miss", "hit", "miss"));
    assert_ne!(first.json()["id"], other.json()["id"]);
    let next = json!({ "model": "ours", "input": "Go on", "store": false, "previous_response_id": again.json()["id"] });
    assert_eq!(result(&stage.post_as(KEY, path, &next).await), "miss");
    assert_eq!(result(&stage.post_as(KEY, path, &next).await), "hit");
    assert_eq!(stage.post_as("sk-OTHER", path, &next).await.status, 404);
    let free = json!({ "model": "ours", "input": "Hi", "store": false });
    assert_eq!(result(&stage.post_as(KEY, path, &free).await), "miss");
    assert_eq!(result(&stage.post_as("sk-OTHER", path, &free).await), "hit");
    let background = json!({ "model": "ours", "input": "Hi", "background": true });
    assert_eq!(result(&stage.post_as(KEY, path, &background).await), "");
}

/// A reload keeps what is cached, and a route with other models has other responses.
#[tokio::test]
async fn a_reload_keeps_the_cache_but_not_for_other_models() {
    let route = |models: &str| format!("[gateway.routes.one]\nmodels=[{models}]\ncache={{}}\n");
    let stage = Stage::with(Simulator::new(), &route("'chat/long-9'")).await;
    let (path, body) = chat(Protocol::OpenAiChat, "one", false);
    assert_eq!(result(&stage.post(&path, &body).await), "miss");
    for (models, expected) in [
        ("'chat/long-9'", "hit"),
        ("'chat/long-9','claude/echo'", "miss"),
        ("'chat/long-9'", "hit"),
    ] {
        stage.gateway.reload(stage.state(&route(models)));
        assert_eq!(result(&stage.post(&path, &body).await), expected, "{models}");
    }
}

#[tokio::test]
async fn mistakes_in_the_settings_of_a_cache_are_named() {
    for (cache, wrong) in [
        ("{ttl=0}", "more than 0"),
        ("{ttl=-1}", "`cache.ttl`"),
        ("{ttl=1e300}", "`cache.ttl`"),
        ("{ttl=1e9}", "longer than a year"),
    ] {
        let text = format!("[gateway.routes.one]\nmodels=['sim/echo']\ncache={cache}\n");
        let config = agentloop::Config::parse(&text).unwrap();
        let client =
            agentloop::AgentLoop::builder().provider(agentloop_sim::provider()).build().unwrap();
        let error = agentloop_gateway::State::new(
            &client,
            &config.gateway.unwrap(),
            agentloop_gateway::KeyRing::default(),
            &|_| None,
        )
        .unwrap_err()
        .to_string();
        assert!(error.contains("gateway.routes.one") && error.contains(wrong), "{error}");
    }
    for cache in ["{shared_by='world'}", "{tll=1}", "true"] {
        let text = format!("[gateway.routes.one]\nmodels=['sim/echo']\ncache={cache}\n");
        assert!(agentloop::Config::parse(&text).is_err(), "{cache}");
    }
}

/// A provider that sends the first part of a stream, and the rest when it is allowed to.
struct Gate {
    address: String,
    calls: Arc<AtomicUsize>,
    /// How many connections were closed by the other side before the end.
    cancelled: Arc<AtomicUsize>,
    open: Arc<Notify>,
}

const FIRST: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n";
const REST: &str = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

impl Gate {
    /// `head` is the status line; an error has no further parts.
    async fn start(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (calls, cancelled) = (Arc::default(), Arc::default());
        let gate = Self { address, calls, cancelled, open: Arc::default() };
        let (calls, cancelled, open) =
            (Arc::clone(&gate.calls), Arc::clone(&gate.cancelled), Arc::clone(&gate.open));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (calls, cancelled, open) =
                    (Arc::clone(&calls), Arc::clone(&cancelled), Arc::clone(&open));
                tokio::spawn(async move {
                    if read_request(&mut socket).await.is_none() {
                        return;
                    }
                    calls.fetch_add(1, Ordering::SeqCst);
                    let is_good = status == "200 OK";
                    let begin = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\nconnection: close\r\nretry-after: 9\r\n\r\n{}",
                        if is_good { FIRST } else { "" }
                    );
                    if is_good {
                        socket.write_all(begin.as_bytes()).await.unwrap();
                    }
                    let mut more = [0];
                    tokio::select! {
                        () = open.notified() => {
                            let last = if is_good { REST.to_owned() } else { format!("{begin}{{\"error\":{{\"message\":\"no\"}}}}") };
                            let _ = socket.write_all(last.as_bytes()).await;
                        }
                        read = socket.read(&mut more) => {
                            assert!(matches!(read, Ok(0) | Err(_)));
                            cancelled.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        gate
    }
}

const ONE_ROUTE: &str =
    "[gateway]\nretries=0\n[gateway.routes.one]\nmodels=['chat/m']\ncache={ttl=60}\n";

async fn get(url: &str) -> Bytes {
    let response = send(Request::get(url), "").await;
    assert_eq!(response.status(), 200);
    response.into_body().collect(1 << 20).await.unwrap()
}

/// Makes a request that has nothing to do with the others. Before the gateway, which has one thread here, responds to it, it has seen what
/// was sent before on other connections, and that they were closed.
async fn pass_by(url: &str) {
    for _ in 0..2 {
        get(&format!("{url}/health/live")).await;
    }
}

async fn open(url: &str, body: &Value) -> http::Response<agentloop::transport::Body> {
    send(post(&format!("{url}/v1/chat/completions"), KEY), body.to_string()).await
}

#[tokio::test]
async fn a_call_goes_on_when_its_first_client_leaves_and_ends_with_the_last() {
    let gate = Gate::start("200 OK").await;
    let (_gateway, server, records) = gateway_at(&gate.address, ONE_ROUTE).await;
    let url = format!("http://{}", server.address());
    let (_, body) = chat(Protocol::OpenAiChat, "one", true);
    let mut leader = open(&url, &body).await;
    assert_eq!(leader.headers()["x-agentloop-cache"], "miss");
    assert!(leader.body_mut().next().await.is_some());
    let mut follower = open(&url, &body).await;
    assert_eq!(follower.headers()["x-agentloop-cache"], "wait");
    let first = follower.body_mut().next().await.unwrap().unwrap();
    assert_eq!(first, FIRST, "the follower does not wait for the end");
    drop(leader);
    pass_by(&url).await;
    gate.open.notify_one();
    let rest = follower.into_body().collect(1 << 20).await.unwrap();
    assert_eq!(rest, REST);
    let seen = records.wait(2).await;
    assert!(seen.iter().all(|seen| seen.is_complete && !seen.is_cancelled), "{seen:?}");
    assert_eq!(gate.calls.load(Ordering::SeqCst), 1);
    // The next call loses both of its clients.
    let mut other = body.clone();
    other["seed"] = json!(1);
    let (mut one, mut two) = (open(&url, &other).await, open(&url, &other).await);
    assert!(one.body_mut().next().await.is_some() && two.body_mut().next().await.is_some());
    drop(one);
    pass_by(&url).await;
    assert_eq!(gate.cancelled.load(Ordering::SeqCst), 0);
    drop(two);
    until("the call is cancelled", async || gate.cancelled.load(Ordering::SeqCst) == 1).await;
    let seen = records.wait(4).await;
    assert!(seen[2..].iter().all(|seen| seen.is_cancelled && !seen.is_complete), "{seen:?}");
    assert_eq!(gate.calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_call_that_fails_before_content_fails_for_all_that_wait() {
    let gate = Gate::start("503 Service Unavailable").await;
    let (gateway, server, records) = gateway_at(&gate.address, ONE_ROUTE).await;
    let admin = gateway.listen_admin("127.0.0.1:0", None).await.unwrap();
    let overview = format!("http://{}/api/overview", admin.address());
    let url = format!("http://{}", server.address());
    let (_, body) = chat(Protocol::OpenAiChat, "one", true);
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let (url, body) = (url.clone(), body.clone());
            tokio::spawn(async move { open(&url, &body).await })
        })
        .collect();
    until("all requests wait", async || {
        let overview: Value = serde_json::from_slice(&get(&overview).await).unwrap();
        overview["live"]["inProgress"] == 8 && gate.calls.load(Ordering::SeqCst) == 1
    })
    .await;
    pass_by(&url).await;
    gate.open.notify_one();
    for one in asking {
        let response = one.await.unwrap();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "9");
    }
    assert_eq!(gate.calls.load(Ordering::SeqCst), 1);
    let seen = records.wait(8).await;
    assert!(seen.iter().all(|seen| seen.status == 503 && !seen.is_complete), "{seen:?}");
}
