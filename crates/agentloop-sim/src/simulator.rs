//! A provider that is not there: requests in, answers out, no I/O.

use std::sync::Arc;

use agentloop::protocol::serve::{
    self, Operation, ServedChat, ServedEmbed, read_chat, read_embed, shown_key, write_body,
    write_count, write_embed, write_models,
};
use agentloop::{ChatStreamEvent, Error, ErrorKind, Protocol, Result, Secret};
use bytes::Bytes;
use http::{HeaderName, Request, StatusCode};

use crate::fault::{Fault, Faults, parse_list};
use crate::ledger::{Busy, Counters, Ledger};
use crate::manners::Manners;
use crate::model::{Model, faults_of_id, hash};
use crate::reply::Reply;
use crate::vectors;

/// The header that asks for [faults](Fault).
pub const FAULT_HEADER: &str = "x-sim-fault";

/// The header by which a client knows the call again.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A provider that is not there: it answers every protocol with what its [`Model`] says, and lets go wrong
/// what it is told to.
///
/// It does no I/O: [`SimTransport`](crate::SimTransport) brings it into a client, and
/// [`Server`](crate::Server) on the network. Clones share their model, their call count and their ledger.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest};
/// use agentloop_sim::{Fault, Faults, Simulator};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let simulator = Simulator::new().with_faults(Faults::first(1, Fault::status(500)));
/// let ai = AgentLoop::builder().provider(simulator.provider()).build()?;
/// assert!(ai.chat(ChatRequest::new("sim/echo").user("Hi")).await.is_err());
/// let answer = ai.chat(ChatRequest::new("sim/echo").user("Hi")).await?;
/// assert_eq!(simulator.ledger().calls, 2);
/// assert_eq!(answer.usage.completion_tokens, Some(simulator.ledger().completion_tokens));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Simulator {
    model: Model,
    faults: Arc<Faults>,
    key: Option<Secret>,
    counters: Arc<Counters>,
}

