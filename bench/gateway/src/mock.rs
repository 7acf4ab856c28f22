//! The upstream.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

type Answer = UnsyncBoxBody<Bytes, Infallible>;

/// How many chunks a stream has.
const CHUNKS: usize = 300;

/// The time between two chunks, so each is read for itself.
const PACE: Duration = Duration::from_millis(2);

pub(crate) async fn run() {
    let listener = crate::listen();
    while let Ok((socket, _)) = listener.accept().await {
        let _ = socket.set_nodelay(true);
        tokio::spawn(async move {
            let serving = hyper::server::conn::http1::Builder::new();
            let _ = serving.serve_connection(TokioIo::new(socket), service_fn(answer)).await;
        });
    }
}

fn chunk(delta: &str, finish: &str) -> Bytes {
    Bytes::from(format!("data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{{delta}}},\"finish_reason\":{finish}}}]}}\n\n"))
}

async fn answer(request: Request<Incoming>) -> Result<Response<Answer>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let has = |text: &str| body.windows(text.len()).any(|part| part == text.as_bytes());
    if !has("\"stream\":true") && !has("\"stream\": true") {
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(4);
        let body = format!("{{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":40,\"total_tokens\":49}}}}");
        let response = Response::builder().header("content-type", "application/json");
        return Ok(response.body(Full::new(Bytes::from(body)).boxed_unsync()).expect("a response"));
    }
    let stalls = has("stall");
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<Bytes>(1);
    tokio::spawn(async move {
        let _ = sender.send(chunk("\"role\":\"assistant\",\"content\":\"\"", "null")).await;
        for _ in 0..CHUNKS {
            if sender.send(chunk("\"content\":\" word\"", "null")).await.is_err() {
                return;
            }
            if stalls {
                sender.closed().await;
                return;
            }
            tokio::time::sleep(PACE).await;
        }
        let _ = sender.send(chunk("", "\"stop\"")).await;
        let usage = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":300,\"total_tokens\":309}}\n\n";
        let _ = sender.send(Bytes::from_static(usage.as_bytes())).await;
        let _ = sender.send(Bytes::from_static(b"data: [DONE]\n\n")).await;
    });
    let stream = Chunks(std::future::poll_fn(move |context| receiver.poll_recv(context)));
    let response = Response::builder().header("content-type", "text/event-stream");
    Ok(response.body(stream.boxed_unsync()).expect("a response"))
}

/// A body of the chunks that a future returns, one after another.
struct Chunks<F>(F);

impl<F: Future<Output = Option<Bytes>> + Unpin> http_body::Body for Chunks<F> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::pin::Pin::new(&mut self.0).poll(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}
