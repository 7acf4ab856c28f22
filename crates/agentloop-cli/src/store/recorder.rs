//! Stores a conversation while it happens.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use agentloop::agent::{Outcome, RunEvent, Step};
use agentloop::{
    ChatMessage, ChatRequest, ChatResponse, ChatStream, ChatStreamEvent, Error, Fold, Role, Warning,
};
use futures_util::Stream;

use super::{
    Conversation, HistoryArgs, NewConversation, ResponseRecord, ResponseState, Result, Shared,
    Store,
};
use crate::failure::is_unsent;
use crate::notes::Notes;

/// How often an unfinished response is stored at most.
const INTERVAL: Duration = Duration::from_secs(1);

/// How many times longer than storing an unfinished response takes to wait until the next time.
const PATIENCE: u32 = 20;

/// Stores the prompts and responses of one command.
///
/// Storing never fails a call: the first error is printed as a warning, and nothing more is stored. If it is dropped before the response
/// has ended, what had arrived is stored as incomplete.
#[derive(Debug)]
pub(crate) struct Recorder {
    shared: Shared,
    notes: Notes,
    is_enabled: bool,
    /// The name of a conversation that does not exist yet.
    name: Option<String>,
    conversation: Option<Conversation>,
    /// The messages of the conversation so far.
    earlier: Vec<ChatMessage>,
    response: Option<Unfinished>,
    is_logged: bool,
}

/// A response that is being received.
#[derive(Debug)]
struct Unfinished {
    conversation: Conversation,
    /// Its place in the conversation.
    place: i64,
    /// The places of this command's responses and results, including `place`.
    places: Vec<i64>,
    /// How many messages were added before it was sent, with its own place.
    added: usize,
    fold: Fold,
    started: Instant,
    /// When it may be stored again.
    next: Instant,
}

impl Unfinished {
    fn new(conversation: Conversation, place: i64, places: Vec<i64>, added: usize) -> Self {
        let started = Instant::now();
        let next = started + INTERVAL;
        Self { conversation, place, places, added, fold: Fold::new(), started, next }
    }

    fn write(
        &self,
        store: &mut Store,
        record: &ResponseRecord,
        response: ChatResponse,
    ) -> Result<()> {
        store.write_response(self.place, &response.into_message(), record)
    }
}

impl Recorder {
    /// Finds the conversation that the options name.
    ///
    /// # Errors
    ///
    /// If the conversation cannot be read: continuing without it would send something else than was asked for.
    pub(crate) fn start(
        args: &HistoryArgs,
        is_enabled: bool,
        shared: &Shared,
        notes: Notes,
    ) -> Result<Self> {
        let mut recorder = Self {
            shared: shared.clone(),
            notes,
            // Without a data folder there is no place to store anything, and nothing that the user could miss.
            is_enabled: is_enabled && !args.no_log && super::find_file().is_some(),
            name: None,
            conversation: None,
            earlier: Vec::new(),
            response: None,
            is_logged: false,
        };
        let conversation = match &args.name {
            Some(name) => {
                let found = shared.with(|store| match store.find_named(name)? {
                    Some(found) => Ok(Some(found)),
                    None => store.find_id(name),
                })?;
                recorder.name = found.is_none().then(|| name.clone());
                found
            }
            None if args.is_continued => Some(shared.with(|store| store.find("last"))?),
            None => None,
        };
        if let Some(conversation) = conversation {
            let messages = shared.with(|store| store.messages(&conversation))?;
            recorder.earlier =
                messages.into_iter().filter_map(|stored| stored.into_sendable()).collect();
            recorder.conversation = Some(conversation);
        }
        Ok(recorder)
    }

    /// Returns the request that continues the conversation, without the new prompt. `None` if the conversation is new.
    pub(crate) fn earlier_request(&self) -> Option<ChatRequest> {
        let conversation = self.conversation.as_ref()?;
        let mut request = ChatRequest::new(conversation.model.clone());
        if let Some(system) = &conversation.system {
            request = request.system(system.clone());
        }
        Some(request.messages(self.earlier.iter().cloned()))
    }

