//! Properties of embeddings, for any number of texts, any limits and any order of responses.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{AgentLoop, BoxFuture, EmbedRequest, Provider, Result};
use bytes::Bytes;
use http::{Request, Response};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A provider that returns `[n]` for the text `n`, after some time, and lists its vectors in reverse order.
#[derive(Clone, Debug, Default)]
struct Host {
    waits: Vec<u64>,
    /// The texts of each call, in the order of arrival.
    calls: Arc<Mutex<Vec<Vec<String>>>>,
    under_way: Arc<AtomicUsize>,
    /// The most calls that were under way at once.
    busiest: Arc<AtomicUsize>,
}

impl Transport for Host {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            let body: Value = serde_json::from_slice(request.body()).unwrap();
            let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
            let at = {
                let mut calls = self.calls.lock().unwrap();
                calls.push(texts.clone());
                calls.len()
            };
            let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            self.busiest.fetch_max(under_way, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(self.waits[at % self.waits.len()])).await;
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            let vector = |(index, text): (usize, &String)| json!({"index": index, "embedding": [text.parse::<u32>().unwrap()]});
            let data: Vec<Value> = texts.iter().enumerate().map(vector).rev().collect();
            let tokens = texts.len();
            let answer =
                json!({"data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}});
            Ok(Response::new(Body::whole(answer.to_string())))
        })
    }
}

proptest! {
    #[test]
    fn each_text_is_sent_once_with_as_many_calls_at_once_as_allowed_and_its_vector_has_its_index(
        count in 1_usize..120,
        batch in 1_usize..40,
        concurrency in 0_usize..8,
        waits in prop::collection::vec(1_u64..50, 1..9),
    ) {
        let host = Host { waits, ..Host::default() };
        let lab = Provider::openai_compatible("lab", "http://lab.test/v1")
            .quirks(|quirks| quirks.embeddings.batch = Some(batch));
        let ai = AgentLoop::builder().transport(host.clone()).provider(lab).build().unwrap();
        let texts: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let request = EmbedRequest::new("lab/e", texts.clone()).concurrency(concurrency);
        let clock = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let response = clock.block_on(ai.embed(request)).unwrap();
        let numbers: Vec<String> =
            response.embeddings.iter().map(|vector| vector[0].to_string()).collect();
        prop_assert_eq!(&numbers, &texts);
        prop_assert_eq!(response.usage.unwrap().prompt_tokens, count as u64);
        let calls = host.calls.lock().unwrap();
        prop_assert_eq!(calls.len(), count.div_ceil(batch));
        prop_assert_eq!(calls.concat(), texts);
        // As many as are allowed, and never more. The clock moves only when all of them wait.
        let bound = concurrency.clamp(1, calls.len());
        prop_assert_eq!(host.busiest.load(Ordering::SeqCst), bound);
    }
}
