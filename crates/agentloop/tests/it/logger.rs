//! One record per call, whichever way it ends.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::middleware::{Cache, Fallback, LogEntry, LogStatus, Logger, Retry};
use agentloop::{
    AgentLoop, AgentLoopBuilder, ChatRequest, EmbedRequest, ErrorKind, FinishReason, ModelCatalog,
};

type Entries = Arc<Mutex<Vec<LogEntry>>>;

fn logged(content: bool) -> (AgentLoop, Entries) {
    logged_around(content, |builder| builder)
}

/// Returns a client whose logger is around the middleware that `inner` adds.
fn logged_around(
    content: bool,
    inner: impl FnOnce(AgentLoopBuilder) -> AgentLoopBuilder,
) -> (AgentLoop, Entries) {
    let entries = Entries::default();
    let kept = Arc::clone(&entries);
    let mut logger = Logger::to(move |entry| kept.lock().unwrap().push(entry.clone()));
    if content {
        logger = logger.with_content();
    }
    let builder = AgentLoop::builder().provider(agentloop_sim::provider()).layer(logger);
    (inner(builder).build().unwrap(), entries)
}

fn only(entries: &Entries) -> LogEntry {
    let entries = entries.lock().unwrap();
    assert_eq!(entries.len(), 1, "one record per call");
    entries[0].clone()
}

fn asking(model: &str) -> ChatRequest {
    ChatRequest::new(format!("sim/{model}")).user("Hello there")
}

#[tokio::test]
async fn a_chat_a_stream_and_an_embedding_write_one_record_each() {
    let (ai, entries) = logged(false);
    let response = ai.chat(asking("echo")).await.unwrap();
    let entry = only(&entries);
    assert_eq!((entry.provider.as_str(), entry.model.as_str()), ("sim", "echo"));
    assert_eq!((entry.operation.as_str(), entry.requested_model.as_str()), ("chat", "sim/echo"));
    assert_eq!((entry.status, entry.stream), (LogStatus::Ok, false));
    assert_eq!(entry.finish_reason, Some(FinishReason::Stop));
    assert_eq!(entry.usage, Some(response.usage));
    assert_eq!(entry.response_id, Some(response.id));
    assert_eq!((entry.prompt, entry.response), (None, None), "content is written only on request");

    let (ai, entries) = logged(false);
    ai.stream(asking("echo")).await.unwrap().response().await.unwrap();
    let entry = only(&entries);
    assert_eq!((entry.status, entry.stream), (LogStatus::Ok, true));
    assert!(entry.usage.is_some() && entry.first_content_ms.is_some());

    let (ai, entries) = logged(false);
    ai.embed(EmbedRequest::new("sim/embed", ["a", "b"])).await.unwrap();
    let entry = only(&entries);
    assert_eq!((entry.operation.as_str(), entry.status), ("embeddings", LogStatus::Ok));
    assert!(entry.usage.unwrap().prompt_tokens.is_some());
}

#[tokio::test]
async fn content_is_written_on_request() {
    let (ai, entries) = logged(true);
    ai.chat(asking("echo")).await.unwrap();
    let entry = only(&entries);
    assert!(entry.prompt.unwrap().to_string().contains("Hello there"));
    assert!(entry.response.unwrap().to_string().contains("Hello there"));
}

#[tokio::test]
async fn a_failed_call_writes_one_record_with_the_error() {
    let (ai, entries) = logged(false);
    ai.chat(asking("echo!status=429")).await.unwrap_err();
    let entry = only(&entries);
    assert_eq!((entry.status, entry.error_kind), (LogStatus::Error, Some(ErrorKind::RateLimit)));

    let (ai, entries) = logged(false);
    ai.embed(EmbedRequest::new("sim/embed!status=500", "a")).await.unwrap_err();
    assert_eq!(only(&entries).error_kind, Some(ErrorKind::Server));

    let (ai, entries) = logged(false);
    ai.chat(ChatRequest::new("unknown/x").user("Hi")).await.unwrap_err();
    assert_eq!((only(&entries).status, only(&entries).provider.as_str()), (LogStatus::Error, ""));

    // A stream that is cut off in the middle of its content.
    let (ai, entries) = logged(false);
    let stream = ai.stream(asking("long-50!cut-events=20")).await.unwrap();
    assert!(entries.lock().unwrap().is_empty(), "the call has not ended");
    stream.response().await.unwrap_err();
    let entry = only(&entries);
    assert_eq!(entry.error_kind, Some(ErrorKind::IncompleteStream));
    assert_eq!(entry.model, "long-50!cut-events=20".split('!').next().unwrap());
}

#[tokio::test]
async fn a_dropped_call_writes_one_record() {
    let (ai, entries) = logged(false);
    let mut stream = ai.stream(asking("long-50")).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    assert_eq!(only(&entries).status, LogStatus::Cancelled);

    // Before the response began.
    let (ai, entries) = logged(false);
    tokio::time::pause();
    let call = ai.chat(asking("echo!stall-events=0"));
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    let entry = only(&entries);
    assert_eq!(entry.status, LogStatus::Cancelled);
    // The clock is paused except for that second; timers are exact to a millisecond.
    assert!((1000..1010).contains(&entry.latency_ms), "{}", entry.latency_ms);
}