    /// Stores the prompt before the request is sent.
    pub(crate) fn begin(&mut self, request: &ChatRequest) {
        if !self.is_enabled {
            return;
        }
        let (system, rest) = match request.messages.split_first() {
            Some((first, rest)) if first.role == Role::System => (Some(first.text()), rest),
            _ => (None, request.messages.as_slice()),
        };
        // `--system` may have replaced instructions that are among the earlier messages.
        let is_kept =
            |message: &&ChatMessage| self.earlier.is_empty() || message.role != Role::System;
        let known = self.earlier.iter().filter(is_kept).count();
        let prompt: Vec<ChatMessage> = rest.iter().filter(is_kept).skip(known).cloned().collect();
        let first = prompt.iter().find(|message| message.role == Role::User);
        let title = first.map(ChatMessage::text).unwrap_or_default();
        let title = if title.trim().is_empty() { "(no text)" } else { title.as_str() };
        let new = NewConversation {
            name: self.name.as_deref(),
            prompt: title,
            system: system.as_deref(),
            model: &request.model,
        };
        let begun = self.shared.with(|store| {
            let conversation = match &self.conversation {
                Some(conversation) => conversation.clone(),
                None => store.begin(&new)?,
            };
            let place =
                store.append_prompt(&conversation, &prompt, system.as_deref(), &request.model)?;
            Ok(Unfinished::new(conversation, place, vec![place], prompt.len() + 1))
        });
        self.response = self.keep(begun);
        self.is_logged = self.response.is_some();
    }

    /// Returns whether conversations are stored.
    pub(crate) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Returns the identifier of the conversation, once it is stored.
    pub(crate) fn conversation_id(&self) -> Option<String> {
        let stored = self.response.as_ref().map(|unfinished| &unfinished.conversation);
        stored.or(self.conversation.as_ref()).map(|conversation| conversation.id.clone())
    }

    /// Keeps the first messages of the conversation, and removes the rest. Messages that are not sent again do not count.
    pub(crate) fn truncate(&mut self, count: usize) {
        let Some(conversation) = self.conversation.clone().filter(|_| self.is_enabled) else {
            return;
        };
        let kept = self.shared.with(|store| {
            let (mut sendable, mut from) = (0, 0);
            for stored in store.messages(&conversation)? {
                let is_sendable = stored.into_sendable().is_some();
                if sendable + usize::from(is_sendable) > count {
                    break;
                }
                sendable += usize::from(is_sendable);
                from += 1;
            }
            store.truncate(&conversation, from)
        });
        self.keep(kept);
    }

    /// Returns whether the conversation is stored.
    pub(crate) fn is_logged(&self) -> bool {
        self.is_logged
    }

    /// Stores the events of a stream as they pass.
    pub(crate) fn follow(self, events: ChatStream) -> ChatStream {
        match self.response {
            Some(_) => ChatStream::new(Following { events, recorder: self }),
            None => events,
        }
    }

    /// Stores a complete response.
    pub(crate) fn finish(&mut self, response: &ChatResponse) {
        self.end(|unfinished| {
            let time = unfinished.started.elapsed();
            (ResponseRecord::of(response, ResponseState::Complete, time), response.clone())
        });
    }

    /// Stores what had arrived of a response before an error. A prompt that was never sent is not kept.
    pub(crate) fn fail(&mut self, error: &Error) {
        if let Some(unfinished) = &self.response
            && unfinished.places.len() == 1
            && is_unsent(error)
        {
            let removed = self.shared.with(|store| match self.conversation {
                None => store.delete(std::slice::from_ref(&unfinished.conversation)),
                Some(_) => {
                    let conversation = &unfinished.conversation;
                    let stored = store.messages(conversation)?.len();
                    store.truncate(conversation, stored.saturating_sub(unfinished.added))
                }
            });
            self.keep(removed);
            self.response = None;
            self.is_logged = false;
            return;
        }
        self.end(|unfinished| {
            let partial = error.partial().cloned().unwrap_or_else(|| unfinished.fold.partial());
            let (record, partial) = unfinished.interrupted(partial);
            (record.with_error(error), partial)
        });
    }

