//! Waiting for the end of a batch. The clock is paused, so nothing takes time.

use std::time::Duration;

use agentloop::{BatchState, ChatRequest, ErrorKind, WaitOptions};
use agentloop_sim::{Fault, Faults, SimBatches, Simulator};
use tokio::time::Instant;

use super::{client, submit};

#[tokio::test(start_paused = true)]
async fn the_time_between_two_requests_grows_to_a_minute() {
    let simulator = Simulator::new().with_batches(SimBatches::new().polls(20));
    let ai = client(simulator.provider());
    let batch = submit(&ai, &[ChatRequest::new("sim/echo").user("Hi")]).await;
    let began = Instant::now();
    let mut moments = Vec::new();
    let status = ai
        .batches()
        .watch(&batch, WaitOptions::default(), |status| {
            moments.push((began.elapsed(), status.state));
        })
        .await
        .unwrap();
    assert_eq!((status.state, moments.len()), (BatchState::Completed, 21));
    let pauses: Vec<u64> =
        moments.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_secs()).collect();
    assert_eq!(pauses[..3], [5, 7, 11]);
    assert!(pauses.iter().skip(8).all(|pause| *pause == 60), "{pauses:?}");
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_at_its_limit_and_the_batch_continues() {
    let simulator = Simulator::new().with_batches(SimBatches::new().polls(30));
    let ai = client(simulator.provider());
    let batch = submit(&ai, &[ChatRequest::new("sim/echo").user("Hi")]).await;
    let began = Instant::now();
    let limit = Duration::from_secs(90);
    let error = ai.batches().wait(&batch, WaitOptions::default().timeout(limit)).await.unwrap_err();
    assert_eq!((error.kind(), began.elapsed()), (ErrorKind::Timeout, limit));
    assert_eq!(error.message(), "timed out after 90 s waiting for the batch");
    assert_eq!(
        ai.batches().wait(&batch, WaitOptions::default()).await.unwrap().state,
        BatchState::Completed
    );
}

#[tokio::test(start_paused = true)]
async fn an_interval_of_zero_does_not_flood_the_provider() {
    let simulator = Simulator::new().with_batches(SimBatches::new().polls(3));
    let ai = client(simulator.provider());
    let batch = submit(&ai, &[ChatRequest::new("sim/echo").user("Hi")]).await;
    let began = Instant::now();
    ai.batches().wait(&batch, WaitOptions::default().interval(Duration::ZERO)).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn temporary_errors_do_not_end_the_wait_and_permanent_ones_do() {
    // Two calls submit the batch, then four fail.
    let fails = || Some(Fault::status(503));
    let faults = Faults::in_order([None, None, fails(), fails(), fails(), fails()]);
    let simulator = Simulator::new().with_faults(faults);
    let ai = client(simulator.provider());
    let batch = submit(&ai, &[ChatRequest::new("sim/echo").user("Hi")]).await;
    let status = ai.batches().wait(&batch, WaitOptions::default()).await.unwrap();
    assert_eq!(status.state, BatchState::Completed);
    let mut other = batch.clone();
    other.id = Some("batch_99".to_owned());
    let error = ai.batches().wait(&other, WaitOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_provider_cannot_make_the_wait_endless_with_retry_after() {
    let fault = || Some(Fault::status(429).with_retry_after("99999999"));
    let faults = Faults::in_order([None, None, fault(), fault(), fault()]);
    let ai = client(Simulator::new().with_faults(faults).provider());
    let batch = submit(&ai, &[ChatRequest::new("sim/echo").user("Hi")]).await;
    let began = Instant::now();
    let status = ai.batches().wait(&batch, WaitOptions::default()).await.unwrap();
    assert_eq!(status.state, BatchState::Completed);
    assert_eq!(began.elapsed(), 3 * agentloop::limits::MAX_BATCH_INTERVAL);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_always_fails_ends_the_wait() {
    let faults = Faults::in_order([None, None]).then_always(Fault::status(500));
    let simulator = Simulator::new().with_faults(faults);
    let ai = client(simulator.provider());
    let batch = submit(&ai, &[ChatRequest::new("sim/echo").user("Hi")]).await;
    let error = ai.batches().wait(&batch, WaitOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    let polls = agentloop::limits::MAX_BATCH_POLL_FAILURES + 1;
    assert_eq!(simulator.ledger().calls, 2 + polls as u64);
}