#[test]
fn a_record_has_the_documented_json_names() {
    let entry: LogEntry = serde_json::from_str(
        r#"{"provider":"groq","model":"m","latency_ms":7,"status":"error","error":"no"}"#,
    )
    .unwrap();
    let json = serde_json::to_value(&entry).unwrap();
    assert_eq!(json["latency_ms"], 7);
    assert_eq!((&json["status"], &json["error"]), (&"error".into(), &"no".into()));
    assert_eq!(serde_json::from_value::<LogEntry>(json).unwrap(), entry);
}

#[tokio::test]
async fn a_record_has_the_tags_of_its_request() {
    let (ai, entries) = logged(false);
    let mut chat = asking("echo");
    chat.tags = vec!["search".to_owned(), "nightly".to_owned()];
    ai.chat(chat).await.unwrap();
    assert_eq!(only(&entries).tags, ["search", "nightly"]);

    let (ai, entries) = logged(false);
    let mut embed = EmbedRequest::new("sim/embed", "a");
    embed.tags = vec!["search".to_owned()];
    ai.embed(embed).await.unwrap();
    assert_eq!(only(&entries).tags, ["search"]);
}

#[tokio::test(start_paused = true)]
async fn attempts_count_retries_and_fallbacks() {
    let (ai, entries) = logged(false);
    ai.chat(asking("echo")).await.unwrap();
    assert_eq!(only(&entries).attempts, 1);

    let (ai, entries) = logged_around(false, |builder| {
        builder.layer(Fallback::new(["sim/think"])).layer(Retry::new().max_retries(2))
    });
    ai.chat(asking("echo!status=503")).await.unwrap();
    let entry = only(&entries);
    assert_eq!(
        (entry.attempts, entry.status),
        (4, LogStatus::Ok),
        "three of one model, one of the next"
    );
    assert_eq!(
        (entry.model.as_str(), entry.requested_model.as_str()),
        ("think", "sim/echo!status=503")
    );

    let (ai, entries) = logged(false);
    ai.chat(ChatRequest::new("unknown/x").user("Hi")).await.unwrap_err();
    assert_eq!(only(&entries).attempts, 0, "no provider was called");
}

#[tokio::test(start_paused = true)]
async fn a_logger_inside_of_retries_counts_its_own_attempts() {
    let entries = Entries::default();
    let kept = Arc::clone(&entries);
    let logger = Logger::to(move |entry| kept.lock().unwrap().push(entry.clone()));
    let builder = AgentLoop::builder().provider(agentloop_sim::provider());
    // The outer logger counts all attempts; the inner one is called once for each.
    let builder = builder.layer(Logger::to(|entry| assert_eq!(entry.attempts, 3)));
    let ai = builder.layer(Retry::new().max_retries(2)).layer(logger).build().unwrap();
    ai.chat(asking("echo!status=503")).await.unwrap_err();
    let attempts: Vec<u32> = entries.lock().unwrap().iter().map(|entry| entry.attempts).collect();
    assert_eq!(attempts, [1, 1, 1]);
}

#[tokio::test]
async fn a_response_from_a_cache_is_marked_and_took_no_attempt() {
    let (ai, entries) = logged_around(false, |builder| builder.layer(Cache::new()));
    for _ in 0..2 {
        ai.chat(asking("echo")).await.unwrap();
        ai.embed(EmbedRequest::new("sim/embed", "a")).await.unwrap();
    }
    let entries = entries.lock().unwrap();
    let seen: Vec<(bool, u32)> =
        entries.iter().map(|entry| (entry.cached, entry.attempts)).collect();
    assert_eq!(seen, [(false, 1), (false, 1), (true, 0), (true, 0)]);
}

#[tokio::test]
async fn a_record_has_the_cost_of_an_embedding() {
    let prices = r#"
        ["sim/embed"]
        kind = "embedding"
        prices = [{ per_million = { input = "1000" } }]
    "#;
    let catalog = ModelCatalog::embedded().with_overrides(prices).unwrap();
    let (ai, entries) = logged_around(false, |builder| builder.models(catalog));
    let response = ai.embed(EmbedRequest::new("sim/embed", ["a b", "c"])).await.unwrap();
    assert!(response.cost.is_some());
    assert_eq!(only(&entries).cost, response.cost);
}

/// A writer whose bytes a test can read, and that can fail.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>, bool);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.1 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_writer_gets_one_line_of_json_per_call() {
    let lines = Lines::default();
    let builder = AgentLoop::builder().provider(agentloop_sim::provider());
    let ai = builder.layer(Logger::lines(lines.clone()).with_content()).build().unwrap();
    ai.chat(asking("echo").user("two\nlines")).await.unwrap();
    ai.chat(asking("echo!status=401")).await.unwrap_err();
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(text.ends_with('\n'));
    let read: Vec<LogEntry> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let status: Vec<LogStatus> = read.iter().map(|entry| entry.status).collect();
    assert_eq!(status, [LogStatus::Ok, LogStatus::Error]);
    assert!(read[0].prompt.is_some());
    let time = &read[0].time;
    assert!(time.starts_with("20") && time.len() == 20 && time.ends_with('Z'), "{time}");
}

#[tokio::test]
async fn a_writer_that_fails_does_not_fail_the_call() {
    let broken = Lines(Arc::default(), true);
    let builder = AgentLoop::builder().provider(agentloop_sim::provider());
    let ai = builder.layer(Logger::lines(broken)).build().unwrap();
    ai.chat(asking("echo")).await.unwrap();
}
