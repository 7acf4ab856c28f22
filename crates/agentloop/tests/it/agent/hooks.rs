//! Changes from step to step: the hook before a step, sources of tools, and paused responses.

use std::sync::{Arc, Mutex};

use agentloop::agent::{StopReason, Tool, ToolSource, ToolStatus};
use agentloop::{ChatMessage, Error, ErrorKind, FinishReason, Role, ToolChoice};
use agentloop_sim::Turn;
use serde_json::{Value, json};

use crate::agent::lab::{Count, Lab, ROWS, asks, everywhere, says, script, weather};

#[tokio::test]
async fn a_hook_changes_the_model_the_tool_choice_and_the_messages_of_one_step() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default())).before_step(|step| {
            if step.number == 1 {
                assert!(step.steps.is_empty());
                let (provider, _) = step.request.model.split_once('/').unwrap();
                step.request.model = format!("{provider}/another");
                step.request.tool_choice = Some(ToolChoice::Required);
                step.request.messages.insert(0, ChatMessage::system("Be brief."));
            }
            Ok(())
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        let (first, second) = (lab.request(1), lab.request(2));
        assert_eq!((first.model.as_str(), second.model.as_str()), ("another", lab.row.model));
        assert_eq!(first.tool_choice, Some(ToolChoice::Required));
        assert!(matches!(second.tool_choice, None | Some(ToolChoice::Auto)));
        let system = |turns: &[ChatMessage]| turns.iter().any(|turn| turn.role == Role::System);
        assert!(system(&first.messages) && !system(&second.messages));
        assert!(!system(&outcome.messages));
    })
    .await;
}

#[tokio::test]
async fn a_hook_removes_and_adds_tools_for_one_step() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let ran = Count::default();
        let agent = lab.agent().tool(weather(&ran)).before_step(|step| {
            if step.number == 1 {
                step.tools.remove("weather").unwrap();
                let schema = json!({ "type": "object" });
                step.tools.insert(Tool::dynamic("now", "The time", schema, |_: Value, _| async {
                    Ok("12:00")
                }));
            }
            Ok(())
        });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!(ran.get(), 0);
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::UnknownTool);
        let names = |number: usize| lab.request(number).tools[0].name().unwrap().to_owned();
        assert_eq!((names(1), names(2)), ("now".into(), "weather".into()));
    })
    .await;
}

#[tokio::test]
async fn an_error_of_the_hook_ends_the_run_and_keeps_the_outcome_so_far() {
    everywhere([asks(&["A"]), says("unused")], async |lab| {
        let agent =
            lab.agent().tool(weather(&Count::default())).before_step(|step| match step.number {
                1 => Ok(()),
                _ => Err(Error::new(ErrorKind::Other, "too hot")),
            });
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop.clone(), lab.calls()), (StopReason::Failed, 1));
        assert_eq!(outcome.error.as_ref().unwrap().message(), "too hot");
        assert_eq!(outcome.messages.len(), 2);
        lab.send_history(&outcome).await;
    })
    .await;
}

/// A source with one more tool each time.
#[derive(Default)]
struct Growing(Mutex<usize>);

impl ToolSource for Growing {
    fn tools(&self) -> Vec<Tool> {
        let mut asked = self.0.lock().unwrap();
        *asked += 1;
        let tool = |at| {
            let schema = json!({ "type": "object" });
            Tool::dynamic(format!("tool_{at}"), "Does it", schema, |_: Value, _| async {
                Ok("done")
            })
        };
        (1..=*asked).map(tool).collect()
    }
}

#[tokio::test]
async fn sources_of_tools_are_read_before_each_step() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let agent = lab.agent().tool(weather(&Count::default())).tool_source(Growing::default());
        lab.run(&agent, lab.question()).await;
        let (first, second) = (lab.request(1).tools.len(), lab.request(2).tools.len());
        assert_eq!(second, first + 1);
    })
    .await;
}

#[tokio::test]
async fn two_tools_of_one_name_are_rejected_before_anything_is_sent() {
    everywhere([says("unused")], async |lab| {
        let ran = Count::default();
        let outcome =
            lab.run(&lab.agent().tool(weather(&ran)).tool(weather(&ran)), lab.question()).await;
        assert_eq!(outcome.error.as_ref().unwrap().kind(), ErrorKind::InvalidRequest);
        assert_eq!(lab.calls(), 0);
    })
    .await;
}

#[tokio::test]
async fn tools_can_use_the_resources_of_the_agent() {
    everywhere([asks(&["A"]), says("Fine.")], async |lab| {
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let tool = Tool::dynamic(
            "weather",
            "Notes",
            json!({"type":"object"}),
            |at: Value, context| async move {
                let notes = context.resource::<Mutex<Vec<String>>>().ok_or(std::fmt::Error)?;
                notes.lock().unwrap().push(format!("{} {} {at}", context.tool(), context.step()));
                Ok(())
            },
        );
        let agent = lab.agent().tool(tool).resource::<Mutex<Vec<String>>>(Arc::clone(&notes));
        lab.run(&agent, lab.question()).await;
        assert_eq!(*notes.lock().unwrap(), [r#"weather 1 {"city":"A"}"#]);
        assert_eq!(lab.results(2), ["done"]);
    })
    .await;
}

#[tokio::test]
async fn a_paused_response_is_sent_back_and_continued() {
    let row = ROWS[1];
    for streamed in [false, true] {
        let paused = says("I am still searching.")
            .with_finish_reason(FinishReason::Other("pause_turn".into()));
        let lab = Lab::new(row, streamed, script([paused, says("Found it.")])).await;
        let outcome = lab.run(&lab.agent(), lab.question()).await;
        assert_eq!(
            (outcome.stop.clone(), outcome.text()),
            (StopReason::Finished, "Found it.".into())
        );
        assert_eq!(lab.request(2).messages.last().unwrap().role, Role::Assistant);
        assert_eq!(outcome.steps.len(), 2);
    }
}

#[tokio::test]
async fn pauses_count_as_steps_and_end_at_the_limit() {
    let paused = || {
        Turn::text("Still searching.").with_finish_reason(FinishReason::Other("pause_turn".into()))
    };
    let lab = Lab::new(ROWS[1], false, script([paused(), paused(), paused()])).await;
    let outcome = lab.run(&lab.agent().max_steps(2), lab.question()).await;
    assert_eq!(outcome.stop, StopReason::MaxSteps { limit: 2 });
}

#[tokio::test]
async fn an_invalid_run_is_rejected_before_anything_is_sent() {
    everywhere([says("unused")], async |lab| {
        let several = lab.run(&lab.agent(), lab.question().n(2)).await;
        assert_eq!(several.error.unwrap().kind(), ErrorKind::Unsupported);
        let schema = json!({ "type": 7 });
        let wrong = Tool::dynamic("wrong", "Has no schema", schema, |_: Value, _| async { Ok(()) });
        let error = lab.run(&lab.agent().tool(wrong), lab.question()).await.error.unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().contains("`wrong`"), "{error}");
        assert_eq!(lab.calls(), 0);
    })
    .await;
}
