//! The same by hand over HTTP/2, for the scenario of many chats at once: hyper's client on TLS, and as many connections as
//! there must be if each carries a hundred streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bench_common::{Contestant, KEY, MODEL, Outcome, PROMPT, Scenario, alloc::Counting, run};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    run::<Minimal>();
}

/// How many streams a server allows on one connection.
const STREAMS: usize = 100;
/// How many connections there may be.
const CONNECTIONS: usize = 64;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Sender = SendRequest<Full<Bytes>>;

struct Minimal {
    shared: Arc<Shared>,
    /// Which of the workers it is.
    number: usize,
}

struct Shared {
    uri: Uri,
    tls: TlsConnector,
    connections: [OnceCell<Sender>; CONNECTIONS],
    workers: AtomicUsize,
}

impl Clone for Minimal {
    fn clone(&self) -> Self {
        let number = self.shared.workers.fetch_add(1, Relaxed);
        Self { shared: self.shared.clone(), number }
    }
}

#[derive(Serialize)]
struct ChatRequest<'a> {
    model: &'a str,
    messages: [Message<'a>; 1],
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
    usage: Usage,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
    finish_reason: String,
}

#[derive(Deserialize)]
struct Said {
    content: String,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl Contestant for Minimal {
    fn new(_: Scenario, base: &str) -> Self {
        let file = std::env::var("SSL_CERT_FILE").expect("whom to trust");
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_file(file).expect("a certificate"))
            .expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let shared = Shared {
            uri: format!("{base}/v1/chat/completions").parse().expect("an address"),
            tls: Arc::new(config).into(),
            connections: [const { OnceCell::const_new() }; CONNECTIONS],
            workers: AtomicUsize::new(0),
        };
        Self { shared: Arc::new(shared), number: 0 }
    }

    async fn call(&mut self, _: &mut (dyn FnMut(&str) + Send)) -> Outcome {
        match self.ask().await {
            Ok(text) => Outcome { text, error: None },
            Err(error) => Outcome::failed(error),
        }
    }
}

impl Minimal {
    async fn ask(&self) -> Result<String, Failure> {
        let connection = &self.shared.connections[self.number / STREAMS];
        let mut sender = connection.get_or_try_init(|| self.shared.connect()).await?.clone();
        let body = serde_json::to_vec(&ChatRequest {
            model: MODEL,
            messages: [Message { role: "user", content: PROMPT }],
        })?;
        let request = Request::post(self.shared.uri.clone())
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {KEY}"))
            .body(Full::new(Bytes::from(body)))?;
        let response = sender.send_request(request).await?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status()).into());
        }
        let body = response.into_body().collect().await?.to_bytes();
        let mut answer: Answer = serde_json::from_slice(&body)?;
        let choice = answer.choices.swap_remove(0);
        let usage = answer.usage;
        if choice.finish_reason.is_empty() || usage.prompt_tokens + usage.completion_tokens == 0 {
            return Err("the answer is not whole".into());
        }
        Ok(choice.message.content)
    }
}

impl Shared {
    async fn connect(&self) -> Result<Sender, Failure> {
        let authority = self.uri.authority().ok_or("no host")?;
        let socket = TcpStream::connect(authority.as_str()).await?;
        socket.set_nodelay(true)?;
        let name = ServerName::try_from(authority.host().to_owned())?;
        let stream = self.tls.connect(name, socket).await?;
        let (sender, driver) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(sender)
    }
}
