//! Which responses are stored.

use std::sync::Arc;

use agentloop::middleware::Cache;
use agentloop::{ChatRequest, ErrorKind, Provider};
use agentloop_sim::{Fault, Faults, Simulator};
use bytes::Bytes;

use crate::cache::support::{Kind, Mood, Spy, builder, client};

#[tokio::test(start_paused = true)]
async fn a_failure_is_not_stored() {
    for kind in Kind::ALL {
        for fault in [Fault::status(500), Fault::status(429), Fault::Html, Fault::Refuse] {
            let simulator = Simulator::new().with_faults(Faults::in_order([Some(fault.clone())]));
            let ai = client(&simulator, Cache::new());
            kind.ask(&ai, "sim/echo", "a").await.unwrap_err();
            assert!(!kind.ask(&ai, "sim/echo", "a").await.unwrap(), "{kind:?} {fault}");
            assert!(kind.ask(&ai, "sim/echo", "a").await.unwrap(), "{kind:?} {fault}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_stream_is_not_stored() {
    for fault in ["cut-events=4", "cut-bytes=300;reset", "malformed-events=3", "error-events=3"] {
        let simulator = Simulator::new().with_faults(fault.parse().unwrap());
        let ai = client(&simulator, Cache::new());
        Kind::Stream.ask(&ai, "sim/long-50", "a").await.unwrap_err();
        assert!(!Kind::Stream.ask(&ai, "sim/long-50", "a").await.unwrap(), "{fault}");
        assert!(Kind::Chat.ask(&ai, "sim/long-50", "a").await.unwrap(), "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_truncated_or_filtered_response_is_not_stored() {
    for kind in [Kind::Chat, Kind::Stream] {
        for model in ["sim/length", "sim/refuse"] {
            let simulator = Simulator::new();
            let ai = client(&simulator, Cache::new());
            for _ in 0..2 {
                assert!(!kind.ask(&ai, model, "a").await.unwrap(), "{kind:?} {model}");
            }
            assert_eq!(simulator.ledger().calls, 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_is_not_stored() {
    let simulator = Simulator::new();
    let store = Spy::new(Mood::Well);
    let ai = client(&simulator, Cache::new().store(Arc::clone(&store)));
    let mut stream = ai.stream(ChatRequest::new("sim/long-9").user("a")).await.unwrap();
    for _ in 0..5 {
        stream.next().await.unwrap().unwrap();
    }
    drop(stream);
    assert!(store.values.lock().unwrap().is_empty());
    assert!(!Kind::Chat.ask(&ai, "sim/long-9", "a").await.unwrap());
    assert_eq!(store.values.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_response_of_another_model_is_not_stored() {
    for (kind, model) in Kind::ALL.into_iter().zip(["down/echo", "sim/first", "sim/first"]) {
        let simulator = Simulator::new();
        let ai = builder(&simulator, Cache::new())
            .provider(Provider::openai_compatible("down", "http://down.test/v1"))
            .middleware(|mut request, next| async move {
                request.set_model("sim/echo");
                next.run(request).await
            })
            .build()
            .unwrap();
        for _ in 0..2 {
            assert!(!kind.ask(&ai, model, "a").await.unwrap(), "{kind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_is_stored() {
    const KEY: &str = "sk-very-secret";
    let simulator = Simulator::new();
    let store = Spy::new(Mood::Well);
    let ai = builder(&simulator, Cache::new().store(Arc::clone(&store)))
        .provider(simulator.provider().key(KEY))
        .build()
        .unwrap();
    let request = ChatRequest::new("sim/echo").user("a").header("x-team-token", KEY);
    ai.chat(request).await.unwrap();
    Kind::Embed.ask(&ai, "sim/echo", "a").await.unwrap();
    let values = store.values.lock().unwrap();
    assert_eq!(values.len(), 2);
    for value in values.iter() {
        assert!(!String::from_utf8_lossy(value).contains(KEY));
    }
}

#[tokio::test(start_paused = true)]
async fn stored_bytes_that_are_not_a_response_are_ignored() {
    for kind in Kind::ALL {
        for bytes in ["", "{}", r#"{"v":999,"response":{}}"#, "\u{0}", r#"{"v":1,"response":7}"#] {
            let simulator = Simulator::new();
            let store = Spy::new(Mood::Well);
            *store.planted.lock().unwrap() = Some(Bytes::from(bytes));
            let ai = client(&simulator, Cache::new().store(store));
            assert!(!kind.ask(&ai, "sim/echo", "a").await.unwrap(), "{kind:?} {bytes}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_model_fails_as_it_does_without_a_cache() {
    let ai = client(&Simulator::new(), Cache::new());
    let error = Kind::Chat.ask(&ai, "unknown/m", "a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownProvider);
}
