//! G.3: tools run in parallel up to a limit or one by one, results have the order of the calls, and the agent never runs
//! server tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentloop::agent::{Agent, StopReason, Tool, ToolStatus};
use agentloop::{ResponsePart, ServerToolCallPart, ServerToolResultPart, ToolDefinition};
use agentloop_sim::Turn;
use serde_json::json;
use tokio::sync::{Barrier, Notify, mpsc};

use crate::agent::lab::{City, Count, Lab, asks, call, everywhere, outputs, says, text, weather};

/// Returns a tool that records the most calls that ran at the same time.
fn parallelism_tool(ran: &Count, most: &Arc<AtomicUsize>) -> Tool {
    let (ran, now, most) = (ran.clone(), Arc::new(AtomicUsize::new(0)), Arc::clone(most));
    Tool::new("weather", "The weather of a city", move |at: City, _| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        ran.more();
        async move {
            now.fetch_add(1, Ordering::SeqCst);
            for _ in 0..20 {
                most.fetch_max(now.load(Ordering::SeqCst), Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(at.city)
        }
    })
}

const CITIES: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];

async fn most_at_once(lab: &Lab, change: impl FnOnce(Agent, Tool) -> Agent) -> usize {
    let (ran, most) = (Count::default(), Arc::default());
    let agent = change(lab.agent(), parallelism_tool(&ran, &most));
    let outcome = lab.run(&agent, lab.question()).await;
    assert_eq!(outcome.stop, StopReason::Finished);
    assert_eq!((ran.get(), outputs(&outcome.steps[0].results)), (7, CITIES.map(Into::into).into()));
    most.load(Ordering::SeqCst)
}

#[tokio::test]
async fn tools_run_in_parallel_up_to_the_limit() {
    everywhere([asks(&CITIES), says("Fine.")], async |lab| {
        let most = most_at_once(lab, |agent, tool| agent.tool(tool).parallel_tools(3)).await;
        assert_eq!(most, 3);
        let most = most_at_once(lab, |agent, tool| agent.tool(tool)).await;
        assert_eq!(most, 7);
    })
    .await;
}

#[tokio::test]
async fn tools_run_one_by_one_if_the_limit_is_one() {
    everywhere([asks(&CITIES), says("Fine.")], async |lab| {
        let most = most_at_once(lab, |agent, tool| agent.tool(tool).parallel_tools(1)).await;
        assert_eq!(most, 1);
    })
    .await;
}

#[tokio::test]
async fn sequential_tools_run_one_by_one() {
    everywhere([asks(&CITIES), says("Fine.")], async |lab| {
        let most = most_at_once(lab, |agent, tool| agent.tool(tool.sequential())).await;
        assert_eq!(most, 1);
    })
    .await;
}

