//! Connects a simulator to a client in the same process.

use std::pin::Pin;
use std::task::{Context, Poll};

use agentloop::protocol::serve::route;
use agentloop::provider::KeySource;
use agentloop::provider::quirks::{BatchApi, FileApi, Quirks};
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{BoxFuture, Error, ErrorKind, Protocol, Provider, Result, Secret};
use bytes::Bytes;
use futures_core::Stream;
use http::{Request, Response};

use crate::ledger::Busy;
use crate::reply::{Piece, Pieces};
use crate::simulator::Simulator;
use crate::usage_style::UsageStyle;

/// A transport that sends requests to a [`Simulator`] instead of the network.
///
/// [`Simulator::provider`] and [`Simulator::simulate`] use it; create one only for a provider of your own. A stalled body never
/// continues, a connection that breaks is an error of the kind [`ErrorKind::Connection`].
///
/// ```
/// use agentloop::{AgentLoop, Protocol, Provider};
/// use agentloop_sim::{SimTransport, Simulator};
///
/// let transport = SimTransport::new(Simulator::new(), Protocol::OpenAiChat);
/// let lab = Provider::openai_compatible("lab", "http://lab.invalid/v1").transport(transport);
/// let ai = AgentLoop::builder().provider(lab).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SimTransport {
    simulator: Simulator,
    protocol: Protocol,
    style: UsageStyle,
}

impl SimTransport {
    /// Creates a transport to `simulator` for a provider that speaks `protocol`.
    pub fn new(simulator: Simulator, protocol: Protocol) -> Self {
        Self { simulator, protocol, style: UsageStyle::default() }
    }

    /// Returns the protocol of a request: that of the provider if it has this path, else another one that has it, because a
    /// provider may speak several protocols.
    fn protocol_of(&self, request: &Request<Bytes>) -> Protocol {
        let has_path = |protocol: &Protocol| {
            route(*protocol, request.method(), request.uri().path(), request.headers()).is_some()
        };
        let mut others = Protocol::ALL.iter().copied();
        if has_path(&self.protocol) {
            self.protocol
        } else {
            others.find(has_path).unwrap_or(self.protocol)
        }
    }
}

impl Transport for SimTransport {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            let busy = self.simulator.begin();
            let protocol = self.protocol_of(&request);
            let reply = self.simulator.respond_with_style(protocol, &request, self.style);
            let Some(reply) = reply else {
                return Err(connection_error("the simulated connection closed without a response"));
            };
            let pieces = PieceStream { pieces: reply.body, is_stalled: false, _busy: busy };
            let mut response = Response::new(Body::stream(pieces));
            *response.status_mut() = reply.status;
            *response.headers_mut() = reply.headers;
            Ok(response)
        })
    }
}

struct PieceStream {
    pieces: Pieces,
    is_stalled: bool,
    _busy: Busy,
}

impl Stream for PieceStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_stalled {
            return Poll::Pending;
        }
        match self.pieces.next() {
            Some(Piece::Bytes(bytes)) => Poll::Ready(Some(Ok(bytes))),
            // The waker is never called, so only a timeout of the reader ends the wait.
            Some(Piece::Stall) => {
                self.is_stalled = true;
                Poll::Pending
            }
            Some(Piece::Reset) => {
                Poll::Ready(Some(Err(connection_error("the simulated connection was reset"))))
            }
            None => Poll::Ready(None),
        }
    }
}

fn connection_error(message: &str) -> Error {
    Error::new(ErrorKind::Connection, message)
}

impl Simulator {
    /// Returns the provider `sim`, which needs no key and speaks the OpenAI chat protocol.
    pub fn provider(&self) -> Provider {
        self.provider_named("sim", Protocol::OpenAiChat)
    }

