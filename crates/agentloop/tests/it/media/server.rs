//! A server of media on this machine, and a provider that remembers what it was sent.

use std::sync::{Arc, Mutex};

use agentloop::provider::quirks::ImageInput;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{AgentLoop, AgentLoopBuilder, BoxFuture, Provider, Result};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
pub(crate) const PNG_URL: &str = "data:image/png;base64,iVBORw0KGgo=";

/// Answers every request with the same bytes.
pub(crate) struct Server {
    pub(crate) url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` is the complete response, head and body; the connection closes after it.
    pub(crate) async fn new(answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, seen) = (answer.into(), heads.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = stream.read_u8().await else { break };
                    head.push(byte);
                }
                seen.lock().unwrap().push(String::from_utf8(head).unwrap().to_ascii_lowercase());
                // A client that has seen enough closes.
                let _ = stream.write_all(&answer).await;
            }
        });
        Self { url, heads }
    }

    /// Answers with a medium, which it calls `mime`.
    pub(crate) async fn of(mime: &str, bytes: &[u8]) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {mime}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            bytes.len()
        );
        Self::new([head.as_bytes(), bytes].concat()).await
    }

    /// The heads of the requests, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// A provider with prepared responses. It accepts images as data URLs only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lab(Arc<Mutex<Vec<Request<Bytes>>>>);

impl Lab {
    pub(crate) fn builder(&self) -> AgentLoopBuilder {
        let row = |name: &'static str| {
            Provider::openai_compatible(name, "https://lab.test/v1").key_env("LAB_KEY")
        };
        AgentLoop::builder()
            .transport(self.clone())
            .env("LAB_KEY", "secret-key")
            .provider(row("lab").quirks(|quirks| quirks.images = ImageInput::DataOnly))
            .provider(row("open"))
    }

    /// The parts of the first message of the last request.
    pub(crate) fn parts(&self) -> Value {
        let requests = self.0.lock().unwrap();
        let body: Value = serde_json::from_slice(requests.last().unwrap().body()).unwrap();
        body["messages"][0]["content"].clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Transport for Lab {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        self.0.lock().unwrap().push(request);
        let answer = r#"{"id":"1","model":"m","choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
        let response = Response::builder().header("content-type", "application/json");
        Box::pin(async move { Ok(response.body(Body::whole(answer)).unwrap()) })
    }
}
