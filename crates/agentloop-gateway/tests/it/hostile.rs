//! Requests that are meant to hurt.

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{AgentLoop, BoxFuture, Config, Protocol, Provider};
use agentloop_gateway::{Accounts, Gateway, KeyRing, State};
use agentloop_sim::Simulator;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::common::{
    CLIENTS, KEY, Records, Reply, Stage, UPSTREAMS, chat, gateway_at, post, read_request, send,
};
use crate::servers::patience::within;

#[tokio::test]
async fn a_body_that_is_too_large_is_413_and_is_not_read() {
    let stage = Stage::with(Simulator::new(), "[gateway]\nmax_body_bytes = 20000\n").await;
    for (_, client) in CLIENTS {
        let (path, mut body) = chat(client, "chat/echo", false);
        body["filler"] = json!("x".repeat(30_000));
        let reply = stage.post(&path, &body).await;
        assert_eq!(reply.status, 413, "{client:?} {}", reply.text());
    }
    // Also without a length.
    let mut socket = TcpStream::connect(stage.server.address()).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..10 {
        let piece = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
        if socket.write_all(piece.as_bytes()).await.is_err() {
            break;
        }
    }
    let mut answer = vec![0; 200];
    let read = socket.read(&mut answer).await.unwrap_or(0);
    assert!(String::from_utf8_lossy(&answer[..read]).starts_with("HTTP/1.1 413"));
}

/// Found with the OpenAI SDK: after a 401 its next request on the same connection failed now and then, and always with a long prompt.
#[tokio::test]
async fn a_refused_request_leaves_its_connection_usable() {
    let stage = Stage::with(Simulator::new(), "[gateway]\nmax_body_bytes = 5000000\n").await;
    let mut socket = TcpStream::connect(stage.server.address()).await.unwrap();
    let wrong = [("/v1/chat/completions", "wrong", "401"), ("/v1/nothing", KEY, "404")];
    let right = ("/v1/chat/completions", KEY, "200");
    for (path, key, status) in wrong.into_iter().chain([right]) {
        let (_, mut body) = chat(Protocol::OpenAiChat, "chat/echo", false);
        body["user"] = json!("x".repeat(3_000_000));
        let body = body.to_string();
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(body.as_bytes()).await.unwrap();
        let text = read_response(&mut socket).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
        assert!(!text.to_lowercase().contains("connection: close"), "{text}");
    }
}

#[tokio::test]
async fn a_connection_whose_request_was_not_read_is_announced_to_end() {
    let stage = Stage::with(Simulator::new(), "[gateway]\nmax_body_bytes = 20000\n").await;
    for key in ["wrong", KEY] {
        let mut socket = TcpStream::connect(stage.server.address()).await.unwrap();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: 30000\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&[b'x'; 25_000]).await.unwrap();
        let text = read_response(&mut socket).await;
        let status = if key == KEY { "413" } else { "401" };
        assert!(text.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
        assert!(text.to_lowercase().contains("connection: close"), "{text}");
    }
}

/// Reads a response that has a length, and returns its text.
async fn read_response(socket: &mut TcpStream) -> String {
    let mut text = Vec::new();
    loop {
        let shown = String::from_utf8_lossy(&text).to_lowercase();
        let length = shown.split_once("content-length: ").and_then(|(_, rest)| {
            let (digits, _) = rest.split_once("\r\n")?;
            let (head, _) = shown.split_once("\r\n\r\n")?;
            Some(head.len() + 4 + digits.parse::<usize>().ok()?)
        });
        if length.is_some_and(|length| text.len() >= length) {
            return String::from_utf8_lossy(&text).into_owned();
        }
        let mut piece = [0; 4096];
        let read = within("a response", socket.read(&mut piece)).await.unwrap();
        assert_ne!(read, 0, "the connection ended: {shown}");
        text.extend_from_slice(&piece[..read]);
    }
}

#[tokio::test]
async fn nonsense_is_400_and_names_what_is_wrong() {
    let stage = Stage::start(Simulator::new()).await;
    let deep = format!(
        "{{\"model\":\"chat/echo\",\"messages\":{}{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    for (_, client) in CLIENTS {
        let (path, _) = chat(client, "chat/echo", false);
        for body in [
            "",
            "[]",
            "null",
            "{",
            "{\"model\":",
            "not json",
            "{\"model\":\"chat/echo\"}x",
            deep.as_str(),
        ] {
            let reply = stage.send(post(&stage.at(&path), KEY), body.to_owned()).await;
            assert_eq!(reply.status, 400, "{client:?} {body:.40} {}", reply.text());
            assert!(
                reply.json()["error"]["message"].as_str().unwrap().contains("body"),
                "{}",
                reply.text()
            );
        }
    }
    assert_eq!(stage.simulator.ledger().calls, 0);
}