    /// Returns a provider with this name and protocol, which needs no key.
    pub fn provider_named(&self, name: impl Into<String>, protocol: Protocol) -> Provider {
        let mut provider = Provider::openai_compatible(name.into(), "sim://local/v1");
        provider.protocol = protocol;
        self.simulate(provider.quirks(|quirks| store(protocol, quirks)))
    }

    /// Connects a provider to this simulator instead of the network.
    ///
    /// The provider keeps its protocol, rules and quirks, so the simulator receives what the real provider would receive. A key from
    /// the environment or a file is replaced by `sim-key`, and each variable in the base URL by `sim`.
    pub fn simulate(&self, mut provider: Provider) -> Provider {
        if !matches!(provider.key, KeySource::None | KeySource::Value(_)) {
            provider.key = KeySource::Value(Secret::new("sim-key"));
        }
        let url = fill_variables(&provider.base_url);
        let mut provider = provider.base_url(url);
        for endpoint in &mut provider.endpoints {
            endpoint.base_url = fill_variables(&endpoint.base_url).into();
        }
        let mut transport = SimTransport::new(self.clone(), provider.protocol);
        transport.style = UsageStyle::from_quirks(&provider.quirks);
        provider.transport(transport)
    }
}

/// Sets how files and batches are stored by the provider that defined the protocol.
fn store(protocol: Protocol, quirks: &mut Quirks) {
    let (files, batches) = match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiResponses => {
            (FileApi::PurposeForm, BatchApi::InputFile)
        }
        Protocol::Anthropic => (FileApi::BetaForm, BatchApi::Messages),
        Protocol::Gemini => (FileApi::Resumable, BatchApi::Operation),
        _ => (FileApi::None, BatchApi::None),
    };
    quirks.storage.files = files;
    quirks.storage.purpose = Some("user_data".into());
    quirks.storage.batches = batches;
}

/// Replaces each `${VARIABLE}` of a URL by `sim`.
fn fill_variables(url: &str) -> String {
    let mut filled = String::with_capacity(url.len());
    let mut rest = url;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        filled.push_str("sim");
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    filled + rest
}

/// Returns the provider `sim` with a simulator of its own. It needs no key and no network.
///
/// Use [`Simulator::provider`] to script responses and to see the requests.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let response = ai.chat(ChatRequest::new("sim/echo").user("Hello")).await?;
/// assert!(response.text().starts_with("Hello"));
/// # Ok(())
/// # }
/// ```
pub fn provider() -> Provider {
    Simulator::new().provider()
}

/// Returns a provider with this name and protocol, with a simulator of its own.
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest, Protocol};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// let provider = agentloop_sim::provider_named("lab", Protocol::Anthropic);
/// let ai = AgentLoop::builder().provider(provider).build()?;
/// let response = ai.chat(ChatRequest::new("lab/echo").user("Hello")).await?;
/// assert_eq!(response.provider, "lab");
/// # Ok(())
/// # }
/// ```
pub fn provider_named(name: impl Into<String>, protocol: Protocol) -> Provider {
    Simulator::new().provider_named(name, protocol)
}

/// Connects a provider to a simulator of its own; see [`Simulator::simulate`].
///
/// ```
/// use agentloop::{AgentLoop, ChatRequest, Provider};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> agentloop::Result<()> {
/// for provider in Provider::all() {
///     let model = format!("{}/think", provider.name);
///     let ai = AgentLoop::builder().provider(agentloop_sim::simulate(provider)).build()?;
///     let response = ai.chat(ChatRequest::new(model).user("Hello")).await?;
///     assert!(response.thinking().is_some());
/// }
/// # Ok(())
/// # }
/// ```
pub fn simulate(provider: Provider) -> Provider {
    Simulator::new().simulate(provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_url_are_replaced() {
        let filled = fill_variables("https://${NAME}.example.com/${PATH}/v1");
        assert_eq!(filled, "https://sim.example.com/sim/v1");
        assert_eq!(fill_variables("https://a/${OPEN"), "https://a/sim");
    }
}
