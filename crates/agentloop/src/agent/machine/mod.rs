//! The state machine of a run. It has no I/O, no clock and no tools.
//!
//! The [driver](super::drive) gets the next action from [`RunState::next`], performs it, and reports the result:
//!
//! | action | reported by |
//! |---|---|
//! | [`Ask`](Action::Ask) the model | [`record_response`](RunState::record_response) or [`interrupt`](RunState::interrupt) |
//! | [`Decide`](Action::Decide) about a call | [`decide`](RunState::decide), or [`finish_call`](RunState::finish_call) if it cannot run |
//! | [`Run`](Action::Run) calls | [`finish_call`](RunState::finish_call) for each |
//! | [`Review`](Action::Review) a result | [`apply_review`](RunState::apply_review) |
//! | [`Close`](Action::Close) the step | [`close`](RunState::close) |
//! | [`Suspend`](Action::Suspend), [`Stop`](Action::Stop) | nothing: the run has ended, or is resumed from its state later |
//!
//! The state is a value that can be stored between any two actions.

mod call;
mod decide;
mod history;
mod repeat;
mod response;
mod result_limits;
mod sum;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use call::{Call, Reviewing};
pub(super) use sum::sum_steps;

use super::hook::Condition;
use super::outcome::{Step, StopReason};
use super::tool::ToolResult;
use crate::chat::{ChatMessage, ChatRequest, ToolChoice, Usd};
use crate::error::{Error, ErrorKind};

/// The format version of stored runs. Other versions are rejected.
pub(super) const VERSION: u32 = 1;

/// The rules of a run.
#[derive(Default)]
pub(super) struct Rules<'a> {
    pub(super) max_steps: u32,
    /// Whether one more request, without tools, is sent when the limit of steps is reached.
    pub(super) final_answer: bool,
    /// How often the same calls may have the same results, one step after the other.
    pub(super) max_repeats: Option<u32>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_cost: Option<Usd>,
    /// The conditions that stop the run, with their names.
    pub(super) conditions: &'a [(String, Condition)],
}

/// The state of a run.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunState {
    pub(super) version: u32,
    /// The next request: the initial one with all messages so far.
    pub(super) request: ChatRequest,
    /// The number of messages before the run.
    pub(super) given: usize,
    pub(super) steps: Vec<Step>,
    /// Whether the model has called a tool, as a forced tool choice requires.
    #[serde(default)]
    choice_met: bool,
    phase: Phase,
    /// The content of `RunData`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) data: Map<String, Value>,
    /// The rule for structured output.
    pub(super) output: Option<OutputRule>,
    /// How many times structured output was requested again.
    #[serde(default)]
    pub(super) corrections: u32,
    pub(super) elapsed_ms: u64,
    #[serde(default)]
    result_bytes: result_limits::ResultBytes,
}

/// Requires the last response to match the schema of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutputRule {
    /// How many times a response that does not match is requested again.
    pub(super) retries: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Phase {
    /// The next request can be sent; without tools, as the last one, if `last`.
    Ready {
        #[serde(default)]
        last: bool,
    },
    /// The model has responded, and its calls are being handled.
    Calls {
        calls: Vec<Call>,
        then: Then,
        // Files of earlier versions have `tools_ms`.
        #[serde(default, rename = "toolsMs", alias = "tools_ms")]
        tools_ms: u64,
    },
    Stopped {
        stop: StopReason,
    },
}

/// What follows when all calls have results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Then {
    GoOn,
    /// The last request is sent, without tools.
    AskLast,
    Stop {
        stop: StopReason,
    },
}

/// The next action of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// Send a request to the model; without tools, as the last one, if `last`.
    Ask {
        last: bool,
    },
    /// Decide about the call with this index.
    Decide(usize),
    /// Run these calls.
    Run(Vec<usize>),
    /// Review the result of the call with this index.
    Review(usize),
    /// Suspend the run: a decision from outside is needed.
    Suspend,
    /// Close the step: every call has its result.
    Close,
    Stop(StopReason),
}

impl RunState {
    pub(super) fn new(request: ChatRequest) -> Self {
        Self {
            version: VERSION,
            given: request.messages.len(),
            request,
            steps: Vec::new(),
            choice_met: false,
            phase: Phase::Ready { last: false },
            data: Map::new(),
            output: None,
            corrections: 0,
            elapsed_ms: 0,
            result_bytes: result_limits::ResultBytes::default(),
        }
    }

