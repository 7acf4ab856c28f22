//! One record a call, whichever way it ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::middleware::{LogEntry, LogStatus, Logger};
use agentloop::{AgentLoop, ChatRequest, EmbedRequest, ErrorKind, FinishReason};

type Entries = Arc<Mutex<Vec<LogEntry>>>;

fn logged(content: bool) -> (AgentLoop, Entries) {
    let entries = Entries::default();
    let kept = Arc::clone(&entries);
    let mut logger = Logger::to(move |entry| kept.lock().unwrap().push(entry.clone()));
    if content {
        logger = logger.with_content();
    }
    let ai =
        AgentLoop::builder().provider(agentloop_sim::provider()).layer(logger).build().unwrap();
    (ai, entries)
}

fn only(entries: &Entries) -> LogEntry {
    let entries = entries.lock().unwrap();
    assert_eq!(entries.len(), 1, "one record a call");
    entries[0].clone()
}

fn asking(model: &str) -> ChatRequest {
    ChatRequest::new(format!("sim/{model}")).user("Hello there")
}

#[tokio::test]
async fn a_chat_a_stream_and_vectors_are_one_record_each() {
    let (ai, entries) = logged(false);
    let response = ai.chat(asking("echo")).await.unwrap();
    let entry = only(&entries);
    assert_eq!((entry.provider.as_str(), entry.model.as_str()), ("sim", "echo"));
    assert_eq!((entry.operation.as_str(), entry.asked.as_str()), ("chat", "sim/echo"));
    assert_eq!((entry.status, entry.stream), (LogStatus::Ok, false));
    assert_eq!(entry.finish_reason, Some(FinishReason::Stop));
    assert_eq!(entry.usage, Some(response.usage));
    assert_eq!(entry.response_id, Some(response.id));
    assert_eq!((entry.prompt, entry.answer), (None, None), "content is not written unasked");

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
async fn content_is_written_when_it_is_wanted() {
    let (ai, entries) = logged(true);
    ai.chat(asking("echo")).await.unwrap();
    let entry = only(&entries);
    assert!(entry.prompt.unwrap().to_string().contains("Hello there"));
    assert!(entry.answer.unwrap().to_string().contains("Hello there"));
}

#[tokio::test]
async fn what_fails_is_one_record_with_its_reason() {
    let (ai, entries) = logged(false);
    ai.chat(asking("echo!status=429")).await.unwrap_err();
    let entry = only(&entries);
    assert_eq!((entry.status, entry.error_kind), (LogStatus::Error, Some(ErrorKind::RateLimit)));

    let (ai, entries) = logged(false);
    ai.embed(EmbedRequest::new("sim/embed!status=500", "a")).await.unwrap_err();
    assert_eq!(only(&entries).error_kind, Some(ErrorKind::Server));

    let (ai, entries) = logged(false);
    ai.chat(ChatRequest::new("nobody/x").user("Hi")).await.unwrap_err();
    assert_eq!((only(&entries).status, only(&entries).provider.as_str()), (LogStatus::Error, ""));

    // A stream that breaks off in the middle of its content.
    let (ai, entries) = logged(false);
    let stream = ai.stream(asking("long-50!cut-events=20")).await.unwrap();
    assert!(entries.lock().unwrap().is_empty(), "the call has not ended");
    stream.response().await.unwrap_err();
    let entry = only(&entries);
    assert_eq!(entry.error_kind, Some(ErrorKind::IncompleteStream));
    assert_eq!(entry.model, "long-50!cut-events=20".split('!').next().unwrap());
}

#[tokio::test]
async fn what_the_caller_drops_is_one_record_too() {
    let (ai, entries) = logged(false);
    let mut stream = ai.stream(asking("long-50")).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    assert_eq!(only(&entries).status, LogStatus::Cancelled);

    // Before the answer began.
    let (ai, entries) = logged(false);
    tokio::time::pause();
    let call = ai.chat(asking("echo!stall-events=0"));
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    let entry = only(&entries);
    assert_eq!(entry.status, LogStatus::Cancelled);
    // The clock stands still but for the second; timers are exact to a millisecond.
    assert!((1000..1010).contains(&entry.latency_ms), "{}", entry.latency_ms);
}

#[test]
fn a_record_has_the_names_of_the_seed() {
    let entry: LogEntry = serde_json::from_str(
        r#"{"provider":"groq","model":"m","latency_ms":7,"status":"error","error":"no"}"#,
    )
    .unwrap();
    let json = serde_json::to_value(&entry).unwrap();
    assert_eq!(json["latency_ms"], 7);
    assert_eq!((&json["status"], &json["error"]), (&"error".into(), &"no".into()));
    assert_eq!(serde_json::from_value::<LogEntry>(json).unwrap(), entry);
}
