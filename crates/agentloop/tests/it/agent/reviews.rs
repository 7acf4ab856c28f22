//! G.7: a result can be reviewed before the model sees it.

use agentloop::BoxFuture;
use agentloop::agent::{
    Agent, Approver, Decision, Pending, Review, StopReason, ToolOutput, ToolResult, ToolStatus,
    Wants,
};

use crate::agent::lab::{Count, Lab, asks, everywhere, says, tool_texts, weather};

struct Reviewer(Review);

impl Approver for Reviewer {
    fn decide<'a>(&'a self, _: &'a Pending) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Allow))
    }

    fn review<'a>(&'a self, result: &'a ToolResult) -> BoxFuture<'a, Review> {
        assert_eq!(result.output.to_text(), "It rains in A.");
        Box::pin(std::future::ready(self.0.clone()))
    }
}

fn agent(lab: &Lab, ran: &Count, review: Review) -> Agent {
    lab.agent().tool(weather(ran).reviewed()).approver(Reviewer(review))
}

#[tokio::test]
async fn the_model_sees_a_kept_result_but_not_a_replaced_or_withheld_one() {
    let replaced = Review::Replace { output: ToolOutput::text("wet") };
    let withheld = Review::Withhold { reason: "private".into() };
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        for (review, status, seen) in [
            (Review::Keep, ToolStatus::Completed, "It rains in A."),
            (replaced.clone(), ToolStatus::Completed, "wet"),
            (withheld.clone(), ToolStatus::Withheld, "withheld: private"),
        ] {
            let ran = Count::default();
            let outcome = lab.run(&agent(lab, &ran, review), lab.question()).await;
            assert_eq!((outcome.stop.clone(), ran.get()), (StopReason::Finished, 1));
            assert_eq!(outcome.steps[0].results[0].status, status);
            assert_eq!(tool_texts(&outcome.messages), [seen]);
            assert!(lab.results(lab.calls())[0].contains(seen));
        }
    })
    .await;
}

#[tokio::test]
async fn an_abort_in_a_review_ends_the_run_and_withholds_the_result() {
    everywhere([asks(&["A"]), says("unused")], async |lab| {
        let agent = agent(lab, &Count::default(), Review::Abort { reason: "no".into() });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Aborted { reason: "no".into() });
        assert!(!serde_json::to_string(&outcome.messages).unwrap().contains("It rains"));
        lab.send_history(&outcome).await;
    })
    .await;
}

#[tokio::test]
async fn a_result_that_waits_for_a_review_is_stored_and_the_tool_does_not_run_again() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran).reviewed());
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Waiting);
        let mut run = *outcome.suspended.unwrap();
        let pending = run.pending();
        let Wants::Review { result } = &pending[0].wants else { panic!("{pending:?}") };
        assert_eq!(result.output.to_text(), "It rains in A.");
        assert!(run.decide(&pending[0].call_id, Decision::Allow).is_err());
        run.review(&pending[0].call_id, Review::Keep).unwrap();
        let outcome = lab.run(&agent, run).await;
        assert_eq!((outcome.stop, ran.get()), (StopReason::Finished, 1));
        assert_eq!(lab.results(2), ["It rains in A."]);
    })
    .await;
}
