//! The client without `async`, outside and inside of a runtime.

use agentloop::blocking::AgentLoop;
use agentloop::media::FileUpload;
use agentloop::structured::StructuredEvent;
use agentloop::{ChatRequest, EmbedRequest, ErrorKind, WaitOptions};
use agentloop_sim::{FAULT_HEADER, Server, Simulator};
use serde_json::json;

fn client() -> AgentLoop {
    let builder = agentloop::AgentLoop::builder().provider(agentloop_sim::provider());
    AgentLoop::new(builder.build().unwrap()).unwrap()
}

fn ask() -> ChatRequest {
    ChatRequest::new("sim/long-8").user("Hello")
}

fn text_of(ai: &AgentLoop) -> String {
    ai.stream(ask()).unwrap().text().collect::<agentloop::Result<String>>().unwrap()
}

#[test]
fn it_works_outside_of_a_runtime() {
    let ai = client();
    let response = ai.chat(ask()).unwrap();
    assert_eq!(text_of(&ai), response.text());
    assert_eq!(ai.stream(ask()).unwrap().response().unwrap().text(), response.text());
    assert_eq!(ai.embed(EmbedRequest::new("sim/embed", ["a", "b"])).unwrap().embeddings.len(), 2);
    assert!(!ai.models("sim").unwrap().is_empty());
    let outcome = ai.run(&ai.agent(), ChatRequest::new("sim/echo").user("Hello")).unwrap();
    assert!(outcome.text().contains("Hello"));
    let events = ai.stream_run(&ai.agent(), ChatRequest::new("sim/echo").user("Hello"));
    assert!(events.map(Result::unwrap).count() > 2);
}

#[test]
fn files_and_batches_are_those_of_the_async_client() {
    let ai = client();
    let files = ai.files("sim").unwrap();
    let file = files.upload(FileUpload::new("a.txt", "one")).unwrap();
    assert_eq!(files.wait(&file.id).unwrap().id, file.id);
    assert_eq!(files.content(&file.id).unwrap(), "one");
    let copy = std::env::temp_dir().join(format!("agentloop-blocking-{}", std::process::id()));
    assert_eq!(files.download(&file.id, &copy).unwrap(), 3);
    std::fs::remove_file(copy).unwrap();
    assert_eq!(files.list().unwrap().len(), 1);
    files.delete(&file.id).unwrap();
    assert_eq!(files.get(&file.id).unwrap_err().kind(), ErrorKind::NotFound);

    let batches = ai.batches();
    let requests = ["one", "two"].map(|text| ChatRequest::new("sim/echo").user(text));
    let prepared = batches.prepare(&requests).unwrap();
    let lost = prepared.batch().clone();
    let batch = batches.submit(prepared).unwrap();
    assert_eq!(batches.find(&lost).unwrap().and_then(|found| found.id), batch.id);
    let mut states = Vec::new();
    let status = batches.watch(&batch, WaitOptions::default(), |s| states.push(s.state)).unwrap();
    assert_eq!(states.last(), Some(&status.state));
    let mut results = batches.read(&batch).unwrap();
    let texts: Vec<String> =
        results.by_ref().map(|result| result.unwrap().response.unwrap().text()).collect();
    assert!(texts[0].starts_with("one") && texts[1].starts_with("two"), "{texts:?}");
    assert!(results.warnings().is_empty() && results.bytes() > 0);
    assert_eq!(results.status().state, status.state);
    assert_eq!(batches.results(&batch).unwrap().len(), 2);
    assert_eq!(batches.list("sim").unwrap().len(), 1);
    assert!(batches.cancel(&batch).is_err(), "it has ended");
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

/// Returns the complete value of a stream.
fn done<T>(event: agentloop::Result<StructuredEvent<T>>) -> Option<T> {
    match event.unwrap() {
        StructuredEvent::Done(structured) => Some(structured.data),
        _ => None,
    }
}

#[test]
fn structured_output_is_a_type_or_json_in_chats_streams_and_runs() {
    let oslo = || City { city: "Oslo".to_owned() };
    let data = json!({ "city": "Oslo" });
    let schema = json!({
        "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"],
        "additionalProperties": false,
    });
    let simulator = Simulator::new().with_responses(vec![data.to_string(); 5]);
    let provider = simulator.provider_named("lab", agentloop::Protocol::OpenAiChat);
    let builder = agentloop::AgentLoop::builder().provider(provider);
    let ai = AgentLoop::new(builder.build().unwrap()).unwrap();
    let ask = || ChatRequest::new("lab/any").user("The largest city of Norway?");

    assert_eq!(ai.chat_structured::<City>(ask()).unwrap().data, oslo());
    assert_eq!(ai.chat_structured_as(schema.clone(), ask()).unwrap().data, data);
    let typed = ai.stream_structured::<City>(ask()).unwrap();
    assert_eq!(typed.filter_map(done).last(), Some(oslo()));
    let untyped = ai.stream_structured_as(schema, ask()).unwrap();
    assert_eq!(untyped.filter_map(done).last(), Some(data));
    let run = ai.run_structured::<City>(&ai.agent(), ask()).unwrap();
    assert_eq!(run.data, Some(oslo()));

    let invalid = ai.chat_structured_as(json!({ "type": 1 }), ask()).unwrap_err();
    assert_eq!(invalid.kind(), ErrorKind::InvalidRequest);
}

