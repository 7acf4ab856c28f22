//! Calls of every kind to simulated providers, and what their callers see.

use agentloop::middleware::Middleware;
use agentloop::{
    AgentLoop, AgentLoopBuilder, ChatRequest, ChatStreamEvent, EmbedRequest, Error, Fold, Protocol,
    Provider, Warning, WarningKind,
};
use agentloop_sim::{Fault, Faults, Simulator};

pub(crate) use crate::support::PROTOCOLS;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Chat,
    Stream,
    Embed,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::Chat, Kind::Stream, Kind::Embed];

/// Every kind of call in every protocol that has it.
pub(crate) fn every() -> impl Iterator<Item = (Kind, Protocol)> {
    let all = PROTOCOLS.into_iter().flat_map(|protocol| KINDS.map(|kind| (kind, protocol)));
    let embeds = |protocol| {
        !matches!(protocol, Protocol::Anthropic | Protocol::Bedrock | Protocol::GeminiInteractions)
    };
    all.filter(move |(kind, protocol)| *kind != Kind::Embed || embeds(*protocol))
}

/// A simulated provider that lets these go wrong.
pub(crate) struct Lab {
    pub(crate) simulator: Simulator,
    name: &'static str,
    protocol: Protocol,
}

impl Lab {
    pub(crate) fn new(name: &'static str, faults: Faults) -> Self {
        let simulator = Simulator::new().with_faults(faults);
        Self { simulator, name, protocol: Protocol::OpenAiChat }
    }

    pub(crate) fn failing(name: &'static str, fault: &str) -> Self {
        Self::new(name, Faults::always(fault.parse::<Fault>().unwrap()))
    }

    pub(crate) fn well(name: &'static str) -> Self {
        Self::new(name, Faults::none())
    }

    pub(crate) fn speaking(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    pub(crate) fn row(&self) -> Provider {
        self.simulator.provider_named(self.name, self.protocol)
    }

    pub(crate) fn calls(&self) -> u64 {
        self.simulator.ledger().calls
    }
}

pub(crate) fn builder<'a>(labs: impl IntoIterator<Item = &'a Lab>) -> AgentLoopBuilder {
    labs.into_iter().fold(AgentLoop::builder(), |builder, lab| builder.provider(lab.row()))
}

pub(crate) fn client<'a>(
    labs: impl IntoIterator<Item = &'a Lab>,
    layer: impl Middleware + 'static,
) -> AgentLoop {
    builder(labs).layer(layer).build().unwrap()
}

/// The prompt of every test.
pub(crate) fn question(model: &str) -> ChatRequest {
    ChatRequest::new(model).user("Hello")
}

pub(crate) const ANSWER: &str = "word1 word2 word3 word4 word5 word6 word7 word8";

/// The result that a caller sees.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) provider: String,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) error: Option<Error>,
    /// The texts that had come, when it was a stream.
    pub(crate) text: String,
    /// Whether the call itself failed, and not a stream that had begun.
    pub(crate) at_once: bool,
}

impl Seen {
    fn failed(error: Error) -> Self {
        Self { error: Some(error), at_once: true, ..Self::default() }
    }

    pub(crate) fn error(&self) -> &Error {
        self.error.as_ref().expect("it has answered")
    }

    pub(crate) fn warnings(&self, kind: WarningKind) -> Vec<&Warning> {
        assert!(self.error.is_none(), "{:?}", self.error);
        self.warnings.iter().filter(|warning| warning.kind == kind).collect()
    }
}

/// Asks `provider` in one of three ways, and checks that what comes is well formed and whole, or an error.
pub(crate) async fn ask(ai: &AgentLoop, kind: Kind, provider: &str) -> Seen {
    match kind {
        Kind::Chat => chat(ai, question(&format!("{provider}/long-8"))).await,
        Kind::Stream => stream(ai, question(&format!("{provider}/long-8"))).await,
        Kind::Embed => {
            let request = EmbedRequest::new(format!("{provider}/vectors"), "x");
            match ai.embed(request).await {
                Ok(answer) => {
                    assert_eq!(answer.embeddings.len(), 1);
                    let (provider, warnings) = (answer.provider, answer.warnings);
                    Seen { provider, warnings, ..Seen::default() }
                }
                Err(error) => Seen::failed(error),
            }
        }
    }
}

pub(crate) async fn chat(ai: &AgentLoop, request: ChatRequest) -> Seen {
    match ai.chat(request).await {
        Ok(answer) => {
            let text = answer.text();
            let (provider, warnings) = (answer.provider, answer.warnings);
            Seen { provider, warnings, text, ..Seen::default() }
        }
        Err(error) => Seen::failed(error),
    }
}

/// One start, one complete response that is the fold of its events, or one error; nothing after it.
pub(crate) async fn stream(ai: &AgentLoop, request: ChatRequest) -> Seen {
    let mut stream = match ai.stream(request).await {
        Ok(stream) => stream,
        Err(error) => return Seen::failed(error),
    };
    let (mut seen, mut fold, mut first) = (Seen::default(), Fold::new(), true);
    while let Some(event) = stream.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                let partial = fold.partial();
                let received = error.partial().expect("what had come");
                assert_eq!(
                    (received.text(), &received.warnings),
                    (partial.text(), &partial.warnings)
                );
                (seen.text, seen.warnings) = (partial.text(), partial.warnings);
                seen.error = Some(error);
                continue;
            }
        };
        assert!(seen.error.is_none(), "{event:?} after an error");
        assert_eq!(first, matches!(event, ChatStreamEvent::MessageStart { .. }), "{event:?}");
        first = false;
        if let ChatStreamEvent::MessageDone { response } = event {
            assert_eq!(std::mem::take(&mut fold).finish().unwrap(), *response);
            seen.text = response.text();
            (seen.provider, seen.warnings) = (response.provider, response.warnings);
            assert!(stream.next().await.is_none());
            return seen;
        }
        fold.push(&event).expect("events in order");
    }
    assert!(seen.error.is_some(), "the stream ended without its end");
    seen
}
