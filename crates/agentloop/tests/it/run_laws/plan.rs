//! Generated scripts of runs.

use agentloop::agent::{
    Agent, CancelToken, Decision, Outcome, Pending, Policy, Review, RunEvent, RunStream, Suspended,
    ToolOutput, ToolResult, Wants,
};
use agentloop::{
    AgentLoop, BoxFuture, ChatRequest, FinishReason, Provider, ResponsePart, TextPart,
    ThinkingPart, ToolCallPart, ToolChoice,
};
use agentloop_sim::{Cut, Fault, Model, Script, Simulator, Turn};
use proptest::prelude::*;
use proptest::sample::select;

use crate::run_laws::tools::Tools;

const ROWS: [&str; 4] =
    ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro", "xai/grok-4.5"];

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    row: &'static str,
    turns: Vec<TurnPlan>,
    max_steps: u32,
    final_answer: bool,
    parallel: usize,
    forced: bool,
    /// The seed of the decisions, call by call.
    seed: u64,
    /// The number of events after which the run is cancelled.
    cancel: Option<usize>,
}

#[derive(Clone, Debug)]
struct TurnPlan {
    thinks: bool,
    says: bool,
    calls: Vec<(&'static str, &'static str, bool)>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Normal,
    Length,
    Filter,
    Cut(usize),
    Error(usize),
    Status,
}

