//! The cost of encoding a conversation grows with its length, and not with the square of it.
//!
//! Each conversation is encoded at one, four and sixteen times its length. Allocations are counted to the byte, and
//! must not grow faster than the input. Searches allocate nothing: for them the CPU time of the thread is compared, which does not
//! depend on the load of the machine, with a margin that noise does not reach and a quadratic search far exceeds.

use std::time::Duration;

use agentloop::inspect;
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, Protocol, ToolCallPart, ToolDefinition,
};
use serde_json::json;

/// One target for each protocol and each pattern of ids.
const TARGETS: [&str; 7] = [
    "openai/gpt-5.5",
    "mistral/mistral-large-latest",
    "anthropic/claude-opus-4-5",
    "google/gemini-3-pro-preview",
    INTERACTIONS,
    "cohere/command-a-03-2025",
    "ollama/qwen3",
];

/// The target in the Interactions API.
const INTERACTIONS: &str = "google/gemini-3.5-flash";

/// How much more may be allocated than the input has grown: tables grow by doubling.
const SLACK: f64 = 1.3;

/// How much longer sixteen times the input may take than sixteen times: a quadratic search takes sixteen.
const TIME_SLACK: f64 = 4.0;

/// Returns the CPU time that this thread has used. Where that cannot be measured, it is zero.
pub(crate) fn cpu_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap()
    }
    #[cfg(not(unix))]
    Duration::ZERO
}

fn call(id: impl Into<String>, name: impl Into<String>) -> ContentPart {
    ContentPart::ToolCall(ToolCallPart::new(id, name, "{}"))
}

fn tool(name: impl Into<String>) -> ToolDefinition {
    ToolDefinition::function(name, json!({ "type": "object" }))
}

fn assert_linear(what: &str, base: usize, make: impl Fn(usize) -> ChatRequest) {
    let ai = AgentLoop::from_env();
    for target in TARGETS {
        let mut seen: Vec<(u64, u64, Duration)> = Vec::new();
        for size in [base, 4 * base, 16 * base] {
            let mut request = make(size);
            request.model = target.to_owned();
            request.protocol = match target {
                INTERACTIONS => Some(Protocol::GeminiInteractions),
                _ => target.starts_with("ollama/").then_some(Protocol::Ollama),
            };
            let encode = || drop(inspect::encode(&ai, &request, true).unwrap());
            encode();
            let used = allocation_counter::measure(encode);
            let timed = |_| {
                let start = cpu_time();
                encode();
                cpu_time() - start
            };
            let time = (0..5).map(timed).min().unwrap();
            seen.push((used.count_total, used.bytes_total, time));
        }
        println!("{what}, {target}: {seen:?}");
        for pair in seen.windows(2) {
            let counts = pair[1].0 as f64 / pair[0].0 as f64;
            let bytes = pair[1].1 as f64 / pair[0].1 as f64;
            assert!(counts <= 4.0 * SLACK, "{what}, {target}: {counts} times the allocations");
            assert!(bytes <= 4.0 * SLACK, "{what}, {target}: {bytes} times the bytes");
        }
        let time = seen[2].2.as_secs_f64() / seen[0].2.as_secs_f64().max(f64::MIN_POSITIVE);
        assert!(
            !cfg!(unix) || time <= 16.0 * TIME_SLACK,
            "{what}, {target}: {time} times the CPU time"
        );
    }
}

#[test]
fn a_tool_call_id_that_every_step_repeats_costs_no_more_than_others() {
    assert_linear("repeated ids", 100, |steps| {
        let step = |_| {
            [ChatMessage::assistant(vec![call("call_0", "f")]), ChatMessage::tool("call_0", "1")]
        };
        ChatRequest::default().user("Hello").messages((0..steps).flat_map(step)).tool(tool("f"))
    });
}

#[test]
fn many_calls_in_one_message_cost_as_much_as_in_many() {
    assert_linear("calls of one message", 100, |calls| {
        let asked = (0..calls).map(|at| call(format!("call_{at}"), "f")).collect::<Vec<_>>();
        let results = (0..calls).map(|at| ChatMessage::tool(format!("call_{at}"), "1"));
        let request = ChatRequest::default().user("Hello").message(ChatMessage::assistant(asked));
        request.messages(results).tool(tool("f"))
    });
}

#[test]
fn results_in_another_order_than_their_calls_are_found_without_a_search() {
    assert_linear("results in reverse", 100, |calls| {
        let asked = (0..calls).map(|at| call(format!("call_{at}"), "f")).collect::<Vec<_>>();
        let results = (0..calls).rev().map(|at| ChatMessage::tool(format!("call_{at}"), "1"));
        let request = ChatRequest::default().user("Hello").message(ChatMessage::assistant(asked));
        request.messages(results).tool(tool("f"))
    });
}

#[test]
fn calls_without_ids_are_distinguished_by_their_tools_without_a_search() {
    assert_linear("no ids", 100, |calls| {
        let name = |at: usize| if at < calls / 2 { "f" } else { "g" };
        let asked = (0..calls).map(|at| call("", name(at))).collect::<Vec<_>>();
        let result = |at| ChatMessage::tool("", "1").with_name(name(at));
        let request = ChatRequest::default().user("Hello").message(ChatMessage::assistant(asked));
        request.messages((0..calls).rev().map(result)).tool(tool("f")).tool(tool("g"))
    });
}

#[test]
fn results_without_a_call_are_left_out_without_a_search() {
    assert_linear("orphans", 100, |steps| {
        let step = |at| {
            let id = format!("call_{at}");
            [
                ChatMessage::assistant(vec![call(id.clone(), "f")]),
                ChatMessage::tool(id, "1"),
                ChatMessage::tool("unknown", "1"),
            ]
        };
        ChatRequest::default().user("Hello").messages((0..steps).flat_map(step)).tool(tool("f"))
    });
}

#[test]
fn many_tools_with_names_that_must_be_changed_cost_as_much_each_as_one() {
    assert_linear("changed names", 100, |tools| {
        let name = |at: usize| format!("files/read {at}");
        let asked = (0..tools).map(|at| call(format!("call_{at}"), name(at))).collect::<Vec<_>>();
        let results = (0..tools).map(|at| ChatMessage::tool(format!("call_{at}"), "1"));
        let request = ChatRequest::default().user("Hello").message(ChatMessage::assistant(asked));
        request.messages(results).tools((0..tools).map(|at| tool(name(at))))
    });
}
