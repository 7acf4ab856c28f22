//! Sends the request of a step and reads the model's response.

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

/// How a response ended.
enum ResponseEnd {
    Complete(Box<ChatResponse>),
    Cancelled(Option<Box<ChatResponse>>),
    Failed(Error, Option<Box<ChatResponse>>),
}

impl Run {
    /// Requests the next response of the model; without tools if it is the `last`.
    pub(super) async fn ask_model(&mut self, last: bool) {
        let began = Instant::now();
        let choice = self.state.tool_choice();
        // The conversation moves into the request and back, so it is not copied at every step.
        let own = std::mem::take(&mut self.state.request);
        let (own, step_request) = match self.prepare(own, choice, last).await {
            Ok(prepared) => prepared,
            Err((own, error)) => {
                self.state.request = own;
                return self.fail(error);
            }
        };
        let step = self.state.step();
        let model = step_request.model.clone();
        self.sink.emit(RunEvent::StepStart { step, model }).await;
        let end = self.read_response(Arc::clone(&step_request)).await;
        self.state.request = match own {
            Some(own) => own,
            None => restore_request(step_request),
        };
        let took = millis(began);
        match end {
            ResponseEnd::Complete(response) => {
                let response = self.add_cost(*response);
                let settings = Arc::clone(&self.agent.settings);
                self.state.record_response(response, took, &settings.rules());
            }
            ResponseEnd::Cancelled(partial) => {
                let partial = partial.map(|partial| *partial);
                self.state.interrupt(partial, StopReason::Cancelled, took);
            }
            ResponseEnd::Failed(error, partial) => {
                let partial = partial.map(|partial| *partial);
                self.state.interrupt(partial, StopReason::Failed, took);
                self.error = Some(error);
            }
        }
    }

