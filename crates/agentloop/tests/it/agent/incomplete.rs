//! G.2: no call runs if the response was cut off, filtered or failed.

use agentloop::agent::{StopReason, ToolStatus};
use agentloop::{ErrorKind, FinishReason};
use agentloop_sim::{Cut, Fault, Turn};

use crate::agent::lab::{Count, asks, call, everywhere, says, streamed, text, weather};

async fn ends(reason: FinishReason, stop: StopReason) {
    let turn = Turn::new([text("Let me look."), call("c1", "weather", r#"{"city":"Rome"}"#)]);
    everywhere([turn.with_finish_reason(reason)], async |lab| {
        let ran = Count::default();
        let outcome = lab.run(&lab.agent().tool(weather(&ran)), lab.question()).await;
        // A provider that reports a failed response as an error, without a finish reason, fails the request.
        let stop = if outcome.error.is_some() { StopReason::Failed } else { stop.clone() };
        assert_eq!((outcome.stop.clone(), lab.calls(), ran.get()), (stop, 1, 0));
        let results = &outcome.steps[0].results;
        let unrun = [ToolStatus::Skipped, ToolStatus::Canceled];
        assert!(results.iter().all(|result| unrun.contains(&result.status)), "{results:?}");
        assert_eq!(outcome.text(), "Let me look.");
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn the_calls_of_a_response_cut_off_by_a_token_limit_do_not_run() {
    ends(FinishReason::Length, StopReason::Length).await;
}

#[tokio::test]
async fn the_calls_of_a_filtered_response_do_not_run() {
    ends(FinishReason::ContentFilter, StopReason::ContentFilter).await;
}

#[tokio::test]
async fn the_calls_of_a_truncated_stream_do_not_run() {
    for bytes in [1, 120, 180, 240] {
        let turn = asks(&["Rome", "Oslo"]).with_fault(Fault::CutBytes(bytes, Cut::End));
        everywhere([turn], async |lab| {
            let ran = Count::default();
            let outcome = lab.run(&lab.agent().tool(weather(&ran)), lab.question()).await;
            assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Failed, 0));
            assert!(outcome.error.is_some());
            lab.send_history(&outcome).await;
        })
        .await;
    }
}

#[tokio::test]
async fn text_before_the_truncation_is_kept() {
    let turn = Turn::text("one two three four five six seven eight nine ten");
    streamed([turn.with_fault("cut-events=6".parse().unwrap())], async |lab| {
        let outcome = lab.run(&lab.agent(), lab.question()).await;
        assert_eq!(outcome.error.as_ref().unwrap().kind(), ErrorKind::IncompleteStream);
        assert!(outcome.steps[0].partial);
        assert!(outcome.messages[0].text().starts_with("one two"), "{:?}", outcome.messages);
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn a_request_that_fails_in_a_later_step_keeps_the_earlier_steps() {
    let failing = Turn::default().with_fault(Fault::status(400));
    everywhere([asks(&["Rome"]), failing], async |lab| {
        let ran = Count::default();
        let outcome = lab.run(&lab.agent().tool(weather(&ran)), lab.question()).await;
        assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Failed, 1));
        assert_eq!(outcome.error.as_ref().unwrap().kind(), ErrorKind::InvalidRequest);
        assert_eq!((outcome.steps.len(), outcome.messages.len()), (1, 2));
        assert!(outcome.usage.total_tokens.is_some());
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn an_incomplete_call_is_left_out_of_the_history_and_a_complete_one_gets_its_result() {
    let turn = Turn::new([
        call("c1", "weather", r#"{"city":"Rome"}"#),
        call("c2", "weather", r#"{"city":"Os"#),
    ]);
    everywhere([turn.with_finish_reason(FinishReason::Length), says("unused")], async |lab| {
        let outcome = lab.run(&lab.agent().tool(weather(&Count::default())), lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Length);
        assert_eq!(outcome.steps[0].results.len(), 2);
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn the_calls_of_a_response_that_the_provider_marks_as_failed_do_not_run() {
    ends(FinishReason::Error, StopReason::AnswerFailed).await;
}
