//! The loop itself: a state, what happened, and what is to be done next. No I/O, no clock, no tool is here.
//!
//! A [driver](super::drive) asks [`RunState::next`] what to do, does it, and tells what came of it:
//!
//! | what is to be done | what is told |
//! |---|---|
//! | [`Ask`](Action::Ask) the model | [`answered`](RunState::answered) or [`interrupted`](RunState::interrupted) |
//! | [`Decide`](Action::Decide) on a call | [`decided`](RunState::decided), or [`finished`](RunState::finished) when it cannot run |
//! | [`Run`](Action::Run) calls | [`finished`](RunState::finished) for each |
//! | [`Review`](Action::Review) a result | [`reviewed`](RunState::reviewed) |
//! | [`Close`](Action::Close) the step | [`close`](RunState::close) |
//! | [`Suspend`](Action::Suspend), [`Stop`](Action::Stop) | nothing: the run is over, or is resumed from its state |
//!
//! The state is a value that can be stored between any two of these.

mod answer;
mod bound;
mod call;
mod decide;
mod history;
mod sum;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(super) use call::{Call, Reviewing};
pub(super) use sum::spent;

use super::hook::Condition;
use super::outcome::{Step, StopReason};
use super::tool::ToolResult;
use crate::chat::{ChatMessage, ChatRequest, ToolChoice, Usd};
use crate::error::{Error, ErrorKind};

/// The form of stored runs. One that is not known is refused.
pub(super) const VERSION: u32 = 1;

/// What a run is held to.
#[derive(Default)]
pub(super) struct Rules<'a> {
    pub(super) max_steps: u32,
    /// Whether the model is asked once more, without tools, when it was asked as often as it may be.
    pub(super) final_answer: bool,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_cost: Option<Usd>,
    /// By name, what stops it when its steps meet it.
    pub(super) conditions: &'a [(String, Condition)],
}

/// A run, between any two of its steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunState {
    pub(super) version: u32,
    /// What is asked next: the question, with all that was said so far.
    pub(super) request: ChatRequest,
    /// How many of its messages were there before the run.
    pub(super) given: usize,
    pub(super) steps: Vec<Step>,
    /// Whether a choice of tools that was forced has been kept to.
    #[serde(default)]
    choice_met: bool,
    phase: Phase,
    /// What the tools keep.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) data: Map<String, Value>,
    /// What the last answer must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<OutputRule>,
    /// How often an answer that must have a form was asked for again.
    #[serde(default)]
    pub(super) corrections: u32,
    pub(super) elapsed_ms: u64,
    #[serde(default)]
    result_bytes: bound::ResultBytes,
}

/// The last answer must have the form that the request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutputRule {
    /// How often one that does not match is asked for again.
    pub(super) retries: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Phase {
    /// The model is to be asked; for the last time, without tools, if `last`.
    Ready {
        #[serde(default)]
        last: bool,
    },
    /// It has answered, and what it called is on its way.
    Calls {
        calls: Vec<Call>,
        then: Then,
        #[serde(default)]
        tools_ms: u64,
    },
    Stopped {
        stop: StopReason,
    },
}

/// What follows when all calls have their results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Then {
    GoOn,
    /// The model is asked for an answer without tools.
    AskLast,
    Stop {
        stop: StopReason,
    },
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// Ask the model; for the last time, without tools, if `last`.
    Ask {
        last: bool,
    },
    /// Say what becomes of the call.
    Decide(usize),
    /// Run these calls.
    Run(Vec<usize>),
    /// Say what becomes of the call's result.
    Review(usize),
    /// Somebody has to say something first.
    Suspend,
    /// Every call has its result.
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
            result_bytes: bound::ResultBytes::default(),
        }
    }

    /// Why it cannot be gone on with, if it cannot.
    pub(super) fn problem(&self) -> Option<Error> {
        (self.version != VERSION).then(|| {
            let message = format!(
                "the stored run is of form {}, and this version knows {VERSION}",
                self.version
            );
            Error::new(ErrorKind::InvalidRequest, message)
        })
    }

    /// What is to be done next.
    pub(super) fn next(&self) -> Action {
        let calls = match &self.phase {
            Phase::Ready { last } => return Action::Ask { last: *last },
            Phase::Stopped { stop } => return Action::Stop(stop.clone()),
            Phase::Calls { calls, .. } => calls,
        };
        if let Some(at) = calls.iter().position(Call::is_open) {
            return Action::Decide(at);
        }
        if calls.iter().any(Call::waits) {
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

    /// The choice of tools for the next answer. One that was forced returns to auto once it has been kept to: forced again,
    /// the model could never end.
    pub(super) fn tool_choice(&self) -> Option<ToolChoice> {
        match &self.request.tool_choice {
            Some(free @ (ToolChoice::Auto | ToolChoice::None)) => Some(free.clone()),
            Some(_) if self.choice_met => Some(ToolChoice::Auto),
            choice => choice.clone(),
        }
    }

    /// The step that the run is at, from 1.
    pub(super) fn step(&self) -> u32 {
        let asked = self.steps.len();
        let at = if matches!(self.phase, Phase::Ready { .. }) { asked + 1 } else { asked.max(1) };
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// The calls of the last answer.
    pub(super) fn calls(&self) -> &[Call] {
        match &self.phase {
            Phase::Calls { calls, .. } => calls,
            _ => &[],
        }
    }

    /// What the run has added to the conversation so far.
    pub(super) fn messages(&self) -> &[ChatMessage] {
        self.request.messages.get(self.given..).unwrap_or_default()
    }

    /// The step ends: its results go into the conversation.
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
                None => Phase::Ready { last: false },
            },
        };
        self.steps.last()
    }

    /// The answer will not do: the model is told why and asked again, unless it was asked as often as it may be.
    pub(super) fn correct(&mut self, why: ChatMessage, rules: &Rules<'_>) {
        self.corrections += 1;
        self.request.messages.push(why);
        self.phase = match self.at_limit(rules) {
            Some(stop) => Phase::Stopped { stop },
            None => Phase::Ready { last: false },
        };
    }

    /// Notes how long the tools of the step took.
    pub(super) fn tools_took(&mut self, ms: u64) {
        if let Phase::Calls { tools_ms, .. } = &mut self.phase {
            *tools_ms = tools_ms.saturating_add(ms);
        }
    }
}