    /// Returns why the run cannot be resumed.
    pub(super) fn problem(&self) -> Option<Error> {
        (self.version != VERSION).then(|| {
            let message =
                format!("the stored run has the unsupported format version {}", self.version);
            Error::new(ErrorKind::InvalidRequest, message).with_hint(format!(
                "this version of agentloop supports format version {VERSION}; resume the run with the version that \
                 stored it"
            ))
        })
    }

    /// Returns the next action.
    pub(super) fn next(&self) -> Action {
        let calls = match &self.phase {
            Phase::Ready { last } => return Action::Ask { last: *last },
            Phase::Stopped { stop } => return Action::Stop(stop.clone()),
            Phase::Calls { calls, .. } => calls,
        };
        if let Some(at) = calls.iter().position(Call::is_open) {
            return Action::Decide(at);
        }
        if calls.iter().any(Call::is_waiting) {
            return Action::Suspend;
        }
        let run: Vec<usize> = (0..calls.len()).filter(|at| calls[*at].result.is_none()).collect();
        if !run.is_empty() {
            return Action::Run(run);
        }
        if let Some(at) = calls.iter().position(|call| call.review == Reviewing::Wanted) {
            return Action::Review(at);
        }
        Action::Close
    }

    /// Returns the tool choice of the next request. A forced choice becomes `auto` once the model has called a tool;
    /// otherwise the run could never end.
    pub(super) fn tool_choice(&self) -> Option<ToolChoice> {
        match &self.request.tool_choice {
            Some(free @ (ToolChoice::Auto | ToolChoice::None)) => Some(free.clone()),
            Some(_) if self.choice_met => Some(ToolChoice::Auto),
            choice => choice.clone(),
        }
    }

    /// Returns the number of the current step, from 1.
    pub(super) fn step(&self) -> u32 {
        let done = self.steps.len();
        let at = if matches!(self.phase, Phase::Ready { .. }) { done + 1 } else { done.max(1) };
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Returns the calls of the last response.
    pub(super) fn calls(&self) -> &[Call] {
        match &self.phase {
            Phase::Calls { calls, .. } => calls,
            _ => &[],
        }
    }

    /// Returns the messages that the run has added to the conversation.
    pub(super) fn messages(&self) -> &[ChatMessage] {
        self.request.messages.get(self.given..).unwrap_or_default()
    }

    /// Closes the step: adds its results to the conversation.
    pub(super) fn close(&mut self, rules: &Rules<'_>) -> Option<&Step> {
        let before = std::mem::replace(&mut self.phase, Phase::Ready { last: false });
        let Phase::Calls { calls, then, tools_ms } = before else {
            self.phase = before;
            return None;
        };
        let mut results: Vec<ToolResult> = Vec::with_capacity(calls.len());
        for call in calls {
            let Some(result) = call.result else { continue };
            if call.in_history {
                self.request.messages.push(result.to_message());
            }
            results.push(result);
        }
        if let Some(step) = self.steps.last_mut() {
            step.results = results;
            step.tools_ms = tools_ms;
        }
        let met = |steps: &[Step]| {
            let mut conditions = rules.conditions.iter();
            conditions.find(|(_, met)| met(steps)).map(|(name, _)| name.clone())
        };
        self.phase = match then {
            Then::Stop { stop } => Phase::Stopped { stop },
            Then::AskLast => Phase::Ready { last: true },
            Then::GoOn => match met(&self.steps) {
                Some(name) => Phase::Stopped { stop: StopReason::Condition { name } },
                None => match self.reached_repeats(rules) {
                    Some(_) if rules.final_answer => Phase::Ready { last: true },
                    Some(stop) => Phase::Stopped { stop },
                    None => Phase::Ready { last: false },
                },
            },
        };
        self.steps.last()
    }

    /// Adds a message that explains why the output is not valid and continues the run, unless a limit is reached.
    pub(super) fn correct(&mut self, why: ChatMessage, rules: &Rules<'_>) {
        self.corrections += 1;
        self.request.messages.push(why);
        self.phase = match self.reached_limit(rules) {
            Some(stop) => Phase::Stopped { stop },
            None => Phase::Ready { last: false },
        };
    }

    /// Adds to the time that the tools of the step took.
    pub(super) fn add_tools_time(&mut self, ms: u64) {
        if let Phase::Calls { tools_ms, .. } = &mut self.phase {
            *tools_ms = tools_ms.saturating_add(ms);
        }
    }
}
