//! G.9: the events of a run. The laws of all events are checked in every other test as well, see `laws`.

use agentloop::agent::{RunEvent, RunRequest, Tool};
use agentloop::limits::MAX_WAITING_PROGRESS;
use agentloop_sim::Turn;
use serde_json::{Map, Value, json};

use crate::agent::lab::{City, Count, Lab, asks, call, says, streamed, weather};

/// Returns the names of the events, without those of the model.
fn names(lab: &Lab) -> Vec<String> {
    let events = lab.events();
    let names = events
        .iter()
        .filter(|event| !matches!(event, RunEvent::Model(_)))
        .map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned());
    names.collect()
}

#[tokio::test]
async fn a_tool_is_prepared_runs_and_completes() {
    streamed([asks(&["A"]), says("Fine.")], async |lab| {
        lab.run(&lab.agent().tool(weather(&Count::default())), lab.question()).await;
        let all = [
            "step.start",
            "tool.preparing",
            "tool.running",
            "tool.completed",
            "step.done",
            "step.start",
            "step.done",
            "run.done",
        ];
        assert_eq!(names(lab), all);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_cannot_run_is_prepared_and_fails() {
    streamed([Turn::new([call("c1", "nothing", "{}")]), says("Fine.")], async |lab| {
        lab.run(&lab.agent().tool(weather(&Count::default())), lab.question()).await;
        assert_eq!(names(lab)[..4], ["step.start", "tool.preparing", "tool.failed", "step.done"]);
    })
    .await;
}

#[tokio::test]
async fn progress_is_reported_while_the_tool_runs_with_a_fraction_from_0_to_1() {
    streamed([asks(&["A"]), says("Fine.")], async |lab| {
        let tool = Tool::new("weather", "The weather", |at: City, context| async move {
            context.progress("looking");
            tokio::task::yield_now().await;
            context.progress_at(7.0, "found");
            Ok(at.city)
        });
        lab.run(&lab.agent().tool(tool), lab.question()).await;
        let events = lab.events();
        let reported: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::ToolProgress { message, fraction, .. } => {
                    Some((message.clone().unwrap(), *fraction))
                }
                _ => None,
            })
            .collect();
        assert_eq!(reported, [("looking".to_owned(), None), ("found".to_owned(), Some(1.0))]);
    })
    .await;
}

#[tokio::test]
async fn a_task_that_outlives_its_call_cannot_report_progress() {
    streamed([asks(&["A"]), says("Fine.")], async |lab| {
        let tool = Tool::new("weather", "The weather", |at: City, context| async move {
            tokio::spawn(async move {
                context.cancel_token().cancelled().await;
                context.progress("too late");
            });
            Ok(at.city)
        });
        lab.run(&lab.agent().tool(tool), lab.question()).await;
        let late = |event: &RunEvent| matches!(event, RunEvent::ToolProgress { .. });
        assert!(!lab.events().iter().any(late));
    })
    .await;
}

#[tokio::test]
async fn the_status_line_of_a_call_grows_with_its_arguments() {
    let arguments = r#"{"city":"Rome and all the other cities of the country","days":3}"#;
    let mut first = Turn::new([call("c1", "weather", arguments)]);
    first.delta_size = Some(12);
    streamed([first, says("Fine.")], async |lab| {
        let tool = weather(&Count::default())
            .status(|args| Some(format!("Weather of {}", args.get("city")?.as_str()?)));
        lab.run(&lab.agent().tool(tool), lab.question()).await;
        let events = lab.events();
        let lines: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::ToolPreparing { status, .. } | RunEvent::ToolRunning { status, .. } => {
                    status.clone()
                }
                _ => None,
            })
            .collect();
        let whole = "Weather of Rome and all the other cities of the country";
        assert_eq!(lines.last().unwrap(), whole);
        assert!(lines.iter().all(|line| whole.starts_with(line.as_str())), "{lines:?}");
        assert!(lines.is_sorted_by_key(String::len));
    })
    .await;
}

#[tokio::test]
async fn the_events_of_the_model_are_emitted_and_fold_to_its_responses() {
    streamed([asks(&["A"]), says("It rains.")], async |lab| {
        let outcome = lab.run(&lab.agent().tool(weather(&Count::default())), lab.question()).await;
        let answers: Vec<_> = lab
            .events()
            .iter()
            .filter_map(|event| match event {
                RunEvent::Model(agentloop::ChatStreamEvent::MessageDone { response }) => {
                    Some(response.clone())
                }
                _ => None,
            })
            .collect();
        assert_eq!(answers.len(), 2);
        for (answer, step) in answers.iter().zip(&outcome.steps) {
            assert_eq!(**answer, step.response);
        }
    })
    .await;
}

#[tokio::test]
async fn the_initial_data_of_a_run_is_visible_to_its_tools_and_in_its_outcome() {
    streamed([asks(&["A"]), says("Fine.")], async |lab| {
        let tool = Tool::dynamic(
            "weather",
            "Reads",
            json!({"type":"object"}),
            |_: Value, context| async move {
                Ok(context.data().get::<String>("user")?.unwrap_or_default())
            },
        );
        let data = Map::from_iter([("user".to_owned(), json!("Ada"))]);
        let outcome =
            lab.run(&lab.agent().tool(tool), RunRequest::new(lab.question()).data(data)).await;
        assert_eq!(lab.results(2), ["Ada"]);
        assert_eq!(outcome.data["user"], "Ada");
    })
    .await;
}

#[tokio::test]
async fn of_too_many_progress_events_the_newest_are_kept() {
    streamed([asks(&["A"]), says("Fine.")], async |lab| {
        let tool = Tool::new("weather", "The weather", |at: City, context| async move {
            for round in 0..2 {
                for number in 0..5_000 {
                    context.progress(format!("{round} {number}"));
                }
                // The reader takes events meanwhile.
                tokio::task::yield_now().await;
            }
            Ok(at.city)
        });
        lab.run(&lab.agent().tool(tool), lab.question()).await;
        let events = lab.events();
        let reported: Vec<&str> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::ToolProgress { message, .. } => message.as_deref(),
                _ => None,
            })
            .collect();
        assert!(reported.len() <= 2 * MAX_WAITING_PROGRESS, "{}", reported.len());
        assert!(reported.contains(&"0 4999"));
        assert_eq!(reported.last(), Some(&"1 4999"));
    })
    .await;
}

#[tokio::test]
async fn an_outcome_that_was_read_as_an_event_cannot_be_read_twice() {
    streamed([says("Fine.")], async |lab| {
        let mut stream = lab.agent().stream(lab.question());
        while stream.next().await.is_some() {}
        assert!(stream.next().await.is_none());
        let error = stream.outcome().await.unwrap_err();
        assert!(error.to_string().contains("already been read"), "{error}");
    })
    .await;
}