/// Everything wrong in a body that is translated is a 400, never a 5xx and never a hang.
#[tokio::test]
async fn fields_of_the_wrong_type_are_400() {
    let stage = Stage::start(Simulator::new()).await;
    for (_, client) in CLIENTS {
        let (path, body) = chat(client, "chat/echo", false);
        let other = UPSTREAMS.iter().find(|(_, upstream)| *upstream != client).unwrap().0;
        let path = path.replace("chat/echo", &format!("{other}/echo"));
        for (field, value) in body.as_object().unwrap() {
            for wrong in [json!(7), json!({}), json!([[]]), json!(true), json!([1, null, {}])] {
                if field == "stream" || field == "store" || field == "model" || value == &wrong {
                    continue;
                }
                let mut body = body.clone();
                body["model"] = json!(format!("{other}/echo"));
                body[field] = wrong.clone();
                let reply = stage.post(&path, &body).await;
                assert!(
                    reply.status == 400 || reply.status == 200,
                    "{client:?} {field} {wrong} {} {}",
                    reply.status,
                    reply.text()
                );
            }
        }
    }
}

#[tokio::test]
async fn headers_beyond_the_limit_are_refused() {
    let stage = Stage::start(Simulator::new()).await;
    let mut socket = TcpStream::connect(stage.server.address()).await.unwrap();
    let mut head = String::from("GET /health/live HTTP/1.1\r\nhost: x\r\n");
    for number in 0..500 {
        head.push_str(&format!("x-filler-{number}: {}\r\n", "y".repeat(400)));
    }
    head.push_str("\r\n");
    let _ = socket.write_all(head.as_bytes()).await;
    let mut answer = Vec::new();
    // A reset is an end, too.
    let _ = within("the end of the connection", socket.read_to_end(&mut answer)).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
}

/// What a proxy in front of the gateway reads is what the gateway reads.
#[tokio::test]
async fn headers_that_decide_are_refused_if_they_are_there_twice() {
    let stage = Stage::start(Simulator::new()).await;
    let admin = stage.gateway.listen_admin("127.0.0.1:0", None).await.unwrap();
    for address in [stage.server.address(), admin.address()] {
        for path in ["/health/live", "/v1/chat/completions", "/api/overview", "/", "/nothing"] {
            for twice in [
                "host: localhost\r\nhost: localhost",
                "host: localhost\r\nHost: evil.example",
                "host: localhost\r\nx-api-key: a\r\nx-api-key: b",
                "host: localhost\r\nauthorization: Bearer a\r\nAuthorization: Bearer b",
                "host: localhost\r\ncontent-length: 0\r\ncontent-length: 5",
            ] {
                let mut socket = TcpStream::connect(address).await.unwrap();
                let head = format!("GET {path} HTTP/1.1\r\n{twice}\r\nconnection: close\r\n\r\n");
                socket.write_all(head.as_bytes()).await.unwrap();
                let mut text = String::new();
                let _ = within("a response", socket.read_to_string(&mut text)).await;
                assert!(text.starts_with("HTTP/1.1 400"), "{path} {twice}: {text}");
            }
        }
        // A URL with another name than the header.
        let mut socket = TcpStream::connect(address).await.unwrap();
        let head = b"GET http://evil.example/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        socket.write_all(head).await.unwrap();
        let mut text = String::new();
        let _ = within("a response", socket.read_to_string(&mut text)).await;
        assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    }
    assert_eq!(stage.simulator.ledger().calls, 0);
}

/// A provider's error page must not become a page of the gateway.
#[tokio::test]
async fn no_response_is_taken_for_a_page_that_it_does_not_say_to_be() {
    let page = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/html\r\ncontent-length: 31\r\nconnection: close\r\n\r\n<script>alert(document)</script";
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            if read_request(&mut stream).await.is_some() {
                let _ = stream.write_all(page.as_bytes()).await;
            }
        }
    });
    let (gateway, server, _records) = gateway_at(&address, "").await;
    let url = |path: &str| format!("http://{}{path}", server.address());
    let (path, body) = chat(Protocol::OpenAiChat, "chat/m", false);
    let asked = Reply::read(send(post(&url(&path), KEY), body.to_string()).await).await;
    assert_eq!(asked.headers["content-type"], "text/html");
    let admin = gateway.listen_admin("127.0.0.1:0", None).await.unwrap();
    let mut replies = vec![asked];
    for url in [
        url("/health/live"),
        url("/v1/models"),
        url("/nothing"),
        format!("http://{}/health/live", admin.address()),
        format!("http://{}/nothing", admin.address()),
        format!("http://{}/", admin.address()),
    ] {
        let request = Request::get(url).header("authorization", format!("Bearer {KEY}"));
        replies.push(Reply::read(send(request, "").await).await);
    }
    for reply in replies {
        assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{reply:?}");
    }
}

