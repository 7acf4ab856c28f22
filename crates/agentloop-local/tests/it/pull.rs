//! Downloads from a server that does what servers do, and what they should not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::{ErrorKind, Result};
use agentloop_local::{Pull, Pulled};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::common::{Scratch, gguf};

/// A server that answers each request with the bytes that a function returns, and keeps the requests.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(
        respond: impl Fn(usize, &str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, respond) = (Arc::clone(&requests), Arc::new(respond));
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let (kept, respond) = (Arc::clone(&kept), Arc::clone(&respond));
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    let mut buffer = [0; 4_096];
                    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                        match socket.read(&mut buffer).await {
                            Ok(count) if count > 0 => head.extend_from_slice(&buffer[..count]),
                            _ => return,
                        }
                    }
                    let head = String::from_utf8_lossy(&head).to_lowercase();
                    let count = {
                        let mut kept = kept.lock().unwrap();
                        kept.push(head.clone());
                        kept.len() - 1
                    };
                    drop(socket.write_all(&respond(count, &head)).await);
                    drop(socket.shutdown().await);
                });
            }
        });
        Self { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn pull(&self, scratch: &Scratch) -> Pull {
        let source = format!("{}/files/model.gguf", self.url);
        Pull::new(&source, &scratch.0).unwrap().stall_time(Duration::from_secs(10))
    }
}

pub(crate) fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

pub(crate) fn whole(body: &[u8], etag: &str) -> Vec<u8> {
    response("200 OK", &format!("etag: \"{etag}\"\r\ncontent-length: {}\r\n", body.len()), body)
}

/// Returns the first byte that a request asks for.
pub(crate) fn start_of(request: &str) -> Option<usize> {
    let range = request.split("range: bytes=").nth(1)?;
    range.split('-').next()?.parse().ok()
}

pub(crate) fn rest(body: &[u8], start: usize, etag: &str) -> Vec<u8> {
    let length = body.len() - start;
    let headers = format!(
        "etag: \"{etag}\"\r\ncontent-length: {length}\r\ncontent-range: bytes {start}-{}/{}\r\n",
        body.len() - 1,
        body.len()
    );
    response("206 Partial Content", &headers, &body[start..])
}

pub(crate) async fn run(pull: &Pull) -> Result<Pulled> {
    pull.run(|_| {}).await
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_file_is_downloaded_once_and_then_found() {
    let body = gguf(100_000);
    let served = body.clone();
    let server = Server::start(move |_, _| whole(&served, "one")).await;
    let scratch = Scratch::new();
    let mut seen = Vec::new();
    let pulled = server.pull(&scratch).run(|progress| seen.push(progress)).await.unwrap();
    assert_eq!((pulled.name.as_str(), pulled.bytes), ("model", body.len() as u64));
    assert_eq!(pulled.sha256.as_deref(), Some(sha256(&body).as_str()));
    assert!(!pulled.is_verified && !pulled.was_present);
    assert_eq!(seen.last().unwrap().bytes, body.len() as u64);
    assert_eq!(std::fs::read(&pulled.path).unwrap(), body);
    assert_eq!(scratch.files(), ["model.gguf"]);
    assert!(run(&server.pull(&scratch)).await.unwrap().was_present);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_download_that_was_cut_off_continues() {
    let body = gguf(100_000);
    let served = body.clone();
    let server = Server::start(move |_, request| match start_of(request) {
        None => whole(&served, "one")[..50_000].to_vec(),
        Some(start) => rest(&served, start, "one"),
    })
    .await;
    let scratch = Scratch::new();
    let pulled = run(&server.pull(&scratch)).await.unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), body);
    assert_eq!(pulled.sha256.as_deref(), Some(sha256(&body).as_str()));
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].contains("if-range: \"one\""), "{}", requests[1]);
}