#[tokio::test]
async fn a_sequential_tool_runs_alone_between_parallel_ones() {
    let turns = [
        Turn::new([
            call("c1", "weather", r#"{"city":"A"}"#),
            call("c2", "weather", r#"{"city":"B"}"#),
            call("c3", "alone", r#"{"city":"C"}"#),
            call("c4", "weather", r#"{"city":"D"}"#),
        ]),
        says("Fine."),
    ];
    everywhere(turns, async |lab| {
        let (note_sender, mut received) = mpsc::unbounded_channel();
        let notes = |name: &'static str| {
            let note_sender = note_sender.clone();
            Tool::new(name, "Notes when it runs", move |at: City, _| {
                let note_sender = note_sender.clone();
                async move {
                    note_sender.send(format!("{} begins", at.city))?;
                    tokio::task::yield_now().await;
                    tokio::task::yield_now().await;
                    note_sender.send(format!("{} ends", at.city))?;
                    Ok(())
                }
            })
        };
        let agent = lab.agent().tool(notes("weather")).tool(notes("alone").sequential());
        lab.run(&agent, lab.question()).await;
        let mut order = Vec::new();
        while let Ok(note) = received.try_recv() {
            order.push(note);
        }
        let at = |note: &str| order.iter().position(|seen| seen == note).unwrap();
        assert!(at("A begins") < at("B ends") && at("B begins") < at("A ends"), "{order:?}");
        assert!(at("A ends").max(at("B ends")) < at("C begins"), "{order:?}");
        assert!(at("C ends") < at("D begins"), "{order:?}");
    })
    .await;
}

#[tokio::test]
async fn results_have_the_order_of_the_calls_whichever_ends_first() {
    everywhere([asks(&["A", "B", "C"]), says("Fine.")], async |lab| {
        // Each call waits for the one after it.
        let gates: Arc<Vec<Notify>> = Arc::new((0..4).map(|_| Notify::new()).collect());
        gates[3].notify_one();
        let (note_sender, mut received) = mpsc::unbounded_channel();
        let tool = Tool::new("weather", "The weather of a city", move |at: City, _| {
            let (gates, note_sender) = (Arc::clone(&gates), note_sender.clone());
            async move {
                let place = "ABC".find(&at.city).unwrap_or(0);
                gates[place + 1].notified().await;
                note_sender.send(at.city.clone())?;
                gates[place].notify_one();
                Ok(at.city)
            }
        });
        let outcome = lab.run(&lab.agent().tool(tool), lab.question()).await;
        let mut ended = String::new();
        while let Ok(city) = received.try_recv() {
            ended.push_str(&city);
        }
        assert_eq!(ended, "CBA");
        assert_eq!(outputs(&outcome.steps[0].results), ["A", "B", "C"]);
        assert_eq!(lab.results(2), ["A", "B", "C"]);
    })
    .await;
}

#[tokio::test]
async fn two_tools_that_wait_for_one_another_both_end() {
    everywhere([asks(&["A", "B"]), says("Fine.")], async |lab| {
        let barrier = Arc::new(Barrier::new(2));
        let tool = Tool::new("weather", "The weather of a city", move |at: City, _| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                Ok(at.city)
            }
        });
        let outcome = lab.run(&lab.agent().tool(tool), lab.question()).await;
        assert_eq!(outputs(&outcome.steps[0].results), ["A", "B"]);
    })
    .await;
}

#[tokio::test]
async fn calls_that_share_an_id_each_run_and_each_have_a_result() {
    let turns = [
        Turn::new([
            call("same", "weather", r#"{"city":"Rome"}"#),
            call("same", "weather", r#"{"city":"Oslo"}"#),
        ]),
        says("Fine."),
    ];
    everywhere(turns, async |lab| {
        let ran = Count::default();
        let outcome = lab.run(&lab.agent().tool(weather(&ran)), lab.question()).await;
        assert_eq!((outcome.stop, ran.get()), (StopReason::Finished, 2));
        assert_eq!(lab.results(2), ["It rains in Rome.", "It rains in Oslo."]);
    })
    .await;
}

/// Returns a response with a search by the provider and a call of an agent's tool.
fn search_response() -> Turn {
    Turn::new([
        ResponsePart::ServerToolCall(ServerToolCallPart::new(
            "srv_1",
            "web_search",
            json!({ "query": "weather" }),
        )),
        ResponsePart::ServerToolResult(ServerToolResultPart::new("srv_1", json!([]))),
        text("I found something."),
        call("c1", "weather", r#"{"city":"Rome"}"#),
    ])
}

#[tokio::test]
async fn the_agent_never_runs_calls_of_the_providers_tools() {
    everywhere([search_response(), says("Fine.")], async |lab| {
        let (ran, wrong) = (Count::default(), Count::default());
        let ours = wrong.clone();
        // This holds even for an agent's tool with the same name.
        let trap = Tool::dynamic("web_search", "Ours", json!({"type":"object"}), move |_, _| {
            ours.more();
            async { Ok(()) }
        });
        let agent = lab.agent().tool(weather(&ran)).tool(trap);
        let outcome = lab.run(&agent, lab.question()).await;
        assert_eq!((outcome.stop.clone(), ran.get(), wrong.get()), (StopReason::Finished, 1, 0));
        assert_eq!(outcome.steps[0].results.len(), 1);
        assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Completed);
    })
    .await;
}

#[tokio::test]
async fn tools_of_the_provider_are_declared_next_to_those_of_the_agent() {
    everywhere([says("Fine.")], async |lab| {
        let own = match lab.row.provider {
            "openai" => json!({ "type": "custom", "custom": { "name": "note" } }),
            "anthropic" => json!({ "type": "web_search_20250305", "name": "web_search" }),
            _ => json!({ "type": "googleSearch" }),
        };
        let own: ToolDefinition = serde_json::from_value(own).unwrap();
        let agent = lab.agent().tool(weather(&Count::default())).provider_tool(own.clone());
        let mut question = lab.question();
        // Older Gemini models accept either functions or the provider's own tools.
        question.model = question.model.replace("gemini-2.5-flash", "gemini-3-flash-preview");
        let outcome = lab.run(&agent, question).await;
        assert_eq!(outcome.stop, StopReason::Finished);
        let tools = lab.request(1).tools;
        assert_eq!(tools[0].name(), Some("weather"));
        // The tool is declared in the form of its protocol.
        let kind = |tool: &ToolDefinition| serde_json::to_value(tool).unwrap()["type"].clone();
        let asked = tools.iter().map(kind).next_back().unwrap();
        // The request reader converts the provider's form to the common form: a tool that takes free text is a function.
        let common = [kind(&own), json!("web_search"), json!("function")];
        assert!(common.contains(&asked) && tools.len() == 2, "{tools:?}");
    })
    .await;
}