#[test]
fn several_threads_share_one_client() {
    let ai = client();
    let texts: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| text_of(&ai))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(texts.iter().all(|text| *text == texts[0] && !text.is_empty()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_works_inside_of_a_runtime_of_several_threads() {
    let ai = client();
    let expected = ai.client().chat(ask()).await.unwrap().text();
    assert_eq!(ai.chat(ask()).unwrap().text(), expected);
    assert_eq!(text_of(&ai), expected);
    let elsewhere = ai.clone();
    let text = tokio::task::spawn_blocking(move || text_of(&elsewhere)).await.unwrap();
    assert_eq!(text, expected);
    // The last owner of the runtime is dropped inside of another one.
    drop(ai);
}

#[tokio::test(flavor = "current_thread")]
async fn inside_of_a_current_thread_runtime_it_is_an_error_and_not_a_panic() {
    let ai = client();
    for error in [
        ai.chat(ask()).unwrap_err(),
        ai.stream(ask()).unwrap_err(),
        ai.models("sim").unwrap_err(),
        ai.run(&ai.agent(), ask()).unwrap_err(),
        ai.run_structured::<City>(&ai.agent(), ask()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains("current-thread runtime"), "{error}");
        assert!(error.hint().unwrap().contains(".await"));
    }
    let mut run = ai.stream_run(&ai.agent(), ask());
    assert!(run.next().unwrap().is_err());
    assert!(run.next().is_none(), "the error is the last item");
    drop(ai);
}

#[test]
fn a_failed_call_and_a_truncated_stream_are_errors() {
    let ai = client();
    let error = ai.chat(ask().header(FAULT_HEADER, "status=401")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    let mut stream = ai.stream(ask().header(FAULT_HEADER, "cut-events=4")).unwrap();
    let last = stream.by_ref().last().unwrap().unwrap_err();
    assert_eq!(last.kind(), ErrorKind::IncompleteStream);
    assert!(stream.next().is_none());
}

#[test]
fn a_stream_over_a_connection_can_be_dropped_early() {
    let server = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let address = server.block_on(Server::start("127.0.0.1:0")).unwrap();
    let lab = agentloop::Provider::openai_compatible("lab", format!("{}/v1", address.url()));
    let ai =
        AgentLoop::new(agentloop::AgentLoop::builder().provider(lab).build().unwrap()).unwrap();
    let request = || ChatRequest::new("lab/long-50").user("Hello");
    let mut stream = ai.stream(request()).unwrap();
    assert!(stream.next().unwrap().is_ok());
    drop(stream);
    assert!(ai.chat(request()).unwrap().text().starts_with("word1 "));
}