#[tokio::test]
async fn a_later_run_continues_an_earlier_one() {
    let body = gguf(100_000);
    let served = body.clone();
    let server = Server::start(move |count, request| match (count, start_of(request)) {
        (0, _) => whole(&served, "one")[..50_000].to_vec(),
        (1..5, _) => response("503 Service Unavailable", "content-length: 0\r\n", b""),
        (_, Some(start)) => rest(&served, start, "one"),
        _ => whole(&served, "one"),
    })
    .await;
    let scratch = Scratch::new();
    assert!(run(&server.pull(&scratch)).await.is_err());
    assert_eq!(scratch.files(), [".model.gguf.part", ".model.gguf.part.json"]);
    let pulled = run(&server.pull(&scratch)).await.unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), body);
    assert!(start_of(server.requests().last().unwrap()).is_some_and(|start| start > 40_000));
}

#[tokio::test]
async fn a_file_that_has_changed_is_downloaded_from_its_beginning() {
    let (old, new) = (gguf(100_000), gguf(90_000));
    let served = new.clone();
    // A server with another ETag ignores the range.
    let server = Server::start(move |count, _| match count {
        0 => whole(&old, "old")[..50_000].to_vec(),
        _ => whole(&served, "new"),
    })
    .await;
    let scratch = Scratch::new();
    let pulled = run(&server.pull(&scratch)).await.unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), new);
}

#[tokio::test]
async fn another_part_than_was_asked_for_is_not_added() {
    let body = gguf(100_000);
    let served = body.clone();
    let server = Server::start(move |count, request| match (count, start_of(request)) {
        (0, _) => whole(&served, "one")[..50_000].to_vec(),
        (1, Some(_)) => rest(&served, 10, "one"),
        _ => whole(&served, "one"),
    })
    .await;
    let scratch = Scratch::new();
    let pulled = run(&server.pull(&scratch)).await.unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), body);
}

#[tokio::test]
async fn a_wrong_checksum_removes_the_file() {
    let body = gguf(1_000);
    let served = body.clone();
    let server = Server::start(move |_, _| whole(&served, "one")).await;
    let scratch = Scratch::new();
    let wrong = server.pull(&scratch).sha256(&"0".repeat(64)).unwrap();
    let error = run(&wrong).await.unwrap_err();
    assert!(error.message().contains("SHA-256"), "{error}");
    assert!(scratch.files().is_empty(), "{:?}", scratch.files());
    let right = server.pull(&scratch).sha256(&sha256(&body)).unwrap();
    assert!(run(&right).await.unwrap().is_verified);
}

#[tokio::test]
async fn a_file_that_is_not_a_model_is_removed() {
    let server = Server::start(|_, _| whole(b"<html>Sign in</html>", "one")).await;
    let scratch = Scratch::new();
    let error = run(&server.pull(&scratch)).await.unwrap_err();
    assert!(error.message().contains("GGUF"), "{error}");
    assert!(scratch.files().is_empty());
}