fn any_call() -> impl Strategy<Value = (&'static str, &'static str, bool)> {
    let tools =
        ["ok", "fail", "panic", "slow", "big", "alone", "ask", "look", "outside", "missing"];
    let arguments = prop_oneof![
        8 => Just(r#"{"n":1}"#),
        1 => Just(r#"{"n":"#),
        1 => Just(r#"{"n":"one"}"#),
    ];
    // One in eight cancels the run from inside; ids repeat now and then.
    let tools = prop_oneof![16 => select(tools.to_vec()), 1 => Just("cancels")];
    (tools, arguments, prop::bool::weighted(0.1))
}

fn any_turn() -> impl Strategy<Value = TurnPlan> {
    let end = prop_oneof![
        16 => Just(End::Normal),
        1 => Just(End::Length),
        1 => Just(End::Filter),
        1 => (0usize..12).prop_map(End::Cut),
        1 => (0usize..12).prop_map(End::Error),
        1 => Just(End::Status),
    ];
    (any::<bool>(), any::<bool>(), prop::collection::vec(any_call(), 0..4), end)
        .prop_map(|(thinks, says, calls, end)| TurnPlan { thinks, says, calls, end })
}

pub(crate) fn any_plan() -> impl Strategy<Value = Plan> {
    let cancel = prop::option::weighted(0.3, 0usize..80);
    let turns = prop::collection::vec(any_turn(), 1..5);
    let flags = (any::<bool>(), prop::bool::weighted(0.2));
    (select(ROWS.to_vec()), turns, 1u32..6, flags, 1usize..4, any::<u64>(), cancel).prop_map(
        |(row, turns, max_steps, (final_answer, forced), parallel, seed, cancel)| Plan {
            row,
            turns,
            max_steps,
            final_answer,
            parallel,
            forced,
            seed,
            cancel,
        },
    )
}

impl Plan {
    /// Removes what complete and streamed responses cannot have in common.
    pub(crate) fn undisturbed(mut self) -> Self {
        self.cancel = None;
        for turn in &mut self.turns {
            if matches!(turn.end, End::Cut(_) | End::Error(_)) {
                turn.end = End::Normal;
            }
            // Cancelled from inside, what else had begun by then is a matter of chance.
            turn.calls.retain(|call| call.0 != "cancels");
            // New ids for repeated ones are derived from the request, which differs between complete and streamed runs.
            turn.calls.iter_mut().for_each(|call| call.2 = false);
        }
        self
    }

    pub(crate) fn request(&self) -> ChatRequest {
        let mut request = ChatRequest::new(self.row).system("You are a test.").user("Go on.");
        if self.forced {
            request.tool_choice = Some(ToolChoice::Required);
        }
        request
    }

    fn script(&self) -> Script {
        let mut turns: Vec<Turn> = self.turns.iter().enumerate().map(turn).collect();
        // Whatever is left is a response.
        turns.extend((0..8).map(|_| Turn::text("That is all.")));
        Script::new(turns)
    }

    pub(crate) fn agent(&self, tools: &Tools) -> Agent {
        let name = self.row.split('/').next().unwrap();
        let row = Provider::all().into_iter().find(|row| row.name == name).unwrap();
        let simulator = Simulator::new().with_model(Model::from_script(self.script()));
        let ai = AgentLoop::builder().provider(simulator.simulate(row)).build().unwrap();
        let agent = Agent::new(ai)
            .tools(tools.all())
            .max_steps(self.max_steps)
            .parallel_tools(self.parallel)
            .max_output_chars(100)
            .policy("ask", Policy::Ask)
            .approver(Person(self.seed));
        if self.final_answer { agent.final_answer() } else { agent }
    }

    /// Reads a run to its end and cancels it as planned.
    pub(crate) async fn read(
        &self,
        mut run: RunStream,
        first: bool,
        tools: &Tools,
    ) -> (Vec<RunEvent>, Outcome) {
        tools.cancel_with(run.cancel_token());
        let cancel: CancelToken = run.cancel_token().clone();
        let mut events = Vec::new();
        while let Some(event) = {
            if first && self.cancel == Some(events.len()) {
                cancel.cancel();
            }
            run.next().await
        } {
            events.push(event);
        }
        let Some(RunEvent::RunDone { outcome }) = events.last() else {
            panic!("ends with {:?}", events.last())
        };
        let outcome = (**outcome).clone();
        (events, outcome)
    }

    /// Decides about everything that is pending. After some rounds no decision is `Wait`.
    pub(crate) fn settle(&self, run: &mut Suspended, round: usize) {
        for pending in run.pending() {
            let say =
                decision_number(self.seed ^ 0x5eed, &pending.call_id, pending.step, pending.index);
            match pending.wants {
                Wants::Decision => {
                    let decision = match say % 6 {
                        0 => Decision::abort("a person said so"),
                        1 | 2 => Decision::deny("a person said so"),
                        3 => Decision::AllowWith { arguments: r#"{"n":7}"#.to_owned() },
                        _ => Decision::Allow,
                    };
                    // Duplicate ids were decided on together.
                    let _ = run.decide(&pending.call_id, decision);
                }
                Wants::Answer => {
                    let _ = run.answer(&pending.call_id, ToolOutput::text("from outside"));
                }
                Wants::Review { .. } => {
                    let review = match say % 3 {
                        0 => Review::Keep,
                        1 => Review::Withhold { reason: "a person said so".to_owned() },
                        _ => Review::Replace { output: ToolOutput::text("better") },
                    };
                    let _ = run.review(&pending.call_id, review);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(round < 100, "it waits for ever: {:?}", run.pending());
    }
}

fn turn((number, plan): (usize, &TurnPlan)) -> Turn {
    let mut parts = Vec::new();
    if plan.thinks {
        parts.push(ResponsePart::Thinking(ThinkingPart::new("Let me see.")));
    }
    if plan.says || plan.calls.is_empty() {
        parts.push(ResponsePart::Text(TextPart::new("I look it up, word by word.")));
    }
    for (at, (tool, arguments, twice)) in plan.calls.iter().enumerate() {
        let id = if *twice { "call_again".to_owned() } else { format!("call_{number}_{at}") };
        parts.push(ResponsePart::ToolCall(ToolCallPart::new(id, *tool, *arguments)));
    }
    let turn = Turn::new(parts);
    match plan.end {
        End::Normal => turn,
        End::Length => turn.with_finish_reason(FinishReason::Length),
        End::Filter => turn.with_finish_reason(FinishReason::ContentFilter),
        End::Cut(events) => turn.with_fault(Fault::CutEvents(events, Cut::End)),
        End::Error(events) => turn.with_fault(Fault::ErrorEvents(events)),
        End::Status => turn.with_fault(Fault::status(500)),
    }
}

/// An approver that always makes the same decision about the same call.
struct Person(u64);

fn decision_number(seed: u64, id: &str, step: u32, index: usize) -> u64 {
    let mut hash = seed ^ (u64::from(step) << 32) ^ index as u64;
    for byte in id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^ (hash >> 29)
}

impl agentloop::agent::Approver for Person {
    fn decide<'a>(&'a self, call: &'a Pending) -> BoxFuture<'a, Decision> {
        let say = decision_number(self.0, &call.call_id, call.step, call.index);
        Box::pin(async move {
            tokio::task::yield_now().await;
            match say % 8 {
                0 => Decision::abort("enough"),
                1 | 2 => Decision::deny("no"),
                3 | 4 => Decision::Wait,
                5 => Decision::answer(ToolOutput::text("I know it")),
                _ => Decision::Allow,
            }
        })
    }

    fn review<'a>(&'a self, result: &'a ToolResult) -> BoxFuture<'a, Review> {
        let say = decision_number(self.0, &result.call_id, 0, result.index);
        Box::pin(std::future::ready(match say % 6 {
            0 => Review::Abort { reason: "enough".to_owned() },
            1 => Review::Withhold { reason: "no".to_owned() },
            2 | 3 => Review::Wait,
            4 => Review::Replace { output: ToolOutput::text("better") },
            _ => Review::Keep,
        }))
    }
}
