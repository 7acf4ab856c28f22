//! Limits that several clients share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::middleware::{
    AcquireRequest, AcquireResponse, InProcess, Limit, Limits, SharedLimits,
};
use agentloop::{AgentLoop, BoxFuture, ChatRequest, Error, ErrorKind, Result};
use tokio::time::Instant;

use crate::limits::host::{Host, WAYS, Way, at_once, start};

const SECOND: Duration = Duration::from_secs(1);

fn client(host: &Host, limit: Limit, shared: Arc<dyn SharedLimits>) -> AgentLoop {
    let limits = Limits::new().for_provider("sim", limit).shared_through(shared);
    host.builder().limits(limits).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_clients_share_one_rate() {
    for way in WAYS {
        let (host, shared) = (Host::new(), Arc::new(InProcess::default()));
        let limit = Limit::new().requests_per_minute(10);
        let clients = [(); 2].map(|()| client(&host, limit.clone(), shared.clone()));
        let began = Instant::now();
        let calls: Vec<_> = (0..20).map(|at| start(&clients[at % 2], way, at)).collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        let at_first = host.times().iter().filter(|time| **time - began < SECOND).count();
        assert_eq!(at_first, 10, "{way:?}");
        assert_eq!(began.elapsed().as_secs(), 60);
        // Each client's own calls go in their order.
        let even: Vec<usize> = host.numbers().into_iter().filter(|at| at % 2 == 0).collect();
        assert!(even.is_sorted(), "{even:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_that_one_client_did_not_use_are_available_to_another() {
    let (host, shared) = (Host::new(), Arc::new(InProcess::default()));
    let limit = Limit::new().tokens_per_minute(6_000).queue(0);
    let [one, other] = [(); 2].map(|()| client(&host, limit.clone(), shared.clone()));
    let greedy = || ChatRequest::new("sim/long-10").user("call 1").max_tokens(5_000);
    one.chat(greedy()).await.unwrap();
    // Its usage is reported with its next call.
    one.chat(greedy()).await.unwrap();
    let small = ChatRequest::new("sim/long-10").user("call 1").max_tokens(900);
    other.chat(small).await.unwrap();
}

/// Fails, never responds, or makes callers wait, and records the requests.
#[derive(Default)]
struct Odd {
    answers: Mutex<Vec<Option<Result<AcquireResponse>>>>,
    asked: Mutex<Vec<(u64, i64)>>,
}

impl Odd {
    fn new(answers: impl IntoIterator<Item = Option<Result<AcquireResponse>>>) -> Arc<Self> {
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        Arc::new(Self { answers: Mutex::new(answers), asked: Mutex::default() })
    }
}

impl SharedLimits for Odd {
    fn acquire<'a>(
        &'a self,
        request: AcquireRequest<'a>,
    ) -> BoxFuture<'a, Result<AcquireResponse>> {
        self.asked.lock().unwrap().push((request.tokens, request.settled));
        let answer = self.answers.lock().unwrap().pop();
        Box::pin(async move {
            match answer {
                Some(Some(answer)) => answer,
                Some(None) => std::future::pending().await,
                None => Ok(AcquireResponse::Granted),
            }
        })
    }
}

fn lost() -> Option<Result<AcquireResponse>> {
    Some(Err(Error::new(ErrorKind::Connection, "gone")))
}

#[tokio::test(start_paused = true)]
async fn shared_limits_that_do_not_respond_fail_no_call_and_own_limits_apply() {
    for (answer, delay) in [(lost(), 0), (None, 250)] {
        let (host, odd) = (Host::new(), Odd::new([answer]));
        let ai = client(&host, Limit::new().requests_per_minute(5).queue(9), odd.clone());
        let began = Instant::now();
        assert!(at_once(&ai, Way::Chat, 5).await.iter().all(Result::is_ok));
        assert!(began.elapsed() <= Duration::from_millis(delay + 5), "{:?}", began.elapsed());
        assert_eq!(odd.asked.lock().unwrap().len(), 1, "it is not used for a while");
        // The client's own bucket is empty; by then it uses the shared limits again.
        Way::Chat.ask(&ai, "sim/echo", "call 6").await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 12);
        assert_eq!(odd.asked.lock().unwrap().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_of_shared_limits_is_observed_and_one_that_is_too_long_is_not_started() {
    let wait = |seconds: u32| Some(Ok(AcquireResponse::Wait(seconds * SECOND)));
    let granted = Some(Ok(AcquireResponse::Granted));
    let (host, odd) = (Host::new(), Odd::new([wait(3), wait(2), granted, wait(99)]));
    let limit = Limit::new().requests_per_minute(100).max_wait(10 * SECOND);
    let ai = client(&host, limit, odd);
    let began = Instant::now();
    Way::Chat.ask(&ai, "sim/echo", "call 1").await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 5);
    let error = Way::Chat.ask(&ai, "sim/echo", "call 1").await.unwrap_err();
    assert_eq!((error.code(), error.retry_after()), (Some("local_limit"), Some(99 * SECOND)));
    Way::Chat.ask(&ai, "sim/echo", "call 1").await.unwrap();
    assert_eq!(host.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn used_tokens_are_reported_once_and_a_debt_is_not_lost() {
    let (host, odd) = (Host::new(), Odd::new([Some(Ok(AcquireResponse::Granted)), lost()]));
    let ai = client(&host, Limit::new().tokens_per_minute(60_000), odd.clone());
    let request = || ChatRequest::new("sim/long-30").user("call 1").max_tokens(100);
    let used = ai.chat(request()).await.unwrap().usage.total_tokens.unwrap().cast_signed();
    ai.chat(request()).await.unwrap();
    tokio::time::advance(6 * SECOND).await;
    ai.chat(request()).await.unwrap();
    ai.chat(request()).await.unwrap();
    let settled: Vec<i64> = odd.asked.lock().unwrap().iter().map(|(_, settled)| *settled).collect();
    // The second call could not be reserved, so that all that it used is owed; what came back of the first may have
    // been received, and is not reported twice.
    assert_eq!(settled, [0, used - 102, used, used - 102]);
    assert_eq!(odd.asked.lock().unwrap()[0].0, 102);
}
