//! Asking the model.

use std::sync::Arc;
use std::time::SystemTime;

use tokio::time::Instant;

use super::super::event::RunEvent;
use super::super::hook::NextStep;
use super::super::outcome::StopReason;
use super::super::tool::ToolSet;
use super::preparing::Preparing;
use super::{Run, millis};
use crate::chat::{ChatRequest, ChatResponse, ChatStreamEvent, Fold, ToolChoice, ToolDefinition};
use crate::error::{Error, ErrorKind, Result};

/// How an answer ended.
enum Ended {
    Whole(Box<ChatResponse>),
    Cancelled(Option<Box<ChatResponse>>),
    Failed(Error, Option<Box<ChatResponse>>),
}

impl Run {
    /// Asks the model for its next answer; without tools if it is the `last`.
    pub(super) async fn ask(&mut self, last: bool) {
        let began = Instant::now();
        let choice = self.state.tool_choice();
        // The conversation is lent to the call and comes back after it, so that it is not copied at every step.
        let own = std::mem::take(&mut self.state.request);
        let (own, asked) = match self.prepare(own, choice, last).await {
            Ok(prepared) => prepared,
            Err((own, error)) => {
                self.state.request = own;
                return self.fail(error);
            }
        };
        let step = self.state.step();
        let model = asked.model.clone();
        self.sink.emit(RunEvent::StepStart { step, model }).await;
        let ended = self.answer(Arc::clone(&asked)).await;
        self.state.request = match own {
            Some(own) => own,
            None => give_back(asked),
        };
        let took = millis(began);
        match ended {
            Ended::Whole(response) => {
                let response = self.priced(*response);
                let settings = Arc::clone(&self.agent.settings);
                self.state.answered(response, took, &settings.rules());
            }
            Ended::Cancelled(partial) => {
                let partial = partial.map(|partial| *partial);
                self.state.interrupted(partial, StopReason::Cancelled, took);
            }
            Ended::Failed(error, partial) => {
                let partial = partial.map(|partial| *partial);
                self.state.interrupted(partial, StopReason::Failed, took);
                self.error = Some(error);
            }
        }
    }

    /// The request to send, and the run's own where the one to send is a copy.
    async fn prepare(
        &mut self,
        mut own: ChatRequest,
        choice: Option<ToolChoice>,
        last: bool,
    ) -> Result<(Option<ChatRequest>, Arc<Asked>), (ChatRequest, Error)> {
        let mut tools = self.agent.settings.tools.gathered();
        self.listed = Arc::new(tools.clone());
        let first_choice = std::mem::replace(&mut own.tool_choice, choice);
        let (kept, mut request) = match self.agent.settings.before_step.clone() {
            None => (None, own),
            Some(hook) => {
                let mut next = NextStep {
                    number: self.state.step(),
                    steps: &self.state.steps,
                    request: own.clone(),
                    tools,
                };
                // A hook that waits is cancelled like everything else, and the run with it.
                let looked = self.cancel.stops(hook(&mut next)).await;
                own.tool_choice.clone_from(&first_choice);
                if let Some(Err(error)) = looked {
                    return Err((own, error));
                }
                tools = next.tools;
                (Some(own), next.request)
            }
        };
        if let Err(error) = tools.check() {
            request.tool_choice = first_choice;
            return Err((kept.unwrap_or(request), error));
        }
        let own_tools = request.tools.len();
        add_tools(&mut request, &tools);
        if last && !request.tools.is_empty() {
            request.tool_choice = Some(ToolChoice::None);
        }
        self.tools = Arc::new(tools);
        Ok((kept, Arc::new(Asked { request: Arc::new(request), own_tools, choice: first_choice })))
    }