    /// Returns the request to send, and the run's own request if the one to send is a copy.
    async fn prepare(
        &mut self,
        mut own: ChatRequest,
        choice: Option<ToolChoice>,
        last: bool,
    ) -> Result<(Option<ChatRequest>, Arc<StepRequest>), (ChatRequest, Error)> {
        let mut tools = self.agent.settings.tools.resolve_sources();
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
                // Cancelling the run also cancels a hook that is waiting.
                let result = self.cancel.run_until_cancelled(hook(&mut next)).await;
                own.tool_choice.clone_from(&first_choice);
                if let Some(Err(error)) = result {
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
        let request = Arc::new(request);
        Ok((kept, Arc::new(StepRequest { request, own_tools, choice: first_choice })))
    }

    /// Sends the request and emits the events of the response as they arrive.
    async fn read_response(&mut self, step_request: Arc<StepRequest>) -> ResponseEnd {
        let request = Arc::clone(&step_request.request);
        let sending = self.agent.ai.events(request, self.streamed);
        let mut events = match self.cancel.run_until_cancelled(sending).await {
            None => return ResponseEnd::Cancelled(None),
            Some(Err(error)) => return self.report_early_failure(error).await,
            Some(Ok(events)) => events,
        };
        let mut fold = Fold::new();
        let mut preparing = Preparing::new(self.state.step(), Arc::clone(&self.tools));
        loop {
            let event = match self.cancel.run_until_cancelled(events.next()).await {
                None => return ResponseEnd::Cancelled(partial(&fold)),
                Some(None) => {
                    let message = "the stream ended before the response was complete";
                    let error = Error::new(ErrorKind::IncompleteStream, message);
                    return self.report_failure(error, partial(&fold)).await;
                }
                Some(Some(Err(error))) => {
                    let arrived = error.partial().cloned().map(Box::new).or_else(|| partial(&fold));
                    return self.report_failure(error, arrived).await;
                }
                Some(Some(Ok(event))) => event,
            };
            if let ChatStreamEvent::MessageDone { response } = event {
                let complete = response.clone();
                self.sink.emit(RunEvent::Model(ChatStreamEvent::MessageDone { response })).await;
                return ResponseEnd::Complete(complete);
            }
            if let Err(error) = fold.push(&event) {
                let message = "the events of the response do not form a valid response";
                let error = Error::new(ErrorKind::Protocol, message).with_source(error);
                return self.report_failure(error, partial(&fold)).await;
            }
            self.emit_model_event(event, &mut preparing).await;
        }
    }

    /// Emits an event of the response, and the `tool.preparing` event that follows from it.
    async fn emit_model_event(&self, event: ChatStreamEvent, preparing: &mut Preparing) {
        let prepared = preparing.observe(&event);
        self.sink.emit(RunEvent::Model(event)).await;
        if let Some(prepared) = prepared {
            self.sink.emit(prepared).await;
        }
    }

    /// Reports a request that failed before its first event. If the error carries a complete response, its events are
    /// emitted as for a response that was cut off.
    async fn report_early_failure(&mut self, error: Error) -> ResponseEnd {
        let Some(arrived) = error.partial().cloned() else {
            return self.report_failure(error, None).await;
        };
        let mut preparing = Preparing::new(self.state.step(), Arc::clone(&self.tools));
        for event in arrived.unfold() {
            if !matches!(event, ChatStreamEvent::MessageDone { .. }) {
                self.emit_model_event(event, &mut preparing).await;
            }
        }
        self.report_failure(error, Some(Box::new(arrived))).await
    }

    /// Emits the `error` event of a response that failed.
    async fn report_failure(
        &self,
        error: Error,
        partial: Option<Box<ChatResponse>>,
    ) -> ResponseEnd {
        let event = ChatStreamEvent::from(&error);
        self.sink.emit(RunEvent::Model(event)).await;
        // An error of kind `Cancelled` counts as a cancellation of the run.
        match error.kind() {
            ErrorKind::Cancelled => ResponseEnd::Cancelled(partial),
            _ => ResponseEnd::Failed(error, partial),
        }
    }

    /// Adds the cost to the response if a limit needs it and no middleware has added it.
    fn add_cost(&self, mut response: ChatResponse) -> ChatResponse {
        if self.agent.settings.max_cost.is_some() && response.cost.is_none() {
            let known = self.agent.ai.catalog().lookup(&response.provider, &response.model);
            response.cost =
                known.and_then(|model| model.cost(&response.usage, SystemTime::now(), None));
        }
        response
    }
}

/// A request with the tools of its step.
struct StepRequest {
    request: Arc<ChatRequest>,
    /// The number of tools that the caller declared.
    own_tools: usize,
    /// The tool choice of the request that started the run.
    choice: Option<ToolChoice>,
}

impl std::ops::Deref for StepRequest {
    type Target = ChatRequest;

    fn deref(&self) -> &ChatRequest {
        &self.request
    }
}

/// Returns the request as it was before the tools of the step were added.
fn restore_request(step_request: Arc<StepRequest>) -> ChatRequest {
    let (request, own_tools, choice) = match Arc::try_unwrap(step_request) {
        Ok(StepRequest { request, own_tools, choice }) => (request, own_tools, choice),
        Err(shared) => (Arc::clone(&shared.request), shared.own_tools, shared.choice.clone()),
    };
    // If something else still holds the request (a cache that is being filled), the request is copied.
    let mut request = Arc::unwrap_or_clone(request);
    request.tools.truncate(own_tools);
    request.tool_choice = choice;
    request
}

/// Declares the tools of the step in addition to those of the caller.
fn add_tools(request: &mut ChatRequest, tools: &ToolSet) {
    for tool in tools.definitions() {
        let is_declared =
            |other: &ToolDefinition| tool.name().is_some() && other.name() == tool.name();
        if !request.tools.iter().any(is_declared) {
            request.tools.push(tool);
        }
    }
}

fn partial(fold: &Fold) -> Option<Box<ChatResponse>> {
    fold.is_started().then(|| Box::new(fold.partial()))
}