#[tokio::test]
async fn a_body_without_an_end_is_stopped_at_the_limit() {
    let server = Server::start(|_, _| {
        let chunk = [b"10000\r\n".as_slice(), &vec![0; 0x10000], b"\r\n"].concat();
        response("200 OK", "transfer-encoding: chunked\r\n", &chunk.repeat(100))
    })
    .await;
    let scratch = Scratch::new();
    let error = run(&server.pull(&scratch).max_bytes(100_000)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(scratch.files().is_empty());
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_before_its_body() {
    let server =
        Server::start(|_, _| response("200 OK", "content-length: 900000000000000\r\n", b"GGUF"))
            .await;
    let scratch = Scratch::new();
    let error = run(&server.pull(&scratch)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    // Below the limit, but more than any disk has.
    let error = run(&server.pull(&scratch).max_bytes(u64::MAX)).await.unwrap_err();
    assert!(error.message().contains("free bytes"), "{error}");
}

#[tokio::test]
async fn a_length_that_lies_is_noticed() {
    let body = gguf(1_000);
    let served = body.clone();
    let server = Server::start(move |_, _| {
        response("200 OK", &format!("content-length: {}\r\n", served.len() + 10), &served)
    })
    .await;
    let scratch = Scratch::new();
    let error = run(&server.pull(&scratch)).await.unwrap_err();
    assert!(!scratch.files().contains(&"model.gguf".to_owned()), "{error}");
}

/// Returns the list of a repository's files.
pub(crate) fn tree(files: &[(&str, &[u8])]) -> Vec<u8> {
    let entries: Vec<serde_json::Value> = files
        .iter()
        .map(|(path, body)| {
            let lfs = serde_json::json!({"oid": sha256(body), "size": body.len(), "pointerSize": 134});
            serde_json::json!({"type": "file", "oid": "x", "size": body.len(), "path": path, "lfs": lfs})
        })
        .collect();
    let body = serde_json::to_vec(&entries).unwrap();
    response("200 OK", &format!("content-length: {}\r\n", body.len()), &body)
}

#[tokio::test]
async fn a_repository_is_searched_for_the_quantization() {
    let body = gguf(1_000);
    let served = body.clone();
    let server = Server::start(move |_, request| match request.contains("/api/models/") {
        true => tree(&[
            ("README.md", b"x"),
            ("m-Q8_0.gguf", b"other"),
            ("m-Q4_K_S.gguf", b"other"),
            ("m-Q4_K_M.gguf", &served),
            ("mmproj-Q4_K_M.gguf", b"other"),
        ]),
        false => whole(&served, "one"),
    })
    .await;
    let scratch = Scratch::new();
    let pull = |source: &str| {
        Pull::new(source, &scratch.0).unwrap().mirror(&server.url).unwrap().token("hf_secret")
    };
    let pulled = run(&pull("owner/repo")).await.unwrap();
    assert_eq!(pulled.name, "m-Q4_K_M");
    assert!(pulled.is_verified);
    let requests = server.requests();
    assert!(requests[0].starts_with("get /api/models/owner/repo/tree/main?recursive=true "));
    assert!(requests[1].starts_with("get /owner/repo/resolve/main/m-q4_k_m.gguf "));
    assert!(requests[1].contains("authorization: bearer hf_secret"));
    // The size of the list does not match what is sent.
    assert!(run(&pull("owner/repo:Q8_0")).await.is_err());
    let error = run(&pull("owner/repo:Q2_K")).await.unwrap_err();
    assert!(error.message().contains("m-Q8_0.gguf"), "{error}");
}

#[tokio::test]
async fn names_of_files_cannot_leave_the_folder() {
    let server = Server::start(|_, _| {
        tree(&[("../../evil-Q4_K_M.gguf", b"x"), ("a/..\\b-Q4_K_M.gguf", b"x")])
    })
    .await;
    let scratch = Scratch::new();
    let pull = Pull::new("owner/repo", &scratch.0).unwrap().mirror(&server.url).unwrap();
    assert_eq!(run(&pull).await.unwrap_err().kind(), ErrorKind::NotFound);
    for source in [
        "https://example.com/..gguf",
        "https://example.com/a%2f..%2fb.gguf",
        "https://example.com/.gguf",
        "https://example.com/a\\b.gguf",
        "https://user:secret@example.com/a.gguf",
        "http://example.com/a.gguf",
        "ftp://example.com/a.gguf",
        "file:///etc/passwd",
        "hf:owner/repo/../../../x.gguf",
        "../../x",
        "owner/..",
        "smollm2",
        "",
    ] {
        assert!(Pull::new(source, &scratch.0).is_err(), "{source}");
    }
}

#[tokio::test]
async fn a_token_is_not_sent_to_the_server_of_a_redirect() {
    let body = gguf(1_000);
    let served = body.clone();
    let other = Server::start(move |_, request| match start_of(request) {
        None => whole(&served, "one")[..500].to_vec(),
        Some(start) => rest(&served, start, "one"),
    })
    .await;
    let target = format!("{}/cdn/blob?signature=1", other.url);
    let hub = Server::start(move |_, request| match request.contains("/api/models/") {
        true => response("404 Not Found", "content-length: 0\r\n", b""),
        false => {
            response("302 Found", &format!("location: {target}\r\ncontent-length: 0\r\n"), b"")
        }
    })
    .await;
    let scratch = Scratch::new();
    let pull = Pull::new("hf:owner/repo/model.gguf", &scratch.0).unwrap();
    let pull = pull.mirror(&hub.url).unwrap().token("hf_secret");
    let pulled = run(&pull).await.unwrap();
    assert_eq!(std::fs::read(&pulled.path).unwrap(), body);
    assert!(hub.requests().iter().all(|request| request.contains("hf_secret")));
    let requests = other.requests();
    assert!(requests.iter().all(|request| !request.contains("hf_secret")), "{requests:?}");
    assert!(start_of(&requests[1]).is_some(), "the range is repeated: {requests:?}");
}

#[tokio::test]
async fn redirects_without_an_end_are_refused() {
    let server = Server::start(|count, _| {
        response(
            "302 Found",
            &format!("location: /again/{count}/model.gguf\r\ncontent-length: 0\r\n"),
            b"",
        )
    })
    .await;
    let scratch = Scratch::new();
    assert!(run(&server.pull(&scratch)).await.is_err());
    assert!(server.requests().len() < 50);
}

#[tokio::test]
async fn a_missing_or_protected_file_has_a_hint() {
    for (status, kind) in
        [("404 Not Found", ErrorKind::NotFound), ("401 Unauthorized", ErrorKind::Auth)]
    {
        let server =
            Server::start(move |_, _| response(status, "content-length: 0\r\n", b"")).await;
        let error = run(&server.pull(&Scratch::new())).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.hint().is_some());
        assert_eq!(server.requests().len(), 1, "it is not tried again");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn two_downloads_of_the_same_file_do_not_mix() {
    let server =
        Server::start(|_, _| response("200 OK", "content-length: 1000\r\n", b"GGUF")).await;
    let scratch = Scratch::new();
    let path = scratch.0.join(".model.gguf.part");
    let file = std::fs::File::create(&path).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let error = run(&server.pull(&scratch)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

/// Returns one file of a model that is split into `count`, followed by so many bytes. Only the first one names the architecture.
fn split_gguf(number: u16, count: u16, rest: usize) -> Vec<u8> {
    let mut bytes = gguf(0);
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let entry = |key: &str, value: u16| {
        [text(key), 2_u32.to_le_bytes().to_vec(), value.to_le_bytes().to_vec()].concat()
    };
    let name = [text("general.architecture"), 8_u32.to_le_bytes().to_vec(), text("llama")].concat();
    bytes.truncate(16);
    bytes.extend(if number == 0 { 3_u64 } else { 2 }.to_le_bytes());
    if number == 0 {
        bytes.extend(name);
    }
    bytes.extend(entry("split.no", number));
    bytes.extend(entry("split.count", count));
    bytes.resize(bytes.len().next_multiple_of(32) + rest, 0);
    bytes
}

/// Serves a model of three files, except for the one that is named.
async fn serve_split(missing: &'static str) -> (Server, Vec<Vec<u8>>) {
    let bodies: Vec<Vec<u8>> =
        (0..3_u16).map(|number| split_gguf(number, 3, 1_000 + usize::from(number))).collect();
    let served = bodies.clone();
    let server = Server::start(move |_, request| {
        let names: Vec<String> =
            (1..=3).map(|number| format!("q/m-Q4_K_M-0000{number}-of-00003.gguf")).collect();
        let files = names.iter().zip(&served);
        if request.contains("/api/models/") {
            let files: Vec<(&str, &[u8])> = files
                .map(|(name, body)| (name.as_str(), body.as_slice()))
                .filter(|(name, _)| missing.is_empty() || !name.contains(missing))
                .collect();
            return tree(&files);
        }
        let found = files.into_iter().find(|(name, _)| request.contains(&name.to_lowercase()));
        found.map_or_else(
            || response("404 Not Found", "content-length: 0\r\n", b""),
            |(_, body)| whole(body, "one"),
        )
    })
    .await;
    (server, bodies)
}

#[tokio::test]
async fn all_files_of_a_split_model_are_downloaded() {
    let (server, bodies) = serve_split("").await;
    let sources =
        ["owner/repo", "owner/repo:Q4_K_M", "hf:owner/repo/q/m-Q4_K_M-00002-of-00003.gguf"];
    for source in sources {
        let scratch = Scratch::new();
        let pull = Pull::new(source, &scratch.0).unwrap().mirror(&server.url).unwrap();
        let mut seen = Vec::new();
        let pulled = pull.run(|progress| seen.push(progress)).await.unwrap();
        assert_eq!(pulled.name, "m-Q4_K_M");
        let total: usize = bodies.iter().map(Vec::len).sum();
        assert_eq!(pulled.bytes, total as u64);
        assert!(pulled.is_verified && !pulled.was_present && pulled.sha256.is_none());
        assert!(pulled.path.ends_with("m-Q4_K_M-00001-of-00003.gguf"));
        assert_eq!(scratch.files().len(), 3);
        assert_eq!(seen.last().unwrap().bytes, total as u64);
        assert!(seen.iter().all(|progress| progress.total == Some(total as u64)));
        assert!(seen.is_sorted_by_key(|progress| progress.bytes));
        let models = agentloop_local::Folders::new(&scratch.0).models();
        assert_eq!(models[0].name, "m-Q4_K_M");
        assert!(run(&pull).await.unwrap().was_present);
        // One that was lost is downloaded again.
        std::fs::remove_file(scratch.0.join("m-Q4_K_M-00002-of-00003.gguf")).unwrap();
        assert!(!run(&pull).await.unwrap().was_present);
        assert_eq!(scratch.files().len(), 3);
    }
}

#[tokio::test]
async fn a_split_model_by_url_is_downloaded_with_its_other_files() {
    let (server, _) = serve_split("").await;
    let scratch = Scratch::new();
    let url = format!("{}/q/m-Q4_K_M-00001-of-00003.gguf?download=1", server.url);
    let pulled = run(&Pull::new(&url, &scratch.0).unwrap()).await.unwrap();
    assert_eq!((pulled.name.as_str(), scratch.files().len()), ("m-Q4_K_M", 3));
    assert!(!pulled.is_verified);
    assert!(server.requests().iter().all(|request| request.contains("?download=1 ")));
    // The limit is that of all files.
    let small = Pull::new(&url, &Scratch::new().0).unwrap().max_bytes(2_500);
    assert_eq!(run(&small).await.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn a_split_model_that_is_not_complete_is_not_listed() {
    let (server, _) = serve_split("00002-of").await;
    let scratch = Scratch::new();
    let pull = |source: &str| Pull::new(source, &scratch.0).unwrap().mirror(&server.url).unwrap();
    let error = run(&pull("owner/repo")).await.unwrap_err();
    assert!(error.message().contains("m-Q4_K_M-00002-of-00003.gguf"), "{error}");
    assert!(scratch.files().is_empty());
    let error = run(&pull("owner/repo").sha256(&"0".repeat(64)).unwrap()).await.unwrap_err();
    assert!(scratch.files().is_empty(), "{error}");
    let (server, bodies) = serve_split("").await;
    let flood = Pull::new(&format!("{}/m-00001-of-99999.gguf", server.url), &scratch.0).unwrap();
    assert_eq!(run(&flood).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let one = Pull::new("owner/repo", &scratch.0).unwrap().mirror(&server.url).unwrap();
    let error = run(&one.clone().sha256(&sha256(&bodies[0])).unwrap()).await.unwrap_err();
    assert!(error.message().contains("3 files"), "{error}");
    assert_eq!(run(&one.max_bytes(2_000)).await.unwrap_err().kind(), ErrorKind::TooLarge);
    assert!(scratch.files().is_empty());
    // A file that claims to be one of more files than its name states.
    let server = Server::start(|_, _| whole(&split_gguf(1, 9, 10), "one")).await;
    let url = format!("{}/m-00001-of-00002.gguf", server.url);
    assert!(run(&Pull::new(&url, &scratch.0).unwrap()).await.is_err());
    assert!(scratch.files().is_empty(), "{:?}", scratch.files());
}