    /// Hands the answer on as it comes.
    async fn answer(&mut self, asked: Arc<Asked>) -> Ended {
        let request = Arc::clone(&asked.request);
        let asking = self.agent.ai.events(request, self.streamed);
        let mut events = match self.cancel.stops(asking).await {
            None => return Ended::Cancelled(None),
            Some(Err(error)) => return self.failed_at_once(error).await,
            Some(Ok(events)) => events,
        };
        let mut fold = Fold::new();
        let mut preparing = Preparing::new(self.state.step(), Arc::clone(&self.tools));
        loop {
            let event = match self.cancel.stops(events.next()).await {
                None => return Ended::Cancelled(partial(&fold)),
                Some(None) => {
                    let message = "the stream ended before the answer did";
                    let error = Error::new(ErrorKind::IncompleteStream, message);
                    return self.failed(error, partial(&fold)).await;
                }
                Some(Some(Err(error))) => {
                    let come = error.partial().cloned().map(Box::new).or_else(|| partial(&fold));
                    return self.failed(error, come).await;
                }
                Some(Some(Ok(event))) => event,
            };
            if let ChatStreamEvent::MessageDone { response } = event {
                let whole = response.clone();
                self.sink.emit(RunEvent::Model(ChatStreamEvent::MessageDone { response })).await;
                return Ended::Whole(whole);
            }
            if let Err(error) = fold.push(&event) {
                let error = Error::new(ErrorKind::Protocol, "the answer's pieces make no whole")
                    .with_source(error);
                return self.failed(error, partial(&fold)).await;
            }
            self.hand_on(event, &mut preparing).await;
        }
    }

    /// Hands on what the model says, and what it tells of a call.
    async fn hand_on(&self, event: ChatStreamEvent, preparing: &mut Preparing) {
        let news = preparing.look(&event);
        self.sink.emit(RunEvent::Model(event)).await;
        if let Some(news) = news {
            self.sink.emit(news).await;
        }
    }

    /// The call failed before anything was handed on. A whole answer that failed may have come all the same: then it is
    /// told like one that broke off.
    async fn failed_at_once(&mut self, error: Error) -> Ended {
        let Some(come) = error.partial().cloned() else { return self.failed(error, None).await };
        let mut preparing = Preparing::new(self.state.step(), Arc::clone(&self.tools));
        for event in come.unfold() {
            if !matches!(event, ChatStreamEvent::MessageDone { .. }) {
                self.hand_on(event, &mut preparing).await;
            }
        }
        self.failed(error, Some(Box::new(come))).await
    }

    async fn failed(&self, error: Error, partial: Option<Box<ChatResponse>>) -> Ended {
        let told = ChatStreamEvent::from(&error);
        self.sink.emit(RunEvent::Model(told)).await;
        // A cancellation that came from below is still one.
        match error.kind() {
            ErrorKind::Cancelled => Ended::Cancelled(partial),
            _ => Ended::Failed(error, partial),
        }
    }

    /// The answer, with its cost where a limit needs it and no middleware has put it there.
    fn priced(&self, mut response: ChatResponse) -> ChatResponse {
        if self.agent.settings.max_cost.is_some() && response.cost.is_none() {
            let known = self.agent.ai.catalog().lookup(&response.provider, &response.model);
            response.cost =
                known.and_then(|model| model.cost(&response.usage, SystemTime::now(), None));
        }
        response
    }
}

/// A request with the tools of its step.
struct Asked {
    request: Arc<ChatRequest>,
    /// How many tools the caller declared.
    own_tools: usize,
    /// The choice of tools that the run began with.
    choice: Option<ToolChoice>,
}

impl std::ops::Deref for Asked {
    type Target = ChatRequest;

    fn deref(&self) -> &ChatRequest {
        &self.request
    }
}

/// The request as it was before the tools were added.
fn give_back(asked: Arc<Asked>) -> ChatRequest {
    let (request, own_tools, choice) = match Arc::try_unwrap(asked) {
        Ok(Asked { request, own_tools, choice }) => (request, own_tools, choice),
        Err(shared) => (Arc::clone(&shared.request), shared.own_tools, shared.choice.clone()),
    };
    // Whoever else still holds it (a cache that is being filled) keeps a copy.
    let mut request = Arc::unwrap_or_clone(request);
    request.tools.truncate(own_tools);
    request.tool_choice = choice;
    request
}

/// Declares the tools of the step beside those of the caller.
fn add_tools(request: &mut ChatRequest, tools: &ToolSet) {
    for tool in tools.definitions() {
        let declared =
            |other: &ToolDefinition| tool.name().is_some() && other.name() == tool.name();
        if !request.tools.iter().any(declared) {
            request.tools.push(tool);
        }
    }
}

fn partial(fold: &Fold) -> Option<Box<ChatResponse>> {
    fold.is_started().then(|| Box::new(fold.partial()))
}
