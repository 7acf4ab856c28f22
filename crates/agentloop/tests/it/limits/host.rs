//! A slow simulated provider that records its calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::middleware::{Limit, Limits};
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, AgentLoopBuilder, BoxFuture, ChatRequest, EmbedRequest, Protocol, Result,
};
use agentloop_sim::{SimTransport, Simulator};
use bytes::Bytes;
use tokio::time::Instant;

/// The kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Chat,
    Stream,
    Embed,
}

pub(crate) const WAYS: [Way; 3] = [Way::Chat, Way::Stream, Way::Embed];

impl Way {
    /// Makes the call and reads the whole response.
    pub(crate) async fn ask(self, ai: &AgentLoop, model: &str, text: &str) -> Result<()> {
        let chat = || ChatRequest::new(model).user(text);
        match self {
            Self::Chat => ai.chat(chat()).await.map(drop),
            Self::Stream => ai.stream(chat()).await?.response().await.map(drop),
            Self::Embed => ai.embed(EmbedRequest::new(model, text)).await.map(drop),
        }
    }
}

/// A provider that responds to each call after some time.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) simulator: Simulator,
    takes: Duration,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    busy: usize,
    busiest: usize,
    asked: Vec<(Instant, String)>,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self { simulator: Simulator::new(), takes: Duration::ZERO, seen: Arc::default() }
    }

    pub(crate) fn taking(mut self, takes: Duration) -> Self {
        self.takes = takes;
        self
    }

    pub(crate) fn builder(&self) -> AgentLoopBuilder {
        AgentLoop::builder().provider(self.simulator.provider().transport(self.clone()))
    }

    pub(crate) fn client(&self, limit: Limit) -> AgentLoop {
        self.builder().limits(Limits::new().for_provider("sim", limit)).build().unwrap()
    }

    pub(crate) fn calls(&self) -> usize {
        self.seen.lock().unwrap().asked.len()
    }

    /// The most calls at once, with those whose body is not read yet.
    pub(crate) fn busiest(&self) -> usize {
        self.seen.lock().unwrap().busiest
    }

    /// When each call arrived.
    pub(crate) fn times(&self) -> Vec<Instant> {
        self.seen.lock().unwrap().asked.iter().map(|(time, _)| *time).collect()
    }

    /// The number in the text of each call, in the order of arrival.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let number = |body: &String| {
            let digits = body.split("call ").nth(1).unwrap();
            digits.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
        };
        self.seen.lock().unwrap().asked.iter().map(|(_, body)| number(body)).collect()
    }
}

struct Busy(Arc<Mutex<Seen>>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.lock().unwrap().busy -= 1;
    }
}

impl Transport for Host {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<http::Response<Body>>> {
        Box::pin(async move {
            let body = String::from_utf8_lossy(request.body()).into_owned();
            {
                let mut seen = self.seen.lock().unwrap();
                seen.asked.push((Instant::now(), body));
                seen.busy += 1;
                seen.busiest = seen.busiest.max(seen.busy);
            }
            let _busy = Busy(Arc::clone(&self.seen));
            if !self.takes.is_zero() {
                tokio::time::sleep(self.takes).await;
            }
            let inner = SimTransport::new(self.simulator.clone(), Protocol::OpenAiChat);
            inner.send(request, options).await
        })
    }
}

/// Makes calls at the same time, each with its number in its text.
pub(crate) async fn at_once(ai: &AgentLoop, way: Way, count: usize) -> Vec<Result<()>> {
    let tasks: Vec<_> = (0..count).map(|at| start(ai, way, at)).collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}

/// Starts one call.
pub(crate) fn start(
    ai: &AgentLoop,
    way: Way,
    number: usize,
) -> tokio::task::JoinHandle<Result<()>> {
    let ai = ai.clone();
    tokio::spawn(async move { way.ask(&ai, "sim/echo", &format!("call {number}")).await })
}

/// Lets every task run that can.
pub(crate) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}
