//! Streams a response to a browser over server-sent events, with axum: `cargo run --example sse_axum [MODEL]`.
//!
//! The page at `/` opens an `EventSource` on `/chat`, which sends one event for each piece of text. Without `--serve` the example
//! plays the browser itself, prints what arrives and ends; with `--serve` it serves until it is interrupted.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::convert::Infallible;

use agentloop::{AgentLoop, ChatRequest, ChatStreamEvent, PartDelta};
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PAGE: &str = "<!doctype html><pre id=out></pre><script>
const source = new EventSource('/chat?Write%20a%20poem');
source.onmessage = event => out.textContent += JSON.parse(event.data);
source.addEventListener('done', () => source.close());
source.addEventListener('failed', event => { out.textContent += event.data; source.close(); });
</script>";

#[derive(Clone)]
struct App {
    ai: AgentLoop,
    model: String,
}

async fn chat(State(app): State<App>, RawQuery(query): RawQuery) -> Response {
    let question = query.unwrap_or_default().replace("%20", " ");
    // `stream` returns with the first content: what fails before that can still be a status.
    let stream = match app.ai.stream(ChatRequest::new(app.model).user(question)).await {
        Ok(stream) => stream,
        Err(error) => return (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    };
    let events = stream.filter_map(|event| async move {
        let event = match event {
            Ok(ChatStreamEvent::ContentDelta { delta: PartDelta::Text { text }, .. }) => {
                // As JSON, because an event's data cannot contain a line break.
                Event::default().data(serde_json::to_string(&text).ok()?)
            }
            Ok(ChatStreamEvent::MessageDone { .. }) => Event::default().event("done").data("done"),
            Err(error) => Event::default().event("failed").data(error.kind().to_string()),
            Ok(_) => return None,
        };
        Some(Ok::<_, Infallible>(event))
    });
    // When the browser closes the connection, axum drops the stream, and that cancels the call to the provider.
    Sse::new(events).into_response()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_server = arguments.iter().any(|argument| argument == "--serve");
    arguments.retain(|argument| argument != "--serve");
    let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
    let model = arguments.pop().unwrap_or_else(|| "sim/echo".to_owned());

    let router = Router::new()
        .route("/", get(|| async { Html(PAGE) }))
        .route("/chat", get(chat))
        .with_state(App { ai, model });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("http://{address}/");
    let server = axum::serve(listener, router);
    if is_server {
        server.await?;
        return Ok(());
    }

    let browser = async {
        let mut connection = TcpStream::connect(address).await?;
        let request =
            "GET /chat?Write%20a%20poem HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        connection.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        connection.read_to_string(&mut response).await?;
        Ok::<_, std::io::Error>(response)
    };
    tokio::select! {
        ended = async { server.await } => ended?,
        response = browser => {
            let response = response?;
            response.lines().filter(|line| line.starts_with("data:")).for_each(|line| println!("{line}"));
            if !response.contains("event: done") {
                return Err("the stream has no end".into());
            }
        }
    }
    Ok(())
}