/// No request chooses where the gateway connects to, and none reaches the provider's headers.
#[tokio::test]
async fn a_request_cannot_choose_the_provider_or_its_headers() {
    let stage = Stage::start(Simulator::new()).await;
    for (_, client) in CLIENTS {
        for (name, _) in UPSTREAMS {
            let (path, mut body) = chat(client, &format!("{name}/echo"), false);
            body["base_url"] = json!("http://127.0.0.1:1/");
            body["api_base"] = json!("http://127.0.0.1:1/");
            body["extra_headers"] = json!({ "authorization": "Bearer stolen" });
            let request = post(&stage.at(&path), KEY)
                .header("x-forwarded-host", "evil.test")
                .header("x-sim-fault", "status=500")
                .header("cookie", "session=1")
                .header("x-codex-turn-metadata", "{\"installation_id\":\"i\"}");
            let reply = stage.send(request, body.to_string()).await;
            assert_eq!(reply.status, 200, "{client:?} {name} {}", reply.text());
            let sent = stage.simulator.last_request().unwrap();
            for header in ["cookie", "x-forwarded-host", "x-codex-turn-metadata", "x-sim-fault"] {
                assert_eq!(sent.header(header), None, "{client:?} {name}");
            }
            assert!(!format!("{:?}", sent.headers).contains("stolen"));
        }
    }
}

/// A path that climbs out of the API must not reach another one of the provider.
#[tokio::test]
async fn the_model_of_a_path_is_not_a_path() {
    let stage = Stage::start(Simulator::new()).await;
    for model in [
        "gemini/..%2F..%2Fadmin",
        "gemini/a%3Fkey%3Db",
        "gemini/a%23b",
        "gemini/%00",
        "gemini/%0d%0aX: y",
    ] {
        let path = format!("/v1beta/models/{}:generateContent", model.replace(' ', "%20"));
        let reply = stage.post(&path, &json!({ "contents": [] })).await;
        assert!(reply.status < 500, "{model} {}", reply.text());
        for request in stage.simulator.requests() {
            assert!(request.uri.path().starts_with("/v1beta/models/"), "{model} {}", request.uri);
            assert!(
                !request.uri.path().contains("/admin:") || !request.uri.path().contains(".."),
                "{}",
                request.uri
            );
            assert!(!request.uri.query().unwrap_or_default().contains("key=b"), "{}", request.uri);
        }
    }
}

/// A transport with a bug that some requests reach.
#[derive(Debug)]
struct Fragile;

impl Transport for Fragile {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, agentloop::Result<Response<Body>>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            assert!(!request.body().windows(4).any(|word| word == b"fuse"), "a fuse");
            let text = r#"{"id":"r","object":"chat.completion","created":1,"model":"m","choices":[
                {"index":0,"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}]}"#;
            Ok(Response::new(Body::whole(text)))
        })
    }
}

/// A request that panics ends with an error and a record, and no other request notices.
#[tokio::test]
async fn a_panic_ends_its_request_alone() {
    let config = Config::parse("[gateway.keys.test]\nkey_env='TEST'").unwrap().gateway.unwrap();
    let provider = Provider::openai_compatible("fragile", "http://fragile.invalid/v1");
    let client = AgentLoop::builder().provider(provider).transport(Fragile).build().unwrap();
    let variable = |_: &str| Some(KEY.to_owned());
    let state = State::new(&client, &config, KeyRing::default(), &variable).unwrap();
    let records = Records::default();
    let gateway = Gateway::with_accounts(
        state,
        vec![std::sync::Arc::new(records.clone())],
        Accounts::in_memory(),
    );
    let server = gateway.listen("127.0.0.1:0").await.unwrap();
    for (at, (_, protocol)) in CLIENTS.into_iter().enumerate() {
        for (model, status) in [("fragile/m", 200), ("fragile/fuse", 500), ("fragile/m", 200)] {
            let (path, body) = chat(protocol, model, false);
            let url = format!("http://{}{path}", server.address());
            let reply = Reply::read(send(post(&url, KEY), body.to_string()).await).await;
            assert_eq!(reply.status, status, "{protocol:?} {model}: {}", reply.text());
            assert_eq!(reply.text().contains("its log has the reason"), status == 500);
        }
        let seen = records.wait(3 * (at + 1)).await;
        assert_eq!(
            seen.iter().map(|it| it.status).collect::<Vec<_>>(),
            [200, 500, 200].repeat(at + 1)
        );
    }
}
