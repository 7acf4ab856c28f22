//! The text of a stream, and errors as a `main` prints them.

use agentloop::{AgentLoop, ChatRequest, Error, ErrorKind};
use agentloop_sim::FAULT_HEADER;

fn client() -> AgentLoop {
    AgentLoop::builder().provider(agentloop_sim::provider()).build().unwrap()
}

#[tokio::test]
async fn the_text_of_a_stream_is_the_text_of_the_response() {
    let request = || ChatRequest::new("sim/think").user("Hello").n(2);
    let response = client().chat(request()).await.unwrap();
    let mut stream = client().stream(request()).await.unwrap().text_stream();
    let (mut text, mut pieces) = (String::new(), 0);
    while let Some(piece) = stream.next().await {
        text.push_str(&piece.unwrap());
        pieces += 1;
    }
    assert_eq!(text, response.text());
    assert!(pieces > 1 && response.thinking().is_some() && response.choices.len() == 2);
    assert!(stream.next().await.is_none());
    let mut events = client().stream(request()).await.unwrap();
    let mut text = String::new();
    while let Some(event) = events.next().await {
        text.push_str(event.unwrap().text().unwrap_or_default());
    }
    assert_eq!(text, response.text());
}

#[tokio::test]
async fn a_truncated_text_ends_with_the_error() {
    let request = ChatRequest::new("sim/long-8").user("Hi").header(FAULT_HEADER, "cut-events=4");
    let mut stream = client().stream(request).await.unwrap().text_stream();
    let mut text = String::new();
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(piece) => text.push_str(&piece),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
    assert_eq!(text, error.partial().unwrap().text());
    assert!(stream.next().await.is_none());
}

#[test]
fn an_error_is_readable_where_main_prints_it() {
    let source = Error::new(ErrorKind::Connection, "connection refused");
    let error = Error::new(ErrorKind::Auth, "wrong key")
        .with_provider("groq")
        .with_status(401)
        .with_hint("check GROQ_API_KEY")
        .with_request_id(Some("req_1".to_owned()))
        .with_raw(b"{}")
        .with_source(source);
    assert_eq!(
        format!("{error:?}"),
        "groq: wrong key (status 401)\n  hint: check GROQ_API_KEY\n  request id: req_1\n  \
         caused by: connection refused"
    );
    let all = format!("{error:#?}");
    assert!(all.contains("kind: Auth") && all.contains("raw: \"{}\""), "{all}");
}