impl Simulator {
    /// A simulator whose model does what its id says, and with which nothing goes wrong unasked.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with another model.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Self {
        self.model = model;
        self
    }

    /// The same, with faults that come unasked.
    #[must_use]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = Arc::new(faults);
        self
    }

    /// The same, but calls must show this key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Secret>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// What has been served so far.
    pub fn ledger(&self) -> Ledger {
        self.counters.read()
    }

    /// Counts a call as under way for as long as what is returned lives.
    pub(crate) fn begin(&self) -> Busy {
        self.counters.begin()
    }

    /// Answers a call; `None` when the connection closes without an answer.
    ///
    /// - `POST …/chat/completions`, `POST …/embeddings` (also `…/api/embed` and `…/embed`) and `GET …/models` (and what
    ///   the protocol calls them) are answered; anything else is a 404, and a call without the key that is required a 401.
    /// - The faults of a call are those of its `x-sim-fault` header, else those in the model's id, else those of
    ///   the script's turn, else those that the schedule has for it.
    pub fn answer(&self, protocol: Protocol, request: &Request<Bytes>) -> Option<Reply> {
        self.answer_as(protocol, request, Manners::default())
    }

    /// The same, in the manners of a host.
    pub(crate) fn answer_as(
        &self,
        protocol: Protocol,
        request: &Request<Bytes>,
        manners: Manners,
    ) -> Option<Reply> {
        let call = self.counters.call();
        self.reply(call, protocol, request, manners)
            .unwrap_or_else(|error| Some(Reply::error(protocol, &error, &[])))
            .map(|mut reply| {
                if !reply.headers.contains_key(REQUEST_ID) {
                    let id = format!("req-{:016x}", hash(request.body()));
                    reply.insert(REQUEST_ID, &id);
                }
                reply
            })
    }

    fn reply(
        &self,
        call: u64,
        protocol: Protocol,
        request: &Request<Bytes>,
        manners: Manners,
    ) -> Result<Option<Reply>> {
        let asked = match request.headers().get(FAULT_HEADER) {
            Some(value) => Some(parse_list(value.to_str().unwrap_or("unreadable"))?),
            None => None,
        };
        let scheduled = self.faults.of_call(call);
        match self.operation(protocol, request) {
            Ok(Operation::Chat) => {
                let mut chat = read_chat(protocol, path_of(request), request.body())?;
                chat.include_usage |= manners.usage_unasked;
                let asked = or_of_id(asked, &chat.request.model)?;
                self.chat(protocol, &chat, asked.as_deref(), scheduled, manners)
            }
            Ok(Operation::Embed) => {
                let embed = read_embed(protocol, path_of(request), request.body())?;
                let asked = or_of_id(asked, &embed.request.model)?;
                let faults = asked.as_deref().unwrap_or(scheduled);
                self.json(protocol, faults, || self.embed(&embed))
            }
            Ok(Operation::Count) => {
                let chat = read_chat(protocol, path_of(request), request.body())?;
                let asked = or_of_id(asked, &chat.request.model)?;
                let faults = asked.as_deref().unwrap_or(scheduled);
                self.json(protocol, faults, || {
                    let response = self.model.response(&chat.request)?;
                    Ok(write_count(protocol, response.usage.prompt_tokens.unwrap_or(0)))
                })
            }
            other => {
                let faults = asked.as_deref().unwrap_or(scheduled);
                self.json(protocol, faults, || {
                    other.map(|_| write_models(protocol, &Model::list()))
                })
            }
        }
    }

    /// A whole answer, unless a fault takes its place.
    fn json(
        &self,
        protocol: Protocol,
        faults: &[Fault],
        body: impl FnOnce() -> Result<Bytes>,
    ) -> Result<Option<Reply>> {
        match self.replaced(protocol, faults, false) {
            Some(replaced) => Ok(replaced),
            None => Ok(Some(Reply::json(protocol, body()?, faults))),
        }
    }

    /// What the call asks for, if it may.
    fn operation(&self, protocol: Protocol, request: &Request<Bytes>) -> Result<Operation> {
        let path = request.uri().path();
        let operation = serve::route(protocol, request.method(), path, request.headers());
        let Some(operation) = operation else {
            let message = format!("{} {path} is not served here", request.method());
            let status = StatusCode::NOT_FOUND.as_u16();
            return Err(Error::new(ErrorKind::NotFound, message).with_status(status));
        };
        match &self.key {
            Some(key) if shown_key(request.headers()) != Some(key.expose()) => {
                let message = "the key is missing or wrong";
                let status = StatusCode::UNAUTHORIZED.as_u16();
                Err(Error::new(ErrorKind::Auth, message)
                    .with_status(status)
                    .with_code("invalid_api_key"))
            }
            _ => Ok(operation),
        }
    }

    fn chat(
        &self,
        protocol: Protocol,
        chat: &ServedChat,
        asked: Option<&[Fault]>,
        scheduled: &[Fault],
        manners: Manners,
    ) -> Result<Option<Reply>> {
        let turn = self.model.turn(&chat.request);
        let faults = match (asked, &turn) {
            (Some(asked), _) => asked,
            (None, Ok(turn)) if !turn.faults.is_empty() => &turn.faults,
            _ => scheduled,
        };
        if let Some(replaced) = self.replaced(protocol, faults, chat.stream) {
            return Ok(replaced);
        }
        let turn = turn.as_ref().map_err(Error::clone)?;
        let mut events = Model::perform(turn, &chat.request)?;
        if let Some(ChatStreamEvent::MessageDone { response }) = events.last() {
            self.counters.chat(&response.usage);
        }
        manners.apply(&mut events);
        let Some(ChatStreamEvent::MessageDone { response }) = events.last() else {
            return Err(Error::new(ErrorKind::Other, "the answer has no end"));
        };
        // The id is that of the answer, so that a call gets the same one streamed or not.
        let id = format!("req-{}", response.id);
        let mut reply = if chat.stream {
            Reply::stream(protocol, events, chat.include_usage, faults)
        } else {
            Reply::json(protocol, write_body(protocol, response), faults)
        };
        reply.insert(REQUEST_ID, &id);
        Ok(Some(reply))
    }

    fn embed(&self, served: &ServedEmbed) -> Result<Bytes> {
        let response = vectors::embed(served)?;
        let usage = response.usage.unwrap_or_default();
        self.counters.embed(usage.prompt_tokens);
        Ok(write_embed(&response, served.form))
    }

    /// What takes the place of an answer: `Some(None)` is that there is none at all.
    fn replaced(
        &self,
        protocol: Protocol,
        faults: &[Fault],
        stream: bool,
    ) -> Option<Option<Reply>> {
        if !faults.is_empty() {
            self.counters.fault();
        }
        if faults.contains(&Fault::Refuse) {
            return Some(None);
        }
        Reply::fault(protocol, faults, stream).map(Some)
    }
}

/// The faults that a call asks for: in its header, else in the id of its model.
fn or_of_id(asked: Option<Vec<Fault>>, model: &str) -> Result<Option<Vec<Fault>>> {
    match (asked, faults_of_id(model)) {
        (None, Some(written)) => parse_list(written).map(Some),
        (asked, _) => Ok(asked),
    }
}

/// The path of a request with its query, where some protocols name the model and the stream.
fn path_of(request: &Request<Bytes>) -> &str {
    request.uri().path_and_query().map_or("/", |path| path.as_str())
}
