//! The seam: one method, for chat, stream and embed.

use std::sync::{Arc, Mutex};

use agentloop::middleware::{Response, WarningsTo};
use agentloop::{ChatRequest, ChatStream, ChatStreamEvent, EmbedRequest, ErrorKind};

use crate::client::fake::{Fake, Reply, ask};

const VECTORS: &str = r#"{"data":[{"index":0,"embedding":[1.0]}],"model":"e"}"#;
const STREAM: &str = "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[tokio::test]
async fn the_first_is_outermost_and_all_calls_pass_through() {
    let fake = Fake::new([Reply::text("hi"), Reply::sse(&[STREAM]), Reply::json(VECTORS)]);
    let log = Arc::new(Mutex::new(Vec::new()));
    let named = |name: &'static str| {
        let log = Arc::clone(&log);
        move |request: agentloop::middleware::Request, next: agentloop::middleware::Next| {
            let log = Arc::clone(&log);
            async move {
                log.lock().unwrap().push(format!("{name} in {}", request.model()));
                let answer = next.run(request).await?;
                log.lock().unwrap().push(format!("{name} out"));
                Ok(answer)
            }
        }
    };
    let ai = fake.builder().middleware(named("a")).middleware(named("b")).build().unwrap();
    ai.chat(ask()).await.unwrap();
    ai.stream(ask()).await.unwrap();
    ai.embed(EmbedRequest::new("lab/e", "x")).await.unwrap();
    let round = |model: &str| {
        [format!("a in {model}"), format!("b in {model}"), "b out".to_owned(), "a out".to_owned()]
    };
    let expected: Vec<String> =
        [round("lab/m"), round("lab/m"), round("lab/e")].into_iter().flatten().collect();
    assert_eq!(*log.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_middleware_can_try_again_with_another_model_of_another_provider() {
    let fake = Fake::new([Reply::json("{}").status(503), Reply::text("from the other")]);
    let other = agentloop::Provider::openai_compatible("other", "http://other.test/v1");
    let ai = fake
        .builder()
        .provider(other)
        .middleware(|request, next| async move {
            let mut again = request.clone();
            match next.run(request).await {
                Err(error) if error.is_retryable() => {
                    assert_eq!(next.resolve("other/n")?.model, "n");
                    again.set_model("other/n");
                    next.run(again).await
                }
                answer => answer,
            }
        })
        .build()
        .unwrap();
    let answer = ai.chat(ask()).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.provider.as_str()), ("from the other", "other"));
    assert_eq!(fake.requests()[1].uri(), "http://other.test/v1/chat/completions");
}

#[tokio::test]
async fn a_middleware_can_return_its_own_response() {
    let fake = Fake::new([Reply::text("stored")]);
    let stored = fake.client().chat(ask()).await.unwrap();
    let again = stored.clone();
    let ai = Fake::new([])
        .builder()
        .middleware(move |_, _| {
            let events = ChatStream::from_response(&again);
            async move { Ok(Response::Events(events)) }
        })
        .build()
        .unwrap();
    assert_eq!(ai.chat(ask()).await.unwrap(), stored);
    let mut stream = ai.stream(ask()).await.unwrap();
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = Some(event.unwrap());
    }
    assert_eq!(last, Some(ChatStreamEvent::MessageDone { response: Box::new(stored) }));
    let error = ai.embed(EmbedRequest::new("lab/e", "x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
}

#[tokio::test]
async fn warnings_are_reported_for_chat_stream_and_embed() {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&reported);
    let fake = Fake::new([Reply::text("hi"), Reply::sse(&[STREAM]), Reply::json(VECTORS)]);
    let ai = fake
        .builder()
        .env("GROQ_API_KEY", "k")
        .env("TOGETHER_API_KEY", "k")
        .layer(WarningsTo::new(move |warning| {
            sink.lock().unwrap().push(warning.subject.clone().unwrap_or_default());
        }))
        .build()
        .unwrap();
    let mut request = ChatRequest::new("groq/m").user("hi");
    request.frequency_penalty = Some(1.0);
    ai.chat(request.clone()).await.unwrap();
    ai.stream(request).await.unwrap().response().await.unwrap();
    ai.embed(EmbedRequest::new("together/e", "x").dimensions(3)).await.unwrap();
    assert_eq!(*reported.lock().unwrap(), ["frequency_penalty", "frequency_penalty", "dimensions"]);
}
