//! Responses after which the next model is tried.

use agentloop::middleware::Fallback;
use agentloop::{ChatResponse, FinishReason, WarningKind};
use agentloop_sim::Faults;

use crate::middleware::lab::{ANSWER, Kind, Lab, ask, chat, client, question, stream};

fn filtered(response: &ChatResponse) -> bool {
    response.choices.iter().all(|choice| choice.finish_reason == FinishReason::ContentFilter)
}

fn unfiltered() -> Fallback {
    Fallback::new(["b/long-8"]).on_response(filtered)
}

#[tokio::test]
async fn a_complete_response_is_judged_as_a_whole() {
    let (a, b) = (Lab::well("a"), Lab::well("b"));
    let ai = client([&a, &b], unfiltered());
    let seen = chat(&ai, question("a/refuse")).await;
    assert_eq!((seen.provider.as_str(), seen.text.as_str()), ("b", ANSWER));
    assert!(seen.warnings(WarningKind::Fallback)[0].message.contains("not accepted"));
    assert_eq!(chat(&ai, question("a/echo")).await.provider, "a");
}

#[tokio::test]
async fn a_stream_is_returned_from_its_first_content_unless_it_is_buffered() {
    let (a, b) = (Lab::well("a"), Lab::well("b"));
    let seen = stream(&client([&a, &b], unfiltered()), question("a/refuse")).await;
    assert_eq!((seen.provider.as_str(), b.calls()), ("a", 0));
    let buffered = client([&a, &b], unfiltered().buffer_streams());
    let seen = stream(&buffered, question("a/refuse")).await;
    assert_eq!((seen.provider.as_str(), seen.text.as_str()), ("b", ANSWER));
    assert_eq!(stream(&buffered, question("a/long-8")).await.provider, "a");
}

#[tokio::test]
async fn a_stream_without_content_is_judged() {
    let empty = |response: &ChatResponse| response.text().is_empty();
    let layer = Fallback::new(["b/long-8"]).on_response(empty);
    // A response without content, from an inner middleware.
    let (a, b) = (Lab::well("a"), Lab::well("b"));
    let ai = crate::middleware::lab::builder([&a, &b]).layer(layer).middleware(
        |request, next| async move {
            let nothing = request.model().starts_with("a/");
            let answer = next.run(request).await?;
            Ok(match answer {
                agentloop::middleware::Response::Events(events) if nothing => {
                    let mut response = events.response().await?;
                    response.choices[0].content.clear();
                    let events = agentloop::ChatStream::from_response(&response);
                    agentloop::middleware::Response::Events(events)
                }
                answer => answer,
            })
        },
    );
    let seen = stream(&ai.build().unwrap(), question("a/long-8")).await;
    assert_eq!((seen.provider.as_str(), seen.text.as_str()), ("b", ANSWER));
}

#[tokio::test]
async fn a_poor_response_is_better_than_an_error() {
    for then in ["b/refuse", "c/echo", "d/echo"] {
        let labs = [
            Lab::well("a"),
            Lab::well("b"),
            Lab::failing("c", "status=503"),
            Lab::failing("d", "status=400"),
        ];
        let layer = Fallback::new([then]).on_response(filtered).buffer_streams();
        let ai = client(&labs, layer);
        for seen in [chat(&ai, question("a/refuse")).await, stream(&ai, question("a/refuse")).await]
        {
            assert_eq!(seen.warnings(WarningKind::Fallback).len(), 2, "each that was asked");
        }
    }
}

#[tokio::test]
async fn a_stream_falls_back_only_before_its_first_content_unless_it_is_buffered() {
    for fault in ["cut-events=4", "cut-events=4;reset", "error-events=4"] {
        let (a, b) = (Lab::failing("a", fault), Lab::well("b"));
        let seen = ask(&client([&a, &b], unfiltered()), Kind::Stream, "a").await;
        assert_eq!((seen.text.as_str(), b.calls()), ("word1 word2 word3 ", 0), "{fault}");
        let buffered = client([&a, &b], Fallback::new(["b/long-8"]).buffer_streams());
        let seen = ask(&buffered, Kind::Stream, "a").await;
        assert_eq!((seen.provider.as_str(), seen.text.as_str()), ("b", ANSWER), "{fault}");
        let a = Lab::new("a", Faults::none());
        assert_eq!(ask(&client([&a], unfiltered()), Kind::Stream, "a").await.text, ANSWER);
    }
}