    /// Stores the progress of a run.
    pub(crate) fn run_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Model(event) => self.event(event),
            RunEvent::StepDone { step } => self.step(step),
            RunEvent::RunDone { outcome } => self.run_done(outcome),
            _ => {}
        }
    }

    fn event(&mut self, event: &ChatStreamEvent) {
        let Some(unfinished) = &mut self.response else { return };
        // Events of a stream are in order; if not, the last ones are missing in what is stored.
        let _ = unfinished.fold.push(event);
        let now = Instant::now();
        if now < unfinished.next {
            return;
        }
        let response = unfinished.fold.partial();
        let time = unfinished.started.elapsed();
        let record = ResponseRecord::of(&response, ResponseState::Running, time);
        let written = self.shared.with(|store| unfinished.write(store, &record, response));
        let now_written = Instant::now();
        unfinished.next = now_written + INTERVAL.max((now_written - now) * PATIENCE);
        if self.keep(written).is_none() {
            self.response = None;
        }
    }

    /// Stores a step with the results of its calls, and reserves the place of the next response.
    fn step(&mut self, step: &Step) {
        let Some(unfinished) = &mut self.response else { return };
        let record = record_of(step);
        let results: Vec<ChatMessage> = step
            .results
            .iter()
            .map(|result| {
                ChatMessage::tool(&result.call_id, result.output.to_text()).with_name(&result.tool)
            })
            .collect();
        let stored = self.shared.with(|store| {
            unfinished.write(store, &record, step.response.clone())?;
            if results.is_empty() {
                return Ok(None);
            }
            store.append_results(&unfinished.conversation, &results).map(Some)
        });
        if let Ok(Some(places)) = &stored {
            unfinished.places.extend(places);
            unfinished.place = places.last().copied().unwrap_or(unfinished.place);
            unfinished.fold = Fold::new();
        }
        if self.keep(stored).is_none() {
            self.response = None;
        }
    }

    /// Replaces what was stored during the run by its messages.
    fn run_done(&mut self, outcome: &Outcome) {
        let Some(unfinished) = self.response.take() else { return };
        if outcome.messages.is_empty() {
            self.response = Some(unfinished);
            match &outcome.error {
                Some(error) => self.fail(error),
                None => self.interrupt(),
            }
            return;
        }
        let mut steps = outcome.steps.iter();
        let mut messages: Vec<(ChatMessage, Option<ResponseRecord>)> = outcome
            .messages
            .iter()
            .map(|message| {
                let is_response = message.role == Role::Assistant;
                let step = if is_response { steps.next() } else { None };
                (message.clone(), step.map(record_of))
            })
            .collect();
        if let (Some(error), Some((_, Some(record)))) = (&outcome.error, messages.last_mut()) {
            *record = std::mem::take(record).with_error(error);
        }
        let Unfinished { conversation, places, .. } = unfinished;
        let replaced = self.shared.with(|store| store.replace(&conversation, &places, &messages));
        self.keep(replaced);
    }

    /// Stores what had arrived of a response that will not be completed.
    fn interrupt(&mut self) {
        self.end(|unfinished| unfinished.interrupted(unfinished.fold.partial()));
    }

    fn end(&mut self, ending: impl FnOnce(&Unfinished) -> (ResponseRecord, ChatResponse)) {
        let Some(unfinished) = self.response.take() else { return };
        let (record, response) = ending(&unfinished);
        let written = self.shared.with(|store| unfinished.write(store, &record, response));
        self.keep(written);
    }

    /// Returns the value, or prints why nothing is stored.
    fn keep<T>(&self, stored: Result<T>) -> Option<T> {
        stored
            .map_err(|error| {
                let advice = error.advice().map(|advice| format!("; {advice}")).unwrap_or_default();
                let message = format!("the conversation is not logged: {error}{advice}");
                self.notes.print_warnings(&[Warning::about_response(message)]);
            })
            .ok()
    }
}

impl Unfinished {
    fn interrupted(&self, partial: ChatResponse) -> (ResponseRecord, ChatResponse) {
        let is_empty = partial.choices.iter().all(|choice| choice.content.is_empty());
        let state = if is_empty { ResponseState::Failed } else { ResponseState::Incomplete };
        (ResponseRecord::of(&partial, state, self.started.elapsed()), partial)
    }
}

fn record_of(step: &Step) -> ResponseRecord {
    let state = if step.partial { ResponseState::Incomplete } else { ResponseState::Complete };
    ResponseRecord::of(&step.response, state, Duration::from_millis(step.model_ms))
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.interrupt();
    }
}

/// A stream whose events are stored.
struct Following {
    events: ChatStream,
    recorder: Recorder,
}

impl Stream for Following {
    type Item = agentloop::Result<ChatStreamEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(Pin::new(&mut self.events).poll_next(context));
        match &item {
            Some(Ok(ChatStreamEvent::MessageDone { response })) => self.recorder.finish(response),
            Some(Ok(event)) => self.recorder.event(event),
            Some(Err(error)) => self.recorder.fail(error),
            None => {}
        }
        Poll::Ready(item)
    }
}
