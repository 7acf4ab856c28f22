//! Each stage has its own limit, and its own words. The clock is paused: nothing waits.

use std::time::Duration;

use agentloop::middleware::{Jitter, Retry};
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{BoxFuture, EmbedRequest, Error, ErrorKind, Result, Timeouts};
use bytes::Bytes;
use http::{Request, Response};

use crate::client::fake::{Fake, Reply, ask};

const SECOND: Duration = Duration::from_secs(1);

fn chunk(content: &str) -> String {
    format!(
        "data: {{\"id\":\"1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n"
    )
}

fn client(reply: Reply, timeouts: Timeouts) -> agentloop::AgentLoop {
    Fake::new([reply]).builder().timeouts(timeouts).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_first_content_must_arrive_in_time() {
    let timeouts = Timeouts::none().first_content(5 * SECOND);
    let mut late_head = Reply::text("hi");
    late_head.delay = 6 * SECOND;
    let mut only_comments = Reply::sse(&[": alive\n\n", ": alive\n\n"]);
    only_comments.hangs = true;
    for reply in [late_head, only_comments] {
        let error = client(reply.clone(), timeouts).stream(ask()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(error.message().contains("the first content"), "{error}");
        assert!(error.is_retryable());
        let error = client(reply, timeouts).chat(ask()).await.unwrap_err();
        assert!(error.message().contains("the response"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_in_the_middle_is_an_error_and_a_comment_is_life() {
    let timeouts = Timeouts::none().idle(5 * SECOND);
    let mut reply = Reply::sse(&[&chunk("a")]);
    reply.pieces.extend([
        (4 * SECOND, ": alive\n\n".to_owned()),
        (4 * SECOND, ": alive\n\n".to_owned()),
        (4 * SECOND, chunk("b")),
    ]);
    reply.hangs = true;
    let began = tokio::time::Instant::now();
    let error = client(reply, timeouts).stream(ask()).await.unwrap().response().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("the next part"), "{error}");
    assert_eq!(error.partial().unwrap().text(), "ab");
    assert_eq!(began.elapsed().as_secs(), 17);
    assert!(!error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn the_whole_call_has_a_limit_of_its_own() {
    let timeouts = Timeouts::none().total(10 * SECOND);
    let mut reply = Reply::sse(&[]);
    reply.pieces = (0..100).map(|_| (SECOND, chunk("x"))).collect();
    let began = tokio::time::Instant::now();
    let error = client(reply, timeouts).stream(ask()).await.unwrap().response().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("the complete response"), "{error}");
    assert_eq!(began.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_request_s_own_limits_win_over_the_client_s() {
    let mut reply = Reply::text("hi");
    reply.delay = 6 * SECOND;
    let strict = Timeouts::none().first_content(SECOND);
    let mut request = ask();
    request.timeouts = Some(Timeouts::none());
    assert_eq!(client(reply, strict).chat(request).await.unwrap().text(), "hi");
}

/// No server responds: it takes as long as a connection may.
#[derive(Debug)]
struct Unreachable;

impl Transport for Unreachable {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            tokio::time::sleep(options.connect_timeout.unwrap()).await;
            Err(Error::new(ErrorKind::Timeout, "connect: no server responds"))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn each_try_has_the_whole_time_to_connect() {
    let timeouts = Timeouts::none().connect(3 * SECOND);
    let layers = Fake::new([]).builder().transport(Unreachable).timeouts(timeouts);
    let ai = layers.layer(Retry::new().jitter(Jitter::fixed(0.0))).build().unwrap();
    let began = tokio::time::Instant::now();
    for error in [
        ai.chat(ask()).await.unwrap_err(),
        ai.stream(ask()).await.unwrap_err(),
        ai.embed(EmbedRequest::new("lab/e", "x")).await.unwrap_err(),
    ] {
        assert!(error.message().contains("connect"), "{error}");
        assert_eq!((error.kind(), error.causes().len()), (ErrorKind::Timeout, 2));
    }
    assert_eq!(began.elapsed(), 3 * 3 * 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_is_sent_once_however_slowly_the_refusal_arrives() {
    let drip = |status: u16| {
        let mut reply = Reply::json("").status(status);
        reply.pieces = (0..1_000).map(|_| (2 * SECOND, " ".to_owned())).collect();
        reply.hangs = true;
        reply
    };
    let mut never = Reply::json("").status(401);
    never.pieces.clear();
    never.hangs = true;
    let short = Timeouts::none().first_content(SECOND);
    let total = Timeouts::none().total(SECOND);
    for timeouts in [Timeouts::default(), Timeouts::none(), short, total] {
        for reply in [drip(401), never.clone()] {
            let fake = Fake::new((0..20).map(|_| reply.clone()));
            let ai = fake.builder().timeouts(timeouts).layer(Retry::new()).build().unwrap();
            let began = tokio::time::Instant::now();
            for error in [
                ai.chat(ask()).await.unwrap_err(),
                ai.stream(ask()).await.unwrap_err(),
                ai.embed(EmbedRequest::new("lab/e", "x")).await.unwrap_err(),
                ai.models("lab").await.unwrap_err(),
            ] {
                assert_eq!((error.kind(), error.status()), (ErrorKind::Auth, Some(401)), "{error}");
            }
            assert_eq!(fake.requests().len(), 4);
            assert!(began.elapsed() <= 4 * agentloop::limits::ERROR_BODY_WAIT + SECOND);
        }
    }
    let error = client(drip(503), short).chat(ask()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Overloaded, true));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_models_has_one_limit_for_all_its_pages() {
    let page = r#"{"data":[{"id":"m","type":"model"}],"has_more":true,"last_id":"m"}"#;
    let mut slow = Reply::json(page);
    slow.delay = 9 * SECOND;
    let fake = Fake::new((0..50).map(|_| slow.clone()));
    let ai = fake.builder().env("ANTHROPIC_API_KEY", "k").build().unwrap();
    let began = tokio::time::Instant::now();
    let error = ai.models("anthropic").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(began.elapsed(), agentloop::limits::MODEL_LIST_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_models_is_bounded_in_bytes_and_in_models() {
    let entries = vec![r#"{"id":"m"}"#; 2_000].join(",");
    let many = format!(r#"{{"data":[{entries}],"has_more":true,"last_id":"m"}}"#);
    let padding = " ".repeat(1 << 20);
    let large = format!(r#"{{"data":[{{"id":"m"}}],"has_more":true,"last_id":"m"}}{padding}"#);
    for (page, words) in [(many, "50000 models"), (large, "16777216 bytes")] {
        let fake = Fake::new((0..50).map(|_| Reply::json(page.clone())));
        let ai = fake.builder().env("ANTHROPIC_API_KEY", "k").build().unwrap();
        let error = ai.models("anthropic").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(error.message().contains(words), "{error}");
        assert!(fake.requests().len() < 30);
    }
}
